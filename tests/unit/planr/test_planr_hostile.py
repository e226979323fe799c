"""Folders that were made to harm: pipes in place of files, links and settings that lead elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Git = Callable[..., str]
Process = Callable[..., Any]
TASK = "---\nid: A-1\ntitle: t\nstatus: open\ntrack: c\n---\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "tasks").mkdir(parents=True)
    (folder / "plans").mkdir()
    (folder / "tasks/A-1.md").write_text(TASK)
    return folder


@pytest.mark.parametrize(
    ("pipe", "arguments"),
    [
        ("planr.config.json", ["check"]),
        ("tasks/F.md", ["check"]),
        ("plans/f-goal.md", ["list"]),
        (".planr/board.html", ["board"]),
        ("out.html", ["board", "--out", "out.html"]),
        (".gitignore", ["init"]),
    ],
)
@pytest.mark.parametrize("writer", [False, True])
def test_a_pipe_holds_nothing_up(
    root: Path, planr_process: Process, pipe: str, arguments: list[str], *, writer: bool
) -> None:
    """Whether somebody holds its other end or not."""
    path = root / pipe
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    held = os.open(path, os.O_RDWR) if writer else None
    try:
        said = planr_process(*arguments, cwd=root)
    finally:
        if held is not None:
            os.close(held)
    assert said.returncode == 1, said
    assert said.stderr.count(b"\n") == 1
    assert Path(pipe).name.encode() in said.stderr


def test_a_committed_file_that_became_a_pipe_is_a_change(
    root: Path, planr_process: Process, git: Git
) -> None:
    (root / "plans/note.md").write_text("x")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "c")
    (root / "plans/note.md").unlink()
    os.mkfifo(root / "plans/note.md")
    held = os.open(root / "plans/note.md", os.O_RDWR)
    try:
        said = planr_process("board", "--json", cwd=root)
    finally:
        os.close(held)
    assert json.loads(said.stdout)["dirty"] is True


def test_a_hook_that_is_a_pipe_is_kept(root: Path, planr_process: Process, git: Git) -> None:
    git(root, "init", "-q")
    hook = root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    os.mkfifo(hook)
    said = planr_process("init", "--json", cwd=root)
    assert said.returncode == 0, said
    assert "a pre-commit hook of its own" in json.loads(said.stdout)["notes"][0]


@pytest.mark.parametrize("exists", [True, False])
def test_init_writes_through_no_link_that_leads_out(
    root: Path, tmp_path: Path, planr: Callable[..., Any], *, exists: bool
) -> None:
    """Such a link can name a file that a shell runs, and boardOut can hold a command."""
    outside = tmp_path / "profile"
    if exists:
        outside.write_text("mine\n")
    (root / ".gitignore").symlink_to(outside)
    (root / "planr.config.json").write_text(json.dumps({"boardOut": "x; touch y"}))
    said = planr("init", "--root", root, "--json")
    assert said.code == 0, said
    assert any(".gitignore" in note for note in said.data["notes"])
    assert ".gitignore" in said.data["kept"]
    assert outside.exists() is exists
    if exists:
        assert outside.read_text() == "mine\n"


@pytest.mark.parametrize("key", ["tasksDir", "goalsDir", "boardOut"])
@pytest.mark.parametrize("value", [".git", ".git/info", ".GIT/x", "sub/.git/x", "link/x"])
def test_no_configured_path_leads_into_a_git_folder(
    root: Path, planr: Callable[..., Any], key: str, value: str
) -> None:
    """What is written there would change what git does."""
    (root / ".git").mkdir()
    (root / "link").symlink_to(".git")
    (root / "planr.config.json").write_text(json.dumps({key: value}))
    said = planr("check", "--root", root, "--json")
    assert said.code == 1
    assert f"{key} " in said.data["errors"][0]
    assert planr("init", "--root", root, "--json").code == 1
    assert list((root / ".git").iterdir()) == []
