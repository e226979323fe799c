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

from codeboost.parsing import blocks, gaps, layout, root
from codeboost.parsing.fault import MAX_DEPTH, TOO_DEEP, Fault, FaultError
from codeboost.parsing.layout import Prepared, Span
from codeboost.parsing.nodes import Branch, Place
from codeboost.parsing.numbers import JSON_NUMBER, SMALL_INTEGER, NumberRangeError, read_number
from codeboost.parsing.problems import (
    FLOW_MAP_GOES_ON,
    IN_BLOCK_SCALAR,
    LONE_DASH,
    SECOND_DOCUMENT,
    UNEXPECTED_COLON,
    explain_problem,
)
from codeboost.parsing.scalars import MAY_BE_TYPED, WORDS, is_foreign, is_typed, suggest_spelling
from codeboost.visible import cut

__all__ = ["read_yaml"]

# A broken generator may repeat one fault on every line; more than these help nobody.
_MOST_FAULTS = 50
# Characters read again, in all, because the text had to be changed for libyaml.
_RETRY_BUDGET = 4_194_304
_LARGE = 65_536
# Handing the whole text over once more costs as much as reading this part of it.
_WHOLE = 16
_SHIFTED = 12  # times as much, when the places of all events must be put right


def read_yaml(text: str) -> tuple[object, Callable[[], Place]]:
    """The value of a YAML document, and a function that finds where its parts stand.

    FaultError with every fault that was found. Keeping places costs a third of the time, so in a large text they are
    kept only when there is something to tell: then, or when they are asked for, it is read once more.
    """
    layout.check_directives(text)
    prepared = layout.prepare(text)._replace(gaps=root.find_root_lines(text))
    budget = _RETRY_BUDGET
    keeps_places = len(text) < _LARGE
    while True:
        reader = _Reader(prepared, keeps_places=keeps_places)
        try:
            value, place = reader.read()
        except _AgainError:
            keeps_places = True
        except MarkedYAMLError as error:
            offset = gaps.close_gaps(prepared, error.problem_mark.index) if error.problem_mark else 0
            if error.problem == FLOW_MAP_GOES_ON:
                changed = gaps.ask_key(prepared, offset, reader.last_key)
            elif error.problem == UNEXPECTED_COLON:
                changed = gaps.open_gap(prepared, offset)
            elif error.context == IN_BLOCK_SCALAR and error.context_mark:
                header = gaps.close_gaps(prepared, error.context_mark.index)
                changed = blocks.keep_tab(prepared, header, offset, reader.indent)
            else:
                changed = layout.soften_tab(prepared, offset)
            budget -= (offset + len(text) // _WHOLE) * (_SHIFTED if prepared.gaps else 1)
            if changed is None or budget < 0:
                raise FaultError(
                    *reader.faults, explain_problem(error, text, partial(gaps.close_gaps, prepared))
                ) from None
            prepared = changed
        else:
            return value, partial(_find_places, prepared, place if keeps_places else None)


def _find_places(prepared: Prepared, kept: Place | None) -> Place:
    return _Reader(prepared, keeps_places=True).read()[1] if kept is None else kept


class _AgainError(Exception):
    """There is a fault to tell, and no places were kept."""


# Parsed events always have marks, which PyYAML's stubs do not know.
_Event = Any


class _Frame:
    """An open container: of a mapping ``members`` are kept, of a list, and of the file, ``items``.

    ``key`` is the one whose value comes next, None when a key comes next; a list has none to wait for. ``indent`` is
    the column of the innermost block collection, -1 outside of all.
    """

    __slots__ = ("indent", "is_flow", "items", "key", "key_offsets", "line", "members", "offset", "places")

    def __init__(self, offset: int, line: int, indent: int, *, is_map: bool, is_flow: bool) -> None:
        self.offset = offset
        self.line = line
        self.indent = indent
        self.is_flow = is_flow
        self.key = None if is_map else ""
        self.members: dict[str, object] | None = {} if is_map else None
        self.items: list[object] = []
        self.places: list[Place] = []
        self.key_offsets: dict[str, int] = {}

    def close(self) -> tuple[object, Place]:
        if self.members is None:
            return self.items, Branch(self.offset, self.places)
        return self.members, Branch(self.offset, self.places, self.members, list(self.key_offsets.values()))


class _Reader:
    """Turns the events of one document into a value and its places.

    A MiB may hold 500,000 scalars, nearly all of them plain text that says nothing but itself: what is rare is asked
    for once, and done elsewhere.
    """

    def __init__(self, prepared: Prepared, *, keeps_places: bool) -> None:
        self.faults: list[Fault] = []
        self._keeps_places = keeps_places
        self._prepared = prepared
        self._get_event: Callable[[], _Event] = CParser(gaps.feed(prepared)).get_event
        if prepared.gaps:
            self._get_event = gaps.shift_events(self._get_event, prepared)
        self._spans: list[Span] | None = [] if prepared.needs_spans else None
        self._needs_care = bool(prepared.restore or prepared.is_softened or self._spans is not None)
        # Asking every event for them costs more than one look at the text.
        self._may_have_properties = "&" in prepared.text or "!" in prepared.text
        self._is_usual = not (self._needs_care or self._may_have_properties)
        self._stack: list[_Frame] = []
        self._top = _Frame(0, 0, -1, is_map=False, is_flow=False)

    @property
    def indent(self) -> int:
        """The column of the innermost block collection that is open, -1 outside of all."""
        return self._top.indent

    @property
    def last_key(self) -> int | None:
        """The offset of the last key of the innermost mapping, if it has one."""
        return next(reversed(self._top.key_offsets.values()), None)

    def read(self) -> tuple[object, Place]:
        self._read_events()
        if not self._top.items:
            self._end(Fault("empty-value", 0, "the file holds no value; a plan is expected"))
        if self._spans is not None:
            self._keep(layout.check_comments(self._prepared.original, self._spans))
        if self.faults:
            raise FaultError(*self.faults)
        return self._top.items[0], self._top.places[0] if self._keeps_places else 0

    def _read_events(self) -> None:  # noqa: C901, PLR0912, PLR0915 - a call less for each of 500,000 scalars
        get_event, is_usual, keeps_places = self._get_event, self._is_usual, self._keeps_places
        top = self._top
        members = top.members
        key = top.key
        value: Any
        place: Place = 0
        while (event := get_event()) is not None:
            kind = type(event)
            if kind is ScalarEvent:
                if key is None and members is not None:
                    key = event.value
                    if not is_usual or event.style or key[:1] in _KEY_NEEDS_LOOK:
                        key = self._read_key(event)
                    if key in members:
                        self._refuse_repeated(event, key)
                    elif keeps_places:
                        top.key_offsets[key] = event.start_mark.index
                    continue
                value = event.value
                if not is_usual or event.style:
                    value = self._read_scalar(event)
                elif value[:1] in MAY_BE_TYPED:
                    value = _COMMON[value] if value in _COMMON else self._resolve(value, event)
                if keeps_places:
                    place = event.start_mark.index
            elif kind in _OPENING:
                top.key = key
                top = self._open(event)
                members, key = top.members, top.key
                continue
            elif kind in _CLOSING:
                value, place = self._close(event)
                top = self._top
                members, key = top.members, top.key
            elif kind is AliasEvent:
                value, place = self._refuse_alias(event)
            else:
                if kind is DocumentStartEvent and top.items:
                    self._end(Fault("multiple-documents", event.start_mark.index, SECOND_DOCUMENT))
                continue
            if members is None:
                top.items.append(value)
            elif key is None:
                # A collection or an alias in the place of a key, refused already.
                key = ""
                top.key_offsets[key] = 0
                continue
            else:
                members[key] = value
                key = None
            if keeps_places:
                top.places.append(place)

    # Containers

    def _open(self, event: _Event) -> _Frame:
        outer = self._top
        offset = event.start_mark.index
        if len(self._stack) == MAX_DEPTH:
            self._end(Fault("too-deep", offset, TOO_DEEP))
        if self._may_have_properties:
            self._refuse_properties(event)
        is_flow = bool(event.flow_style)
        if self._prepared.is_softened:
            self._check_softened(event, is_block=not is_flow)
        if outer.key is None:
            self._note("non-string-key", event, "a collection cannot be a key; keys are strings")
        indent = outer.indent if is_flow else event.start_mark.column
        self._stack.append(outer)
        is_map = type(event) is MappingStartEvent
        self._top = _Frame(offset, event.start_mark.line, indent, is_map=is_map, is_flow=is_flow)
        return self._top

    def _close(self, event: _Event) -> tuple[object, Place]:
        frame = self._top
        self._top = self._stack.pop()
        end = event.end_mark
        if frame.is_flow and not self._top.is_flow and end.line > frame.line:
            text = self._prepared.original
            self._keep(layout.check_indent(text, frame.offset, end.index, frame.indent, comments=True))
        return frame.close()

    # Keys

    def _read_key(self, event: _Event) -> str:
        key = self._look_at(event)
        if not event.style:
            self._check_plain_key(key, event)
        return key

    def _check_plain_key(self, text: str, event: _Event) -> None:
        if not text:
            self._note("empty-value", event, "a key is missing here")
        elif text == "<<":
            self._note("merge-key", event, "the merge key << is not allowed; write its members out")
        elif is_typed(text):
            self._note("non-string-key", event, f"the key {cut(text, 60)} is not a string; put it in quotes")

    def _refuse_repeated(self, event: _Event, key: str) -> None:
        message = f"the key '{cut(key, 60)}' stands twice in one mapping"
        # Without places this is read again, with them.
        self._note("duplicate-key", event, message, other=self._top.key_offsets.get(key, 0))

    # Scalars

    def _read_scalar(self, event: _Event) -> object:
        text = self._look_at(event)
        return text if event.style else self._resolve(text, event)

    def _look_at(self, event: _Event) -> str:
        """The text of a scalar that may be unusual."""
        text: str = event.value
        if self._needs_care:
            text = self._care_for(event)
        if self._may_have_properties:
            self._refuse_properties(event)
        if event.style:
            self._check_layout(event)
        return text

    def _care_for(self, event: _Event) -> str:
        """What only an unusual text needs: its stand-ins put back, places of scalars kept, softened tabs looked at."""
        offset = event.start_mark.index
        if self._spans is not None:
            self._spans.append(Span(offset, event.end_mark.index, is_quoted=event.style in ("'", '"')))
        if self._prepared.is_softened:
            self._check_softened(event, is_block=False)
            if not event.style and event.end_mark.line > event.start_mark.line:
                original, end = self._prepared.original, event.end_mark.index
                self._keep(layout.check_indent(original, offset, end, self._top.indent, comments=False))
        text: str = event.value
        prepared = self._prepared
        if offset in prepared.folded:
            return blocks.fold(text.translate(prepared.restore))
        return text.translate(prepared.restore_escaped if event.style == '"' else prepared.restore)

    def _resolve(self, text: str, event: _Event) -> object:
        """The value of a plain scalar (YAML 1.2 core schema, as far as JSON spells the same)."""
        if text[:1] not in MAY_BE_TYPED:
            return text
        if text in _COMMON:
            return _COMMON[text]
        if SMALL_INTEGER.fullmatch(text):
            return int(text)
        if not text:
            self._note(
                "empty-value", event, 'a value is missing here; write null, "", [] or {} if that is meant'
            )
        elif text == "-" and self._top.is_flow:
            self._note("syntax", event, LONE_DASH)
        elif JSON_NUMBER.fullmatch(text):
            return self._read_number(text, event)
        elif is_foreign(text):
            message = f"{cut(text, 40)} is not spelled as JSON spells it"
            self._note("non-json-scalar", event, message, hint=suggest_spelling(text))
        return text

    def _read_number(self, text: str, event: _Event) -> int | float:
        try:
            return read_number(text)
        except NumberRangeError as error:
            self._note("number-range", event, f"the number {cut(text, 40)}: {error}")
            return 0

    # What is refused

    def _refuse_alias(self, event: _Event) -> tuple[None, Place]:
        self._note("alias", event, f"the alias *{cut(event.anchor)} is not allowed; write the value out")
        return None, event.start_mark.index

    def _refuse_properties(self, event: _Event) -> None:
        if event.anchor is not None:
            self._note("anchor", event, f"the anchor &{cut(event.anchor)} is not allowed")
        if event.tag is not None:
            tag = cut(event.tag.replace("tag:yaml.org,2002:", "!!", 1))
            message = f"the tag {tag} is not allowed; values have the type that JSON gives them"
            self._note("tag", event, message)

    def _check_layout(self, event: _Event) -> None:
        """Of a quoted scalar the lines it goes on in, of a block scalar the line it begins in."""
        start, end, indent = event.start_mark, event.end_mark, self._top.indent
        if event.style in ("'", '"'):
            if end.line > start.line:
                text = self._prepared.original
                self._keep(layout.check_indent(text, start.index, end.index, indent, comments=False))
        elif start.column <= indent:
            self._note("syntax", event, f"this must be indented by at least {indent + 1} spaces")
        elif _GLUED_HEADER_COMMENT.match(self._prepared.text, start.index):
            self._note("syntax", event, "a comment needs a space before its #")
        else:
            self._keep(blocks.check_block_start(self._prepared.text, start.index, indent))

    def _check_softened(self, event: _Event, *, is_block: bool) -> None:
        offset, indent = event.start_mark.index, self._top.indent
        self._keep(layout.check_softened(self._prepared, offset, indent, is_block=is_block))

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


_OPENING = frozenset({MappingStartEvent, SequenceStartEvent})
_CLOSING = frozenset({MappingEndEvent, SequenceEndEvent})
# First characters of the plain keys that are no strings, or may be << or missing.
_KEY_NEEDS_LOOK = MAY_BE_TYPED | {"<"}
# What plans hold again and again costs one look.
_COMMON: dict[str, object] = WORDS | {str(number): number for number in range(100)}
_GLUED_HEADER_COMMENT = re.compile(r"[|>][-+0-9]*#")
