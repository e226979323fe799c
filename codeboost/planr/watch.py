"""Notices that a planning root has changed: by looking, since looking misses nothing that an event can miss.

Saves in place, saves by rename, new and vanished folders, links and worktrees all show in what ``stat`` says. A look at
ten thousand files takes some 30 ms, so the pause between two looks grows with what a look costs.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from codeboost.planr.config import CONFIG_NAME, Config, load_config

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Watcher"]

_SHORTEST_PAUSE = 0.2
_LONGEST_PAUSE = 0.6
_QUIET = 0.12
_LONGEST_BURST = 1.0
_REFERENCE_LIMIT = 4096


class _Mark(NamedTuple):
    """What distinguishes two versions of a file without reading it."""

    path: str
    inode: int
    size: int
    modified: int
    changed: int


class Watcher:
    """Looks at the files of one planning root that the board is made from."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._config = Config()
        self._config_mark: _Mark | None = None
        self._pause = _SHORTEST_PAUSE
        self._seen = self._look()

    def wait(self, stop: threading.Event) -> bool:
        """Return True once something has changed and a burst of changes has passed; False when ``stop`` is set."""
        while not stop.wait(self._pause):
            seen = self._look()
            if seen == self._seen:
                continue
            end = time.monotonic() + _LONGEST_BURST
            while time.monotonic() < end:
                if stop.wait(_QUIET):
                    return False
                before, seen = seen, self._look()
                if before == seen:
                    break
            # What changes while the caller reads the files differs from this, and is found by the next look.
            self._seen = seen
            return True
        return False

    def _look(self) -> list[_Mark]:
        start = time.monotonic()
        seen = [*self._look_at_files(), *self._look_at_git()]
        self._pause = min(_LONGEST_PAUSE, max(_SHORTEST_PAUSE, 8 * (time.monotonic() - start)))
        return seen

    def _look_at_files(self) -> Iterator[_Mark]:
        config_mark = _mark(os.path.join(self._root, CONFIG_NAME))  # noqa: PTH118 - strings are much faster here
        if config_mark != self._config_mark:
            self._config_mark = config_mark
            self._config = load_config(self._root)[0]
        if config_mark is not None:
            yield config_mark
        for folder in (self._config.tasks_dir, self._config.goals_dir):
            yield from _mark_folder(f"{self._root}/{folder}")

    def _look_at_git(self) -> Iterator[_Mark]:
        """HEAD, and every place that can say which commit HEAD names (gitrepository-layout)."""
        folder = _find_git_folder(self._root)
        if folder is None:
            return
        common = os.path.normpath(os.path.join(folder, _read_line(f"{folder}/commondir") or "."))  # noqa: PTH118
        head = _read_line(f"{folder}/HEAD") or ""
        places = [f"{folder}/HEAD", f"{common}/packed-refs", f"{common}/reftable/tables.list"]
        if head.startswith("ref: "):
            places.append(f"{common}/{head[5:]}")
        for place in places:
            mark = _mark(place)
            if mark is not None:
                yield mark


def _mark(path: str) -> _Mark | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - strings are much faster here
    except (OSError, ValueError):
        return None
    return _Mark(path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _mark_folder(path: str) -> list[_Mark]:
    marks: list[_Mark] = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                # Hidden files are never tasks; a writer's temporary file is one.
                mark = None if entry.name.startswith(".") else _mark(entry.path)
                if mark is not None:
                    marks.append(mark)
    except OSError:
        return []
    marks.sort()
    return marks


def _find_git_folder(root: Path) -> str | None:
    place_of_root = root.resolve()
    for folder in (place_of_root, *place_of_root.parents):
        place = f"{folder}/.git"
        if os.path.isdir(place):  # noqa: PTH112 - strings are much faster here
            return place
        line = _read_line(place)
        if line is not None:
            # A worktree, or a submodule: the file names the folder.
            return os.path.join(folder, line[8:]) if line.startswith("gitdir: ") else None  # noqa: PTH118
    return None


def _read_line(path: str) -> str | None:
    try:
        # Without waiting: a pipe that stands where git expects a file must not hold the watch up.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        return os.fsdecode(os.read(descriptor, _REFERENCE_LIMIT).split(b"\n", 1)[0].rstrip())
    except OSError:
        return None
    finally:
        os.close(descriptor)
