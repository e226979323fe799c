"""What git is asked for: entries of trees, differences, branches, remotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, NamedTuple

__all__ = ["Branch", "Remote", "TreeChange", "TreeEntry", "parse_remote", "read_changes", "read_tree_entries"]


class TreeEntry(NamedTuple):
    """One leaf of a tree. ``path`` is the bytes that git holds; ``size`` is None for a gitlink
    and for a blob that is missing."""

    mode: int
    kind: str
    oid: str
    size: int | None
    path: bytes

    @property
    def is_symlink(self) -> bool:
        return self.mode == 0o120000

    @property
    def is_gitlink(self) -> bool:
        return self.mode == 0o160000


def read_tree_entries(output: IO[bytes]) -> Iterator[TreeEntry]:
    """The records of ``ls-tree -z``, with ``-l`` or without: ``MODE KIND ID[ SIZE]``, a tab, the path."""
    kinds: dict[bytes, tuple[int, str]] = {}
    rest = b""
    while piece := output.read(1 << 18):
        *records, rest = (rest + piece).split(b"\0")
        for record in records:
            head, _, path = record.partition(b"\t")
            mode, kind, oid, *more = head.split()
            known = kinds.get(mode + kind)
            if known is None:
                # A million entries share these few.
                known = kinds[mode + kind] = int(mode, 8), kind.decode()
            # A blob that the repository does not hold is listed as BAD.
            size = int(more[0]) if more and more[0].isdigit() else None
            yield TreeEntry(*known, oid.decode(), size, path)


class TreeChange(NamedTuple):
    """One path that differs between two trees.

    ``status`` is git's letter: A, D, M, T (another type), or R, a rename from ``old_path``. An absent mode is 0.
    """

    status: str
    old_mode: int
    mode: int
    path: bytes
    old_path: bytes | None


class Branch(NamedTuple):
    """The full name of a branch, and the id of the commit that it points to."""

    name: str
    commit: str


class Remote(NamedTuple):
    """Where a repository lives: ``github.com``, ``owner``, ``name``."""

    host: str
    owner: str
    name: str

    @property
    def slug(self) -> str:
        return f"{self.owner}/{self.name}"

    def __str__(self) -> str:
        return f"{self.host}/{self.owner}/{self.name}"


def read_changes(output: bytes) -> Iterator[TreeChange]:
    """The records of a raw diff, ``-z``: ``:OLDMODE MODE OLDID ID STATUS``, then one path, of a rename two: the old one first."""
    fields = iter(output.split(b"\0"))
    for record in fields:
        if not record:
            continue
        old_mode, mode, _, _, status = record[1:].split(b" ")
        path = next(fields)
        old_path = path if status.startswith(b"R") else None
        path = next(fields) if old_path is not None else path
        yield TreeChange(status[:1].decode(), int(old_mode, 8), int(mode, 8), path, old_path)


_URL = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/]*@)?(?P<host>[^/:]+)(?::\d+)?/|(?:[^@/]*@)?(?P<scp>[^/:]+):)"
    r"(?P<owner>[^/]+)/(?P<name>[^/]+?)(?:\.git)?/?"
)


def parse_remote(url: str) -> Remote | None:
    """``host/owner/name`` of a remote's address, or None when it is not of that form."""
    match = _URL.fullmatch(url)
    if match is None:
        return None
    return Remote((match["host"] or match["scp"]).lower(), match["owner"], match["name"])
