"""The id of a tree computed here is git's own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeboost.gitrepo import GitRepo
from codeboost.sandbox.tree import digest_inputs, find_missing, hash_tree, is_git_name, read_tree


@pytest.fixture
def checkout(tmp_path: Path, git: Callable[..., str]) -> Path:
    git(tmp_path, "init", "-q", ".")
    for name in ("a", "a.b", "a-b/x", "ab/y", "z/deep/er/file", "caf\u00e9"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "link").symlink_to("a")
    git(tmp_path, "add", "-A")
    git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(tmp_path, "commit", "-q", "-m", "x")
    return tmp_path


def test_it_is_what_git_says(checkout: Path) -> None:
    repo = GitRepo.open(checkout)
    commit = repo.resolve_commit("HEAD")
    tree = read_tree(repo, commit)
    assert tree.content == tree.tree == repo.find_tree(commit)
    assert tree.folders == (b"a-b", b"ab", b"z", b"z/deep", b"z/deep/er")
    assert tree.submodules == (b"sub",)


def test_a_part_of_it_is_what_git_would_write(checkout: Path) -> None:
    repo = GitRepo.open(checkout)
    commit = repo.resolve_commit("HEAD")
    part = read_tree(repo, commit, only=("z", "a"))
    assert [entry.path for entry in part.entries] == [b"a", b"z/deep/er/file"]
    with repo.open_scratch() as scratch:
        assert scratch.write_tree(part.entries) == part.content


def test_inputs_are_told_apart_by_content_and_mode(checkout: Path, git: Callable[..., str]) -> None:
    repo = GitRepo.open(checkout)

    def digest() -> str:
        return digest_inputs(read_tree(repo, repo.resolve_commit("HEAD"), only=("a",)))

    first = digest()
    (checkout / "ab" / "y").write_text("no input")
    git(checkout, "commit", "-qam", "2")
    assert digest() == first
    (checkout / "a").chmod(0o755)
    git(checkout, "commit", "-qam", "3")
    assert digest() != first


def test_what_is_missing_is_named(checkout: Path) -> None:
    tree = read_tree(GitRepo.open(checkout), "HEAD", only=("a", "z", "gone"))
    assert find_missing(tree, ("a", "z", "gone", "z/deep/er")) == ("gone",)


@pytest.mark.parametrize(
    "name",
    [
        b".git",
        b".GIT",
        b".gIt ",
        b".git...",
        b"git~1",
        b"GIT~1",
        b".git:x",
        ".g\u200cit".encode(),
        "\ufeff.git".encode(),
    ],
)
def test_names_that_some_file_system_takes_for_git(name: bytes) -> None:
    assert is_git_name(name)


@pytest.mark.parametrize(
    "name", [b"git", b".gitignore", b".github", b"x.git", b"git~2", b".gi", b"", b"\xff.git"]
)
def test_names_that_none_does(name: bytes) -> None:
    assert not is_git_name(name)


@given(st.sets(st.text("ab.-/", min_size=1, max_size=8), max_size=12))
def test_any_set_of_paths(tmp_path_factory: pytest.TempPathFactory, names: set[str]) -> None:
    paths = sorted(name for name in names if all(part not in ("", ".", "..") for part in name.split("/")))
    paths = [path for path in paths if not any(other.startswith(path + "/") for other in paths)]
    folder = _make_empty(tmp_path_factory)
    oid = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    rows = "".join(f"100644 {oid}\t{path}\0" for path in paths).encode()
    index = folder / "index"
    index.unlink(missing_ok=True)
    environment = {"GIT_DIR": str(folder), "PATH": "/usr/bin:/bin", "GIT_INDEX_FILE": str(index)}
    subprocess.run(["git", "update-index", "-z", "--index-info"], input=rows, env=environment, check=True)
    done = subprocess.run(
        ["git", "write-tree", "--missing-ok"], env=environment, capture_output=True, check=True
    )
    from codeboost.gitrepo import TreeEntry

    entries = [TreeEntry(0o100644, "blob", oid, 0, path.encode()) for path in paths]
    assert hash_tree(entries) == done.stdout.decode().strip()


_FOLDERS: list[Path] = []


def _make_empty(factory: pytest.TempPathFactory) -> Path:
    if not _FOLDERS:
        _FOLDERS.append(factory.mktemp("bare"))
        subprocess.run(["git", "init", "-q", "--bare", _FOLDERS[0]], check=True)
    return _FOLDERS[0]
