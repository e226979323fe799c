"""A planning root in memory: configuration, tasks, goals, and everything that is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from codeboost.planr.config import Config, find_root, is_inside, load_config
from codeboost.planr.goalfile import parse_goal
from codeboost.planr.graph import Graph
from codeboost.planr.model import Finding, Goal, GoalState, Task, natural_key
from codeboost.planr.plainfile import open_plain
from codeboost.planr.taskfile import parse_task

__all__ = ["Workspace", "find_root"]

_SIZE_LIMIT = 4 << 20
_CHUNK = 1 << 16
_GOAL_KINDS = frozenset({"legacy-goal", "goal-without-state"})


@dataclass(frozen=True, slots=True)
class Workspace:
    """What the files say. While ``errors`` stand, tasks, goals and graph are only a part of it.

    ``sources`` holds the bytes of every task file by its id, when ``load`` was asked to keep them.
    """

    root: Path
    config: Config
    graph: Graph
    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    sources: dict[str, bytes] = field(default_factory=dict)

    @property
    def tasks(self) -> dict[str, Task]:
        """By id, in the one order of ids."""
        return self.graph.tasks

    @property
    def goals(self) -> dict[str, Goal]:
        """By name, in the one order of names."""
        return self.graph.goals

    @classmethod
    def load(cls, root: Path, *, keep_sources: bool = False) -> Workspace:
        """Read the configuration, every task and every goal. Never raises for what the files hold."""
        config, errors = load_config(root)
        if errors:
            return cls(root, config, Graph((), ()), tuple(errors), ())
        warnings: list[Finding] = []
        tasks: list[Task] = []
        sources: dict[str, bytes] = {}
        known: list[str] = []
        for name, file, data, fault in _read_folder(root, config.tasks_dir, ".md"):
            known.append(name)
            if fault is not None:
                errors.append(fault)
                continue
            task, findings = parse_task(data, name, file)
            errors += findings
            if task is not None:
                tasks.append(task)
            if keep_sources:
                sources[name] = data
        goals: list[Goal] = []
        for name, file, data, fault in _read_folder(root, config.goals_dir, config.goal_suffix):
            if fault is not None:
                errors.append(fault)
                continue
            goal, findings, notes = parse_goal(data, name, file)
            errors += findings
            warnings += notes
            if goal is not None:
                goals.append(goal)
        graph = Graph(tasks, goals, known)
        errors += graph.find_errors()
        warnings = graph.find_warnings() + warnings
        return cls(root, config, graph, tuple(errors), tuple(warnings), sources)

    def with_task(self, task: Task) -> Workspace:
        """The same with one task changed; what is derived follows."""
        return self._with(Graph((self.tasks | {task.id: task}).values(), self.goals.values()))

    def with_goal(self, goal: Goal) -> Workspace:
        """The same with one goal changed; what is derived follows."""
        return self._with(Graph(self.tasks.values(), (self.goals | {goal.name: goal}).values()))

    def _with(self, graph: Graph) -> Workspace:
        legacy = {goal.file for goal in graph.goals.values() if goal.state is GoalState.LEGACY}
        kept = [
            finding for finding in self.warnings if finding.kind in _GOAL_KINDS and finding.file in legacy
        ]
        return replace(
            self, graph=graph, errors=tuple(graph.find_errors()), warnings=(*graph.find_warnings(), *kept)
        )


class _Source(NamedTuple):
    """One file of a planning folder; ``fault`` says why there are no bytes."""

    name: str
    file: str
    data: bytes
    fault: Finding | None


def _read_folder(root: Path, folder: str, suffix: str) -> Iterator[_Source]:
    """Every task or goal file of a folder, in the order of the names. Subfolders and ``README.md`` are none."""
    place = os.path.join(root, folder)  # noqa: PTH118 - strings: this runs for every file of ten thousand
    try:
        with os.scandir(place) as entries:
            found = [
                (entry.name, entry.is_symlink())
                for entry in entries
                if entry.name.endswith(suffix)
                and len(entry.name) > len(suffix)
                and entry.name[0] != "."
                and entry.name != "README.md"
                and not _is_folder(entry)
            ]
    except FileNotFoundError:
        return
    except OSError as error:
        yield _Source(folder, folder, b"", Finding("unreadable", f"cannot be read: {error.strerror}", folder))
        return
    cut_at = -len(suffix)
    for name, is_link in sorted(found, key=lambda item: natural_key(item[0][:cut_at])):
        file = f"{folder}/{name}"
        data, complaint = _read_file(f"{place}/{name}", root, is_link=is_link)
        fault = Finding("unreadable", complaint, file) if complaint else None
        yield _Source(name[:cut_at], file, data, fault)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        # A link to itself: reading it says so, and hides no other file.
        return False


def _read_file(path: str, root: Path, *, is_link: bool) -> tuple[bytes, str | None]:
    """The bytes of a planning file, or why there are none."""
    if not path.isprintable() and _is_not_utf8(path.rpartition("/")[2]):
        return b"", "the file's name is not UTF-8"
    if is_link and not is_inside(Path(path), root):
        return b"", "is a link that leads out of the planning root, or nowhere"
    try:
        descriptor = open_plain(path, os.O_RDONLY | (0 if is_link else os.O_NOFOLLOW))
    except OSError as error:
        return b"", f"cannot be read: {error.strerror}"
    try:
        data = os.read(descriptor, _CHUNK)
        if len(data) == _CHUNK:
            pieces = [data]
            size = _CHUNK
            while size <= _SIZE_LIMIT and (piece := os.read(descriptor, _CHUNK)):
                pieces.append(piece)
                size += len(piece)
            if size > _SIZE_LIMIT:
                return b"", "is larger than 4 MiB"
            data = b"".join(pieces)
    except OSError as error:
        return b"", f"cannot be read: {error.strerror}"
    finally:
        os.close(descriptor)
    return data, None


def _is_not_utf8(name: str) -> bool:
    return any("\udc80" <= char <= "\udcff" for char in name)
