"""A small checkout, set up for codeboost with a store of its own, and codeboost as a process, with or without a person."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[3]


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)["data"]


@dataclass
class Desk:
    top: Path
    env: Mapping[str, str]
    git: Callable[..., str]
    patch: pytest.MonkeyPatch

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """A codeboost process in the checkout, nobody at its terminal."""
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(
            [sys.executable, "-m", "codeboost", *arguments],
            cwd=self.top,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            **options,
        )

    def run(self, *arguments: str, stdin: str = "") -> Said:
        """A command line in this process: all of it but the interpreter's start. Nobody is at a terminal."""
        from codeboost.cli.app import build_app
        from codeboost.cli.console import run_app

        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with self.patch.context() as patch:
            patch.chdir(self.top)
            for name, value in self.env.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = run_app(build_app(), "codeboost", arguments)
        texts = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]  # type: ignore[attr-defined]
        return Said(code, *texts)

    def write(self, name: str, text: str) -> None:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def commit(self) -> str:
        self.git(self.top, "add", "-A")
        self.git(self.top, "commit", "-qm", "x", "--allow-empty")
        return self.git(self.top, "rev-parse", "HEAD").strip()

    def import_plan(self, *commands: str, files: tuple[str, ...] = ("new.txt",)) -> Said:
        plan = {
            "schema_version": 1,
            "issue": 412,
            "revision": 1,
            "summary": "A plan.",
            "questions": [],
            "items": [
                {
                    "id": "P1",
                    "title": "Do it",
                    "intent": "Because somebody asked.",
                    "depends_on": [],
                    "files": [
                        {
                            "path": path,
                            "kind": "edit" if (self.top / path).exists() else "add",
                            "renamed_from": None,
                            "change": "Change it.",
                        }
                        for path in files
                    ],
                    "acceptance": [{"type": "cmd", "text": text} for text in commands],
                }
            ],
        }
        said = self.run("plan", "import", "-", "--issue", "412", stdin=json.dumps(plan))
        assert said.code == 0, said
        return said

    def sit_down(self, *arguments: str) -> Person:
        """Start codeboost with a person at its terminal."""
        return Person.start(self, arguments)


@dataclass
class Person:
    """A pseudo terminal: what it shows is read, keys are pressed when a text has appeared."""

    pid: int
    fd: int
    shown: str = ""
    code: int | None = None
    _seen: int = field(default=0)

    @classmethod
    def start(cls, desk: Desk, arguments: tuple[str, ...]) -> Person:
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(desk.top)
            os.execve(sys.executable, [sys.executable, "-m", "codeboost", *arguments], dict(desk.env))
        return cls(pid, fd)

    def wait_for(self, text: str, timeout: float = 30.0) -> None:
        """Until ``text`` appears that was not waited for before."""
        deadline = time.monotonic() + timeout
        while (at := self.shown.find(text, self._seen)) < 0:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} never appeared in {self.shown!r}"
            if not self._read(left):
                raise AssertionError(f"it ended without {text!r}: {self.shown!r}")
        self._seen = at + len(text)
        # The question is flushed before keys typed ahead are: a real finger is slower than that.
        time.sleep(0.2)

    def press(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def leave(self) -> int:
        """The exit code, once it ended by itself."""
        while self._read(30.0):
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def kill(self) -> None:
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self.fd)
            self.code = -signal.SIGKILL

    def _read(self, timeout: float) -> bool:
        if not select.select([self.fd], [], [], timeout)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.shown += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


@pytest.fixture
def desk(tmp_path: Path, git: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    top = tmp_path / "repo"
    top.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    env = kept | {
        "PYTHONPATH": str(ROOT),
        "PYTHONUTF8": "1",
        "CODEBOOST_HOME": str(tmp_path / "home"),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "TERM": "xterm",
    }
    git(top, "init", "-q")
    git(top, "config", "user.name", "Ada")
    git(top, "config", "user.email", "ada@example.org")
    git(top, "remote", "add", "origin", "https://github.com/o/n.git")
    desk = Desk(top, env, git, monkeypatch)
    desk.write("run.sh", "#!/bin/sh\nexit 0\n")
    assert desk.run("init", "--image", "python:3.12-slim").code == 0
    desk.commit()
    return desk


@pytest.fixture
def sit_down(desk: Desk) -> Iterator[Callable[..., Person]]:
    people: list[Person] = []

    def start(*arguments: str) -> Person:
        people.append(desk.sit_down(*arguments))
        return people[-1]

    yield start
    for person in people:
        person.kill()
