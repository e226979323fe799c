"""What libyaml, a reader of YAML 1.1, takes otherwise than YAML 1.2: put right before it reads, refused after.

Every change keeps the length of the text, so that offsets stay true. In a document without the characters and layouts
in question nothing here costs more than one search.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from yaml._yaml import CParser
from yaml.error import YAMLError
from yaml.tokens import (
    FlowEntryToken,
    FlowMappingStartToken,
    FlowSequenceStartToken,
    KeyToken,
    ValueToken,
)

from codeboost.parsing.fault import Fault, FaultError
from codeboost.parsing.root import PROLOGUE

__all__ = [
    "Prepared",
    "Span",
    "check_comments",
    "check_directives",
    "check_indent",
    "check_softened",
    "prepare",
    "soften_tab",
]

_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
# c-printable, and a line break for YAML 1.1 only.
_FALSE_BREAKS = "\x85\u2028\u2029"
# Not c-printable, or a byte order mark: fine inside quotes (YAML 1.2.2 §5.1, nb-json), nowhere else.
_QUOTED_ONLY = re.compile("[\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_SPECIAL = re.compile(f"[{_FALSE_BREAKS}\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
# A colon or question mark that begins a plain scalar in a flow collection ([:a], [?a]); 1.1 sees an indicator.
# A comment may stand between, so any that begins a line may be meant.
_FLOW_START = re.compile(r"(?:[\[{,:?][ \t\r\n]*|[\r\n][ \t]*)[?:](?=[^\s,\[\]{}])")
_LONG_ESCAPE = re.compile(r"\\U([0-9a-fA-F]{8})")
# Two escapes that JSON takes for one character, as YAML has to that reads JSON; libyaml takes neither half.
_PAIR = re.compile(r"(?<!\\)(?:\\\\)*+(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})")
_PRIVATE = range(0x100000, 0x10FFFE)

_DIRECTIVE = re.compile(r"(?:\A|(?<=[\r\n]))%([^\r\n]*)")
# A line that is neither blank nor a comment; nor a directive, for the first.
_CONTENT_LINE = re.compile(r"(?:\A|(?<=[\r\n]))[ \t]*+[^ \t\r\n#%]")
_YAML_12 = re.compile(r"YAML[ \t]+1\.2[ \t]*(?:[ \t]#.*)?")
_ANY_CONTENT_LINE = re.compile(r"(?:\A|(?<=[\r\n]))[ \t]*+[^ \t\r\n#]")
_LINE = re.compile(r"[^\r\n]*")
_AFTER_INDICATOR = re.compile(r"(?:[ \t]*[-?:])+[ \t]*")
_GLUED_HASH = re.compile(r"(?<=[^\s])#")


class Span(NamedTuple):
    """A scalar's place in the text, and whether it stands in quotes."""

    start: int
    end: int
    is_quoted: bool


class Prepared(NamedTuple):
    """A text for libyaml, and what it was.

    ``needs_spans`` says whether ``check_comments`` has anything to look at, ``is_softened`` that tabs were made spaces.
    ``restore`` maps stand-ins back, ``folded`` are the offsets of block scalars that libyaml takes for literal ones,
    ``gaps`` those before which it gets a space more, and before those in ``asked`` too a ``?``.

    In double quotes a stand-in may mean something else (``restore_escaped``): there alone a backslash escapes.
    """

    text: str
    original: str
    needs_spans: bool
    restore: dict[int, str]
    restore_escaped: dict[int, str]
    is_softened: bool = False
    folded: frozenset[int] = frozenset()
    gaps: tuple[int, ...] = ()
    asked: frozenset[int] = frozenset()

    def find_stand_in(self, char: str) -> str:
        """A character that stands for ``char`` outside of double quotes: one that does already, or a free one."""
        known = (chr(code) for code, meant in self.restore.items() if meant == char)
        return next(known, "") or next(chr(code) for code in _PRIVATE if chr(code) not in self.text)


def prepare(text: str) -> Prepared:
    """``text`` as libyaml has to see it to read YAML 1.2. FaultError for characters that no YAML may hold."""
    forbidden = _FORBIDDEN.search(text)
    if forbidden:
        raise FaultError(_refuse_control(text, forbidden.start()))
    # The first looks are there because they cost a tenth of the others.
    special = ("\x7f" in text or not text.isascii()) and _SPECIAL.search(text) is not None
    has_flow = ("[" in text or "{" in text) and _FLOW_START.search(text) is not None
    starts = list(_find_flow_starts(text)) if has_flow else []
    pairs = {match[1] for match in _PAIR.finditer(text)} if "\\u" in text else set()
    needs_spans = ("#" in text and _GLUED_HASH.search(text) is not None) or (
        special and _QUOTED_ONLY.search(text) is not None
    )
    if not special and not starts and not pairs:
        return Prepared(text, text, needs_spans, {}, {})
    characters = {pair: _join_pair(pair) for pair in sorted(pairs)}
    taken = {*map(ord, text), *map(ord, characters.values())}
    taken |= {int(code, 16) for code in _LONG_ESCAPE.findall(text)}
    free = (chr(code) for code in _PRIVATE if code not in taken)
    hidden = {char: next(free) for char in sorted({*_SPECIAL.findall(text), ":", "?"})}
    chars = list(text)
    for offset in starts:
        chars[offset] = hidden[chars[offset]]
    replaced = "".join(chars)
    for char in hidden.keys() - {":", "?"}:
        replaced = replaced.replace(char, hidden[char])
    restore = {ord(stand_in): char for char, stand_in in hidden.items()}
    restore_escaped = dict(restore)
    if pairs:
        filler = next(free)
        restore[ord(filler)] = restore_escaped[ord(filler)] = ""
        stand_ins = {pair: next(free) for pair in characters}
        for pair, stand_in in stand_ins.items():
            restore[ord(stand_in)], restore_escaped[ord(stand_in)] = pair, characters[pair]
        replaced = _PAIR.sub(
            lambda match: match[0].replace(match[1], stand_ins[match[1]].ljust(len(match[1]), filler)),
            replaced,
        )
    return Prepared(replaced, text, needs_spans, restore, restore_escaped)


def _join_pair(pair: str) -> str:
    high, low = int(pair[2:6], 16), int(pair[8:12], 16)
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def _refuse_control(text: str, offset: int) -> Fault:
    if "\0" in text[:4]:
        return Fault(
            "encoding", 0, "the file is not UTF-8", hint="it looks like UTF-16 or UTF-32: save it as UTF-8"
        )
    code = f"U+{ord(text[offset]):04X}"
    return Fault(
        "syntax", offset, f"YAML allows no control character {code}; in double quotes write it as an escape"
    )


def _find_flow_starts(text: str) -> Iterator[int]:
    """Offsets of indicators that YAML 1.2 takes for the first character of a plain scalar.

    Read token by token from the last change on: after each one the rest may look different.
    """
    opening = (FlowSequenceStartToken, FlowMappingStartToken, FlowEntryToken, ValueToken, KeyToken)
    for _ in range(_MOST_FLOW_STARTS):
        found = None
        previous: object = None
        parser = CParser(text)
        try:
            while (token := parser.get_token()) is not None:
                at = token.start_mark.index
                if isinstance(token, (ValueToken, KeyToken)) and text[at : at + 1] in (":", "?"):
                    following = text[at + 1 : at + 2]
                    if (
                        following
                        and not following.isspace()
                        and following not in ",[]{}"
                        and isinstance(previous, opening)
                    ):
                        found = at
                        break
                previous = token
        except YAMLError:
            pass
        if found is None:
            return
        yield found
        text = text[:found] + "x" + text[found + 1 :]


# Each costs one more reading of the text; no plan has one.
_MOST_FLOW_STARTS = 32


def check_directives(text: str) -> None:
    """Refuses every directive but a single ``%YAML 1.2`` before the document."""
    first = _CONTENT_LINE.search(text)
    before = len(text) if first is None else first.start()
    seen = False
    for match in _DIRECTIVE.finditer(text, 0, before):
        if seen or not _YAML_12.fullmatch(match[1]):
            message = "no directive is allowed but a single %YAML 1.2"
            raise FaultError(Fault("directive", match.start(), message))
        seen = True


def soften_tab(prepared: Prepared, offset: int) -> Prepared | None:
    """``prepared`` with the tab at ``offset`` as a space, if YAML 1.2 may allow it there; else None.

    1.2 lets tabs separate and stand on blank and comment lines; libyaml refuses some of those. What a softened tab
    must not do, indent a block collection or stand for the spaces of an indentation, ``check_indent`` looks at.
    """
    text = prepared.text
    if text[offset : offset + 1] != "\t":
        return None
    start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    before = text[start:offset]
    content = _ANY_CONTENT_LINE.search(text, start)
    end = len(text) if content is None else content.start()
    if end > offset:
        # In block scalars alone such lines may be text: up to the next one all are softened at once.
        header = _MAY_BE_HEADER.search(text, end)
        limit = header.start() if header else len(text)
        following = _BLANK_START.sub(lambda match: " " * len(match[0]), text[end:limit]) + text[limit:]
    else:
        prologue = PROLOGUE.match(text)
        # Nothing is indented by what stands before the first of all.
        opens_document = prologue is not None and prologue.end() == start
        separates = (before.startswith(" ") and not before.strip(" ")) or _AFTER_INDICATOR.fullmatch(before)
        if not opens_document and not separates:
            return None
        end = len(text) - len(text[offset:].lstrip(" \t"))
        following = text[end:]
    softened = text[:offset] + text[offset:end].replace("\t", " ") + following
    return prepared._replace(text=softened, is_softened=True)


_MAY_BE_HEADER = re.compile(r"[|>][-+0-9]{0,2}[ \t]*+(?:#[^\r\n]*+)?(?=[\r\n]|\Z)")
_BLANK_START = re.compile(r"(?<=[\r\n])[ \t]++(?=[\r\n#])")


def check_softened(prepared: Prepared, offset: int, indent: int, *, is_block: bool) -> Fault | None:
    """The fault of a node at ``offset`` that a softened tab stands before, in a block indented by ``indent``."""
    at = offset
    while at and prepared.text[at - 1] == " ":
        at -= 1
    tab = prepared.original.find("\t", at, offset)
    if tab < 0:
        return None
    opens_line = at == 0 or prepared.text[at - 1] in "\r\n"
    if is_block or (opens_line and tab - at <= indent):
        return Fault("syntax", tab, "a tab cannot indent; use spaces")
    return None


def check_indent(text: str, start: int, end: int, indent: int, *, comments: bool) -> Fault | None:
    """The first line within a flow collection or quoted scalar that is not indented more than the block around it.

    YAML 1.2 wants it (``s-flow-line-prefix``), empty lines excepted, and in a collection (``comments``) comment lines.
    Within a scalar a tab makes no line empty (``l-empty``). The last bracket of a collection may stand right below the
    key or dash that it belongs to, as people write it and every reader takes it.
    """
    if indent < 0:
        return None
    for match in _CONTINUATION.finditer(text, start, end):
        spaces, rest = match[1], match[2]
        stripped = rest.strip(" \t")
        if len(spaces) > indent or not rest or (comments and (not stripped or stripped[0] == "#")):
            continue
        if comments and len(spaces) == indent and match.start(2) == end - 1:
            continue
        if not stripped:
            return Fault("syntax", match.start(2), "a tab cannot indent; use spaces")
        message = (
            f"this line must be indented by at least {indent + 1} spaces, as it goes on from the block above"
        )
        return Fault("syntax", match.start(2), message)
    return None


_CONTINUATION = re.compile(r"(?:\r\n?|\n)( *)([^\r\n]*)")


def check_comments(text: str, spans: Sequence[Span]) -> Fault | None:
    """The first ``#`` that begins no comment for want of a blank before it, or character that belongs into quotes."""
    position = 0
    for span in [*spans, Span(len(text), len(text), is_quoted=False)]:
        fault = _check_gap(text, position, span.start)
        if fault is None and not span.is_quoted:
            fault = _check_quoted_only(text, span.start, span.end)
        if fault:
            return fault
        position = max(position, span.end)
    return None


def _check_gap(text: str, start: int, end: int) -> Fault | None:
    # Tokens and comments only. A comment that begins in the gap may reach to its end and no further.
    position = start
    while (at := text.find("#", position, end)) >= 0:
        if at and not text[at - 1].isspace():
            return Fault("syntax", at, "a comment needs a space before its #")
        line = _LINE.match(text, at)
        position = line.end() if line else end
    return _check_quoted_only(text, start, end)


def _check_quoted_only(text: str, start: int, end: int) -> Fault | None:
    match = _QUOTED_ONLY.search(text, start, end)
    if match is None:
        return None
    code = f"U+{ord(match[0]):04X}"
    return Fault("syntax", match.start(), f"the character {code} may stand only inside quotes")
