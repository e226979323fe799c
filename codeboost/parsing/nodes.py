"""Where each value of a document stands in its text: JSON Pointers to offsets, offsets to lines and columns.

Both readers leave the values to Python's own dicts and lists and keep the places beside them, as small as they can be:
a scalar is an offset, a container a ``Branch``. So a 1 MiB list of numbers stays far below 100 MB.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from codeboost.diagnostics import Position

__all__ = ["Branch", "LineIndex", "Place", "find_place", "join_pointer", "split_lines", "split_pointer"]


class Branch(NamedTuple):
    """A container: where it starts, and the places of its children.

    Of an object ``names`` are the keys (any dict of them, in order) and ``key_offsets`` where those stand.
    """

    offset: int
    children: list[Place]
    names: Mapping[str, object] | None = None
    key_offsets: list[int] | None = None


Place = int | Branch

# YAML 1.2 and every editor agree on these three; NEL, U+2028 and U+2029 are ordinary characters (plan-rules.md §1).
_BREAK = re.compile(r"\r\n?|\n")


class LineIndex:
    """Turns offsets of one text into positions.

    It counts on from the offset asked for last: findings come nearly in order, and an index of a MiB of line breaks
    would cost more than all the rest.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._has_returns = "\r" in text
        self._last = 0
        self._line = 1

    def find(self, offset: int) -> Position:
        text = self._text
        if offset and text[offset : offset + 1] == "\n" and text[offset - 1] == "\r":
            # Within a CRLF: it still belongs to the line that it ends.
            offset -= 1
        if offset < self._last:
            self._last, self._line = 0, 1
        self._line += text.count("\n", self._last, offset)
        start = text.rfind("\n", 0, offset)
        if self._has_returns:
            self._line += text.count("\r", self._last, offset) - text.count("\r\n", self._last, offset)
            start = max(start, text.rfind("\r", 0, offset))
        self._last = offset
        return Position(self._line, offset - start)


def split_lines(text: str) -> list[str]:
    """The lines of ``text`` without their breaks, split where ``LineIndex`` counts."""
    return _BREAK.split(text)


def split_pointer(pointer: str) -> list[str]:
    """The tokens of a JSON Pointer (RFC 6901), decoded; ``""`` has none."""
    if not pointer:
        return []
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def join_pointer(*tokens: str | int) -> str:
    """The JSON Pointer of the given tokens, encoded."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in tokens)


def find_place(root: Place, pointer: str, *, key: bool = False) -> int | None:
    """The offset of the value at ``pointer``, or of its key if ``key``; None when there is no such value."""
    place = root
    offset = _start_of(root)
    for token in split_pointer(pointer):
        if isinstance(place, int):
            return None
        index = _find_child(place, token)
        if index is None:
            return None
        offset = place.key_offsets[index] if place.key_offsets else _start_of(place.children[index])
        place = place.children[index]
    return offset if key else _start_of(place)


def _start_of(place: Place) -> int:
    return place if isinstance(place, int) else place.offset


def _find_child(branch: Branch, token: str) -> int | None:
    if branch.names is not None:
        return list(branch.names).index(token) if token in branch.names else None
    return int(token) if token.isdecimal() and int(token) < len(branch.children) else None
