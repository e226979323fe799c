"""The three standard streams of a process: there when they are needed, and silent once their reader has left."""

from __future__ import annotations

import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any

from codeboost.errors import InfrastructureError

__all__ = ["fill_streams", "finish_answer", "outlive_readers", "silence"]


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


def outlive_readers() -> None:
    """Let what is written to stdout or stderr vanish once nobody reads it any more: ``codeboost run 7 2>&1 | head``.

    A run goes on, and a failure keeps its exit code. A full disk under stdout is told; under stderr there is nobody to
    tell.
    """
    sys.stdout = _wrap(sys.stdout, 1, BrokenPipeError)
    sys.stderr = _wrap(sys.stderr, 2, OSError)


def _wrap(stream: Any, descriptor: int, forgiven: type[OSError]) -> TextIOWrapper:
    return TextIOWrapper(
        BufferedWriter(_LeavableFile(descriptor, forgiven)),
        encoding=stream.encoding,
        # A terminal that cannot show a letter gets its number, not a traceback.
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
    )


class _LeavableFile(FileIO):
    """A file whose writes succeed although they failed, where the reason is ``forgiven``."""

    def __init__(self, descriptor: int, forgiven: type[OSError]) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._forgiven = forgiven

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except self._forgiven:
            return memoryview(data).nbytes


def finish_answer(program: str, code: int) -> int:
    """The exit code once everything is written: an answer that the disk did not take is no success."""
    try:
        sys.stdout.flush()
    except OSError as error:
        silence(sys.stdout)
        sys.stderr.write(f"{program}: the answer cannot be written: {error.strerror}\n")
        return InfrastructureError.exit_code
    return code


def silence(stream: Any) -> None:
    """Point a stream that takes no more elsewhere, or the interpreter complains about what is left in it while it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
