"""What a reader found, before lines are counted."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["MAX_DEPTH", "TOO_DEEP", "Fault", "FaultError"]

MAX_DEPTH = 50
TOO_DEEP = f"nested more than {MAX_DEPTH} containers deep"


class Fault(NamedTuple):
    """One finding: a reason of plan-rules.md §1 at an offset. ``other`` is the offset of what it collides with."""

    reason: str
    offset: int
    message: str
    other: int | None = None
    hint: str | None = None


class FaultError(Exception):
    """Ends a reader; never leaves this package. ``faults`` are in the order of the text."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(faults[0].message)
        self.faults = faults
