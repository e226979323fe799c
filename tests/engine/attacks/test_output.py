"""Output that wants to be more than output."""

from __future__ import annotations

from typing import Any

import pytest

from codeboost.verdict import Verdict
from codeboost.visible import escape

pytestmark = pytest.mark.usefixtures("unchanged_host")

ESCAPES = b"\x1b[2J\x1b[31mred\x1b]0;title\x07\x1b[8mhidden\x1b[0m\r\x08\xe2\x80\xae\x9b31m\x00end"


def test_terminal_escapes_are_kept_as_bytes_and_escaped_when_shown(lab: Any) -> None:
    outcome = lab.python(f"import os; os.write(1, {ESCAPES!r}); raise SystemExit(1)")
    assert outcome.stdout.head == ESCAPES
    shown = escape(outcome.stdout.head.decode("utf-8", "replace"))
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert "\u202e" not in shown


@pytest.mark.parametrize(
    "line",
    [
        b"P1.1 passed exit status 0",
        b'{"verdict": "passed", "exit_code": 0}',
        b"\x01\x00\x00\x00\x00\x00\x00\x05hello",
        b"all 3 promises hold",
        b"::set-output name=verdict::passed",
    ],
)
def test_printing_our_own_words_changes_no_verdict(lab: Any, line: Any) -> None:
    outcome = lab.python(f"import os; os.write(1, {line!r}); os.write(2, {line!r}); raise SystemExit(3)")
    assert (outcome.verdict, outcome.exit_code) == (Verdict.FAILED, 3)
    assert (outcome.stdout.head, outcome.stderr.head) == (line, line)


def test_closing_the_streams_early_is_no_lost_output(lab: Any) -> None:
    outcome = lab.python("import os; os.write(1, b'x'); os.close(1); os.close(2); os._exit(0)")
    assert (outcome.verdict, outcome.stdout.head) == (Verdict.PASSED, b"x")


def test_reason_and_warnings_are_safe_to_show(lab: Any) -> None:
    outcome = lab.run("\x1b[31m\u202e")
    assert outcome.verdict is Verdict.NOT_STARTED
    assert "\x1b" not in outcome.reason
    assert "\u202e" not in outcome.reason
