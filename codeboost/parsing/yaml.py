"""One YAML 1.2 document that represents JSON-compatible data (plan-rules.md §1).

libyaml finds the events, quickly; everything that YAML offers beyond JSON is visible there and refused. It reads YAML
1.1; ``layout`` puts right what that takes otherwise. Faults that need not end the reading are all reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
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
from codeboost.parsing.numbers import JSON_NUMBER, SMALL_INTEGER, NumberRangeError, read_number
from codeboost.parsing.problems import LONE_DASH, SECOND_DOCUMENT, explain_problem
from codeboost.parsing.scalars import MAY_BE_TYPED, WORDS, is_foreign, is_typed, suggest_spelling
from codeboost.visible import cut

__all__ = ["read_yaml"]

# A broken generator may repeat one fault on every line; more than these help nobody.
_MOST_FAULTS = 50
# Characters read again, in all, because a tab had to be softened.
_RETRY_BUDGET = 4_194_304
# Handing the whole text over once more costs as much as reading this part of it.
_WHOLE = 16


def read_yaml(text: str) -> tuple[object, Callable[[], Place]]:
    """The value of a YAML document, and a function that finds where its parts stand.

    FaultError with every fault that was found. Keeping places costs a third of the time, so they are kept only when
    there is something to tell: then, or when they are asked for, the text is read once more.
    """
    layout.check_directives(text)
    prepared = layout.prepare(text)
    budget = _RETRY_BUDGET
    keeps_places = False
    while True:
        reader = _Reader(prepared, keeps_places=keeps_places)
        try:
            value, _ = reader.read()
        except _AgainError:
            keeps_places = True
        except MarkedYAMLError as error:
            offset = error.problem_mark.index if error.problem_mark else 0
            softened = layout.soften_tab(prepared, offset)
            budget -= offset + len(text) // _WHOLE
            if softened is None or budget < 0:
                raise FaultError(*reader.faults, explain_problem(error, text)) from None
            prepared = softened
        else:
            return value, partial(_find_places, prepared)


def _find_places(prepared: Prepared) -> Place:
    return _Reader(prepared, keeps_places=True).read()[1]


class _AgainError(Exception):
    """There is a fault to tell, and no places were kept."""


class _Frame:
    """One open container. ``indent`` is the column of the innermost block collection, -1 outside of all."""

    __slots__ = ("indent", "is_flow", "is_map", "items", "key", "key_offsets", "members", "offset", "places")

    def __init__(self, offset: int, indent: int, *, is_map: bool, is_flow: bool) -> None:
        self.offset = offset
        self.indent = indent
        self.is_map = is_map
        self.is_flow = is_flow
        self.items: list[object] = []
        self.members: dict[str, object] = {}
        self.places: list[Place] = []
        self.key_offsets: list[int] = []
        self.key: str | None = None

    def close(self) -> tuple[object, Place]:
        if self.is_map:
            return self.members, Branch(self.offset, self.places, self.members, self.key_offsets)
        return self.items, Branch(self.offset, self.places)


# Parsed events always have marks, which PyYAML's stubs do not know.
_Event = Any


class _Reader:
    """Turns the events of one document into a value and its places."""

    def __init__(self, prepared: Prepared, *, keeps_places: bool) -> None:
        self.faults: list[Fault] = []
        self._keeps_places = keeps_places
        self._prepared = prepared
        self._parser = CParser(prepared.text)
        self._stack: list[_Frame] = []
        self._spans: list[Span] | None = [] if prepared.needs_spans() else None
        self._needs_care = bool(prepared.restore or prepared.is_softened or self._spans is not None)
        # Asking every event for them costs more than one look at the text.
        self._may_have_properties = "&" in prepared.text or "!" in prepared.text
        self._top: _Frame | None = None
        self._flow_start = 0
        self._root: tuple[object, Place] | None = None

    def read(self) -> tuple[object, Place]:
        handlers = {
            MappingStartEvent: self._open,
            SequenceStartEvent: self._open,
            MappingEndEvent: self._close,
            SequenceEndEvent: self._close,
            AliasEvent: self._refuse_alias,
            DocumentStartEvent: self._begin_document,
        }
        get_event, add_scalar = self._parser.get_event, self._add_scalar
        while (event := get_event()) is not None:
            kind = type(event)
            if kind is ScalarEvent:
                add_scalar(event)
            elif kind in handlers:
                handlers[kind](event)
        if self._root is None:
            self._end(Fault("empty-value", 0, "the file holds no value; a plan is expected"))
        self._check_comments()
        if self.faults:
            raise FaultError(*self.faults)
        return self._root

    def _begin_document(self, event: _Event) -> None:
        if self._root is not None:
            self._end(Fault("multiple-documents", event.start_mark.index, SECOND_DOCUMENT))

    # Scalars

    def _add_scalar(self, event: _Event) -> None:
        # A MiB may hold 500,000 of these: what is rare is asked for once and done elsewhere.
        text = event.value
        style = event.style
        frame = self._top
        if self._needs_care:
            text = self._care_for(event)
        if self._may_have_properties and (event.anchor is not None or event.tag is not None):
            self._refuse_properties(event)
        if style:
            self._check_layout(event, frame)
        if frame is None:
            self._root = text if style else self._resolve(text, event), event.start_mark.index
            return
        if not frame.is_map:
            if not style and text == "-" and frame.is_flow:
                self._note("syntax", event, LONE_DASH)
            frame.items.append(text if style else self._resolve(text, event))
        elif frame.key is None:
            self._add_key(frame, text, event)
            return
        else:
            if not style and text == "-" and frame.is_flow:
                self._note("syntax", event, LONE_DASH)
            frame.members[frame.key] = text if style else self._resolve(text, event)
            frame.key = None
        if self._keeps_places:
            frame.places.append(event.start_mark.index)

    def _add_key(self, frame: _Frame, key: str, event: _Event) -> None:
        frame.key = key
        if not event.style and (key[:1] in MAY_BE_TYPED or key == "<<"):
            self._check_plain_key(key, event)
        if key in frame.members:
            first = frame.key_offsets[list(frame.members).index(key)] if self._keeps_places else 0
            message = f"the key '{cut(key, 60)}' stands twice in one mapping"
            self._note("duplicate-key", event, message, other=first)
        if self._keeps_places:
            frame.key_offsets.append(event.start_mark.index)

    def _care_for(self, event: _Event) -> str:
        """What only an unusual text needs: its stand-ins put back, places of scalars kept, softened tabs looked at."""
        offset = event.start_mark.index
        if self._spans is not None:
            self._spans.append(Span(offset, event.end_mark.index, is_quoted=event.style in ("'", '"')))
        if self._prepared.is_softened:
            self._check_softened(event, is_block=False)
        text: str = event.value
        return text.translate(self._prepared.restore)

    def _check_plain_key(self, text: str, event: _Event) -> None:
        if not text:
            self._note("empty-value", event, "a key is missing here")
        elif text == "<<":
            self._note("merge-key", event, "the merge key << is not allowed; write its members out")
        elif is_typed(text):
            self._note("non-string-key", event, f"the key {cut(text, 60)} is not a string; put it in quotes")

    def _resolve(self, text: str, event: _Event) -> object:
        """The value of a plain scalar (YAML 1.2 core schema, as far as JSON spells the same)."""
        if text[:1] not in MAY_BE_TYPED:
            return text
        if SMALL_INTEGER.fullmatch(text):
            return int(text)
        if not text:
            self._note(
                "empty-value", event, 'a value is missing here; write null, "", [] or {} if that is meant'
            )
            return None
        if text in WORDS:
            return WORDS[text]
        return (
            self._read_number(text, event)
            if JSON_NUMBER.fullmatch(text)
            else self._refuse_foreign(text, event)
        )

    def _read_number(self, text: str, event: _Event) -> int | float:
        try:
            return read_number(text)
        except NumberRangeError as error:
            self._note("number-range", event, f"the number {cut(text, 40)}: {error}")
            return 0

    def _refuse_foreign(self, text: str, event: _Event) -> str:
        if is_foreign(text):
            message = f"{cut(text, 40)} is not spelled as JSON spells it"
            self._note("non-json-scalar", event, message, hint=suggest_spelling(text))
        return text

    # Containers

    def _open(self, event: _Event) -> None:
        offset = event.start_mark.index
        if len(self._stack) == MAX_DEPTH:
            self._end(Fault("too-deep", offset, TOO_DEEP))
        if self._may_have_properties and (event.anchor is not None or event.tag is not None):
            self._refuse_properties(event)
        is_map = type(event) is MappingStartEvent
        is_flow = bool(event.flow_style)
        outer = self._top
        if self._prepared.is_softened:
            self._check_softened(event, is_block=not is_flow)
        if outer is not None and outer.is_map and outer.key is None:
            self._note("non-string-key", event, "a collection cannot be a key; keys are strings")
        indent = outer.indent if outer else -1
        if not is_flow:
            indent = event.start_mark.column
        elif not (outer and outer.is_flow):
            self._flow_start = offset
        self._top = _Frame(offset, indent, is_map=is_map, is_flow=is_flow)
        self._stack.append(self._top)

    def _close(self, event: _Event) -> None:
        frame = self._stack.pop()
        self._top = self._stack[-1] if self._stack else None
        end = event.end_mark.index
        if frame.is_flow and not (self._top and self._top.is_flow):
            self._keep(
                layout.check_indent(self._prepared.text, self._flow_start, end, frame.indent, comments=True)
            )
        self._add(*frame.close())

    def _add(self, value: object, place: Place) -> None:
        """Puts a finished value into its container, or keeps it as the document's."""
        frame = self._top
        if frame is None:
            self._root = value, place
            return
        key = frame.key
        if not frame.is_map:
            frame.items.append(value)
            if self._keeps_places:
                frame.places.append(place)
        elif key is None:
            # A collection or an alias in the place of a key, refused already.
            frame.key = ""
            frame.key_offsets.append(0)
        else:
            frame.key = None
            frame.members[key] = value
            if self._keeps_places:
                frame.places.append(place)

    # What is refused

    def _refuse_alias(self, event: _Event) -> None:
        self._note("alias", event, f"the alias *{cut(event.anchor)} is not allowed; write the value out")
        self._add(None, event.start_mark.index)

    def _refuse_properties(self, event: _Event) -> None:
        if event.anchor is not None:
            self._note("anchor", event, f"the anchor &{cut(event.anchor)} is not allowed")
        if event.tag is not None:
            self._note(
                "tag",
                event,
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
        elif frame is not None and start.column <= frame.indent:
            self._note("syntax", event, f"this must be indented by at least {frame.indent + 1} spaces")
        elif _GLUED_HEADER_COMMENT.match(self._prepared.text, start.index):
            self._note("syntax", event, "a comment needs a space before its #")
        else:
            indent = frame.indent if frame is not None else -1
            self._keep(layout.check_block_start(self._prepared.text, start.index, indent))

    def _check_softened(self, event: _Event, *, is_block: bool) -> None:
        indent = self._top.indent if self._top else -1
        self._keep(layout.check_softened(self._prepared, event.start_mark.index, indent, is_block=is_block))

    def _check_comments(self) -> None:
        if self._spans is not None:
            self._keep(layout.check_comments(self._prepared.original, self._spans))

    def _note(
        self, reason: str, event: _Event, message: str, *, other: int | None = None, hint: str | None = None
    ) -> None:
        self._keep(Fault(reason, event.start_mark.index, message, other, hint))

    def _keep(self, fault: Fault | None) -> None:
        if fault is None:
            return
        if not self._keeps_places:
            raise _AgainError
        if len(self.faults) == _MOST_FAULTS:
            raise FaultError(*self.faults)
        self.faults.append(fault)

    def _end(self, fault: Fault) -> NoReturn:
        raise FaultError(*self.faults, fault)


_GLUED_HEADER_COMMENT = re.compile(r"[|>][-+0-9]*#")


def _name_tag(tag: str) -> str:
    return cut(tag.replace("tag:yaml.org,2002:", "!!", 1))
