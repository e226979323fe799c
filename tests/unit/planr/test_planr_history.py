"""History from real repositories: subfolders, merges, shallow clones, odd bytes, and settings that must not matter."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from codeboost.planr.board import build_board_data
from codeboost.planr.history import HistoryReader
from codeboost.planr.workspace import Workspace

Git = Callable[..., str]


def task(task_id: str, status: str = "open") -> bytes:
    return f"---\nid: {task_id}\ntitle: t\nstatus: {status}\ntrack: c\n---\nBody\n".encode()


def put(root: Path, task_id: str, status: str = "open") -> None:
    path = root / f"tasks/{task_id}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(task(task_id, status))


def commit(git: Git, folder: Path, subject: str, **env: str) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "--allow-empty-message", "-m", subject, env=env)
    return git(folder, "rev-parse", "HEAD").strip()


def board(root: Path) -> Any:
    with HistoryReader(root) as reader:
        workspace = Workspace.load(root, keep_sources=True)
        assert not workspace.errors
        return build_board_data(workspace, reader)


def changes(data: Any) -> list[list[tuple[str, str | None, str]]]:
    return [
        [(change["id"], change["from"], change["to"]) for change in run["changes"]] for run in data["runs"]
    ]


@pytest.fixture
def repo(tmp_path: Path, git: Git) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def test_a_root_in_a_subfolder(repo: Path, git: Git) -> None:
    put(repo / "deep/plan", "A-1")
    put(repo, "Z-9")
    commit(git, repo, "one")
    put(repo / "deep/plan", "A-1", "done")
    put(repo, "Z-9", "done")
    commit(git, repo, "two")
    data = board(repo / "deep/plan")
    assert changes(data) == [[], [("A-1", "open", "done")]]
    assert data["project"] == "plan"
    assert data["dirty"] is False
    put(repo, "Z-9", "review")
    assert board(repo / "deep/plan")["dirty"] is False


def test_a_merge_is_one_run_against_its_first_parent(repo: Path, git: Git) -> None:
    put(repo, "A-1")
    put(repo, "A-2")
    commit(git, repo, "start")
    git(repo, "checkout", "-q", "-b", "side")
    put(repo, "A-1", "in-progress")
    commit(git, repo, "side 1")
    put(repo, "A-1", "done")
    commit(git, repo, "side 2")
    git(repo, "checkout", "-q", "main")
    put(repo, "A-2", "blocked")
    commit(git, repo, "main 1")
    git(repo, "merge", "-q", "--no-ff", "-m", "merged", "side")
    data = board(repo)
    assert [run["subject"] for run in data["runs"]] == ["start", "main 1", "merged"]
    assert changes(data)[2] == [("A-1", "open", "done")]


def test_a_shallow_clone_says_so(repo: Path, git: Git, tmp_path: Path) -> None:
    put(repo, "A-1")
    commit(git, repo, "one")
    put(repo, "A-1", "done")
    put(repo, "A-2")
    commit(git, repo, "two")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", "clone")
    data = board(clone)
    assert [(run["subject"], run["initial"], run["total"]) for run in data["runs"]] == [("two", True, 2)]
    assert any("shallow" in warning for warning in data["warnings"])


def test_no_repository_and_no_commit(tmp_path: Path, git: Git) -> None:
    put(tmp_path, "A-1")
    data = board(tmp_path)
    assert data["runs"] == []
    assert any("no git repository" in warning for warning in data["warnings"])
    git(tmp_path, "init", "-q")
    data = board(tmp_path)
    assert [(run["commit"], run["initial"], run["changes"], run["total"]) for run in data["runs"]] == [
        (None, True, [], 1)
    ]
    assert (data["commit"], data["dirty"], data["warnings"]) == ("", True, [])


def test_odd_bytes_in_commits(repo: Path, git: Git) -> None:
    subjects = [b"caf\xe9", b"", b"tab\tand \x1f%x00", b":100644 100644 fake", b"\xff" * 3]
    for number, subject in enumerate(subjects):
        put(repo, f"A-{number}")
        git(repo, "add", "-A")
        tree = git(repo, "write-tree").strip()
        head = subprocess.run(
            ["git", "rev-parse", "-q", "--verify", "HEAD"], cwd=repo, capture_output=True, check=False
        )
        parent = b"parent " + head.stdout.strip() + b"\n" if head.returncode == 0 else b""
        who = b"\xfe\xff <a@b> 1700000000 +0000"
        raw = (
            b"tree "
            + tree.encode()
            + b"\n"
            + parent
            + b"author "
            + who
            + b"\ncommitter "
            + who
            + b"\n\n"
            + subject
            + b"\n"
        )
        made = subprocess.run(
            ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
            cwd=repo,
            input=raw,
            capture_output=True,
            check=True,
        )
        git(repo, "update-ref", "HEAD", made.stdout.decode().strip())
    data = board(repo)
    assert [run["subject"] for run in data["runs"]] == [
        "caf\ufffd",
        "",
        "tab\tand \x1f%x00",
        ":100644 100644 fake",
        "\ufffd" * 3,
    ]
    assert [run["total"] for run in data["runs"]] == [1, 2, 3, 4, 5]
    assert json.loads(json.dumps(data))["runs"] == data["runs"]


@pytest.mark.parametrize("moment", ["-5 +9999", "", "99999999999999999999 +0000", "yesterday"])
def test_a_commit_without_a_date_has_one_all_the_same(repo: Path, git: Git, moment: str) -> None:
    """git prints its own placeholder for such a date; what is shown is the date that `git log` shows."""
    put(repo, "A-1")
    git(repo, "add", "-A")
    tree = git(repo, "write-tree").strip()
    raw = f"tree {tree}\nauthor A <a@b> 0 +0000\ncommitter A <a@b> {moment}\n\nOdd\n"
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
        cwd=repo,
        input=raw.encode(),
        capture_output=True,
        check=True,
    )
    git(repo, "update-ref", "HEAD", made.stdout.decode().strip())
    data = board(repo)
    dates = [*(run["date"] for run in data["runs"]), data["commit"].partition(" · ")[2]]
    assert len(dates) == 2
    assert all(datetime.fromisoformat(date).tzinfo for date in dates), dates


def test_an_old_version_in_another_encoding(repo: Path, git: Git) -> None:
    put(repo, "A-1")
    commit(git, repo, "start")
    (repo / "tasks/A-1.md").write_bytes(task("A-1", "done").replace(b"title: t", b"title: \xe4"))
    commit(git, repo, "latin")
    put(repo, "A-1", "review")
    commit(git, repo, "good again")
    data = board(repo)
    assert changes(data) == [[], [("A-1", "open", "review")]]
    assert sum("tasks/A-1.md" in warning for warning in data["warnings"]) == 1


def test_names_that_are_not_ascii(repo: Path, git: Git) -> None:
    put(repo, "MÜLL-1")
    put(repo, "täsk \"q\" 'x'")
    commit(git, repo, "one")
    put(repo, "MÜLL-1", "done")
    commit(git, repo, "two")
    data = board(repo)
    assert changes(data) == [[], [("MÜLL-1", "open", "done")]]
    assert data["dirty"] is False
    put(repo, "MÜLL-1", "review")
    data = board(repo)
    assert changes(data)[2] == [("MÜLL-1", "done", "review")]
    assert data["dirty"] is True


def test_settings_of_the_person_and_the_checkout_change_nothing(
    repo: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(repo, "A-1")
    put(repo, "A-2")
    commit(git, repo, "one")
    (repo / "tasks/A-2.md").unlink()
    put(repo, "A-3")
    put(repo, "A-1", "done")
    commit(git, repo, "two")
    plain = board(repo)
    trace = tmp_path / "ran"
    hostile = f"""
[color]
    ui = always
[log]
    showSignature = true
    date = relative
    showRoot = false
    follow = true
    diffMerges = combined
[diff]
    external = touch {trace}
    noprefix = true
    renames = copies
    relative = true
    orderFile = nowhere
[core]
    pager = touch {trace}
    fsmonitor = touch {trace}
    quotePath = true
[i18n]
    logOutputEncoding = latin1
[format]
    pretty = fuller
[filter "x"]
    clean = touch {trace}
    smudge = touch {trace}
"""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(hostile)
    with (repo / ".git/config").open("a") as config:
        config.write(hostile)
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/attributes").write_text("*.md filter=x diff=x\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {trace}")
    os.utime(repo / "tasks/A-1.md")
    after = board(repo)
    assert after | {"generatedAt": ""} == plain | {"generatedAt": ""}
    assert changes(after) == [
        [],
        [("A-1", "open", "done"), ("A-2", "open", "removed"), ("A-3", None, "open")],
    ]
    assert not trace.exists()


DIRTY: list[tuple[str, Callable[[Path], object], bool]] = [
    ("nothing", Path.stat, False),
    ("a body", lambda root: (root / "tasks/A-1.md").write_bytes(task("A-1") + b"more"), True),
    ("a note", lambda root: (root / "tasks/notes.txt").write_text("x"), True),
    ("an ignored file", lambda root: (root / "tasks/x.ignored").write_text("x"), False),
    ("a goal", lambda root: (root / "plans/g-goal.md").write_text("# g"), True),
    ("a removal", lambda root: (root / "tasks/A-1.md").unlink(), True),
    ("something else", lambda root: (root / "code.py").write_text("x"), False),
    (
        "line ends alone",
        lambda root: (root / "tasks/A-1.md").write_bytes(task("A-1").replace(b"\n", b"\r\n")),
        True,
    ),
    ("the executable bit", lambda root: (root / "tasks/A-1.md").chmod(0o755), True),
    ("an ignored task", lambda root: (root / "tasks/I-1.md").write_bytes(task("I-1")), True),
]


@pytest.mark.parametrize(("change", "dirty"), [case[1:] for case in DIRTY], ids=[case[0] for case in DIRTY])
def test_dirty(repo: Path, git: Git, change: Callable[[Path], object], dirty: bool) -> None:
    put(repo, "A-1")
    (repo / "plans").mkdir()
    (repo / ".gitignore").write_text("*.ignored\nI-*\n")
    commit(git, repo, "one")
    change(repo)
    assert board(repo)["dirty"] is dirty


@pytest.mark.parametrize(
    ("config", "attributes"),
    [
        ({"core.autocrlf": "true"}, ""),
        ({"core.autocrlf": "input"}, ""),
        ({}, "*.md text\n"),
        ({}, "tasks/* eol=crlf\n"),
    ],
)
def test_line_ends_that_git_was_told_to_convert_are_no_difference(
    repo: Path, git: Git, config: dict[str, str], attributes: str
) -> None:
    put(repo, "A-1")
    (repo / ".gitattributes").write_text(attributes)
    commit(git, repo, "one")
    for name, value in config.items():
        git(repo, "config", name, value)
    (repo / "tasks/A-1.md").write_bytes(task("A-1").replace(b"\n", b"\r\n"))
    assert board(repo)["dirty"] is False


def test_modes_mean_nothing_where_git_does_not_trust_them(repo: Path, git: Git) -> None:
    put(repo, "A-1")
    commit(git, repo, "one")
    git(repo, "config", "core.fileMode", "false")
    (repo / "tasks/A-1.md").chmod(0o755)
    assert board(repo)["dirty"] is False


def test_a_link_has_no_history(repo: Path, git: Git) -> None:
    put(repo, "A-1")
    (repo / "real.md").write_bytes(task("A-2"))
    (repo / "tasks/A-2.md").symlink_to("../real.md")
    commit(git, repo, "one")
    data = board(repo)
    assert [(run["total"], run["initial"]) for run in data["runs"]] == [(1, True)]
    assert any("is a link" in warning for warning in data["warnings"])
    assert data["dirty"] is False


def test_a_task_that_was_a_link_once_is_a_task_like_any_other(repo: Path, git: Git) -> None:
    put(repo, "A-2")
    (repo / "real.md").write_bytes(task("A-1"))
    (repo / "tasks/A-1.md").symlink_to("../real.md")
    commit(git, repo, "one")
    (repo / "tasks/A-1.md").unlink()
    put(repo, "A-1")
    commit(git, repo, "two")
    data = board(repo)
    assert [(run["commit"] is None, run["total"]) for run in data["runs"]] == [(False, 1), (False, 2)]
    assert data["dirty"] is False


@pytest.mark.parametrize("file", ["tasks/A-2.md", "plans/g-goal.md"])
def test_what_is_staged_differs_too(repo: Path, git: Git, file: str) -> None:
    put(repo, "A-1")
    (repo / "plans").mkdir()
    commit(git, repo, "one")
    assert board(repo)["dirty"] is False
    (repo / file).write_bytes(task("A-2") if "A-2" in file else b"---\ntitle: G\nstate: draft\n---\n")
    git(repo, "add", "-A")
    assert board(repo)["dirty"] is True


def test_a_root_that_a_link_leads_to(repo: Path, git: Git, tmp_path: Path) -> None:
    (repo / "plan").mkdir()
    (repo / "tasks").mkdir(exist_ok=True)
    (repo / "tasks").rename(repo / "plan/tasks")
    put(repo / "plan", "A-1")
    commit(git, repo, "one")
    git(repo, "config", "core.abbrev", "5")
    (tmp_path / "link").symlink_to(repo / "plan")
    data = board(tmp_path / "link")
    assert len(data["runs"]) == 1
    assert len(data["commit"].split()[0]) >= 7


def test_a_broken_repository_is_a_warning(repo: Path, git: Git) -> None:
    put(repo, "A-1")
    head = commit(git, repo, "one")
    tree = git(repo, "rev-parse", "HEAD^{tree}").strip()
    (repo / ".git/objects" / tree[:2] / tree[2:]).unlink()
    data = board(repo)
    assert data["runs"] == []
    assert any("cannot be read" in warning for warning in data["warnings"])
    assert head
