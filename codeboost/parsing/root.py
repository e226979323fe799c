"""A block scalar that is the whole document may stand at the very left, which libyaml does not know.

YAML 1.2.2 §8.1.1, example 9.5: outside of all collections a text needs no indentation.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from codeboost.parsing.fault import Fault

__all__ = ["PROLOGUE", "indent_root", "restore_offset"]

# Lines before the first node: blank, comments, directives, and a --- alone.
PROLOGUE = re.compile(
    r"(?:(?:%[^\r\n]*+|---(?:[ \t]++(?:#[^\r\n]*+)?)?+|[ \t]*+(?:#[^\r\n]*+)?)(?:\r\n?+|\n))*+"
)
_HEADER = re.compile(r"(?:---[ \t]++)?+[ \t]*+[|>][-+]?(?:[ \t]++(?:#[^\r\n]*+)?)?(?:\r\n?+|\n)")
_EMPTY_LINES = re.compile(r"(?: *+(?:\r\n?+|\n))*+")
_MARKER = re.compile(r"(?<=[\r\n])(?:---|\.\.\.)(?:[ \t\r\n]|\Z)")
_LINE_START = re.compile(r"(?<=[\r\n])(?=[^\r\n])")


def indent_root(text: str) -> tuple[str, list[int]]:
    """``text`` with each line of such a scalar indented by a space, and where these spaces stand in the new text."""
    if "|" not in text and ">" not in text:
        return text, []
    prologue = PROLOGUE.match(text)
    header = _HEADER.match(text, prologue.end() if prologue else 0)
    if header is None:
        return text, []
    empty = _EMPTY_LINES.match(text, header.end())
    first = empty.end() if empty else header.end()
    if text[first : first + 1] in ("", " ") or _MARKER.match(text, first):
        return text, []
    marker = _MARKER.search(text, first)
    end = marker.start() if marker else len(text)
    starts = [match.start() for match in _LINE_START.finditer(text, header.end(), end)]
    pieces = [text[start:following] for start, following in zip([0, *starts], [*starts, None], strict=True)]
    return " ".join(pieces), [start + number for number, start in enumerate(starts)]


def restore_offset(fault: Fault, inserted: list[int]) -> Fault:
    """``fault`` with its offset in the text as it was."""
    return fault._replace(offset=fault.offset - bisect_left(inserted, fault.offset))
