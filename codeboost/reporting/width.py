"""How many columns text takes on a terminal: East Asian characters take two, combining marks none."""

from __future__ import annotations

import unicodedata

__all__ = ["fit", "measure"]


def measure(text: str) -> int:
    """The columns of ``text``, which has been escaped (no control characters)."""
    return len(text) if text.isascii() else sum(_measure_char(char) for char in text)


def fit(text: str, width: int | None) -> str:
    """``text`` in at most ``width`` columns, with an ellipsis where it was cut; None is as wide as it likes."""
    if width is None or measure(text) <= width:
        return text
    taken = 0
    for index, char in enumerate(text):
        taken += _measure_char(char)
        if taken > width - 1:
            return text[:index] + "…" if width > 0 else ""
    return text


def _measure_char(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
