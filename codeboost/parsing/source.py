"""The one door for bytes (plan-rules.md §1): strict JSON or YAML in, a JSON-compatible value or a diagnosis out."""

from __future__ import annotations

import re
from collections.abc import Callable

from codeboost.diagnostics import Diagnostic, Position, Severity
from codeboost.errors import PlanSourceError, UsageError
from codeboost.parsing.fault import Fault, FaultError
from codeboost.parsing.nodes import LineIndex, Place, find_place

__all__ = ["FORMATS", "MAX_BYTES", "Source", "parse_source", "read_source"]

MAX_BYTES = 1_048_576
FORMATS = ("json", "yaml")

# At the very left only: an indented one may be the text of a block scalar.
_FENCE = re.compile(r"^(?:```|~~~)", re.MULTILINE)
_FENCE_HINT = "remove the code fence: the file must hold the plan and nothing else"


class Source:
    """A document that could be read: its value, and where each part of it stands.

    Positions cost a second walk through the text, so they are found when the first one is asked for.
    """

    def __init__(self, value: object, text: str, locate_places: Callable[[], Place]) -> None:
        self.value = value
        self.text = text
        self._locate_places = locate_places
        self._places: Place | None = None
        self._lines: LineIndex | None = None

    def locate(self, pointer: str, *, key: bool = False) -> Position | None:
        """Where the value at a JSON Pointer begins (or its key); None when the document has no such value."""
        if self._places is None:
            self._places = self._locate_places()
        if self._lines is None:
            self._lines = LineIndex(self.text)
        offset = find_place(self._places, pointer, key=key)
        return None if offset is None else self._lines.find(offset)


def parse_source(data: bytes, format: str) -> object:  # noqa: A002 - the public name
    """The value of ``data`` in ``format`` (``"json"`` or ``"yaml"``): dict, list, str, int, float, bool or None.

    Raises PlanSourceError, whose ``diagnostics`` have code ``parse``, a reason of plan-rules.md §1, line and column.
    """
    return read_source(data, format).value


def read_source(data: bytes, format: str) -> Source:  # noqa: A002 - as above
    """Like ``parse_source``, with a way to ask where each value stands."""
    if format not in FORMATS:
        raise UsageError(f"the format is {format!r}; it must be one of {', '.join(FORMATS)}")
    if len(data) > MAX_BYTES:
        # How long it is nobody knows: a reader stops one byte after what is allowed.
        message = f"the file is longer than {MAX_BYTES:,} bytes (1 MiB), and no plan may be"
        raise PlanSourceError([_diagnose(Fault("too-large", 0, message), Position(1, 1))])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PlanSourceError([_explain_encoding(data, error)]) from None
    if format == "yaml":
        # YAML 1.2 §5.2: a byte order mark may come first. It takes no column.
        text = text.removeprefix("\ufeff")
    try:
        return _read_json(data, text) if format == "json" else _read_yaml(text)
    except FaultError as error:
        raise PlanSourceError(_diagnose_all(error.faults, text)) from None


def _read_json(data: bytes, text: str) -> Source:
    from codeboost.parsing import json  # noqa: PLC0415 - only the reader that is needed

    if text.startswith("\ufeff"):
        raise FaultError(
            Fault(
                "encoding", 0, "the file begins with a byte order mark", hint="save it as UTF-8 without one"
            )
        )
    return Source(json.read_json(data, text), text, lambda: json.locate_json(text))


def _read_yaml(text: str) -> Source:
    from codeboost.parsing import yaml  # noqa: PLC0415 - as above

    value, locate_places = yaml.read_yaml(text)
    return Source(value, text, locate_places)


def _diagnose_all(faults: tuple[Fault, ...], text: str) -> list[Diagnostic]:
    lines = LineIndex(text)
    fenced = _FENCE_HINT if _FENCE.search(text) else None
    diagnostics = []
    for fault in faults:
        position = lines.find(fault.offset)
        message = fault.message
        if fault.other is not None:
            message += f": first in line {lines.find(fault.other).line}, again in line {position.line}"
        diagnostics.append(_diagnose(fault._replace(message=message, hint=fault.hint or fenced), position))
    return diagnostics


def _diagnose(fault: Fault, position: Position) -> Diagnostic:
    return Diagnostic(
        code="parse",
        severity=Severity.ERROR,
        message=fault.message,
        position=position,
        reason=fault.reason,
        hint=fault.hint,
    )


def _explain_encoding(data: bytes, error: UnicodeDecodeError) -> Diagnostic:
    before = data[: error.start].decode("utf-8")
    position = LineIndex(before).find(len(before))
    hint = None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4]:
        hint = "it looks like UTF-16 or UTF-32: save it as UTF-8"
    message = f"the file is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start} cannot be read"
    return _diagnose(Fault("encoding", 0, message, hint=hint), position)
