"""Which commands may run: exactly those on the list, element by element (plan-rules.md §4, design §5.1)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet

__all__ = ["is_approved"]


def is_approved(argv: Sequence[str], approved: Collection[Sequence[str]]) -> bool:
    """Whether ``argv`` equals one of ``approved``: same length, every element the same, code point by code point.

    There is no prefix match, no pattern, no normalising. An empty argv or program is never approved, whatever the
    list says. A set of tuples is asked directly; any other collection is walked.
    """
    if isinstance(argv, str):
        raise TypeError("is_approved takes an argv, a sequence of strings; parse the text first")
    wanted = tuple(argv)
    if not wanted or not wanted[0]:
        return False
    if isinstance(approved, AbstractSet):
        return wanted in approved
    return any(wanted == tuple(entry) for entry in approved)
