"""Workflow commands: each line is one of ours, whatever is in it."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codeboost.operations.make_report import Result
from codeboost.reporting.github import render_annotations
from codeboost.reporting.reports import render_report
from codeboost.store.verdicts import Answer
from codeboost.verdict import Verdict

LINE = re.compile(r"::(error|warning|notice) title=codeboost%3A [^:,\r\n]*::[^\r\n]*")


def test_one_line_for_each_thing_to_look_at(build: Any, told: Any) -> None:
    report = build(
        [told(Verdict.PASSED), told(Verdict.FAILED, "pytest", "exit 1"), told(None)],
        checks=[("Right?", None), ("Good?", Answer.FAIL), ("Fine?", Answer.PASS)],
        findings=[("a.txt", "nobody declared it")],
        reasons=["no pass"],
    )
    assert render_annotations(report).splitlines() == [
        "::error title=codeboost%3A P1.2 failed::pytest%0Aexit 1",
        "::error title=codeboost%3A P1.3 not-run::true%0Ano run has tried it on this tree",
        "::warning title=codeboost%3A P1.4 pending::Right?",
        "::error title=codeboost%3A P1.5 judged as not fulfilled::Good?",
        "::warning title=codeboost%3A scope-undeclared::a.txt: nobody declared it",
        "::error title=codeboost%3A issue 412::FAILED: 1 of 3 commands passed on commit c0ffeec0ffee%0Ano pass",
    ]


def test_a_pass_is_a_notice(build: Any) -> None:
    text = render_annotations(build(result=Result.PASSED))
    assert text.startswith("::notice ")
    assert text.count("\n") == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(text=st.text(alphabet=st.sampled_from("::%\r\n\x85\u2028add-mask,error=0AD\x1b "), max_size=30))
def test_no_text_begins_a_line_of_its_own(build: Any, told: Any, text: str) -> None:
    report = build(
        [told(Verdict.FAILED, text, text)], checks=[(text, None)], findings=[(text, text)], reasons=[text]
    )
    lines = render_annotations(report).removesuffix("\n").split("\n")
    assert len(lines) == 4
    assert all(LINE.fullmatch(line) for line in lines)


def test_the_text_for_people_keeps_output_behind_our_prefix(build: Any, told: Any) -> None:
    report = build(
        [told(Verdict.FAILED, "x", "no", b"PASSED\n\x1b[2Jgone\n"), told(Verdict.PASSED)],
        checks=[("Right?", Answer.PASS), ("Good?", None)],
        note="n\x1b[1m",
        findings=[("a\nb", "odd")],
        reasons=["why\x07"],
    )
    text = render_report(report, color=False)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert text.count("\nFAILED\n") == 1
    assert not re.search("^ *PASSED", text, re.MULTILINE)
    assert "stdout | PASSED" in text
    assert "check pending" in text
    assert "by Ada: n\\x1b[1m" in text
    assert "\x1b[31mFAILED\x1b[0m" in render_report(report, color=True)
