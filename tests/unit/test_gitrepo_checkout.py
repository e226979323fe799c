"""What is asked of a checkout without trusting its ``.git``. Whole attacks: tests/engine/attacks/test_repository.py."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from codeboost.errors import GitError
from codeboost.gitrepo import GitRepo

Git = Callable[..., str]


@pytest.fixture
def checkout(tmp_path: Path, git: Git) -> Path:
    git(tmp_path, "init", "-q", ".")
    (tmp_path / "folder").mkdir()
    (tmp_path / "a").write_text("one")
    (tmp_path / "folder" / "b").write_text("b")
    (tmp_path / ".gitignore").write_text("*.log\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "x")
    return tmp_path


def test_changes_of_every_kind(checkout: Path, git: Git) -> None:
    repo = GitRepo.open(checkout / "folder")
    assert repo.list_changes() == []
    (checkout / "a").write_text("changed")
    (checkout / "folder" / "b").unlink()
    (checkout / "new").write_text("")
    (checkout / "x.log").write_text("ignored")
    (checkout / "staged").write_text("")
    git(checkout, "add", "staged")
    assert sorted(repo.list_changes()) == ["a", "folder/b", "new", "staged"]


def test_a_change_in_the_second_of_the_commit_is_seen(checkout: Path, git: Git) -> None:
    moment = (1_700_000_000, 1_700_000_000)
    os.utime(checkout / "a", moment)
    git(checkout, "update-index", "--refresh")
    os.utime(checkout / ".git" / "index", moment)
    (checkout / "a").write_text("two")
    os.utime(checkout / "a", moment)
    assert GitRepo.open(checkout).list_changes() == ["a"]


def test_nothing_is_written_into_the_checkout(checkout: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in checkout.rglob("*")}
    os.utime(checkout / "a", (1, 1))
    before[checkout / "a"] = (checkout / "a").stat().st_mtime_ns
    assert GitRepo.open(checkout).list_changes() == []
    assert {path: path.stat().st_mtime_ns for path in checkout.rglob("*")} == before


def test_private_excludes_count_and_a_damaged_index_does_not_stop_it(checkout: Path) -> None:
    (checkout / ".git" / "info" / "exclude").write_text("private\n")
    (checkout / "private").write_text("")
    repo = GitRepo.open(checkout)
    assert repo.list_changes() == []
    (checkout / ".git" / "index").write_bytes(b"DIRC rubbish")
    assert repo.list_changes() == []


def test_before_the_first_commit_everything_is_a_change(tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", ".")
    (tmp_path / "a").write_text("")
    assert GitRepo.open(tmp_path).list_changes() == ["a"]


def test_where_the_work_tree_is_follows_from_where_git_lies(checkout: Path, git: Git, tmp_path: Path) -> None:
    git(checkout, "config", "core.worktree", "/")
    git(checkout, "config", "core.bare", "true")
    repo = GitRepo.open(checkout / "folder")
    assert repo.top == checkout.resolve()
    assert repo.list_changes() == []


def test_linked_work_trees(checkout: Path, git: Git, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "tree"
    git(checkout, "worktree", "add", "-q", os.fspath(other))
    (other / "a").write_text("changed there")
    repo = GitRepo.open(other)
    assert (repo.top, repo.common_dir) == (other.resolve(), checkout.resolve() / ".git")
    assert repo.list_changes() == ["a"]
    assert GitRepo.open(checkout).list_changes() == []


def test_a_folder_named_git_that_is_none_is_passed_over(checkout: Path) -> None:
    (checkout / "folder" / ".git").mkdir()
    found = GitRepo.find(checkout / "folder")
    assert found is not None
    assert found.top == checkout.resolve()


def test_entries_are_found_with_their_kind(checkout: Path) -> None:
    repo = GitRepo.open(checkout)
    commit = repo.resolve_commit("HEAD")
    kinds = {
        path: repo.find_entry(commit, path)
        for path in ("a", "folder", "folder/b", "none", "a/b", "", ".", "folder/")
    }
    assert {path: entry and entry.kind for path, entry in kinds.items()} == {
        "a": "blob",
        "folder": "tree",
        "folder/b": "blob",
        **dict.fromkeys(("none", "a/b", "", ".", "folder/")),
    }
    assert repo.read_file(commit, "folder/b") == b"b"
    assert repo.read_file(commit, "folder") is None


def test_an_object_under_a_wrong_name_is_refused(checkout: Path, git: Git) -> None:
    repo = GitRepo.open(checkout)
    commit = repo.resolve_commit("HEAD")
    one, other = (git(checkout, "rev-parse", f"HEAD:{name}").strip() for name in ("a", "folder/b"))
    place = [checkout / ".git" / "objects" / oid[:2] / oid[2:] for oid in (one, other)]
    place[0].chmod(0o644)
    place[0].write_bytes(place[1].read_bytes())
    with pytest.raises(GitError, match="not what its name says"):
        repo.read_file(commit, "a")
    with repo.read_blobs() as blobs, pytest.raises(GitError, match="not what its name says"):
        list(blobs.stream(one))


@pytest.mark.parametrize("name", ["a\u2028b", "a\x0cb", "a\x85b", "\u00fc"])
@pytest.mark.parametrize("bare", [False, True])
def test_a_folder_of_any_name(tmp_path: Path, git: Git, name: str, bare: bool) -> None:
    place = tmp_path / name
    git(tmp_path, "init", "-q", *(["--bare"] if bare else []), str(place))
    repo = GitRepo.open(place)
    assert repo.common_dir == (place if bare else place / ".git")
    assert repo.find_commit("HEAD") is None


def test_a_folder_with_a_line_break_is_refused_by_name(tmp_path: Path, git: Git) -> None:
    place = tmp_path / "a\nb"
    git(tmp_path, "init", "-q", str(place))
    with pytest.raises(GitError, match=r"a\\nb has a line break"):
        GitRepo.open(place)


def test_a_default_branch_of_an_odd_name(checkout: Path, git: Git) -> None:
    git(checkout, "remote", "add", "origin", "https://example.org/a/b.git")
    git(checkout, "update-ref", "refs/remotes/origin/a\u2028b", "HEAD")
    git(checkout, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/a\u2028b")
    branch = GitRepo.open(checkout).find_default_branch()
    assert branch is not None
    assert branch.name == "refs/remotes/origin/a\u2028b"
