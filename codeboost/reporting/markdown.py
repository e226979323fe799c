"""The report as a comment for a pull request, and as the table of a workflow's summary.

All text that is not ours stands in code spans and fences that it cannot end: there it is no heading, link, picture, HTML,
mention or reference, whoever wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from codeboost.limits import format_duration
from codeboost.operations.evidence import ItemEvidence
from codeboost.operations.make_report import Report, Result, name_verdict, say_why
from codeboost.plan.markdown import render_span
from codeboost.reporting.runs import render_tail
from codeboost.visible import cut

__all__ = ["COMMENT_LIMIT", "render_markdown", "render_summary"]

COMMENT_LIMIT = 65_536
"""The most characters that GitHub takes for a comment."""
_CELL = 300
_SIGNS = {Result.PASSED: "✅", Result.WARNED: "⚠️", Result.FAILED: "❌"}
_CUT_OFF = "\n_The rest does not fit here: `codeboost report` shows it all._\n"


def render_markdown(report: Report, *, limit: int = COMMENT_LIMIT) -> str:
    """Result, table, what is open, and the last lines of what failed; never more than ``limit`` characters."""
    blocks = [
        _render_heading(report),
        *_render_tables(report),
        *_render_lists(report),
        *_render_outputs(report),
    ]
    return _fit(blocks, limit, len)


def render_summary(report: Report, *, room: int) -> str:
    """The same without output, for ``GITHUB_STEP_SUMMARY``; never more than ``room`` bytes of UTF-8."""
    blocks = [_render_heading(report), *_render_tables(report), *_render_lists(report)]
    return _fit(blocks, room, lambda text: len(text.encode()))


def _fit(blocks: Iterable[str], room: int, measure: Callable[[str], int]) -> str:
    text = ""
    for block in blocks:
        # A block is whole or absent: half a fence would swallow what follows.
        if measure(text + block + "\n" + _CUT_OFF) > room:
            return text + _CUT_OFF if measure(text + _CUT_OFF) <= room else text
        text += block + "\n"
    return text


def _render_heading(report: Report) -> str:
    evidence = report.evidence
    lines = [
        f"### {_SIGNS[report.result]} codeboost: {report.result}",
        "",
        f"Issue {evidence.issue}, revision {evidence.plan.revision} of its plan, commit {_code(evidence.commit[:12])}.",
        "",
        *(f"- {_code(reason)}" for reason in report.reasons),
    ]
    return "\n".join(lines) + "\n"


def _render_tables(report: Report) -> Iterator[str]:
    for item in report.evidence.items:
        rows = list(_list_rows(item))
        task = _code(report.name_task(item.id))
        yield (
            "\n".join(
                [f"**{task}** {_code(item.title)}", "", "| | verdict | time | |", "|---|---|---:|---|", *rows]
            )
            + "\n"
        )


def _list_rows(item: ItemEvidence) -> Iterator[str]:
    for command in item.commands:
        attempt = command.attempt
        time = format_duration(attempt.duration_s) if attempt and attempt.started_at else ""
        sign = "✅" if command.has_passed else "❌"
        why = _cell(say_why(command)) if say_why(command) else ""
        yield f"| {_cell(command.command.text)} | {sign} {name_verdict(command)} | {time} | {why} |"
    for statement in item.statements:
        verdict = statement.verdict
        sign = "⏳ pending" if verdict is None else "✅ pass" if statement.has_passed else "❌ fail"
        note = _cell(f"{verdict.by}: {verdict.note}" if verdict.note else verdict.by) if verdict else ""
        yield f"| {_cell(statement.text)} | {sign} | | {note} |"


def _render_lists(report: Report) -> Iterator[str]:
    findings = report.scope.findings
    if findings:
        shown = [f"- {_code(f'{finding.path}: {finding.message}')}" for finding in findings[:50]]
        more = [f"- and {len(findings) - 50} more"] if len(findings) > 50 else []
        yield "\n".join(["**Not as the plan declares**", "", *shown, *more]) + "\n"


def _render_outputs(report: Report) -> Iterator[str]:
    for command in report.evidence.commands:
        tail = report.tails.get(command.attempt.id) if command.attempt else None
        lines = render_tail(tail) if tail else []
        if lines:
            text = "\n".join(line.strip() for line in lines)
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
            name = f"{command.command.item}.{command.command.position}"
            # Ours alone is outside the fence: the summary names no text of the plan.
            yield f"<details><summary>{name}: the last lines</summary>\n\n{fence}text\n{text}\n{fence}\n\n</details>\n"


def _code(text: str) -> str:
    return render_span(cut(text, _CELL))


def _cell(text: str) -> str:
    # A bar ends a cell even in a code span; GitHub takes the backslash away again.
    return _code(text).replace("|", "\\|")
