"""What a snapshot will hold, decided from git objects alone, before a byte is written (design §5.4).

The tree is checked and its id computed anew from its entries: a checkout whose object files were exchanged under their
names is found out here, and by the hash of every blob when it is read.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass

from codeboost.errors import GitError, InputError
from codeboost.gitrepo import GitRepo, TreeEntry
from codeboost.visible import cut

__all__ = [
    "SnapshotTree",
    "digest_inputs",
    "find_missing",
    "hash_tree",
    "is_below",
    "is_git_name",
    "is_lfs_pointer",
    "read_tree",
    "show_paths",
]

_FOLDER_MODE = 0o040000
_LFS_START = b"version https://git-lfs.github.com/spec/v1\n"
_LFS_BYTES = 1024
_NAMED = 10
# What the file systems of Linux hold. A path gets the work folder before it.
_NAME_BYTES = 255
_PATH_BYTES = 4000
_TARGET_BYTES = 4095
# Beyond what any repository has; programs that look at a tree often take a frame of their stack for each level.
_DEPTH = 1000
_MOST_ENTRIES = 1_000_000
_MOST_NAMES = 256 << 20
# Code points that HFS+ drops from names: `.g\u200cit` is `.git` there, and a checkout may be made anywhere.
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


@dataclass(frozen=True, slots=True)
class SnapshotTree:
    """The leaves to lay out, in git's order, and the folders above them (parents first)."""

    commit: str
    tree: str
    """The id of the whole tree of the commit."""
    content: str
    """The id of what is laid out: differs from ``tree`` when paths are left out."""
    entries: tuple[TreeEntry, ...]
    folders: tuple[bytes, ...]

    @property
    def submodules(self) -> tuple[bytes, ...]:
        return tuple(entry.path for entry in self.entries if entry.is_gitlink)


def read_tree(repository: GitRepo, commit: str, *, only: Iterable[str] | None = None) -> SnapshotTree:
    """The tree of ``commit`` as a snapshot takes it; InputError when no snapshot may be made of it.

    ``only`` are paths (with all below them): everything else is left out.
    """
    listed, folders = _list_rows(repository, commit)
    tree = repository.find_tree(commit)
    _refuse_bad_names(listed, folders, commit)
    missing = [entry.path for entry in listed if entry.kind == "blob" and entry.size is None]
    if missing:
        raise InputError(
            f"the content of {show_paths(missing)} is missing from the repository",
            hint="a shallow or partial clone holds too little; fetch the whole of the commit",
        )
    if hash_tree(listed, len(tree), folders) != tree:
        raise GitError(
            f"the tree of commit {commit[:12]} is not what its name says: the repository's object store is damaged",
            hint="run `git fsck`, or clone the repository anew",
        )
    _refuse_bad_links(repository, [entry for entry in listed if entry.is_symlink], commit)
    if only is None:
        return SnapshotTree(commit, tree, tree, tuple(listed), tuple(sorted(folders)))
    entries = [entry for entry in listed if is_below(entry.path, only)]
    content = tree if len(entries) == len(listed) else hash_tree(entries, len(tree))
    return SnapshotTree(commit, tree, content, tuple(entries), tuple(_find_folders(entries, ())))


def _list_rows(repository: GitRepo, commit: str) -> tuple[list[TreeEntry], list[bytes]]:
    """The leaves and the folders, as many as a snapshot may have: a few objects can describe a tree without end."""
    leaves: list[TreeEntry] = []
    folders: list[bytes] = []
    length = 0
    with closing(repository.iterate_tree(commit, sizes=True, folders=True)) as rows:
        for row in rows:
            if row.mode == _FOLDER_MODE:
                folders.append(row.path)
            else:
                leaves.append(row)
            length += len(row.path)
            if len(leaves) + len(folders) > _MOST_ENTRIES or length > _MOST_NAMES:
                raise InputError(
                    f"commit {commit[:12]} is too large for a snapshot: it has more than {_MOST_ENTRIES:,} files and"
                    f" folders, or paths of more than {_MOST_NAMES >> 20} MiB together"
                )
    return leaves, folders


def hash_tree(entries: Sequence[TreeEntry], digits: int = 40, folders: Iterable[bytes] = ()) -> str:
    """The id that git gives to a tree of these leaves; ``digits``: of an id (40 or 64).

    ``folders`` need not name those that follow from the leaves: it is for those without any.
    """
    rows: dict[bytes, list[tuple[bytes, bytes]]] = {path: [] for path in _find_folders(entries, folders)}
    rows[b""] = []
    for entry in entries:
        above, _, name = entry.path.rpartition(b"/")
        if entry.path in rows:
            raise InputError(f"the tree has both a file and a folder named {_show(entry.path)}")
        rows[above].append((name, b"%o %s\0%s" % (entry.mode, name, bytes.fromhex(entry.oid))))
    # What lies below a folder sorts after it, so each is complete when its turn comes; the root's is last.
    for path in sorted(rows, reverse=True):
        content = b"".join(row for _, row in sorted(rows.pop(path)))
        digest = _new_hash(digits)
        digest.update(b"tree %d\0" % len(content))
        digest.update(content)
        if path:
            above, _, name = path.rpartition(b"/")
            # git sorts folders as if their names ended in a slash.
            rows[above].append((name + b"/", b"%o %s\0%s" % (_FOLDER_MODE, name, digest.digest())))
    return digest.hexdigest()


def _new_hash(digits: int) -> hashlib._Hash:
    return hashlib.sha256() if digits == 64 else hashlib.sha1(usedforsecurity=False)


def _refuse_bad_names(entries: Sequence[TreeEntry], folders: Sequence[bytes], commit: str) -> None:
    paths = [*folders, *(entry.path for entry in entries)]
    # Names repeat a lot in a large tree; each is looked at once. Those above a path are folders, and rows themselves.
    names = {path.rpartition(b"/")[2] for path in paths}
    for bad, words in (
        ({b"", b".", b".."} & names, "an entry that leads out of the tree"),
        ({name for name in names if is_git_name(name)}, "an entry named like git's own folder"),
        ({name for name in names if len(name) > _NAME_BYTES}, f"a name of more than {_NAME_BYTES} bytes"),
    ):
        if bad:
            path = next(path for path in paths if path.rpartition(b"/")[2] in bad)
            raise InputError(f"commit {commit[:12]} has {words}: {_show(path)}")
    for path in paths:
        if len(path) > _PATH_BYTES:
            raise InputError(
                f"commit {commit[:12]} has a path of more than {_PATH_BYTES} bytes: {_show(path)}"
            )
        if path.count(b"/") > _DEPTH:
            raise InputError(f"commit {commit[:12]} nests more than {_DEPTH} folders: {_show(path)}")
    if len(set(paths)) != len(paths):
        twice = min(path for path, count in Counter(paths).items() if count > 1)
        raise InputError(f"commit {commit[:12]} has two entries with one name: {_show(twice)}")


def _refuse_bad_links(repository: GitRepo, links: Sequence[TreeEntry], commit: str) -> None:
    for entry in links:
        if not 0 < (entry.size or 0) <= _TARGET_BYTES:
            words = f"a target of more than {_TARGET_BYTES} bytes" if entry.size else "an empty target"
            raise InputError(f"commit {commit[:12]} has a link with {words}: {_show(entry.path)}")
    if not links:
        return
    with repository.read_blobs() as blobs:
        answers = blobs.read_many([entry.oid for entry in links])
        for entry, answer in zip(links, answers, strict=True):
            if answer is None or len(answer[1]) != entry.size:
                raise GitError(f"the content of {_show(entry.path)} vanished from the repository")
            if b"\0" in answer[1]:
                raise InputError(
                    f"commit {commit[:12]} has a link with a NUL byte in its target: {_show(entry.path)}"
                )


def is_git_name(name: bytes) -> bool:
    """Whether some file system would take ``name`` for ``.git``: other case, short name, ignored characters."""
    if name in (b".git", b".GIT"):
        return True
    # Nearly every name ends here.
    if name[:1] not in (b".", b"g", b"G", b"\xe2", b"\xef"):
        return False
    text = _IGNORED.sub("", name.decode("utf-8", "replace")).split(":")[0].rstrip(". ").lower()
    return text in (".git", "git~1")


def digest_inputs(tree: SnapshotTree) -> str:
    """SHA-256 over names, modes and contents: what a person approves when she approves exactly these inputs."""
    digest = hashlib.sha256()
    for entry in tree.entries:
        digest.update(b"%o %s %s\0" % (entry.mode, entry.oid.encode(), entry.path))
    return digest.hexdigest()


def find_missing(tree: SnapshotTree, wanted: Iterable[str]) -> tuple[str, ...]:
    """Those of ``wanted`` (files or folders) of which the tree has nothing."""
    return tuple(
        place for place in wanted if not any(is_below(entry.path, (place,)) for entry in tree.entries)
    )


def is_below(path: bytes, places: Iterable[str]) -> bool:
    """Whether ``path`` is one of ``places`` or lies in one; ``"."`` is the whole tree."""
    for place in places:
        wanted = place.encode("utf-8", "surrogateescape").strip(b"/")
        if wanted in (b"", b".") or path == wanted or path.startswith(wanted + b"/"):
            return True
    return False


def _find_folders(entries: Iterable[TreeEntry], more: Iterable[bytes]) -> list[bytes]:
    folders = set(more)
    for path in (*folders, *(entry.path for entry in entries)):
        end = path.rfind(b"/")
        while end > 0 and path[:end] not in folders:
            folders.add(path[:end])
            end = path.rfind(b"/", 0, end)
    return sorted(folders)


def is_lfs_pointer(content: bytes) -> bool:
    return len(content) < _LFS_BYTES and content.startswith(_LFS_START)


def show_paths(paths: Sequence[bytes]) -> str:
    """The first few of ``paths``, safe to look at, and how many more there are."""
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(_show(path) for path in paths[:_NAMED]) + more


def _show(path: bytes) -> str:
    return cut(path.decode("utf-8", "replace"), 200)
