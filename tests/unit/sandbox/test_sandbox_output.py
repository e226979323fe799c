"""The engine's multiplexed stream, told apart and bounded, however it is cut into pieces."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeboost.sandbox.output import OutputKeeper, StreamKeeper


class Pieces:
    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter([piece for piece in pieces if piece])

    def read1(self, _size: int = -1, /) -> bytes:
        return next(self._pieces, b"")


def frame(number: int, content: bytes) -> bytes:
    return bytes([number, 0, 0, 0]) + len(content).to_bytes(4, "big") + content


def cut_up(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces, start = [], 0
    for size in sizes:
        pieces.append(data[start : start + size])
        start += size
    return [*pieces, data[start:]]


@given(
    frames=st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=40)), max_size=20),
    sizes=st.lists(st.integers(1, 30), max_size=40),
)
def test_frames_arrive_whole_however_they_are_cut(frames: list[tuple[int, bytes]], sizes: list[int]) -> None:
    keeper = OutputKeeper()
    keeper.drain(Pieces(cut_up(b"".join(frame(*one) for one in frames), sizes)))
    assert keeper.complete
    for number, stream in ((1, keeper.stdout), (2, keeper.stderr)):
        whole = b"".join(content for which, content in frames if which == number)
        record = stream.record()
        assert record.head == whole
        assert record.sha256 == hashlib.sha256(whole).hexdigest()


@given(st.lists(st.binary(max_size=60), max_size=30), st.integers(0, 20), st.integers(1, 20))
def test_head_and_tail_are_kept_and_the_rest_is_counted(pieces: list[bytes], head: int, tail: int) -> None:
    keeper = StreamKeeper(head, tail)
    for piece in pieces:
        keeper.add(memoryview(piece))
    whole, record = b"".join(pieces), keeper.record()
    assert record.head == whole[:head]
    assert record.tail == whole[head:][-tail:]
    assert record.total == len(whole)
    assert record.dropped == max(0, len(whole) - head - tail)
    assert record.sha256 == hashlib.sha256(whole).hexdigest()


@pytest.mark.parametrize("data", [b"\x01", frame(1, b"abc")[:-1], frame(1, b"abc") + b"\x01\0\0"])
def test_an_end_within_a_frame_is_incomplete(data: bytes) -> None:
    keeper = OutputKeeper()
    keeper.drain(Pieces([data]))
    assert not keeper.complete


def test_a_frame_of_an_unknown_stream_is_no_output() -> None:
    keeper = OutputKeeper()
    with pytest.raises(ValueError, match="unknown stream"):
        keeper.drain(Pieces([frame(7, b"x")]))
    assert not keeper.complete
