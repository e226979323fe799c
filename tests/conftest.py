"""What many tests need: planr in this process and as a process, and git repositories that no user setting touches."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

# How long one example takes says nothing while other tests run beside it; what must be quick has a test of its own.
settings.register_profile("codeboost", deadline=None)
settings.load_profile("codeboost")

ROOT = Path(__file__).parent.parent


class Said(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


@pytest.fixture
def planr(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """Run a ``planr`` command line in this process: quick, and all of it but the interpreter's start."""
    from codeboost.cli.planr import run

    def call(*arguments: object) -> Said:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = run([os.fspath(word) if isinstance(word, Path) else str(word) for word in arguments])
        texts = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]  # type: ignore[attr-defined]
        return Said(code, *texts)

    return call


@pytest.fixture
def planr_process() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run ``planr`` as a process of its own, in ``cwd``, with ``env`` added to the environment."""

    def call(
        *arguments: object, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "codeboost.cli.planr", *map(str, arguments)],
            cwd=cwd,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | (env or {}),
            capture_output=True,
            check=False,
            timeout=60,
        )

    return call


@pytest.fixture
def git() -> Callable[..., str]:
    """Run git in a folder as nobody in particular: ``git(folder, "commit", ...)`` gives its output."""

    def call(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        settings = {
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@example.org",
        }
        done = subprocess.run(
            ["git", "-c", "init.defaultBranch=main", *arguments],
            cwd=folder,
            env=clean | settings | (env or {}),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout.decode("utf-8", "replace")

    return call
