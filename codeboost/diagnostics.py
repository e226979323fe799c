"""What is wrong with a file, where, and how bad it is: the one shape that every check answers in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

__all__ = ["Diagnostic", "Position", "Severity", "has_errors"]


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Position(NamedTuple):
    """A place in a source file. Both count from 1; columns count code points."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding (plan-rules.md, top).

    ``code`` is stable and machine-readable; ``message`` names the offending value and says what is allowed;
    ``pointer`` is a JSON Pointer (RFC 6901) into the document, ``""`` being the whole of it; ``reason`` names the
    rule of a ``parse`` error (§1), ``keyword`` the one of a ``schema`` error (§2). ``hint`` says what to do.
    """

    code: str
    severity: Severity
    message: str
    item: str | None = None
    pointer: str = ""
    position: Position | None = None
    reason: str | None = None
    keyword: str | None = None
    hint: str | None = None

    @property
    def line(self) -> int | None:
        return self.position.line if self.position else None

    @property
    def column(self) -> int | None:
        return self.position.column if self.position else None

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR


def has_errors(diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> bool:
    return any(diagnostic.is_error for diagnostic in diagnostics)
