"""How many git processes a planr command starts: none where no history is read, and a fixed few where it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TASK = "---\nid: {}\ntitle: t\nstatus: open\ntrack: c\n---\n"


@pytest.fixture
def root(tmp_path: Path, git: Callable[..., str]) -> Path:
    """Twenty tasks in twenty commits: the number of processes must not grow with them."""
    folder = tmp_path / "root"
    (folder / "tasks").mkdir(parents=True)
    (folder / "plans").mkdir()
    (folder / "plans/g-goal.md").write_text("---\ntitle: g\nstate: draft\nscope: [A-1]\n---\n")
    git(folder, "init", "-q")
    for number in range(20):
        (folder / f"tasks/A-{number}.md").write_text(TASK.format(f"A-{number}"))
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", f"Add {number}")
    return folder


@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        (["list"], 0),
        (["list", "--json"], 0),
        (["next", "--goal", "g"], 0),
        (["goal", "g"], 0),
        (["goal", "g", "approved"], 0),
        (["set", "A-1", "done"], 0),
        (["check"], 5),
        (["board"], 10),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_git_processes(
    arguments: list[str], most: int, root: Path, tmp_path: Path, planr_process: Callable[..., Any]
) -> None:
    real = shutil.which("git")
    shim, calls = tmp_path / "bin/git", tmp_path / "calls"
    shim.parent.mkdir()
    calls.touch()
    shim.write_text(f'#!/bin/sh\necho "$@" >>"{calls}"\nexec "{real}" "$@"\n')
    shim.chmod(0o755)
    said = planr_process(*arguments, cwd=root, env={"PATH": f"{shim.parent}:{os.environ['PATH']}"})
    assert said.returncode == 0, said
    started = calls.read_text().splitlines()
    assert len(started) <= most, started
