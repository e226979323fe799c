"""Which command may start now: items in dependency order, by the results of this run (design §6).

Pure bookkeeping, no clock and no threads. Whatever order results come in, the answers depend on the results alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from codeboost.command.grammar import parse_command
from codeboost.plan.model import CheckType, Item
from codeboost.verdict import Verdict

__all__ = ["Command", "Schedule", "list_commands"]


class Command(NamedTuple):
    """One command of an item; ``position`` counts from 1 among all acceptance entries of the item."""

    item: str
    position: int
    text: str
    argv: tuple[str, ...]


def list_commands(item: Item) -> tuple[Command, ...]:
    return tuple(
        Command(item.id, position, check.text, parse_command(check.text))
        for position, check in enumerate(item.acceptance, start=1)
        if check.type is CheckType.CMD
    )


@dataclass(slots=True)
class _Progress:
    commands: tuple[Command, ...]
    waiting_to_start: list[Command]
    verdicts: dict[int, Verdict] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        return len(self.verdicts) == len(self.commands)

    @property
    def has_passed(self) -> bool:
        return self.is_complete and all(verdict is Verdict.PASSED for verdict in self.verdicts.values())


class Schedule:
    """The state of a run's items.

    ``commands`` holds the commands of every item that the run covers; ``settled`` are items outside it whose pass for
    this very tree is on record. An item without commands has nothing to fail: it passes with its dependencies.
    """

    def __init__(
        self, items: Sequence[Item], commands: Mapping[str, Sequence[Command]], settled: Iterable[str] = ()
    ) -> None:
        self._items = {item.id: item for item in items}
        self._progress = {
            item.id: _Progress(tuple(commands[item.id]), list(commands[item.id]))
            for item in items
            if item.id in commands
        }
        self._settled = frozenset(settled)
        self._passed: set[str] = set()
        self._refresh()

    def take_ready(self, count: int) -> list[Command]:
        """Up to ``count`` commands that may start now, in plan order; each is handed out once."""
        ready: list[Command] = []
        for item_id, progress in self._progress.items():
            if len(ready) >= count:
                break
            if progress.waiting_to_start and self.is_open(item_id):
                free = count - len(ready)
                ready += progress.waiting_to_start[:free]
                del progress.waiting_to_start[:free]
        return ready

    def record(self, command: Command, verdict: Verdict) -> None:
        progress = self._progress[command.item]
        progress.verdicts[command.position] = verdict
        if command in progress.waiting_to_start:
            progress.waiting_to_start.remove(command)
        self._refresh()

    def _refresh(self) -> None:
        # Dependencies name earlier items only (plan-rules.md §3), so one walk in plan order is enough.
        for item in self._items.values():
            progress = self._progress.get(item.id)
            own = item.id in self._settled or (progress is not None and progress.has_passed)
            if own and all(needed in self._passed for needed in item.depends_on):
                self._passed.add(item.id)

    def drop(self, item_id: str) -> list[Command]:
        """Take back the commands of an item that have not started; they are the answer."""
        progress = self._progress[item_id]
        dropped, progress.waiting_to_start = progress.waiting_to_start, []
        return dropped

    def is_open(self, item_id: str) -> bool:
        """Whether everything that the item depends on has passed."""
        return not self.find_blockers(item_id)

    def find_blockers(self, item_id: str) -> tuple[str, ...]:
        """The dependencies of an item that have no pass, in its own order."""
        return tuple(needed for needed in self._items[item_id].depends_on if not self.has_passed(needed))

    def has_passed(self, item_id: str) -> bool:
        return item_id in self._passed

    def is_complete(self, item_id: str) -> bool:
        return self._progress[item_id].is_complete

    def verdicts(self, item_id: str) -> tuple[Verdict, ...]:
        progress = self._progress[item_id]
        return tuple(progress.verdicts[command.position] for command in progress.commands)

    def list_unstarted(self) -> list[Command]:
        """Commands that were never handed out: those of items whose dependencies have no pass."""
        return [command for progress in self._progress.values() for command in progress.waiting_to_start]
