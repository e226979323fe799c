"""Tasks, goals and findings as plain data (planr-contract.md)."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from codeboost.visible import cut, escape

__all__ = ["Finding", "Goal", "GoalState", "Status", "Task", "name_word", "natural_key", "refuse_word"]


class Status(StrEnum):
    """The states of a task, in the order of the board."""

    BLOCKED = "blocked"
    DECISION = "decision"
    IN_PROGRESS = "in-progress"
    REVIEW = "review"
    OPEN = "open"
    DONE = "done"
    DROPPED = "dropped"


class GoalState(StrEnum):
    """The states of a goal, in the order of the board. ``legacy`` is never written: such a file names no state."""

    RUNNING = "running"
    APPROVED = "approved"
    DRAFT = "draft"
    REVIEW = "review"
    LEGACY = "legacy"
    DONE = "done"


class Task(NamedTuple):
    """One task file. ``file`` is relative to the planning root; ``refs`` is what the file says, whatever it is."""

    id: str
    title: str
    status: Status
    track: str
    depends: tuple[str, ...]
    owner: str | None
    refs: str | tuple[str, ...] | None
    file: str


class Goal(NamedTuple):
    """One goal file. ``name`` is the file name without the configured suffix."""

    name: str
    file: str
    title: str
    state: GoalState
    stream: str | None
    budget: str | None
    thread: str | None
    scope: tuple[str, ...]


class Finding(NamedTuple):
    """One error or warning: a stable ``kind``, one sentence, and where it was found."""

    kind: str
    text: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        """One line, safe to show. The text's own quotations are escaped where they are made."""
        if self.file is None:
            return self.text
        place = escape(self.file) if self.line is None else f"{escape(self.file)}:{self.line}"
        return f"{place}: {self.text}"


_DIGITS = re.compile(r"[0-9]+")


def natural_key(text: str) -> tuple[str, str, str]:
    """The one order of ids and names: number-aware and without regard to case, so that ``A-2`` is before ``A-10``.

    Ties are broken by the spelling, lower case first.
    """
    return _DIGITS.sub(_spell_number, text.casefold()), text.swapcase(), text


def _spell_number(match: re.Match[str]) -> str:
    # The length first makes plain comparison numeric; a leading 0 keeps digits between signs and letters.
    digits = match[0].lstrip("0")
    return f"0{len(digits):08d}{digits}"


def name_word(word: str) -> str:
    """A word from a file, in quotes, for a message."""
    return f'"{cut(word, 60)}"'


def refuse_word(key: str, found: str | tuple[str, ...], allowed: str) -> str:
    """Why ``found`` is none of the ``allowed`` words of a key."""
    if isinstance(found, tuple):
        return f"{key} must be one word, not a list; allowed: {allowed}"
    return f"{key} {name_word(found)} is unknown; allowed: {allowed}"
