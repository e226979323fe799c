"""One YAML 1.2 document that represents JSON-compatible data (plan-rules.md §1).

libyaml finds the events, quickly; everything that YAML offers beyond JSON is visible there and refused. It reads YAML
1.1; ``layout`` puts right what that takes otherwise. Faults that need not end the reading are all reported.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from yaml._yaml import CParser
from yaml.error import MarkedYAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from codeboost.parsing import layout
from codeboost.parsing.fault import MAX_DEPTH, TOO_DEEP, Fault, FaultError
from codeboost.parsing.layout import Prepared, Span
from codeboost.parsing.nodes import Branch, Place
from codeboost.parsing.numbers import JSON_NUMBER, NumberRangeError, read_number
from codeboost.visible import cut

__all__ = ["read_yaml"]

# A broken generator may repeat one fault on every line; more than these help nobody.
_MOST_FAULTS = 50
# Bytes read again, in all, because a tab had to be softened.
_RETRY_BUDGET = 4_194_304

_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_FOREIGN_WORDS = frozenset({"~", "Null", "NULL", "True", "TRUE", "False", "FALSE", ".nan", ".NaN", ".NAN"})
# What the core schema reads as a number though JSON spells none so, and the forms of YAML 1.1 (§1, non-json-scalar).
_FOREIGN_NUMBER = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO][0-9]+|0[bB][0-9]+|\.(?:inf|Inf|INF)"
    r"|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_DIGIT_FIRST = re.compile(r"[-+]?[0-9]")
# First characters of all of these, and that of a missing value.
_MAY_BE_TYPED = frozenset(["", *"0123456789+-.~nNtTfF"])


def read_yaml(text: str) -> tuple[object, Place]:
    """The value of a YAML document and where its parts stand. FaultError with every fault that was found."""
    layout.check_directives(text)
    prepared = layout.prepare(text)
    budget = _RETRY_BUDGET
    while True:
        reader = _Reader(prepared)
        try:
            return reader.read()
        except MarkedYAMLError as error:
            offset = error.problem_mark.index if error.problem_mark else 0
            softened = layout.soften_tab(prepared, offset)
            budget -= offset
            if softened is None or budget < 0:
                raise FaultError(*reader.faults, _explain(error, text)) from None
            prepared = softened


class _Frame:
    """One open container. ``indent`` is the column of the innermost block collection, -1 outside of all."""

    __slots__ = (
        "indent",
        "is_flow",
        "is_map",
        "items",
        "key",
        "keys",
        "member_places",
        "members",
        "offset",
        "places",
    )

    def __init__(self, offset: int, indent: int, *, is_map: bool, is_flow: bool) -> None:
        self.offset = offset
        self.indent = indent
        self.is_map = is_map
        self.is_flow = is_flow
        self.items: list[object] = []
        self.places: list[Place] = []
        self.members: dict[str, object] = {}
        self.member_places: dict[str, Place] = {}
        self.keys: dict[str, int] = {}
        self.key: str | None = None

    def close(self) -> tuple[object, Place]:
        if self.is_map:
            return self.members, Branch(self.offset, self.member_places, self.keys)
        return self.items, Branch(self.offset, self.places, {})


# Parsed events always have marks, which PyYAML's stubs do not know.
_Event = Any


class _Reader:
    """Turns the events of one document into a value and its places."""

    def __init__(self, prepared: Prepared) -> None:
        self.faults: list[Fault] = []
        self._prepared = prepared
        self._parser = CParser(prepared.text)
        self._stack: list[_Frame] = []
        self._spans: list[Span] | None = [] if prepared.needs_spans() else None
        self._needs_care = bool(prepared.restore or prepared.is_softened or self._spans is not None)
        self._flow_start = 0
        self._root: tuple[object, Place] | None = None

    def read(self) -> tuple[object, Place]:
        handlers = {
            ScalarEvent: self._add_scalar,
            MappingStartEvent: self._open,
            SequenceStartEvent: self._open,
            MappingEndEvent: self._close,
            SequenceEndEvent: self._close,
            AliasEvent: self._refuse_alias,
            DocumentStartEvent: self._begin_document,
        }
        get_event = self._parser.get_event
        while (event := get_event()) is not None:
            handler = handlers.get(type(event))
            if handler:
                handler(event)
        if self._root is None:
            self._end(Fault("empty-value", 0, "the file holds no value; a plan is expected"))
        self._check_comments()
        if self.faults:
            raise FaultError(*self.faults)
        return self._root

    def _begin_document(self, event: _Event) -> None:
        if self._root is not None:
            self._end(Fault("multiple-documents", event.start_mark.index, _SECOND_DOCUMENT))

    # Scalars

    def _add_scalar(self, event: _Event) -> None:
        # A MiB may hold 500,000 of these: what is rare is asked for once and done elsewhere.
        offset = event.start_mark.index
        text = event.value
        style = event.style
        frame = self._stack[-1] if self._stack else None
        if self._needs_care:
            text = self._care_for(event)
        if event.anchor is not None or event.tag is not None:
            self._refuse_properties(event)
        if style:
            self._check_layout(event, frame)
        if frame is None:
            self._root = text if style else self._resolve(text, offset), offset
        elif not frame.is_map:
            if not style and text == "-" and frame.is_flow:
                self._note("syntax", offset, "a lone - cannot stand in a flow collection; put it in quotes")
            frame.items.append(text if style else self._resolve(text, offset))
            frame.places.append(offset)
        elif frame.key is None:
            frame.key = text
            if not style and (text[:1] in _MAY_BE_TYPED or text == "<<"):
                self._check_plain_key(text, offset)
            first = frame.keys.setdefault(text, offset)
            if first != offset:
                message = f"the key {cut(text, 60)!r} stands twice in one mapping"
                self._note("duplicate-key", offset, message, other=first)
        else:
            frame.members[frame.key] = text if style else self._resolve(text, offset)
            frame.member_places[frame.key] = offset
            frame.key = None

    def _care_for(self, event: _Event) -> str:
        """What only an unusual text needs: its stand-ins put back, places of scalars kept, softened tabs looked at."""
        offset = event.start_mark.index
        if self._spans is not None:
            self._spans.append(Span(offset, event.end_mark.index, is_quoted=event.style in ("'", '"')))
        if self._prepared.is_softened:
            self._check_softened(event, is_block=False)
        text: str = event.value
        return text.translate(self._prepared.restore)

    def _check_plain_key(self, text: str, offset: int) -> None:
        if not text:
            self._note("empty-value", offset, "a key is missing here")
        elif text == "<<":
            self._note("merge-key", offset, "the merge key << is not allowed; write its members out")
        elif _is_typed(text):
            self._note("non-string-key", offset, f"the key {cut(text, 60)} is not a string; put it in quotes")

    def _resolve(self, text: str, offset: int) -> object:
        """The value of a plain scalar (YAML 1.2 core schema, as far as JSON spells the same)."""
        if text[:1] not in _MAY_BE_TYPED:
            return text
        if not text:
            self._note(
                "empty-value", offset, 'a value is missing here; write null, "", [] or {} if that is meant'
            )
            return None
        if text in _WORDS:
            return _WORDS[text]
        if JSON_NUMBER.fullmatch(text):
            try:
                return read_number(text)
            except NumberRangeError as error:
                self._note("number-range", offset, f"the number {cut(text, 40)}: {error}")
                return 0
        if _is_foreign(text):
            message = f"{cut(text, 40)} is not spelled as JSON spells it"
            self._note("non-json-scalar", offset, message, hint=_suggest_spelling(text))
        return text

    # Containers

    def _open(self, event: _Event) -> None:
        offset = event.start_mark.index
        if len(self._stack) == MAX_DEPTH:
            self._end(Fault("too-deep", offset, TOO_DEEP))
        if event.anchor is not None or event.tag is not None:
            self._refuse_properties(event)
        is_map = type(event) is MappingStartEvent
        is_flow = bool(event.flow_style)
        outer = self._stack[-1] if self._stack else None
        if self._prepared.is_softened:
            self._check_softened(event, is_block=not is_flow)
        if outer is not None and outer.is_map and outer.key is None:
            self._note("non-string-key", offset, "a collection cannot be a key; keys are strings")
        indent = outer.indent if outer else -1
        if not is_flow:
            indent = event.start_mark.column
        elif not (outer and outer.is_flow):
            self._flow_start = offset
        self._stack.append(_Frame(offset, indent, is_map=is_map, is_flow=is_flow))

    def _close(self, event: _Event) -> None:
        frame = self._stack.pop()
        end = event.end_mark.index
        if frame.is_flow and not (self._stack and self._stack[-1].is_flow):
            self._keep(
                layout.check_indent(self._prepared.text, self._flow_start, end, frame.indent, comments=True)
            )
        self._add(*frame.close())

    def _add(self, value: object, place: Place) -> None:
        """Puts a finished value into its container, or keeps it as the document's."""
        if not self._stack:
            self._root = value, place
            return
        frame = self._stack[-1]
        key = frame.key
        if not frame.is_map:
            frame.items.append(value)
            frame.places.append(place)
        elif key is None:
            # A collection or an alias in the place of a key, refused already.
            frame.key = ""
        else:
            frame.key = None
            frame.members[key] = value
            frame.member_places[key] = place

    # What is refused

    def _refuse_alias(self, event: _Event) -> None:
        at = event.start_mark.index
        self._note("alias", at, f"the alias *{cut(event.anchor)} is not allowed; write the value out")
        self._add(None, at)

    def _refuse_properties(self, event: _Event) -> None:
        at = event.start_mark.index
        if event.anchor is not None:
            self._note("anchor", at, f"the anchor &{cut(event.anchor)} is not allowed")
        if event.tag is not None:
            self._note(
                "tag",
                at,
                f"the tag {_name_tag(event.tag)} is not allowed; values have the type that JSON gives them",
            )

    def _check_layout(self, event: _Event, frame: _Frame | None) -> None:
        """Of a quoted scalar the lines it goes on in, of a block scalar the line it begins in."""
        start, end = event.start_mark, event.end_mark
        if event.style in ("'", '"'):
            if end.line > start.line and frame is not None:
                self._keep(
                    layout.check_indent(
                        self._prepared.text, start.index, end.index, frame.indent, comments=False
                    )
                )
        elif _GLUED_HEADER_COMMENT.match(self._prepared.text, start.index):
            self._note("syntax", start.index, "a comment needs a space before its #")

    def _check_softened(self, event: _Event, *, is_block: bool) -> None:
        indent = self._stack[-1].indent if self._stack else -1
        self._keep(layout.check_softened(self._prepared, event.start_mark.index, indent, is_block=is_block))

    def _check_comments(self) -> None:
        if self._spans is not None:
            self._keep(layout.check_comments(self._prepared.original, self._spans))

    def _note(
        self, reason: str, offset: int, message: str, *, other: int | None = None, hint: str | None = None
    ) -> None:
        self._keep(Fault(reason, offset, message, other, hint))

    def _keep(self, fault: Fault | None) -> None:
        if fault is None:
            return
        if len(self.faults) == _MOST_FAULTS:
            raise FaultError(*self.faults)
        self.faults.append(fault)

    def _end(self, fault: Fault) -> NoReturn:
        raise FaultError(*self.faults, fault)


_SECOND_DOCUMENT = "a second document begins here; a plan is one document"
_GLUED_HEADER_COMMENT = re.compile(r"[|>][-+0-9]*#")


def _name_tag(tag: str) -> str:
    return cut(tag.replace("tag:yaml.org,2002:", "!!", 1))


def _is_typed(text: str) -> bool:
    return text in _WORDS or bool(JSON_NUMBER.fullmatch(text)) or _is_foreign(text)


def _is_foreign(text: str) -> bool:
    """Whether a plain scalar is one of the spellings of plan-rules.md §1, ``non-json-scalar``."""
    if text in _FOREIGN_WORDS:
        return True
    if "_" in text:
        if not _DIGIT_FIRST.match(text):
            return False
        text = text.replace("_", "")
    return _FOREIGN_NUMBER.fullmatch(text) is not None


def _suggest_spelling(text: str) -> str:
    lower = text.lower()
    spelled = "null" if text == "~" else lower if lower in _WORDS else None
    return (
        f"write {spelled}, or put it in quotes if the text is meant"
        if spelled
        else "put it in quotes if the text is meant"
    )


# What libyaml says, for people

_PROBLEMS = {
    "mapping values are not allowed in this context": "a colon followed by a space makes a key, and no key may stand "
    "here; put the text in quotes",
    "block sequence entries are not allowed in this context": "a list entry (- ) may not begin here",
    "mapping keys are not allowed in this context": "a key (? ) may not begin here",
    "could not find expected ':'": "expected a colon after this key",
    "did not find expected key": "expected a key of the mapping here: the indentation does not fit, or text follows "
    "a value",
    "did not find expected '-' indicator": "expected a list entry (- ) here: the indentation does not fit",
    "did not find expected ',' or ']'": "expected a comma or ] here",
    "did not find expected ',' or '}'": "expected a comma or } here",
    "did not find expected node content": "expected a value here",
    "did not find expected <document start>": "nothing may follow the end of the document",
    "found unexpected end of stream": "this is never closed",
    "found unknown escape character": "there is no such escape in double quotes",
    "found a tab character that violates indentation": "a tab cannot indent; use spaces",
    "found a tab character where an indentation space is expected": "a tab cannot indent; use spaces",
}
_REASONS = {
    "while scanning a tag": "tag",
    "while scanning an anchor": "anchor",
    "while scanning an alias": "alias",
    "while scanning a directive": "directive",
}
_DOCUMENT_END = re.compile(r"^\.\.\.(?:\s|\Z)", re.MULTILINE)


def _explain(error: MarkedYAMLError, text: str) -> Fault:
    mark = error.problem_mark or error.context_mark
    problem, context = str(error.problem), str(error.context)
    if problem == "found unexpected end of stream" and error.context_mark:
        mark = error.context_mark
    offset = min(mark.index, len(text)) if mark else 0
    reason = _REASONS.get(context, "tag" if problem == "found undefined tag handle" else "syntax")
    if reason != "syntax":
        return Fault(reason, offset, f"no {reason} is allowed here")
    if problem.startswith("exceeded maximum nesting depth") or context.startswith(
        "exceeded maximum nesting depth"
    ):
        return Fault("too-deep", offset, TOO_DEEP)
    if problem == "found invalid Unicode character escape code":
        return Fault("encoding", offset, "this escape stands for no character", hint=_SURROGATE_HINT)
    if problem == "did not find expected <document start>" and _DOCUMENT_END.search(text, 0, offset):
        return Fault("multiple-documents", offset, _SECOND_DOCUMENT)
    if problem == "found character that cannot start any token":
        return Fault("syntax", offset, _explain_start(text[offset : offset + 1]))
    return Fault("syntax", offset, _PROBLEMS.get(problem, f"{cut(problem)} {cut(context)}"))


_SURROGATE_HINT = "write the character itself, or all of its code as in \\U0001F600"


def _explain_start(char: str) -> str:
    if char == "\t":
        return "a tab cannot indent; use spaces"
    return f"a plain text cannot begin with {cut(char)}; put it in quotes"
