"""Strict JSON (RFC 8259, plan-rules.md §1).

Two readers of one language. The quick one is the standard library's, with every leniency taken away; it answers for
good files. When it says no, or when somebody asks where a value stands, ours walks the text with its own stack and
says what is wrong and where. A property test holds the two to the same verdict.
"""

from __future__ import annotations

import json
import re
from array import array
from itertools import accumulate
from typing import NamedTuple

from codeboost.parsing.fault import MAX_DEPTH, TOO_DEEP, Fault, FaultError
from codeboost.parsing.nodes import Branch, Place
from codeboost.parsing.numbers import NumberRangeError, read_number
from codeboost.visible import cut

__all__ = ["locate_json", "read_json"]

_STRING_BYTES = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)', re.DOTALL)
_NO_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_STEPS = bytes(1 if code in b"[{" else 0xFF for code in range(256))
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONG_NUMBER = re.compile(rb"[0-9]{16}")


class _QuickNoError(Exception):
    """The quick reader found something; ours will say what."""


def read_json(data: bytes, text: str) -> object:
    """The value of a JSON document, whose bytes and decoded text are given. FaultError with the first fault."""
    try:
        return _read_quickly(data, text)
    except (_QuickNoError, ValueError):
        _Walker(text).walk()
    raise AssertionError(
        "the two JSON readers disagree"
    )  # pragma: no cover - held together by a property test


def locate_json(text: str) -> Place:
    """Where each value of a document that ``read_json`` accepted stands."""
    return _Walker(text).walk()


def _read_quickly(data: bytes, text: str) -> object:
    if _SURROGATE_ESCAPE.search(data) or _is_too_deep(data):
        # A pair of surrogate escapes is fine; a lone one is not. Rare enough to walk for.
        _Walker(text).walk()
    return json.loads(
        text,
        object_pairs_hook=_make_object,
        parse_float=read_number,
        # Calling a function for each of 500,000 small numbers costs more than the rest together.
        parse_int=read_number if _LONG_NUMBER.search(data) else int,
        parse_constant=_refuse,
    )


def _is_too_deep(data: bytes) -> bool:
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _STRING_BYTES.sub(b"", data).translate(_STEPS, _NO_BRACKETS)
    # +1 and -1 as signed bytes: all of it inside C, a few ms for a MiB of brackets.
    return max(accumulate(array("b", brackets)), default=0) > MAX_DEPTH


def _make_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _QuickNoError
    return members


def _refuse(name: str) -> object:
    raise _QuickNoError(name)


# The careful reader

_TOKEN = re.compile(
    r"[ \t\n\r]*+(?:"
    r"([\[\]{},:])"
    r'|("[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+")'
    r"|(-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+)"
    r"|(true|false|null)"
    r"|\Z)"
)
_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"[\w.+-]+")
_ESCAPES = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|[^"\\\x00-\x1f]')
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class _Token(NamedTuple):
    kind: str  # a punctuation mark, or "string", "number", "word", "end"
    offset: int
    text: str


class _Frame:
    """One open container; ``keys`` are those of an object, with their offsets."""

    __slots__ = ("children", "is_object", "keys", "offset")

    def __init__(self, offset: int, *, is_object: bool) -> None:
        self.offset = offset
        self.is_object = is_object
        self.children: list[Place] = []
        self.keys: dict[str, int] = {}

    @property
    def closing(self) -> str:
        return "}" if self.is_object else "]"

    def close(self) -> Branch:
        if self.is_object:
            return Branch(self.offset, self.children, self.keys, list(self.keys.values()))
        return Branch(self.offset, self.children)


class _Walker:
    """Reads tokens one after the other, with a stack of its own; stops at the first fault."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = 0
        self._stack: list[_Frame] = []

    def walk(self) -> Place:
        place = self._begin_value()
        while place is None or self._stack:
            if place is None:
                place = self._begin_value()
                continue
            frame = self._stack[-1]
            frame.children.append(place)
            place = None if self._goes_on(frame) else self._stack.pop().close()
        token = self._next()
        if token.kind != "end":
            raise self._fault(token, "nothing may follow the end of the document")
        return place

    def _begin_value(self) -> Place | None:
        """A scalar or an empty container, or None when a container was opened and its first value comes next."""
        token = self._next()
        if token.kind not in ("[", "{"):
            return self._read_scalar(token)
        if len(self._stack) == MAX_DEPTH:
            raise FaultError(Fault("too-deep", token.offset, TOO_DEEP))
        frame = _Frame(token.offset, is_object=token.kind == "{")
        first = self._next()
        if first.kind == frame.closing:
            return frame.close()
        self._stack.append(frame)
        if frame.is_object:
            self._read_key(frame, first)
        else:
            self._end = first.offset
        return None

    def _goes_on(self, frame: _Frame) -> bool:
        """Whether another value follows in ``frame``, whose key is read then; else the container ends here."""
        token = self._next()
        if token.kind == frame.closing:
            return False
        if token.kind != ",":
            raise self._fault(token, f"expected a comma or {frame.closing} here")
        following = self._next()
        if following.kind == frame.closing:
            raise self._fault(following, f"JSON allows no comma before {frame.closing}")
        if frame.is_object:
            self._read_key(frame, following)
        else:
            self._end = following.offset
        return True

    def _read_key(self, frame: _Frame, token: _Token) -> None:
        if token.kind != "string":
            raise self._fault(token, "expected a key in double quotes here")
        key = self._read_string(token)
        if key in frame.keys:
            raise FaultError(_name_duplicate(key, token.offset, frame.keys[key]))
        frame.keys[key] = token.offset
        colon = self._next()
        if colon.kind != ":":
            raise self._fault(colon, "expected a colon after the key here")

    def _read_scalar(self, token: _Token) -> int:
        if token.kind == "string":
            self._read_string(token)
        elif token.kind == "number":
            try:
                read_number(token.text)
            except NumberRangeError as error:
                raise FaultError(
                    Fault("number-range", token.offset, f"the number {cut(token.text, 40)}: {error}")
                ) from None
        elif token.kind != "word":
            raise self._fault(token, "expected a value here")
        return token.offset

    def _read_string(self, token: _Token) -> str:
        if "\\" not in token.text:
            return token.text[1:-1]
        value: str = json.loads(token.text)
        if _LONE_SURROGATE.search(value):
            raise FaultError(
                Fault(
                    "encoding",
                    token.offset,
                    f"a lone surrogate escape stands for no character: {cut(token.text)}",
                )
            )
        return value

    def _next(self) -> _Token:
        match = _TOKEN.match(self._text, self._end)
        if match is None:
            space = _SPACE.match(self._text, self._end)
            raise FaultError(self._explain(space.end() if space else self._end))
        self._end = match.end()
        group = match.lastindex
        if group is None:
            return _Token("end", self._end, "")
        text = match[group]
        if group == 1:
            return _Token(text, match.start(1), text)
        return _Token(("string", "number", "word")[group - 2], match.start(group), text)

    def _fault(self, token: _Token, expected: str) -> FaultError:
        found = f"found {cut(token.text, 40)}" if token.text else "the file ends"
        return FaultError(Fault("syntax", token.offset, f"{expected}; {found}"))

    def _explain(self, offset: int) -> Fault:
        """What is wrong with the characters at ``offset``, which begin no token."""
        char = self._text[offset]
        if char == '"':
            return self._explain_string(offset)
        if char == "\ufeff":
            return Fault("encoding", offset, "a byte order mark does not belong into JSON")
        if char == "'":
            return Fault("syntax", offset, "JSON strings stand in double quotes")
        if self._text.startswith(("//", "/*"), offset) or char == "#":
            return Fault("syntax", offset, "JSON has no comments")
        word = _WORD.match(self._text, offset)
        if word:
            return Fault("syntax", offset, f"{cut(word[0], 40)} is no JSON value: {_NO_VALUE}")
        return Fault("syntax", offset, f"the character {_name_char(char)} may not stand here")

    def _explain_string(self, offset: int) -> Fault:
        position = offset + 1
        while match := _ESCAPES.match(self._text, position):
            position = match.end()
        if position >= len(self._text):
            return Fault("syntax", offset, "this string is never closed")
        char = self._text[position]
        if char == "\\":
            return Fault(
                "syntax", position, f"{cut(self._text[position : position + 2])} is no escape of JSON"
            )
        return Fault(
            "syntax",
            position,
            f"the control character {_name_char(char)} must be written as an escape in a string",
        )


_NO_VALUE = "true, false, null, a number as JSON spells it, or a string in double quotes"


def _name_char(char: str) -> str:
    return f"U+{ord(char):04X} ({cut(char)})"


def _name_duplicate(key: str, offset: int, first: int) -> Fault:
    return Fault("duplicate-key", offset, f"the key '{cut(key, 60)}' stands twice in one object", other=first)
