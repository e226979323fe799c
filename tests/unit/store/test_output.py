"""What is kept of a stream, and its last bytes."""

from __future__ import annotations

import pytest

from codeboost.store.output import TAIL_BYTES, take_tail

HEAD = b"h" * (256 << 10)


@pytest.mark.parametrize("after", [0, 1, 100, TAIL_BYTES - 1, TAIL_BYTES, TAIL_BYTES + 1, 768 << 10])
def test_the_last_bytes_reach_back_over_the_seam(after: int) -> None:
    """As long as the second part is shorter than a tail, nothing between the two was dropped."""
    tail = b"t" * after
    assert take_tail(HEAD, tail) == (HEAD + tail)[-TAIL_BYTES:]


def test_a_short_stream_is_its_own_tail() -> None:
    assert take_tail(b"abc", b"") == b"abc"
    assert take_tail(b"", b"") == b""
