"""The report as JUnit XML: one suite an item, one case a command.

A ``failure`` is the work's, an ``error`` says that the question could not be asked: the engine failed, nobody approved
the command, no run has tried it. What waits for a dependency is ``skipped``, as long as something else is red: no reader
can take a report with gaps for a pass. ``check`` statements are properties of their suite.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from codeboost.operations.evidence import CommandEvidence, ItemEvidence
from codeboost.operations.make_report import Report, name_verdict, say_why
from codeboost.reporting.runs import render_tail
from codeboost.verdict import Verdict
from codeboost.visible import escape

__all__ = ["render_junit"]

_LINES = 100


def render_junit(report: Report) -> str:
    """An XML document; every character in it is allowed in XML 1.0, whatever commands printed."""
    evidence = report.evidence
    kinds = {_choose_element(command) for command in evidence.commands if not command.has_passed}
    has_red = bool(kinds - {"skipped"})
    suites = [_make_suite(report, item, has_red=has_red) for item in evidence.items]
    root = ET.Element(
        "testsuites", _count(suites) | {"name": f"issue {evidence.issue} of {_clean(evidence.repository)}"}
    )
    root.extend(suites)
    ET.indent(root)
    # ASCII with character references: right in whatever encoding it is written.
    data: bytes = ET.tostring(root, encoding="us-ascii")
    return data.decode() + "\n"


def _make_suite(report: Report, item: ItemEvidence, *, has_red: bool) -> ET.Element:
    evidence = report.evidence
    suite = ET.Element("testsuite", {"name": f"{report.name_task(item.id)}: {_clean(item.title)}"})
    started = [c.attempt.started_at for c in item.commands if c.attempt is not None and c.attempt.started_at]
    if started:
        suite.set("timestamp", min(started)[:19])
    properties = ET.SubElement(suite, "properties")
    facts = {
        "repository": evidence.repository,
        "commit": evidence.commit,
        "tree": evidence.tree,
        "plan": f"revision {evidence.plan.revision}, sha256 {evidence.plan.sha256}",
        "result": report.result.value,
    }
    for statement in item.statements:
        verdict = statement.verdict.answer.value if statement.verdict else "pending"
        facts[f"check {statement.position}: {statement.text}"] = verdict
    for name, value in facts.items():
        ET.SubElement(properties, "property", {"name": _clean(name), "value": _clean(value)})
    cases = [_make_case(report, command, has_red=has_red) for command in item.commands]
    suite.extend(cases)
    suite.attrib |= {
        "tests": str(len(cases)),
        "failures": str(_have(cases, "failure")),
        "errors": str(_have(cases, "error")),
        "skipped": str(_have(cases, "skipped")),
        "time": _format_time(sum(float(case.get("time", "0")) for case in cases)),
    }
    return suite


def _make_case(report: Report, command: CommandEvidence, *, has_red: bool) -> ET.Element:
    attempt = command.attempt
    place = f"{report.name_task(command.command.item)}.{command.command.position}"
    case = ET.Element(
        "testcase",
        {
            "classname": place,
            "name": _clean(command.command.text),
            "time": _format_time(attempt.duration_s if attempt else 0.0),
        },
    )
    if not command.has_passed:
        kind = _choose_element(command)
        kind = "error" if kind == "skipped" and not has_red else kind
        why = _clean(say_why(command))
        outcome = ET.SubElement(case, kind, {"message": why})
        if kind != "skipped":
            outcome.set("type", name_verdict(command))
            outcome.text = why
    for stream, data in (report.tails.get(attempt.id, {}) if attempt else {}).items():
        output = ET.SubElement(case, "system-out" if stream == "stdout" else "system-err")
        output.text = "\n".join(render_tail({stream: data}, lines=_LINES))
    return case


def _choose_element(command: CommandEvidence) -> str:
    """What a case without a pass holds."""
    verdict = command.attempt.verdict if command.attempt is not None else None
    if verdict is Verdict.WAITING:
        return "skipped"
    return "failure" if verdict is not None and verdict.exit_code == 1 else "error"


def _have(cases: list[ET.Element], tag: str) -> int:
    return sum(case.find(tag) is not None for case in cases)


def _count(suites: list[ET.Element]) -> dict[str, str]:
    totals = {
        name: str(sum(int(suite.get(name, "0")) for suite in suites))
        for name in ("tests", "failures", "errors", "skipped")
    }
    return totals | {"time": _format_time(sum(float(suite.get("time", "0")) for suite in suites))}


def _format_time(seconds: float) -> str:
    return f"{seconds:.3f}"


def _clean(text: str) -> str:
    # What escape leaves are printable characters: XML 1.0 allows them all.
    return escape(text)
