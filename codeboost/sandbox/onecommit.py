"""A fresh ``.git`` of one commit, made by hand: no hooks, no remotes, nothing of the checkout's configuration.

In it ``git status`` is clean whatever the tree's attributes say, and quick: the index carries the times and sizes that
the files have in the snapshot (facts).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from codeboost.gitrepo import GitRepo, TreeEntry
from codeboost.sandbox.archive import MTIME
from codeboost.sandbox.profile import USER_ID
from codeboost.sandbox.tree import SnapshotTree

__all__ = ["GitFile", "make_git_folder", "make_index"]

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


@dataclass(frozen=True, slots=True)
class GitFile:
    """One file below ``.git``: its content, or where it lies."""

    name: bytes
    content: bytes | Path

    @property
    def size(self) -> int:
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size


@contextmanager
def make_git_folder(repository: GitRepo, tree: SnapshotTree) -> Iterator[tuple[list[bytes], list[GitFile]]]:
    """The folders and files of ``.git`` for ``tree``, as long as the context lasts. GitError when it cannot be made."""
    with repository.open_scratch() as scratch:
        name = tree.tree if tree.content == tree.tree else scratch.write_tree(tree.entries)
        commit = scratch.commit_tree(name, "snapshot\n", MTIME)
        pack, index = scratch.pack(commit)
        wide = len(commit) == 64
        config = _CONFIG.format(version=1 if wide else 0) + (_OBJECT_FORMAT if wide else "")
        files = [
            GitFile(b"HEAD", b"ref: refs/heads/main\n"),
            GitFile(b"config", config.encode()),
            GitFile(b"index", make_index(tree.entries, wide=wide)),
            GitFile(b"info/attributes", _ATTRIBUTES.encode()),
            GitFile(b"objects/pack/" + index.name.encode(), index),
            GitFile(b"objects/pack/" + pack.name.encode(), pack),
            GitFile(b"refs/heads/main", commit.encode() + b"\n"),
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
        yield folders, files


def make_index(entries: tuple[TreeEntry, ...], *, wide: bool = False) -> bytes:
    """git's index, version 2, for files as the snapshot holds them."""
    digest = hashlib.sha256 if wide else hashlib.sha1
    parts = [b"DIRC" + struct.pack(">II", 2, len(entries))]
    for entry in sorted(entries, key=lambda entry: entry.path):
        stat = struct.pack(
            ">IIIIIIIIII",
            MTIME,
            0,
            MTIME,
            0,
            0,
            0,
            entry.mode,
            USER_ID,
            USER_ID,
            (entry.size or 0) & 0xFFFFFFFF,
        )
        row = stat + bytes.fromhex(entry.oid) + struct.pack(">H", min(len(entry.path), 0xFFF)) + entry.path
        parts.append(row + bytes(8 - len(row) % 8))
    content = b"".join(parts)
    return content + digest(content, usedforsecurity=False).digest()
