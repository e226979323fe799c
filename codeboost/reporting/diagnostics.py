"""Diagnostics for people (text), for GitHub's log, for code scanning (SARIF) and for programs (JSON).

Pure functions from data to text. Whatever comes from a file is escaped here, once more where a format has marks of its
own: no line of a plan can pass for one of ours.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from codeboost import __version__
from codeboost.diagnostics import Diagnostic, Position, Severity
from codeboost.parsing.nodes import split_lines
from codeboost.plan.rules import RULES
from codeboost.reporting.width import measure
from codeboost.visible import escape

__all__ = ["annotate", "render_github", "render_sarif", "render_text", "to_json"]

# A plan's line may be a MiB long; around the caret this much of it is shown.
_SHOWN_BEFORE = 60
_SHOWN_AFTER = 60

_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_DIM = "\x1b[2m"
_GREEN = "\x1b[32m"
_COLORS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m"}


def render_text(path: str, data: bytes, diagnostics: Iterable[Diagnostic], *, color: bool = False) -> str:
    """``FILE:LINE:COL: error[code] message``, the offending line with a caret under the column, and the hint.

    ``data`` are the bytes that were checked. Empty when there is nothing to tell; else it ends with a newline.
    """
    lines: list[str] | None = None
    parts = []
    for diagnostic in diagnostics:
        position = diagnostic.position
        place = ":".join([escape(path), *(map(str, position) if position else ())])
        severity = _paint(
            f"{diagnostic.severity}[{diagnostic.code}]", _COLORS[diagnostic.severity], color=color
        )
        first, *more = escape(diagnostic.message, keep="\n").split("\n")
        about = diagnostic.item or diagnostic.reason
        suffix = f" ({escape(about)})" if about else ""
        parts.append(f"{_paint(place, _BOLD, color=color)}: {severity} {first}{suffix}")
        parts += [f"    {line}" for line in more]
        # A message of several lines has drawn its own picture of what it is about.
        if position and not more:
            if lines is None:
                lines = split_lines(data.decode("utf-8", "replace").removeprefix("\ufeff"))
            parts += _draw(lines, position, color=color)
        if diagnostic.hint:
            parts.append(f"    {_paint('hint:', _BOLD, color=color)} {escape(diagnostic.hint)}")
    return "".join(part + "\n" for part in parts)


def _draw(lines: Sequence[str], position: Position, *, color: bool) -> list[str]:
    if position.line > len(lines):
        return []
    line, at = lines[position.line - 1], position.column - 1
    start, end = max(0, at - _SHOWN_BEFORE), at + _SHOWN_AFTER
    # A tab takes one column here, as it does in the position.
    before = ("…" if start else "") + escape(line[start:at].replace("\t", " "))
    after = escape(line[at:end].replace("\t", " ")) + ("…" if end < len(line) else "")
    number = str(position.line)
    bar = _paint("|", _DIM, color=color)
    caret = _paint("^", _GREEN, color=color)
    return [
        f"{number:>6} {bar} {before}{after}".rstrip(),
        f"{'':>6} {bar} {' ' * measure(before)}{caret}",
    ]


def _paint(text: str, code: str, *, color: bool) -> str:
    return f"{code}{text}{_RESET}" if color else text


# GitHub


def render_github(path: str, diagnostics: Iterable[Diagnostic]) -> str:
    """Workflow commands, one a line: GitHub shows them beside the file."""
    return "".join(_annotate(path, diagnostic) + "\n" for diagnostic in diagnostics)


def _annotate(path: str, diagnostic: Diagnostic) -> str:
    properties = {"file": escape(path)}
    if diagnostic.position:
        properties |= {"line": str(diagnostic.position.line), "col": str(diagnostic.position.column)}
    message = escape(diagnostic.message, keep="\n")
    if diagnostic.item:
        message += f" ({escape(diagnostic.item)})"
    if diagnostic.hint:
        message += f"\nhint: {escape(diagnostic.hint)}"
    return annotate(str(diagnostic.severity), f"codeboost: {diagnostic.code}", message, **properties)


def annotate(level: str, title: str, message: str, **properties: str) -> str:
    """One workflow command. ``level`` is ours: error, warning or notice; ``message`` may have several lines."""
    named = ",".join(
        f"{name}={_escape_property(value)}" for name, value in (properties | {"title": title}).items()
    )
    return f"::{level} {named}::{_escape_data(message)}"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


# Programs


def to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """All fields of a diagnostic, as they are; absent ones are null."""
    return {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "item": diagnostic.item,
        "pointer": diagnostic.pointer,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "reason": diagnostic.reason,
        "keyword": diagnostic.keyword,
        "hint": diagnostic.hint,
    }


def render_sarif(files: Sequence[tuple[str, Sequence[Diagnostic]]]) -> str:
    """One SARIF 2.1.0 log for all files, each a path (best relative to the repository root) with its findings."""
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "codeboost",
                        "version": __version__,
                        "rules": [
                            {
                                "id": code,
                                "shortDescription": {"text": rule.summary},
                                "defaultConfiguration": {"level": str(rule.severity)},
                            }
                            for code, rule in RULES.items()
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_to_result(path, diagnostic) for path, found in files for diagnostic in found],
            }
        ],
    }
    return json.dumps(log, indent=2) + "\n"


def _to_result(path: str, diagnostic: Diagnostic) -> dict[str, Any]:
    text = escape(diagnostic.message, keep="\n")
    if diagnostic.hint:
        text += f"\nhint: {escape(diagnostic.hint)}"
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(os.fsencode(path))}}
    if diagnostic.position:
        place["region"] = {"startLine": diagnostic.position.line, "startColumn": diagnostic.position.column}
    details = {
        name: value for name, value in to_json(diagnostic).items() if name in _DETAILS and value is not None
    }
    return {
        "ruleId": diagnostic.code,
        "level": str(diagnostic.severity),
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
        "properties": details,
    }


_DETAILS = ("item", "pointer", "reason", "keyword")
