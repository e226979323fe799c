"""Hostile checkouts: whatever ``.git`` says, nothing of it runs here and the tree is that of the commit."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from codeboost.gitrepo import GitRepo
from codeboost.sandbox.base import SnapshotSpec
from codeboost.verdict import Verdict


@pytest.fixture
def alarm(tmp_path: Path) -> Path:
    """A file that exists once something of the checkout's configuration has run."""
    return tmp_path / "alarm"


def poison(lab: Any, alarm: Path) -> None:
    """Everything in a checkout's own configuration that names a program."""
    program = alarm.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch {alarm}\ncat\n")
    program.chmod(0o755)
    settings = f"""
[core]
\tfsmonitor = {program}
\tsshCommand = {program}
\teditor = {program}
\tpager = {program}
\taskPass = {program}
\tgitProxy = {program}
\talternateRefsCommand = {program}
\thooksPath = {alarm.parent}/hooks
\tattributesFile = {alarm.parent}/attributes
\tworktree = /
\tbare = true
[filter "evil"]
\tclean = {program}
\tsmudge = {program}
\tprocess = {program}
\trequired = true
[diff]
\texternal = {program}
[diff "evil"]
\tcommand = {program}
\ttextconv = {program}
[merge "evil"]
\tdriver = {program}
[credential]
\thelper = {program}
[gpg]
\tprogram = {program}
[pager]
\tstatus = {program}
\tls-tree = {program}
\tcat-file = {program}
[alias]
\tstatus = !{program}
\tcat-file = !{program}
[uploadpack]
\tpackObjectsHook = {program}
[extensions]
\tpartialClone = evil
[remote "evil"]
\turl = ext::{program}
\tpromisor = true
\tpartialclonefilter = blob:none
\tuploadpack = {program}
[trace2]
\teventTarget = {alarm}
[include]
\tpath = {alarm.parent}/more
"""
    (alarm.parent / "more").write_text(f"[core]\n\tfsmonitor = {program}\n")
    (alarm.parent / "attributes").write_text("* filter=evil diff=evil merge=evil\n")
    hooks = alarm.parent / "hooks"
    hooks.mkdir()
    for name in (
        "post-checkout",
        "pre-commit",
        "post-index-change",
        "reference-transaction",
        "fsmonitor-watchman",
    ):
        for folder in (hooks, lab.repo.path / ".git" / "hooks"):
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(program.read_text())
            (folder / name).chmod(0o755)
    with (lab.repo.path / ".git" / "config").open("a") as file:
        file.write(settings)
    (lab.repo.path / ".git" / "info").mkdir(exist_ok=True)
    (lab.repo.path / ".git" / "info" / "attributes").write_text(
        "* filter=evil diff=evil merge=evil ident text\n"
    )


def take(lab: Any, commit: str) -> None:
    snapshot = lab.executor.take_snapshot(SnapshotSpec(lab.repo.path, commit, lab.image_id, git=True))
    lab._snapshots.clear()
    lab._snapshots[commit] = snapshot


class Frozen:
    """A repository that is only asked for the commit under test: git itself is not run in a poisoned checkout."""

    def __init__(self, path: Path, commit: str) -> None:
        self.path = path
        self.commit_id = commit

    def git(self, *_arguments: str) -> str:
        return self.commit_id


def test_programs_that_the_configuration_names_never_run(lab: Any, alarm: Any) -> None:
    lab.repo.write("a.txt", "a\r\nb\n").write("keep", "1").write(".gitattributes", "*.txt filter=evil text\n")
    commit = lab.repo.commit()
    poison(lab, alarm)
    (lab.repo.path / "keep").write_text("2")
    os.utime(lab.repo.path / "a.txt", (1, 1))
    found = GitRepo.open(lab.repo.path / ".git" / "..")
    assert found.top.samefile(lab.repo.path)
    assert found.find_commit("HEAD") == commit
    assert found.find_commit("0" * 40) is None
    assert "keep" in found.list_changes()
    assert found.read_file(commit, "keep") == b"1"
    assert [entry.path for entry in found.list_tree(commit, sizes=True)] == [
        b".gitattributes",
        b"a.txt",
        b"keep",
    ]
    take(lab, commit)
    lab.repo = Frozen(lab.repo.path, commit)
    assert lab.run("cat", "a.txt", "keep").stdout.head == b"a\nb\n1"
    assert lab.run("git", "status", "--porcelain").stdout.head == b""
    assert not alarm.exists()


def test_the_alarm_would_have_gone_off(lab: Any, alarm: Any) -> None:
    lab.repo.write("a.txt", "1").write(".gitattributes", "*.txt filter=evil\n").commit()
    poison(lab, alarm)
    config = lab.repo.path / ".git" / "config"
    config.write_text(config.read_text().replace("\tworktree = /\n", "").replace("\tbare = true\n", ""))
    os.utime(lab.repo.path / "a.txt", (1, 1))
    with contextlib.suppress(subprocess.CalledProcessError):
        lab.repo.git("status")
    assert alarm.exists()


def test_replace_refs_and_grafts_change_nothing(lab: Any) -> None:
    lab.repo.write("a", "reviewed")
    first = lab.repo.commit()
    lab.repo.write("a", "forged")
    second = lab.repo.commit()
    old, new = (lab.repo.git("rev-parse", f"{commit}:a") for commit in (first, second))
    lab.repo.git("replace", old, new)
    lab.repo.git("replace", first, second)
    (lab.repo.path / ".git" / "info").mkdir(exist_ok=True)
    (lab.repo.path / ".git" / "info" / "grafts").write_text(f"{second}\n")
    found = GitRepo.open(lab.repo.path)
    assert found.read_file(first, "a") == b"reviewed"
    assert found.is_ancestor(first, second)
    take(lab, first)
    lab.repo = Frozen(lab.repo.path, first)
    assert lab.run("cat", "a").stdout.head == b"reviewed"


def test_alternates_bring_only_what_a_commit_names(lab: Any, make_repo: Any) -> None:
    other = make_repo("private").write("secret", "of another repository")
    other.commit()
    lab.repo.write("a", "1")
    commit = lab.repo.commit()
    (lab.repo.path / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (lab.repo.path / ".git" / "objects" / "info" / "alternates").write_text(f"{other.path}/.git/objects\n")
    take(lab, commit)
    lab.repo = Frozen(lab.repo.path, commit)
    outcome = lab.run("sh", "-c", "ls -A; git cat-file --batch-all-objects --batch-check | wc -l")
    assert outcome.stdout.head == b".git\na\n3\n"


def test_a_bare_repository_inside_the_tree_is_not_taken_for_the_repository(
    lab: Any, make_repo: Any, alarm: Any
) -> None:
    inner = lab.repo.path / "fixtures" / "evil.git"
    for folder in ("objects", "refs"):
        (inner / folder).mkdir(parents=True)
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    (inner / "config").write_text(f"[core]\n\tbare = true\n\tfsmonitor = touch {alarm}\n")
    found = GitRepo.open(inner)
    assert found.top.samefile(lab.repo.path)
    found.list_changes()
    assert not alarm.exists()


def test_a_git_file_that_points_elsewhere_is_followed_only_for_objects(
    lab: Any, make_repo: Any, tmp_path: Any
) -> None:
    lab.repo.write("a", "1")
    commit = lab.repo.commit()
    moved = tmp_path / "moved.git"
    (lab.repo.path / ".git").rename(moved)
    (lab.repo.path / ".git").write_text(f"gitdir: {moved}\n")
    found = GitRepo.open(lab.repo.path)
    assert found.top.samefile(lab.repo.path)
    assert found.list_changes() == []
    assert found.read_file(commit, "a") == b"1"


def test_a_missing_object_is_not_fetched(lab: Any, alarm: Any) -> None:
    lab.repo.write("a", "1").write("b", "2")
    commit = lab.repo.commit()
    oid = lab.repo.git("rev-parse", "HEAD:b")
    poison(lab, alarm)
    (lab.repo.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(Exception, match="missing") as caught:
        lab.executor.take_snapshot(SnapshotSpec(lab.repo.path, commit, lab.image_id, git=True))
    assert caught.value.exit_code == 1
    assert not alarm.exists()


def test_a_tree_of_hostile_names(lab: Any) -> None:
    names = [
        "-rf",
        "--help",
        "$(touch pwn)",
        "`x`",
        "a;b",
        "\x1b[31mred\x1b[0m",
        "\u202egnp.exe",
        "CON",
        "a\nb",
        " ",
        "~",
        "%s%n",
    ]
    for name in names:
        lab.repo.write(f"d/{name}", name)
    text = "import os, json; print(json.dumps(sorted(os.listdir('d'))))"
    outcome = lab.python(text)
    assert outcome.verdict is Verdict.PASSED
    assert json.loads(outcome.stdout.head) == sorted(names)
