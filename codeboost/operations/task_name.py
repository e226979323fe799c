"""The task of an item by its id (``GH412-P1``), and back again (design §6)."""

from __future__ import annotations

import re
from typing import NamedTuple

from codeboost.errors import UsageError
from codeboost.visible import cut

__all__ = ["TaskName", "parse_task_name", "require_task_name"]

_TASK = re.compile(
    r"([A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z_-])?)([1-9][0-9]{0,15})-(P[1-9][0-9]*)(?:\.([1-9][0-9]*))?"
)


class TaskName(NamedTuple):
    """``GH412-P1``; with ``.2`` behind it, the second acceptance entry of that item."""

    prefix: str
    issue: int
    item: str
    position: int | None


def parse_task_name(text: str) -> TaskName | None:
    """The parts of a task id; None when ``text`` is none."""
    match = _TASK.fullmatch(text)
    if match is None:
        return None
    return TaskName(match[1], int(match[2]), match[3], int(match[4]) if match[4] else None)


def require_task_name(text: str) -> TaskName:
    """UsageError when ``text`` is no task id."""
    name = parse_task_name(text)
    if name is None:
        raise UsageError(f"'{cut(text)}' is no task of an issue: write it like GH412-P1")
    return name
