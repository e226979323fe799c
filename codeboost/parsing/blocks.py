"""Block scalars whose lines begin with tabs, which are text in YAML 1.2 and an error to libyaml, and their first line."""

from __future__ import annotations

import re

from codeboost.parsing.fault import Fault
from codeboost.parsing.layout import Prepared

__all__ = ["check_block_start", "fold", "keep_tab"]

# Header without an indentation of its own, empty lines, the indentation of the first line that is not empty.
_START = re.compile(r"[|>][-+]?[ \t]*+(?:#[^\r\n]*+)?(?:\r\n?+|\n)((?: *+(?:\r\n?+|\n))*+)( *+)(?=[^\r\n])")
# Ends the document, where it begins a line.
_MARKER = re.compile(r"(?<=[\r\n])(?:---|\.\.\.)(?:[ \t\r\n]|\Z)")
# Nothing but empty lines and comments to the end of the document.
_NOTHING_MORE = re.compile(
    r"(?:[ \t]*+(?:#[^\r\n]*+)?(?:\r\n?+|\n))*+"
    r"(?:[ \t]*+(?:#[^\r\n]*+)?\Z|(?:---|\.\.\.)(?:[ \t\r\n]|\Z))"
)


def keep_tab(prepared: Prepared, header: int, offset: int, indent: int) -> Prepared | None:
    """``prepared`` with the tab at ``offset``, in the block scalar whose header is at ``header``, as YAML 1.2 has it.

    Where the spaces before it indent the scalar more than the block around it (``indent``), the tab is the first
    character of the text. Else it ends the scalar, and may only begin a comment or an empty line after everything else.
    None when it may not stand there.
    """
    text = prepared.text
    if text[offset : offset + 1] != "\t":
        return None
    first = _START.match(text, header)
    if first is None or first.end() != offset or len(first[2]) <= indent:
        if not _NOTHING_MORE.match(text, offset):
            return None
        return prepared._replace(text=f"{text[:offset]}#{text[offset + 1 :]}")
    # Something else than a blank ends the search for the indentation. A folded scalar would fold a line that begins with
    # it, and must not, so libyaml reads it as it stands, and `fold` does the rest.
    stand_in = prepared.find_stand_in("\t")
    is_folded = text[header] == ">"
    start = "|" if is_folded else text[header]
    return prepared._replace(
        text=f"{text[:header]}{start}{text[header + 1 : offset]}{stand_in}{text[offset + 1 :]}",
        restore=prepared.restore | {ord(stand_in): "\t"},
        folded=prepared.folded | ({header} if is_folded else set()),
    )


def fold(text: str) -> str:
    """The value of a folded scalar whose value as a literal one is ``text`` (YAML 1.2.2 §8.1.3)."""
    body = text.rstrip("\n")
    lines = body.split("\n")
    folded = [lines[0]]
    before, breaks = lines[0], 0
    for line in lines[1:]:
        breaks += 1
        if not line:
            continue
        # Lines that begin with a blank keep every break around them, and empty ones before everything are kept too.
        keeps_all = not before or before[0] in " \t" or line[0] in " \t"
        folded.append("\n" * breaks if keeps_all else "\n" * (breaks - 1) or " ")
        folded.append(line)
        before, breaks = line, 0
    return "".join(folded) + text[len(body) :]


def check_block_start(text: str, start: int, indent: int) -> Fault | None:
    """The first line of the block scalar at ``start``, if an empty line before it is indented more.

    YAML 1.2.2 §8.1.1.1. libyaml takes the emptiness for the indentation, and a text that begins with # for a comment.
    """
    match = _START.match(text, start)
    if match is None or len(match[2]) <= indent or _MARKER.match(text, match.end()):
        return None
    if max(map(len, re.split(r"[\r\n]", match[1]))) <= len(match[2]):
        return None
    message = "the empty lines before this one are indented more than it; take their spaces away"
    return Fault("syntax", match.end(), message)
