"""The example repository as a person would have it, and codeboost as the process that she would start."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
IMAGE = "codeboost/example:1"


class Ended(NamedTuple):
    """A process that has ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        found: dict[str, Any] = json.loads(self.out)
        return found


@dataclass
class Checkout:
    """A git repository in ``top`` and a store of its own in ``home``."""

    top: Path
    home: Path
    environment: dict[str, str] = field(default_factory=dict)

    def start(self, *arguments: object, program: str = "codeboost", **options: Any) -> subprocess.Popen[str]:
        module = "codeboost" if program == "codeboost" else "codeboost.cli.planr"
        return subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)],
            cwd=options.pop("cwd", self.top),
            env=self.environment | options.pop("env", {}),
            stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def call(
        self,
        *arguments: object,
        program: str = "codeboost",
        stdin: str = "",
        env: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run a command line to its end; two minutes are more than any may take."""
        process = self.start(*arguments, program=program, stdin=subprocess.PIPE, env=dict(env or {}))
        out, err = process.communicate(stdin, timeout=120)
        assert "Traceback" not in err, err
        return Ended(process.returncode, out, err)

    def planr(self, *arguments: object) -> Ended:
        return self.call(*arguments, program="planr")

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.top,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self, message: str = "Work") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--no-verify", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def write_plan(self, *items: Mapping[str, Any], issue: int = 412) -> Path:
        """A plan of small items (``id``, ``cmds``, ``after``) beside the checkout; each adds one file."""
        plan = {
            "schema_version": 1,
            "issue": issue,
            "revision": 1,
            "summary": "A plan.",
            "items": [
                {
                    "id": item["id"],
                    "title": f"Do {item['id']}",
                    "intent": item.get("intent", "Because."),
                    "files": [
                        {
                            "path": f"new/{item['id']}.txt",
                            "kind": "add",
                            "renamed_from": None,
                            "change": "Add it.",
                        }
                    ],
                    "acceptance": [
                        *({"type": "cmd", "text": text} for text in item.get("cmds", ())),
                        *({"type": "check", "text": text} for text in item.get("checks", ())),
                    ],
                    "depends_on": list(item.get("after", ())),
                }
                for item in items
            ],
            "questions": [],
        }
        path = self.top.parent / f"plan-{issue}.json"
        path.write_text(json.dumps(plan))
        return path

    def adopt(self, *items: Mapping[str, Any], allow: bool = True, issue: int = 412) -> None:
        """Import a plan of small items, approve it, and approve its commands if ``allow`` says so."""
        path = self.write_plan(*items, issue=issue)
        done = self.call("plan", "import", path, "--issue", issue)
        assert done.code == 0, done.err
        if allow:
            for text in {text for item in items for text in item.get("cmds", ())}:
                assert self.call("allow", "add", "--reason", "test", text).code == 0
        assert self.call("plan", "approve", issue, "--yes").code == 0

    def status(self, item_id: str, issue: int = 412) -> str:
        """The status of an item's task, as its file says it."""
        text = (self.top / f".planr/tasks/GH{issue}-{item_id}.md").read_text()
        return (
            next(row for row in text.splitlines() if row.startswith("status:"))
            .removeprefix("status:")
            .strip()
        )


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What a process gets: the machine's PATH and engine, nobody's settings, a store in a temporary folder."""
    kept = ("PATH", "HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "PYTHONDONTWRITEBYTECODE")
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "CODEBOOST_HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(ROOT),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }


@pytest.fixture
def bare_checkout(tmp_path: Path, environment: dict[str, str]) -> Checkout:
    """The example as a git repository with an origin, not set up for codeboost."""
    top = tmp_path / "payments"
    shutil.copytree(ROOT / "examples/payments/project", top)
    checkout = Checkout(top, tmp_path / "home", environment)
    checkout.git("init", "-q", "-b", "main")
    checkout.git("remote", "add", "origin", "https://github.com/example/payments.git")
    checkout.commit("Base")
    return checkout


@pytest.fixture
def checkout(bare_checkout: Checkout) -> Checkout:
    """The example, set up for codeboost and committed."""
    done = bare_checkout.call("init", "--image", IMAGE)
    assert done.code == 0, done.err
    bare_checkout.commit("Use codeboost")
    return bare_checkout
