"""The three standard streams of a process: there when they are needed, and silent once their reader has left."""

from __future__ import annotations

import os
import sys
from typing import Any

__all__ = ["fill_streams", "silence"]


def fill_streams() -> None:
    """Give a process that was started without one of its streams an empty one.

    Else the next file that is opened, perhaps the store, gets the stream's number, and the next message lands in it.
    """
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - open to the end


def silence(stream: Any) -> None:
    """Point a stream that takes no more elsewhere, or the interpreter complains about what is left in it while it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
