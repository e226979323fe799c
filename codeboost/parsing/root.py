"""A block scalar that is the whole document may stand at the very left, which libyaml does not know.

YAML 1.2.2 §8.1.1, example 9.5: outside of all collections a text needs no indentation.
"""

from __future__ import annotations

import re

__all__ = ["PROLOGUE", "find_root_lines"]

# Lines before the first node: blank, comments, directives, and a --- alone.
PROLOGUE = re.compile(
    r"(?:(?:%[^\r\n]*+|---(?:[ \t]++(?:#[^\r\n]*+)?)?+|[ \t]*+(?:#[^\r\n]*+)?)(?:\r\n?+|\n))*+"
)
_HEADER = re.compile(r"(?:---[ \t]++)?+[ \t]*+[|>][-+]?(?:[ \t]++(?:#[^\r\n]*+)?)?(?:\r\n?+|\n)")
_EMPTY_LINES = re.compile(r"(?: *+(?:\r\n?+|\n))*+")
_MARKER = re.compile(r"(?<=[\r\n])(?:---|\.\.\.)(?:[ \t\r\n]|\Z)")
_LINE_START = re.compile(r"(?<=[\r\n])(?=[^\r\n])")


def find_root_lines(text: str) -> tuple[int, ...]:
    """The offsets of the lines of such a scalar; none when the document is anything else."""
    if "|" not in text and ">" not in text:
        return ()
    prologue = PROLOGUE.match(text)
    header = _HEADER.match(text, prologue.end() if prologue else 0)
    if header is None:
        return ()
    empty = _EMPTY_LINES.match(text, header.end())
    first = empty.end() if empty else header.end()
    if text[first : first + 1] in ("", " ") or _MARKER.match(text, first):
        return ()
    marker = _MARKER.search(text, first)
    end = marker.start() if marker else len(text)
    return tuple(match.start() for match in _LINE_START.finditer(text, header.end(), end))
