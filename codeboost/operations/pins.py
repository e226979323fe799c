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

__all__ = ["PinChange", "PinnedTree", "compare_pins"]

_WORKSPACE = "workspace"
# As many links as Linux follows before it gives up (ELOOP).
_MAX_LINKS = 40
# Here a path of the image can lead anywhere, into the tree too (/proc/self/cwd/…).
_BACK_DOORS = frozenset({"proc", "dev"})


class PinChange(NamedTuple):
    """A pinned path whose object is another now; None is absent."""

    path: str
    approved: str | None
    found: str | None


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

    def read_blob(self, oid: str) -> bytes:
        return self.repo.run("cat-file", "blob", oid)

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
            target = os.fsdecode(self.read_blob(entry.oid))
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


def _split(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]
