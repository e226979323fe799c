"""One key from a person at a terminal, and from nobody else: no pipe, no paste, nothing typed ahead (design §5.1)."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

from codeboost.cli.console import say

__all__ = ["Keyboard", "is_person_present", "open_keyboard"]

# Keys that a person presses come one by one; what arrives together was pasted, or is an escape sequence.
_APART_S = 0.05


def is_person_present() -> bool:
    """Whether both the view and the keys are at a terminal. A view that nobody can see approves nothing."""
    return sys.stdin.isatty() and sys.stdout.isatty()


@dataclass(frozen=True, slots=True)
class Keyboard:
    _fd: int

    def ask(self, question: str, keys: str) -> str | None:
        """The one of ``keys`` that was pressed after the question was shown; None when the terminal is gone."""
        while True:
            sys.stdout.write(f"{question} ")
            sys.stdout.flush()
            termios.tcflush(self._fd, termios.TCIFLUSH)
            pressed = os.read(self._fd, 1)
            if not pressed:
                return None
            alone = True
            while select.select([self._fd], [], [], _APART_S)[0]:
                alone = False
                if not os.read(self._fd, 1024):
                    return None
            key = pressed.decode("ascii", "replace").lower()
            if alone and key in keys:
                say(key)
                return key
            say("" if alone else "(several keys at once: none of them counts)")


@contextmanager
def open_keyboard() -> Iterator[Keyboard]:
    """The terminal without line editing, as it was before afterwards. Interrupt and suspend keep working."""
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    # Terminated by default, the process would leave a terminal behind that echoes nothing.
    handler = signal.signal(signal.SIGTERM, _end)
    try:
        # Flushes what was typed before.
        tty.setcbreak(fd, termios.TCSAFLUSH)
        yield Keyboard(fd)
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, before)
        signal.signal(signal.SIGTERM, handler)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
