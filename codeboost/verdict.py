"""What can come of a command, and what that means for the exit code (design §7)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

__all__ = ["Verdict", "choose_exit_code"]


class Verdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    OUT_OF_MEMORY = "out-of-memory"
    DISK_LIMIT = "disk-limit"
    NOT_STARTED = "not-started"
    NOT_APPROVED = "not-approved"
    SETUP_FAILED = "setup-failed"
    WAITING = "waiting"
    INFRASTRUCTURE = "infrastructure"
    CANCELLED = "cancelled"

    @property
    def exit_code(self) -> int | None:
        """The exit code that one such verdict asks for; None where another verdict decides.

        ``waiting`` follows from the dependency that has no pass, ``cancelled`` from whoever cancelled.
        """
        return _EXIT_CODES.get(self)

    @property
    def says_nothing(self) -> bool:
        """Whether nothing was learned about the work: the command did not run, or not in a way that counts."""
        return self in _SAY_NOTHING


_EXIT_CODES = {
    Verdict.PASSED: 0,
    Verdict.FAILED: 1,
    Verdict.TIMED_OUT: 1,
    Verdict.OUT_OF_MEMORY: 1,
    Verdict.DISK_LIMIT: 1,
    Verdict.NOT_STARTED: 1,
    Verdict.SETUP_FAILED: 1,
    Verdict.NOT_APPROVED: 3,
    Verdict.INFRASTRUCTURE: 4,
}
_SAY_NOTHING = frozenset({Verdict.WAITING, Verdict.INFRASTRUCTURE, Verdict.CANCELLED})


def choose_exit_code(verdicts: Iterable[Verdict]) -> int:
    """The exit code of many verdicts: where several hold, 1 before 4 before 3 (design §7)."""
    codes = {verdict.exit_code for verdict in verdicts}
    return next((code for code in (1, 4, 3) if code in codes), 0)
