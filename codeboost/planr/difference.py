"""Whether planning files differ from what is committed.

Not by ``git status``: for a changed file it would run the filters that the checkout's own configuration names.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING

from codeboost.planr.plainfile import open_plain

if TYPE_CHECKING:
    from codeboost.gitrepo import GitRepo, TreeEntry

__all__ = ["differs", "hash_blob"]

_EXECUTABLE = 0o100755
_NO = ("false", "no", "off", "0")


class _Answer(Enum):
    SAME = auto()
    OTHER_ENDS = auto()
    """CRLF where the commit has LF."""
    DIFFERENT = auto()


def differs(
    repo: GitRepo, head: str, folders: tuple[str, ...], loaded: Mapping[bytes, str], digest: str
) -> bool:
    """Whether the work tree differs from the commit ``head`` below ``folders`` (named from the top of the repository).

    ``loaded`` are the object ids of files that were read already, by the same names; ``digest`` is sha1 or sha256.
    """
    if repo.list_files(*folders, staged=False):
        return True
    entries = repo.list_tree(head)
    if not {entry.path for entry in entries}.issuperset(repo.list_files(*folders, staged=True)):
        return True
    prefixes = tuple(os.fsencode(folder) + b"/" for folder in folders)
    trusts_modes = repo.read_core_config().get("filemode", "true").lower() not in _NO
    other_ends = []
    for entry in entries:
        if not entry.path.startswith(prefixes) or entry.is_gitlink:
            continue
        path = os.path.join(os.fsencode(repo.top), entry.path)  # noqa: PTH118 - bytes: names need not be text
        try:
            answer = _compare(path, entry, loaded.get(entry.path), digest, trusts_modes=trusts_modes)
        except OSError:
            return True
        if answer is _Answer.DIFFERENT:
            return True
        if answer is _Answer.OTHER_ENDS:
            other_ends.append(entry.path)
    # A checkout may have turned LF into CRLF, where git was told so.
    return bool(other_ends) and not repo.converts_line_ends(other_ends)


def _compare(
    path: bytes, entry: TreeEntry, loaded: str | None, digest: str, *, trusts_modes: bool
) -> _Answer:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode) != entry.is_symlink:
        return _Answer.DIFFERENT
    if trusts_modes and stat.S_ISREG(mode) and bool(mode & 0o100) != (entry.mode == _EXECUTABLE):
        return _Answer.DIFFERENT
    # What was loaded is not read again.
    if loaded == entry.oid:
        return _Answer.SAME
    data = os.readlink(path) if entry.is_symlink else _read_plain(path)  # noqa: PTH115 - as above
    if hash_blob(data, digest) == entry.oid:
        return _Answer.SAME
    if not entry.is_symlink and hash_blob(data.replace(b"\r\n", b"\n"), digest) == entry.oid:
        return _Answer.OTHER_ENDS
    return _Answer.DIFFERENT


def _read_plain(path: bytes) -> bytes:
    with os.fdopen(open_plain(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read()


def hash_blob(data: bytes, digest: str) -> str:
    """The object id that git gives to these bytes."""
    return hashlib.new(digest, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
