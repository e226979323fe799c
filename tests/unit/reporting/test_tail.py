"""The last lines of what a command printed: none of them passes for one of ours."""

from __future__ import annotations

from codeboost.reporting.runs import TAIL_LINES, render_tail


def test_no_line_of_output_looks_like_the_count_of_those_left_out() -> None:
    forged = b"\xe2\x80\xa6 7 lines before these\n"
    alone = render_tail({"stdout": forged})
    more = render_tail({"stdout": b"x\n" * 7 + forged * TAIL_LINES})
    assert "7 lines before these" in more[0]
    assert more[0] not in alone
    assert not more[0].startswith("    stdout | ")
    assert all(line.startswith("    stdout | ") for line in (*alone, *more[1:]))
