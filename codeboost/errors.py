"""Every exception that codeboost raises, in one small tree.

CodeboostError                  anything below; carries the exit code of design §7
├── UsageError                  2   the call makes no sense as it stands
├── InputError                  1   a file or a record is wrong; carries the diagnostics, if any
│   ├── PlanSourceError         1   a plan that cannot be read
│   ├── CommandSyntaxError      1   a command that the grammar rejects
│   └── ConflictError           1   a file is no longer what it was when it was read
├── ApprovalNeededError         3   a person has to approve something first
└── InfrastructureError         4   the environment failed: never a verdict about the work
    ├── GitError                4   git is missing, or said no
    ├── StoreError              4   the store is unreadable, too new, or full
    ├── EngineError             4   the container engine is absent, died, or refused
    └── NetworkError            4   a request to GitHub failed

Bad input is no exception on its way out of a loader: it is a list of diagnostics. These are for the
environment, and for the few functions of the public API that promise to raise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from codeboost.diagnostics import Diagnostic

__all__ = [
    "ApprovalNeededError",
    "CodeboostError",
    "CommandSyntaxError",
    "ConflictError",
    "EngineError",
    "GitError",
    "InfrastructureError",
    "InputError",
    "NetworkError",
    "PlanSourceError",
    "StoreError",
    "UsageError",
]


class CodeboostError(Exception):
    """The root. ``str()`` is one line for a person; ``hint`` says what to do next, if something can be done."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(CodeboostError):
    exit_code = 2


class InputError(CodeboostError):
    exit_code = 1

    def __init__(
        self, message: str, *, hint: str | None = None, diagnostics: Sequence[Diagnostic] = ()
    ) -> None:
        super().__init__(message, hint=hint)
        self.diagnostics = tuple(diagnostics)


class PlanSourceError(InputError):
    """The bytes are no plan at all; ``diagnostics`` say where and why (plan-rules.md §1)."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(diagnostics[0].message, diagnostics=diagnostics)


class CommandSyntaxError(InputError):
    """A command that the grammar rejects (plan-rules.md §4).

    ``column`` is 1-based and counts code points; ``reason`` is one plain sentence.
    """

    def __init__(self, text: str, column: int, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"column {column}: {reason}", hint=hint)
        self.text = text
        self.column = column
        self.reason = reason


class ConflictError(InputError):
    pass


class ApprovalNeededError(CodeboostError):
    exit_code = 3


class InfrastructureError(CodeboostError):
    exit_code = 4


class GitError(InfrastructureError):
    pass


class StoreError(InfrastructureError):
    pass


class EngineError(InfrastructureError):
    pass


class NetworkError(InfrastructureError):
    pass
