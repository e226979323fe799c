"""JUnit XML, read back by a reader of somebody else's."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped

from codeboost.reporting.junit import render_junit
from codeboost.store.verdicts import Answer
from codeboost.verdict import Verdict

FAILURES = [
    Verdict.FAILED,
    Verdict.TIMED_OUT,
    Verdict.OUT_OF_MEMORY,
    Verdict.DISK_LIMIT,
    Verdict.NOT_STARTED,
    Verdict.SETUP_FAILED,
]
ERRORS = [Verdict.INFRASTRUCTURE, Verdict.NOT_APPROVED, Verdict.CANCELLED, None]


def parse(text: str) -> Any:
    return JUnitXml.fromstring(text.encode())


def test_one_suite_an_item_one_case_a_command(build: Any, told: Any) -> None:
    report = build([told(Verdict.PASSED, "pytest -q"), told(Verdict.FAILED, "ruff check")], items=2)
    suites = list(parse(render_junit(report)))
    assert [suite.name for suite in suites] == ["GH412-P1: Do it", "GH412-P2: Do it"]
    assert [case.name for suite in suites for case in suite] == ["pytest -q", "ruff check"] * 2
    assert [case.classname for case in suites[1]] == ["GH412-P2.1", "GH412-P2.2"]
    assert (suites[0].tests, suites[0].failures, suites[0].errors, suites[0].time) == (2, 1, 0, 2.0)


@pytest.mark.parametrize("verdict", FAILURES)
def test_what_the_work_did_is_a_failure(build: Any, told: Any, verdict: Verdict) -> None:
    (suite,) = parse(render_junit(build([told(verdict, reason="exit 1")])))
    (case,) = suite
    (result,) = case.result
    assert (type(result), result.type, result.message) == (Failure, verdict.value, "exit 1")


@pytest.mark.parametrize("verdict", ERRORS)
def test_what_could_not_be_asked_is_an_error(build: Any, told: Any, verdict: Verdict | None) -> None:
    (suite,) = parse(render_junit(build([told(verdict)])))
    (case,) = suite
    (result,) = case.result
    assert (type(result), result.type) == (Error, verdict.value if verdict else "not-run")


def test_what_waits_is_skipped_but_never_alone(build: Any, told: Any) -> None:
    both = build([told(Verdict.FAILED), told(Verdict.WAITING)])
    (suite,) = parse(render_junit(both))
    assert [type(case.result[0]) for case in suite] == [Failure, Skipped]
    (suite,) = parse(render_junit(build([told(Verdict.PASSED), told(Verdict.WAITING)])))
    assert [[type(one) for one in case.result] for case in suite] == [[], [Error]]


def test_checks_are_properties(build: Any) -> None:
    report = build(checks=[("It is right.", None), ("It is good.", Answer.FAIL)])
    (suite,) = parse(render_junit(report))
    found = {entry.name: entry.value for entry in suite.properties()}
    assert found["check 2: It is right."] == "pending"
    assert found["check 3: It is good."] == "fail"


def test_the_last_lines_of_both_streams_come_along(build: Any, told: Any) -> None:
    report = build([told(Verdict.FAILED, stdout=b"one\n]]>&amp;<b>\n", stderr=b"\x1b[31mred\x00\xff\n")])
    (suite,) = parse(render_junit(report))
    (case,) = suite
    assert "stdout | ]]>&amp;<b>" in case.system_out
    assert "stderr | \\x1b[31mred\\x00" in case.system_err


anything = st.text(max_size=40)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(text=anything, title=anything, reason=anything, output=st.binary(max_size=80), note=anything)
def test_whatever_is_in_it_the_document_is_xml(
    build: Any, told: Any, text: str, title: str, reason: str, output: bytes, note: str
) -> None:
    report = build(
        [told(Verdict.FAILED, text, reason, output, output)],
        title=title,
        checks=[(text + title, None)],
        note=note,
    )
    document = render_junit(report)
    assert document.isascii()
    root = ET.fromstring(document)
    assert len(root.findall("testsuite/testcase/failure")) == 1
    assert {element.tag for element in root.iter()} <= {
        "testsuites",
        "testsuite",
        "properties",
        "property",
        "testcase",
        "failure",
        "system-out",
        "system-err",
    }
