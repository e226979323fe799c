"""The report for a workflow's log: one annotation for each thing that a person has to look at."""

from __future__ import annotations

from collections.abc import Iterator

from codeboost.operations.make_report import Report, Result, name_verdict, say_why
from codeboost.reporting.diagnostics import annotate
from codeboost.reporting.scope import render_scope_finding
from codeboost.visible import escape

__all__ = ["SUMMARY_LIMIT", "render_annotations"]

SUMMARY_LIMIT = 1 << 20
"""The most bytes that GitHub takes for the summary of a step."""


def render_annotations(report: Report) -> str:
    """Workflow commands, one a line. No text from outside begins a line or a command of its own."""
    return "".join(line + "\n" for line in _list_annotations(report))


def _list_annotations(report: Report) -> Iterator[str]:
    evidence = report.evidence
    for command in evidence.commands:
        if not command.has_passed:
            name = f"{command.command.item}.{command.command.position}"
            text = f"{escape(command.command.text)}\n{escape(say_why(command))}"
            yield annotate("error", f"codeboost: {name} {name_verdict(command)}", text)
    for statement in evidence.statements:
        if not statement.has_passed:
            name = f"{statement.item}.{statement.position}"
            level, word = (
                ("warning", "pending") if statement.is_pending else ("error", "judged as not fulfilled")
            )
            yield annotate(level, f"codeboost: {name} {word}", escape(statement.text))
    for finding in report.scope.findings:
        # The file is named in the text: an annotation at a file that GitHub does not have is dropped.
        yield annotate("warning", f"codeboost: scope-{finding.kind}", render_scope_finding(finding))
    counted = f"{sum(c.has_passed for c in evidence.commands)} of {len(evidence.commands)} commands passed"
    lines = [f"{report.result}: {counted} on commit {evidence.commit[:12]}", *map(escape, report.reasons)]
    level = {Result.PASSED: "notice", Result.WARNED: "warning", Result.FAILED: "error"}[report.result]
    yield annotate(level, f"codeboost: issue {evidence.issue}", "\n".join(lines))
