"""Which files of the tree an approval holds fast, and what they are at a commit (design §5.3).

A program with a slash in it is resolved as the container would resolve it: from ``/workspace/<workdir>``, through the
links of the tree. What lies outside ``/workspace`` belongs to the image and is not pinned.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from codeboost.errors import InputError, UsageError
from codeboost.gitrepo import GitRepo, TreeEntry
from codeboost.store.approval_log import Pin
from codeboost.visible import cut

__all__ = ["FileDifference", "PinChange", "PinnedTree", "compare_pins", "find_differences"]

_WORKSPACE = "workspace"
# As many links as Linux follows before it gives up (ELOOP).
_MAX_LINKS = 40
# No link on Linux says more (PATH_MAX); such a blob is made by hand and cannot be checked out.
_PATH_MAX = 4096
# Here a path of the image can lead anywhere, into the tree too (/proc/self/cwd/…).
_BACK_DOORS = frozenset({"proc", "dev"})


class PinChange(NamedTuple):
    """A pinned path whose object is another now; None is absent."""

    path: str
    approved: str | None
    found: str | None


@dataclass(frozen=True, slots=True)
class FileDifference:
    """A pinned path in two trees; ``before`` and ``after`` are its content, None where there is nothing to read.

    Of a folder, the content is the list of its files with their object ids.
    """

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(slots=True)
class PinnedTree:
    """The tree of one commit, asked path by path and each path once."""

    repo: GitRepo
    commit: str
    _entries: dict[str, TreeEntry | None] = field(default_factory=dict)

    def pin_program(self, argv: Sequence[str], workdir: str) -> tuple[Pin, ...]:
        """The links and the file that argv[0] names, in the order they are followed; none when it has no slash.

        InputError when it leads through ``/proc`` or ``/dev``: what it names then cannot be told.
        """
        program = argv[0]
        if "/" not in program:
            return ()
        return tuple(Pin(path, oid) for path, oid in self._follow(f"/{_WORKSPACE}/{workdir}", program))

    def pin_path(self, path: str) -> tuple[Pin, ...]:
        """What a person asked to hold fast: a file, a link and what it points to, a whole folder, or its absence.

        UsageError when ``path`` is not a plain path below the repository root.
        """
        if any(part in ("", ".", "..") for part in path.split("/")):
            raise UsageError(
                f"--pin {cut(path)}: name a path below the repository root, like scripts/test.sh"
            )
        return tuple(
            Pin(found, oid, asked=True) for found, oid in self._follow(f"/{_WORKSPACE}", path, folders=True)
        )

    def find_oid(self, path: str, *, folders: bool = False) -> str | None:
        """The object at ``path``: a file or a link, or with ``folders`` also a folder."""
        entry = self._find(path)
        usable = entry is not None and (entry.kind == "blob" or (folders and entry.kind == "tree"))
        return entry.oid if entry is not None and usable else None

    def read_content(self, path: str) -> bytes | None:
        """What a person can look at to see what is pinned there."""
        entry = self._find(path)
        if entry is None or entry.is_gitlink:
            return None
        if entry.kind == "tree":
            return self.repo.run("ls-tree", "-r", "--full-tree", entry.oid)
        return self.repo.run("cat-file", "blob", entry.oid)

    def _follow(self, start: str, path: str, *, folders: bool = False) -> list[tuple[str, str | None]]:
        """Walk ``path`` from ``start`` as the kernel would; the answer is every link met, and the end, if in the tree."""
        met: list[tuple[str, str | None]] = []
        todo = _split(path) if path.startswith("/") else _split(start) + _split(path)
        place: list[str] = []
        links = 0
        while todo:
            part = todo.pop(0)
            if part == "..":
                place = place[:-1]
                continue
            place.append(part)
            if place[0] in _BACK_DOORS:
                raise InputError(
                    f"{cut(path)} leads through /{place[0]}, so nobody can tell which file it names",
                    hint="name the file itself",
                )
            if place[0] != _WORKSPACE or len(place) == 1:
                continue
            entry = self._find("/".join(place[1:]))
            if entry is None or entry.is_gitlink or (todo and entry.kind == "blob" and not entry.is_symlink):
                rest = [*place[1:], *todo]
                return [*met, ("/".join(rest), None)]
            if not entry.is_symlink:
                continue
            met.append(("/".join(place[1:]), entry.oid))
            links += 1
            if links > _MAX_LINKS:
                return met
            if int(self.repo.run("cat-file", "-s", entry.oid)) > _PATH_MAX:
                return met
            target = os.fsdecode(self.repo.run("cat-file", "blob", entry.oid))
            place = [] if target.startswith("/") else place[:-1]
            todo = _split(target) + todo
        if place[:1] == [_WORKSPACE] and len(place) > 1:
            name = "/".join(place[1:])
            met.append((name, self.find_oid(name, folders=folders)))
        return met

    def _find(self, path: str) -> TreeEntry | None:
        if path not in self._entries:
            # git would take a null character for the end of the argument, and no tree holds one.
            self._entries[path] = None if "\0" in path else self.repo.find_entry(self.commit, path)
        return self._entries[path]


def compare_pins(pins: Iterable[Pin], program: Sequence[Pin], tree: PinnedTree) -> tuple[PinChange, ...]:
    """What differs in ``tree`` from what was approved; ``program`` is what argv[0] resolves to there."""
    wanted = {pin.path: pin.oid for pin in pins if not pin.asked}
    found = {pin.path: pin.oid for pin in program}
    changes = [
        PinChange(path, wanted.get(path), found.get(path))
        for path in dict.fromkeys([*wanted, *found])
        if path not in wanted or path not in found or wanted[path] != found[path]
    ]
    asked = (PinChange(pin.path, pin.oid, tree.find_oid(pin.path, folders=True)) for pin in pins if pin.asked)
    return (*changes, *(change for change in asked if change.approved != change.found))


def find_differences(pins: Iterable[Pin], base: PinnedTree, tree: PinnedTree) -> tuple[FileDifference, ...]:
    """The pinned paths that ``tree`` holds otherwise than ``base``: what a person has to look at."""
    return tuple(
        FileDifference(pin.path, base.read_content(pin.path), tree.read_content(pin.path))
        for pin in pins
        if base.find_oid(pin.path, folders=True) != tree.find_oid(pin.path, folders=True)
    )


def _split(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]
