"""What a snapshot will hold, decided from git objects alone, before a byte is written (design §5.4).

The tree is checked and its id computed anew from its entries: a checkout whose object files were exchanged under their
names is found out here, and by the hash of every blob when it is read.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

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
    listed = repository.list_tree(commit, sizes=True)
    tree = repository.find_tree(commit)
    _refuse_bad_names(listed, commit)
    missing = [entry.path for entry in listed if entry.kind == "blob" and entry.size is None]
    if missing:
        raise InputError(
            f"the content of {show_paths(missing)} is missing from the repository",
            hint="a shallow or partial clone holds too little; fetch the whole of the commit",
        )
    empty: list[bytes] = []
    if hash_tree(listed, len(tree)) != tree:
        empty = _list_empty_folders(repository, commit, listed)
        if hash_tree(listed, len(tree), empty) != tree:
            raise GitError(
                f"the tree of commit {commit[:12]} is not what its name says: the repository's object store is damaged",
                hint="run `git fsck`, or clone the repository anew",
            )
    entries = listed if only is None else [entry for entry in listed if is_below(entry.path, only)]
    content = tree
    if len(entries) != len(listed):
        content, empty = hash_tree(entries, len(tree)), []
    return SnapshotTree(commit, tree, content, tuple(entries), tuple(_find_folders(entries, empty)))


def _list_empty_folders(repository: GitRepo, commit: str, leaves: Sequence[TreeEntry]) -> list[bytes]:
    """Folders without anything in them: git makes none, other tools do."""
    output = repository.run("ls-tree", "-r", "-d", "-z", "--full-tree", "--name-only", commit)
    full = set(_find_folders(leaves, []))
    return [path for path in output.split(b"\0") if path and path not in full and not _is_leaf(path, leaves)]


def _is_leaf(path: bytes, leaves: Sequence[TreeEntry]) -> bool:
    return any(entry.path == path for entry in leaves)


def hash_tree(entries: Sequence[TreeEntry], digits: int = 40, empty: Sequence[bytes] = ()) -> str:
    """The id that git gives to a tree with these leaves and ``empty`` folders; ``digits``: of an id (40 or 64)."""
    root: dict[bytes, object] = {}
    for path in empty:
        folder = root
        for part in path.split(b"/"):
            folder = cast("dict[bytes, object]", folder.setdefault(part, {}))
    for entry in entries:
        *above, name = entry.path.split(b"/")
        folder = root
        for part in above:
            below = folder.setdefault(part, {})
            if not isinstance(below, dict):
                raise InputError(f"the tree has both a file and a folder named {_show(entry.path)}")
            folder = below
        folder[name] = entry
    return _hash_folder(root, digits).hex()


def _hash_folder(folder: dict[bytes, object], digits: int) -> bytes:
    rows = []
    for name, value in folder.items():
        if isinstance(value, dict):
            rows.append((name + b"/", _FOLDER_MODE, name, _hash_folder(value, digits)))
        else:
            assert isinstance(value, TreeEntry)  # noqa: S101 - nothing else is ever put there
            rows.append((name, value.mode, name, bytes.fromhex(value.oid)))
    content = b"".join(b"%o %s\0%s" % (mode, name, oid) for _, mode, name, oid in sorted(rows))
    digest = _new_hash(digits)
    digest.update(b"tree %d\0" % len(content))
    digest.update(content)
    return bytes(digest.digest())


def _new_hash(digits: int) -> hashlib._Hash:
    return hashlib.sha256() if digits == 64 else hashlib.sha1(usedforsecurity=False)


def _refuse_bad_names(entries: Sequence[TreeEntry], commit: str) -> None:
    # Names repeat a lot in a large tree; each is looked at once.
    names = {part for entry in entries for part in entry.path.split(b"/")}
    for bad, words in (
        ({b"", b".", b".."} & names, "an entry that leads out of the tree"),
        ({name for name in names if is_git_name(name)}, "an entry named like git's own folder"),
    ):
        if bad:
            path = next(entry.path for entry in entries if bad.intersection(entry.path.split(b"/")))
            raise InputError(f"commit {commit[:12]} has {words}: {_show(path)}")
    counts = Counter(entry.path for entry in entries)
    twice = {path for path, count in counts.items() if count > 1} | counts.keys() & set(
        _find_folders(entries, [])
    )
    if twice:
        raise InputError(f"commit {commit[:12]} has two entries with one name: {_show(min(twice))}")


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
    for entry in entries:
        end = entry.path.rfind(b"/")
        while end > 0 and entry.path[:end] not in folders:
            folders.add(entry.path[:end])
            end = entry.path.rfind(b"/", 0, end)
    return sorted(folders)


def is_lfs_pointer(content: bytes) -> bool:
    return len(content) < _LFS_BYTES and content.startswith(_LFS_START)


def show_paths(paths: Sequence[bytes]) -> str:
    """The first few of ``paths``, safe to look at, and how many more there are."""
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(_show(path) for path in paths[:_NAMED]) + more


def _show(path: bytes) -> str:
    return cut(path.decode("utf-8", "replace"), 200)
