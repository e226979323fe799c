"""The projected state: the base commit's tree as the items before have left it (plan-rules.md §3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from codeboost.plan.model import BaseEntry, ChangeKind, EntryKind, FileChange
from codeboost.plan.paths import list_parents
from codeboost.visible import cut

__all__ = ["Entry", "ProjectedTree", "TreeLeaf", "make_base_entries"]

_SYMLINK_MODE = 0o120000
_GITLINK_MODE = 0o160000
# Suggestions are for people: these many in one check, each out of so many names.
_MOST_SUGGESTIONS = 30
_MOST_CANDIDATES = 64


class TreeLeaf(Protocol):
    """One leaf of a git tree as ``git ls-tree -r`` tells it."""

    @property
    def mode(self) -> int: ...
    @property
    def oid(self) -> str: ...
    @property
    def path(self) -> bytes: ...


class Entry(NamedTuple):
    """One leaf of the projected tree; ``target`` is the stored text of a symbolic link."""

    path: str
    kind: EntryKind
    target: str | None


def make_base_entries(leaves: Iterable[TreeLeaf], read_link: Callable[[str], bytes]) -> list[BaseEntry]:
    """The context's entries of a git tree; ``read_link`` gives the content of a symbolic link's blob by its id.

    Names that are not UTF-8 keep their bytes as lone surrogates (PEP 383): no plan can name them, and none is lost.
    """
    entries = []
    for leaf in leaves:
        path = leaf.path.decode("utf-8", "surrogateescape")
        if leaf.mode == _SYMLINK_MODE:
            target = read_link(leaf.oid).decode("utf-8", "surrogateescape")
            entries.append(BaseEntry(path, EntryKind.SYMLINK, target))
        else:
            entries.append(
                BaseEntry(path, EntryKind.GITLINK if leaf.mode == _GITLINK_MODE else EntryKind.FILE)
            )
    return entries


class ProjectedTree:
    """Leaves by identity, and folders with the number of their direct children.

    Building it costs one dict entry a leaf and one a folder: 200,000 entries take about 0.2 s.
    """

    def __init__(self, entries: Iterable[BaseEntry], identify: Callable[[str], str]) -> None:
        self.identify = identify
        self._leaves: dict[str, Entry] = {}
        self._folders: dict[str, int] = {}
        self._suggested = 0
        self._names: dict[str, list[str]] | None = None
        self.contradictions = list(self._fill(entries))

    def _fill(self, entries: Iterable[BaseEntry]) -> Iterator[str]:
        """Adds the base entries; yields a sentence for each that cannot be together with the others."""
        identify, leaves, folders = self.identify, self._leaves, self._folders
        known: dict[str, str] = {}  # folders as they are spelled, to their identity
        for entry in entries:
            path = entry.path
            try:
                kind = EntryKind(entry.kind)
            except ValueError:
                yield f"{cut(path)} has the unknown kind '{cut(str(entry.kind))}'"
                continue
            if not path:
                yield "an entry has no path"
                continue
            if kind is EntryKind.SYMLINK and entry.target is None:
                yield f"the symbolic link {cut(path)} has no target"
            key = identify(path)
            if key in leaves:
                yield f"{cut(leaves[key].path)} and {cut(path)} are one file in this checkout"
                continue
            leaves[key] = Entry(path, kind, entry.target)
            parent = path[: max(path.rfind("/"), 0)]
            if parent:
                if parent not in known:
                    self._register_folders(path, known)
                folders[known[parent]] += 1
        for key in leaves.keys() & folders.keys():
            yield f"{cut(leaves[key].path)} is a file and a folder at once"

    def _register_folders(self, path: str, known: dict[str, str]) -> None:
        """Counts each new folder above ``path`` as a child of the one above it."""
        child_is_new = False
        for folder in list_parents(path):
            is_known = folder in known
            key = known[folder] if is_known else known.setdefault(folder, self.identify(folder))
            is_new = key not in self._folders
            if is_new:
                self._folders[key] = 0
            if child_is_new:
                self._folders[key] += 1
            if is_known:
                return
            child_is_new = is_new

    # Questions

    def find(self, path: str) -> Entry | None:
        """The leaf at ``path``, by identity."""
        return self._leaves.get(self.identify(path))

    def is_folder(self, path: str) -> bool:
        """Whether ``path`` is a directory with content."""
        return self.identify(path) in self._folders

    def find_blocking(self, path: str) -> Entry | None:
        """The leaf that stands where ``path`` would need a folder, or None."""
        for folder in list_parents(path):
            entry = self.find(folder)
            if entry is not None:
                return entry
        return None

    def suggest(self, path: str) -> str | None:
        """The existing path that ``path`` was most likely meant to be, when there is one that is close."""
        from difflib import get_close_matches  # noqa: PLC0415 - only a wrong plan needs it

        if self._suggested >= _MOST_SUGGESTIONS:
            return None
        self._suggested += 1
        if self._names is None:
            self._names = {}
            for entry in self._leaves.values():
                folder, _, name = entry.path.rpartition("/")
                self._names.setdefault(name.casefold(), []).append(entry.path)
                self._names.setdefault(folder.casefold() + "/", []).append(entry.path)
        folder, _, name = path.rpartition("/")
        neighbours = self._present(self._names.get(folder.casefold() + "/", []), path)
        by_name = {other.rpartition("/")[2]: other for other in neighbours}
        close = get_close_matches(name, by_name, n=1, cutoff=0.6)
        if close:
            return by_name[close[0]]
        same_name = self._present(self._names.get(name.casefold(), []), path)
        close = get_close_matches(path, same_name, n=1, cutoff=0.6)
        if close:
            return close[0]
        return same_name[0] if len(same_name) == 1 else None

    def _present(self, paths: list[str], wanted: str) -> list[str]:
        """Those that items before have not removed; of very many, the ones most like ``wanted`` in length."""
        if len(paths) > _MOST_CANDIDATES:
            paths = sorted(paths, key=lambda path: (abs(len(path) - len(wanted)), path))[:_MOST_CANDIDATES]
        return [path for path in paths if self.find(path) is not None]

    # Changes

    def apply(self, changes: Sequence[FileChange]) -> None:
        """The state after an item whose changes are free of errors."""
        moved: dict[str, Entry] = {}
        for change in changes:
            source = change.renamed_from if change.kind is ChangeKind.RENAME else change.path
            if change.kind in (ChangeKind.DELETE, ChangeKind.RENAME) and source is not None:
                moved[change.path] = self._remove(source)
        for change in changes:
            if change.kind is ChangeKind.ADD:
                self._add(Entry(change.path, EntryKind.FILE, None))
            elif change.kind is ChangeKind.RENAME:
                self._add(moved[change.path]._replace(path=change.path))

    def _add(self, entry: Entry) -> None:
        self._leaves[self.identify(entry.path)] = entry
        for folder in list_parents(entry.path):
            key = self.identify(folder)
            self._folders[key] = self._folders.get(key, 0) + 1
            if self._folders[key] > 1:
                return

    def _remove(self, path: str) -> Entry:
        entry = self._leaves.pop(self.identify(path))
        for folder in list_parents(entry.path):
            key = self.identify(folder)
            self._folders[key] -= 1
            if self._folders[key]:
                return entry
            del self._folders[key]
        return entry
