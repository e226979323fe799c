"""What a command prints: drained to its end whatever comes, kept within bounds, counted and hashed whole.

A stream that nobody drains blocks the program and makes the engine's own calls hang (facts), so reading never stops
at the cap.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

from codeboost.sandbox.base import StreamRecord

__all__ = ["HEAD_BYTES", "TAIL_BYTES", "OutputKeeper", "StreamKeeper"]

HEAD_BYTES = 256 << 10
TAIL_BYTES = 768 << 10
_HEADER_BYTES = 8
_STDOUT, _STDERR = 1, 2


class Readable(Protocol):
    def read1(self, size: int = ..., /) -> bytes: ...


class StreamKeeper:
    """One stream: its first ``head`` bytes and its last ``tail`` bytes, the length and SHA-256 of all of it."""

    def __init__(self, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self._head_limit = head
        self._tail_limit = tail
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._hash = hashlib.sha256()

    def add(self, piece: memoryview) -> None:
        self._hash.update(piece)
        self._total += len(piece)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += piece[:room]
            piece = piece[room:]
        if piece:
            self._tail += piece[-self._tail_limit :]
            # Cut rarely: each cut moves what is kept.
            if len(self._tail) > 2 * self._tail_limit:
                del self._tail[: -self._tail_limit]

    def record(self) -> StreamRecord:
        return StreamRecord(
            head=bytes(self._head),
            tail=bytes(self._tail[-self._tail_limit :]),
            total=self._total,
            sha256=self._hash.hexdigest(),
        )


class OutputKeeper:
    """Both streams of a command, told apart from the engine's multiplexed one.

    A frame is a header of eight bytes (the stream's number, three zeros, the length as a big-endian number) and its
    content.
    """

    def __init__(self) -> None:
        self.stdout = StreamKeeper()
        self.stderr = StreamKeeper()
        self.complete = False
        """Whether the engine closed the stream between two frames. It does so, too, when it dies: no proof alone."""

    def drain(self, stream: Readable) -> None:
        """Reads to the end. OSError and its like pass through; ``complete`` stays False then."""
        header = bytearray()
        left = 0
        keeper = self.stdout
        while piece := stream.read1(1 << 18):
            view = memoryview(piece)
            while view:
                if left:
                    keeper.add(view[:left])
                    taken = min(left, len(view))
                    left -= taken
                    view = view[taken:]
                    continue
                wanted = _HEADER_BYTES - len(header)
                header += view[:wanted]
                view = view[wanted:]
                if len(header) == _HEADER_BYTES:
                    keeper = self._choose(header[0])
                    left = int.from_bytes(header[4:], "big")
                    header.clear()
        self.complete = not left and not header

    def _choose(self, number: int) -> StreamKeeper:
        if number == _STDERR:
            return self.stderr
        if number == _STDOUT:
            return self.stdout
        raise ValueError(f"the engine sent a frame of an unknown stream ({number})")
