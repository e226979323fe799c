"""Trees that no file system could hold, or that would fill memory, are refused by name before a byte is laid out."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from codeboost.errors import CodeboostError, InputError
from codeboost.gitrepo import GitRepo
from codeboost.sandbox.tree import SnapshotTree, hash_tree, read_tree

Rows = Sequence[tuple[str, bytes, str]]


class TreeMaker:
    """Trees as objects, whatever git's own commands would say to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", ".")

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        done = subprocess.run(
            ["git", *who, *arguments], cwd=self.folder, input=stdin, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def blob(self, content: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", stdin=content)

    def tree(self, rows: Rows) -> str:
        content = b"".join(
            mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in rows
        )
        return self.git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=content)

    def nest(self, levels: int, name: bytes) -> str:
        """A file below ``levels`` folders, each named ``name``; made without a process for each."""
        tree = self.tree([("100644", b"f", self.blob(b"x"))])
        script = []
        for _ in range(levels):
            # Trees are known by their hash, so it can be computed here and written in one go.
            content = b"40000 " + name + b"\0" + bytes.fromhex(tree)
            script.append(content)
            tree = _hash_object(content)
        for number, content in enumerate(script):
            (self.folder / f"object-{number}").write_bytes(content)
        names = "".join(f"object-{number}\n" for number in range(levels)).encode()
        self.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin-paths", stdin=names)
        return tree

    def read(self, rows: Rows) -> SnapshotTree:
        return self.read_id(self.tree(rows))

    def read_id(self, tree: str) -> SnapshotTree:
        return read_tree(GitRepo.open(self.folder), self.git("commit-tree", tree, "-m", "x"))


def _hash_object(content: bytes) -> str:
    import hashlib

    return hashlib.sha1(b"tree %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@pytest.fixture
def maker(tmp_path: Path) -> TreeMaker:
    return TreeMaker(tmp_path)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (b"", "empty"),
        (b"a\0b", "NUL"),
        (b"\0", "NUL"),
        (b"x" * 4096, "4095"),
        (b"x" * (20 << 20), "4095"),
    ],
)
def test_links_that_no_file_system_holds(maker: TreeMaker, target: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        maker.read([("120000", b"li\nnk", maker.blob(target))])
    assert caught.value.exit_code == 1
    assert "li\\nnk" in str(caught.value)


def test_the_longest_link_is_taken(maker: TreeMaker) -> None:
    assert maker.read([("120000", b"link", maker.blob(b"x" * 4095))]).entries[0].size == 4095


@pytest.mark.parametrize("mode", ["100644", "120000"])
def test_names_are_bounded_as_file_systems_bound_them(maker: TreeMaker, mode: str) -> None:
    blob = maker.blob(b"x")
    assert len(maker.read([(mode, b"n" * 255, blob)]).entries) == 1
    with pytest.raises(InputError, match="255 bytes") as caught:
        maker.read([(mode, b"\x1b" + b"n" * 255, blob)])
    assert "\x1b" not in str(caught.value)
    with pytest.raises(InputError, match="255 bytes"):
        maker.read([("40000", b"n" * 256, maker.tree([(mode, b"x", blob)]))])


def test_paths_and_depth_are_bounded(maker: TreeMaker) -> None:
    assert len(maker.read_id(maker.nest(900, b"d")).folders) == 900
    with pytest.raises(InputError, match="1000 folders"):
        maker.read_id(maker.nest(1200, b"d"))
    assert len(maker.read_id(maker.nest(15, b"n" * 255)).folders) == 15
    with pytest.raises(InputError, match="4000 bytes"):
        maker.read_id(maker.nest(16, b"n" * 255))


def test_a_deep_tree_is_hashed_without_recursion() -> None:
    from codeboost.gitrepo import TreeEntry

    entry = TreeEntry(0o100644, "blob", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", 0, b"d/" * 5000 + b"f")
    assert len(hash_tree([entry])) == 40


@pytest.mark.parametrize("leaves", [True, False])
def test_a_few_objects_that_describe_a_tree_without_end_are_refused_soon(
    maker: TreeMaker, leaves: bool
) -> None:
    blob = maker.blob(b"x")
    tree = maker.tree([("100644", b"%d" % n, blob) for n in range(10)] if leaves else [])
    for _ in range(12):
        tree = maker.tree([("40000", b"%d" % n, tree) for n in range(10)])
    commit = maker.git("commit-tree", tree, "-m", "x")
    maker.git("update-ref", "refs/heads/main", commit)
    maker.git("-c", "core.compression=0", "repack", "-adq", "--window=0")
    maker.git("prune-packed")
    limit = 1500 << 20
    with pytest.raises(InputError, match="more than"):
        read_tree(GitRepo.open(maker.folder), commit)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 < limit


def test_two_folders_or_a_file_and_a_folder_of_one_name(maker: TreeMaker) -> None:
    blob = maker.blob(b"x")
    one, other = maker.tree([("100644", b"a", blob)]), maker.tree([("100644", b"b", blob)])
    with pytest.raises(InputError, match="two entries with one name: d"):
        maker.read([("40000", b"d", one), ("40000", b"d", other)])
    with pytest.raises(InputError, match="two entries with one name: d"):
        maker.read([("100644", b"d", blob), ("40000", b"d", other)])


def test_a_name_with_a_slash_in_it_is_refused(maker: TreeMaker) -> None:
    with pytest.raises(CodeboostError):
        maker.read([("100644", b"a/b", maker.blob(b"x"))])


def test_empty_folders_at_any_depth_are_laid_out(maker: TreeMaker) -> None:
    empty = maker.tree([])
    tree = maker.read([("40000", b"a", maker.tree([("40000", b"b", empty)])), ("40000", b"c", empty)])
    assert (tree.entries, tree.folders) == ((), (b"a", b"a/b", b"c"))


def test_the_listing_needs_little_memory_for_each_file(tmp_path: Path, git: Callable[..., str]) -> None:
    git(tmp_path, "init", "-q", ".")
    for name, content in (("a", "hello"), ("b", "target")):
        (tmp_path / name).write_text(content)
    file, link = (git(tmp_path, "hash-object", "-w", name).strip() for name in ("a", "b"))
    count = 100_000
    rows = "".join(
        f"{'120000 ' + link if n % 3 == 0 else '100644 ' + file}\tfolder-{n // 1000}/some_module_{n}.py\0"
        for n in range(count)
    )
    environment = {"GIT_DIR": str(tmp_path / ".git"), "PATH": "/usr/bin:/bin"}
    subprocess.run(
        ["git", "update-index", "-z", "--index-info"], input=rows.encode(), env=environment, check=True
    )
    git(tmp_path, "commit", "-q", "-m", "x")
    git(tmp_path, "gc", "-q")
    text = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from codeboost.gitrepo import GitRepo\n"
        "from codeboost.sandbox.tree import read_tree\n"
        "from codeboost.sandbox.layer import LayerPlan, measure_layer, write_layer\n"
        "repository = GitRepo.open(Path(sys.argv[1]))\n"
        "commit = repository.resolve_commit('HEAD')\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "plan = LayerPlan(repository, read_tree(repository, commit))\n"
        "assert measure_layer(plan) == sum(map(len, write_layer(plan)))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text, tmp_path], capture_output=True, text=True, check=True, timeout=120
    )
    assert int(done.stdout) * 1024 < count * 700
