"""A fresh ``.git`` of one commit, made by hand: no hooks, no remotes, nothing of the checkout's configuration.

In it ``git status`` is clean whatever the tree's attributes say, and quick: the index carries the times and sizes that
the files have in the snapshot (facts).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from codeboost.gitrepo import GitRepo, TreeEntry
from codeboost.sandbox.archive import MTIME
from codeboost.sandbox.profile import USER_ID
from codeboost.sandbox.tree import SnapshotTree

__all__ = ["CommitPack", "GitFile", "make_git_folder", "make_index", "pack_commit"]

_CONFIG = """\
[core]
\trepositoryformatversion = {version}
\tfilemode = true
\tbare = false
\tlogallrefupdates = false
\tcheckStat = minimal
\ttrustctime = false
[gc]
\tauto = 0
"""
_OBJECT_FORMAT = "[extensions]\n\tobjectFormat = sha256\n"
# Line ends, filters and encodings that the tree asks for would make files differ from what was committed.
_ATTRIBUTES = "* -text -eol -filter -ident -working-tree-encoding\n"
_STAT = struct.Struct(">4I")


@dataclass(frozen=True, slots=True)
class GitFile:
    """One file below ``.git``: its content, or where it lies."""

    name: bytes
    content: bytes | Path

    @property
    def size(self) -> int:
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size


@dataclass(frozen=True, slots=True)
class CommitPack:
    """A commit of its own, and where the pack of everything that it reaches lies."""

    commit: str
    pack: Path
    index: Path


@contextmanager
def pack_commit(repository: GitRepo, tree: str) -> Iterator[Callable[[], CommitPack]]:
    """Packs one commit of ``tree`` in a thread; what is yielded waits for it. It lies there as long as the context lasts.

    GitError, from what is yielded, when it cannot be made.
    """
    with repository.open_scratch() as scratch, ThreadPoolExecutor(1) as pool:

        def make() -> CommitPack:
            commit = scratch.commit_tree(tree, "snapshot\n", MTIME)
            return CommitPack(commit, *scratch.pack(commit))

        yield pool.submit(make).result


def make_git_folder(
    tree: SnapshotTree, packing: Callable[[], CommitPack]
) -> tuple[list[bytes], list[GitFile]]:
    """The folders and files of ``.git`` for the whole ``tree``, whose one commit is being packed meanwhile."""
    wide = len(tree.tree) == 64
    entries = make_index(tree.entries, wide=wide)
    packed = packing()
    config = _CONFIG.format(version=1 if wide else 0) + (_OBJECT_FORMAT if wide else "")
    files = [
        GitFile(b"HEAD", b"ref: refs/heads/main\n"),
        GitFile(b"config", config.encode()),
        GitFile(b"index", entries),
        GitFile(b"info/attributes", _ATTRIBUTES.encode()),
        GitFile(b"objects/pack/" + packed.index.name.encode(), packed.index),
        GitFile(b"objects/pack/" + packed.pack.name.encode(), packed.pack),
        GitFile(b"refs/heads/main", packed.commit.encode() + b"\n"),
    ]
    folders = [
        b"info",
        b"objects",
        b"objects/info",
        b"objects/pack",
        b"refs",
        b"refs/heads",
        b"refs/tags",
    ]
    return folders, files


def make_index(entries: Sequence[TreeEntry], *, wide: bool = False) -> bytes:
    """git's index, version 2, for files as the snapshot holds them."""
    digest = hashlib.sha256 if wide else hashlib.sha1
    parts = [b"DIRC" + struct.pack(">II", 2, len(entries))]
    # Times, device and inode are the same for all.
    times = struct.pack(">6I", MTIME, 0, MTIME, 0, 0, 0)
    for entry in sorted(entries, key=attrgetter("path")):
        stat = _STAT.pack(entry.mode, USER_ID, USER_ID, (entry.size or 0) & 0xFFFFFFFF)
        length = min(len(entry.path), 0xFFF).to_bytes(2, "big")
        row = b"".join((times, stat, bytes.fromhex(entry.oid), length, entry.path))
        parts.append(row + bytes(8 - len(row) % 8))
    content = b"".join(parts)
    return content + digest(content, usedforsecurity=False).digest()
