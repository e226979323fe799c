"""``planr init``: what it makes, what it leaves alone, and a hook that works in real commits."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[3]
Git = Callable[..., str]
BAD = "---\nid: A-1\n---\n"
GOOD = "---\nid: A-1\ntitle: t\nstatus: open\ntrack: c\n---\n"


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A folder with a ``planr`` command of this checkout."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "planr"
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH="{REPOSITORY}" exec "{sys.executable}" -m codeboost.cli.planr "$@"\n'
    )
    command.chmod(0o755)
    return folder


@pytest.fixture
def repo(tmp_path: Path, git: Git) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def try_commit(folder: Path, path: str) -> subprocess.CompletedProcess[bytes]:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    environment = {"PATH": path, "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "add", "-A"], cwd=folder, env=environment, check=True)
    return subprocess.run(
        ["git", *identity, "commit", "-q", "-m", "x"],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    )


def check_hook(planning: Path, folder: Path, bin_folder: Path) -> None:
    with_planr = f"{bin_folder}:{os.environ['PATH']}"
    (planning / "A-1.md").write_text(BAD)
    refused = try_commit(folder, with_planr)
    assert refused.returncode == 1, refused
    assert b"A-1.md" in refused.stderr
    without = try_commit(folder, "/usr/bin:/bin")
    assert without.returncode == 0, without
    (planning / "A-1.md").write_text(GOOD)
    assert try_commit(folder, with_planr).returncode == 0


def test_a_fresh_root(repo: Path, planr: Callable[..., Any], bin_folder: Path) -> None:
    said = planr("init", "--root", repo)
    assert said.code == 0, said
    made = {
        str(path.relative_to(repo))
        for path in repo.rglob("*")
        if path.is_file() and ".git/" not in f"{path}/"
    }
    assert {"tasks/README.md", "planr.config.json", "plans/goal-template.md", ".gitignore"} <= made
    assert (repo / ".gitignore").read_text() == ".planr/board.html\n"
    assert planr("list", "--root", repo, "--json").data == []
    assert planr("check", "--strict", "--root", repo).code == 0
    check_hook(repo / "tasks", repo, bin_folder)


def test_nothing_is_overwritten(repo: Path, planr: Callable[..., Any]) -> None:
    mine = {
        "tasks/README.md": "mine",
        "planr.config.json": '{"goalsDir": "goals"}',
        "goals/goal-template.md": "mine too",
        ".gitignore": "*.o",
        ".git/hooks/pre-commit": "#!/bin/sh\nexit 0\n",
    }
    for name, content in mine.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(content)
    said = planr("init", "--root", repo)
    assert said.code == 0
    assert "pre-commit hook of its own" in said.err
    mine[".gitignore"] = "*.o\n.planr/board.html\n"
    assert {name: (repo / name).read_text() for name in mine} == mine
    again = planr("init", "--root", repo, "--json")
    assert again.data["written"] == []
    assert {name: (repo / name).read_text() for name in mine} == mine


def test_in_repo(
    repo: Path, planr: Callable[..., Any], bin_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "src").mkdir()
    monkeypatch.chdir(repo / "src")
    assert planr("init", "--in-repo").code == 0
    assert (repo / ".planr/tasks/README.md").is_file()
    assert (repo / ".planr/plans/goal-template.md").is_file()
    assert (repo / ".gitignore").read_text() == ".planr/board.html\n"
    (repo / ".planr/tasks/A-1.md").write_text(GOOD)
    assert [task["file"] for task in planr("list", "--json").data] == [".planr/tasks/A-1.md"]
    check_hook(repo / ".planr/tasks", repo, bin_folder)


def test_a_root_below_the_top(repo: Path, planr: Callable[..., Any], bin_folder: Path) -> None:
    below = repo / "it's a plan"
    below.mkdir()
    assert planr("init", "--root", below).code == 0
    check_hook(below / "tasks", repo, bin_folder)


def test_hook_in_a_worktree(
    repo: Path, git: Git, planr: Callable[..., Any], bin_folder: Path, tmp_path: Path
) -> None:
    planr("init", "--root", repo)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--no-verify", "-m", "x")
    git(repo, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    check_hook(tmp_path / "tree" / "tasks", tmp_path / "tree", bin_folder)


def test_init_in_a_worktree(
    repo: Path, git: Git, planr: Callable[..., Any], bin_folder: Path, tmp_path: Path
) -> None:
    git(repo, "commit", "-q", "--allow-empty", "-m", "x")
    git(repo, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    assert planr("init", "--root", tmp_path / "tree").code == 0
    check_hook(tmp_path / "tree" / "tasks", tmp_path / "tree", bin_folder)


def test_hook_with_a_hooks_path(repo: Path, git: Git, planr: Callable[..., Any], bin_folder: Path) -> None:
    git(repo, "config", "core.hooksPath", ".githooks")
    planr("init", "--root", repo)
    assert (repo / ".githooks/pre-commit").is_file()
    check_hook(repo / "tasks", repo, bin_folder)


def test_hooks_that_all_repositories_share_are_left_alone(
    repo: Path, planr: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[core]\n\thooksPath = ~/hooks\n")
    monkeypatch.setenv("HOME", str(home))
    said = planr("init", "--root", repo)
    assert said.code == 0
    assert "serves all your repositories" in said.err
    assert not (home / "hooks").exists()


def test_where_there_is_no_repository(tmp_path: Path, planr: Callable[..., Any]) -> None:
    said = planr("init", "--root", tmp_path)
    assert said.code == 0
    assert "no git repository" in said.err
    assert planr("init", "--in-repo", "--root", tmp_path).code == 2
    assert planr("init", "--root", tmp_path / "absent").code == 2


def test_the_files_fit_each_other(tmp_path: Path, planr: Callable[..., Any]) -> None:
    planr("init", "--root", tmp_path)
    (tmp_path / "plans/first-goal.md").write_bytes((tmp_path / "plans/goal-template.md").read_bytes())
    assert planr("goal", "first", "--json", "--root", tmp_path).data["state"] == "draft"


def test_a_folder_whose_name_is_not_utf8_gets_everything_and_a_hook(
    repo: Path, planr: Any, bin_folder: Path
) -> None:
    planning = Path(os.fsdecode(os.fsencode(repo) + b"/caf\xe9"))
    planning.mkdir()
    assert planr("init", "--root", planning).code == 0
    check_hook(planning / "tasks", repo, bin_folder)


@pytest.mark.parametrize("name", ["#board.html", "!board.html"])
def test_a_board_whose_name_git_would_take_for_something_else_is_ignored(
    repo: Path, planr: Any, git: Git, name: str
) -> None:
    (repo / "planr.config.json").write_text(f'{{"boardOut": "{name}"}}')
    assert planr("init", "--root", repo).code == 0
    assert git(repo, "check-ignore", name).strip().strip('"') == name
    assert planr("init", "--root", repo).code == 0
    assert (repo / ".gitignore").read_text().count(name) == 1


@pytest.mark.parametrize("limit", [0, 200])
def test_a_full_disk_leaves_no_half_file(tmp_path: Path, planr: Callable[..., Any], limit: int) -> None:
    """What is there is kept the next time, so it must be whole."""
    script = (
        "import resource, sys; from codeboost.cli.planr import run;"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}));"
        "sys.exit(run(['init', '--root', sys.argv[1]]))"
    )
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], env=environment, capture_output=True, check=False
    )
    assert done.returncode == 1, done
    failed = "planr.config.json" if limit == 0 else "tasks/README.md"
    assert failed.encode() in done.stderr
    assert not (tmp_path / failed).exists()
    assert failed in planr("init", "--json", "--root", tmp_path).data["written"]
    assert planr("check", "--root", tmp_path).code == 0
