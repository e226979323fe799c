"""^C and TERM while containers may exist: a wish that is noted, never an exception in the middle of a removal."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType

from codeboost.cli.console import emit, note

__all__ = ["Stop", "report_stop", "stop_on_signals"]


@dataclass(slots=True)
class Stop:
    """Whether a signal asked to stop, and the exit code that says so: 130 for ^C, 143 for TERM.

    Only where ``can_end_at_once``, because no container of ours exists, does a second signal raise KeyboardInterrupt.
    """

    event: threading.Event = field(default_factory=threading.Event)
    exit_code: int = 0
    can_end_at_once: bool = False
    talks: bool = True
    """Whether a signal is answered with a line."""

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """No container exists in here: a second signal ends it at once, and so does a first one that came before."""
        self.can_end_at_once = True
        try:
            if self.event.is_set():
                raise KeyboardInterrupt
            yield
        finally:
            self.can_end_at_once = False

    def leave_talking(self) -> None:
        """From now on somebody else says that it stops."""
        self.talks = False

    def handle(self, number: int, _frame: FrameType | None) -> None:
        again = self.exit_code != 0
        self.exit_code = self.exit_code or 128 + number
        self.event.set()
        if again and self.can_end_at_once:
            raise KeyboardInterrupt
        if not again and self.talks:
            more = "; the same again ends it at once" if self.can_end_at_once else ""
            _say(f"stopping after this step{more}\n")


def _say(text: str) -> None:
    # Written past the stream: the signal may have come while something else was being written to it, and a stream
    # that is entered twice raises.
    with suppress(OSError, ValueError, AttributeError):
        os.write(sys.stderr.fileno(), text.encode())


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Turn ^C and TERM into a wish: containers are removed before the process ends, however often it is pressed."""
    stop = Stop()
    previous = {number: signal.signal(number, stop.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def report_stop(command: str, stop: Stop, text: str, *, as_json: bool) -> int:
    """Say that ``command`` was stopped, and give the exit code."""
    exit_code = stop.exit_code or 130
    if as_json:
        from codeboost.diagnostics import Diagnostic, Severity  # noqa: PLC0415
        from codeboost.reporting.diagnostics import to_json  # noqa: PLC0415

        stopped = Diagnostic("cancelled", Severity.ERROR, text)
        emit(command, None, exit_code=exit_code, diagnostics=[to_json(stopped)])
    note(text)
    return exit_code
