"""Runs for people (text) and programs (plain data). Everything that a command printed is escaped and prefixed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from codeboost.command.grammar import format_command
from codeboost.limits import format_duration
from codeboost.operations.evidence import StatementEvidence
from codeboost.operations.run_model import ItemResult, RunResult, Tail
from codeboost.reporting.scope import describe_scope, render_scope_finding
from codeboost.reporting.width import fit
from codeboost.store.attempts import Attempt
from codeboost.verdict import Verdict
from codeboost.visible import cut, escape

__all__ = [
    "STYLES",
    "VERDICT_WIDTH",
    "describe_attempt",
    "describe_run",
    "describe_statement",
    "name_outcome",
    "render_lines",
    "render_run",
    "render_tail",
    "show_row",
    "show_verdict",
]

TAIL_LINES = 20
LINE_LENGTH = 400
_ROOMY = 60
VERDICT_WIDTH = max(len(verdict.value) for verdict in Verdict)

# ANSI codes: green, red, yellow, dim.
STYLES = {
    Verdict.PASSED: "32",
    Verdict.WAITING: "2",
    Verdict.CANCELLED: "2",
    Verdict.NOT_APPROVED: "33",
    Verdict.INFRASTRUCTURE: "33",
}
_FAILED_STYLE = "31"


def name_outcome(attempt: Attempt) -> str:
    """``passed``, or ``passed (reused from run 12)``."""
    if attempt.reused_run is None:
        return attempt.verdict.value
    return f"{attempt.verdict.value} (reused from run {attempt.reused_run})"


def show_verdict(attempt: Attempt, *, color: bool, width: int = 0) -> str:
    text = f"{name_outcome(attempt):<{width}}"
    return f"\x1b[{STYLES.get(attempt.verdict, _FAILED_STYLE)}m{text}\x1b[0m" if color else text


def show_row(before: str, attempt: Attempt, after: str, *, color: bool, width: int | None) -> str:
    """One row of a table of attempts, in at most ``width`` columns; the outcome has a column of its own if there is room."""
    outcome = name_outcome(attempt)
    column = VERDICT_WIDTH if width is None or width >= _ROOMY else 0
    text = fit(f"{before}{outcome:<{column}}{after}", width)
    whole = before + outcome
    if not color or not text.startswith(whole):
        return text
    return f"{before}{show_verdict(attempt, color=True)}{text[len(whole) :]}"


# Plain data


def describe_attempt(attempt: Attempt) -> dict[str, Any]:
    """An attempt as plain data: every field of design §7 under its own name."""
    return asdict(attempt) | {"verdict": attempt.verdict.value, "argv": list(attempt.argv)}


def describe_statement(statement: StatementEvidence) -> dict[str, Any]:
    """A ``check`` and what was said of it; ``verdict`` is null while it is pending."""
    given = statement.verdict
    return {
        "item": statement.item,
        "position": statement.position,
        "text": statement.text,
        "verdict": given.answer.value if given else None,
        "note": given.note if given else None,
        "by": given.by if given else None,
        "at": given.at if given else None,
    }


def describe_run(result: RunResult) -> dict[str, Any]:
    return {
        "run": result.id,
        "issue": result.issue,
        "repository": result.repository,
        "revision": result.revision,
        "plan_sha256": result.plan_sha256,
        "base_commit": result.base_commit,
        "commit": result.commit,
        "tree": result.tree,
        "image": result.image,
        "image_id": result.image_id,
        "complete": result.complete,
        "left": list(result.left),
        "duration_s": round(result.duration_s, 3),
        "warnings": list(result.warnings),
        "scope": describe_scope(result.scope),
        "items": [
            {
                "id": item.id,
                "title": item.title,
                "verdict": item.verdict.value,
                "waits_for": list(item.blockers),
                "task": item.task,
                "task_status": item.task_status,
                "attempts": [describe_attempt(attempt) for attempt in item.attempts],
                "statements": [describe_statement(statement) for statement in item.statements],
            }
            for item in result.items
        ],
    }


# Text


def render_tail(tail: Tail, *, lines: int = TAIL_LINES) -> list[str]:
    """The last lines of both streams, each behind a prefix of ours that no output can imitate."""
    shown: list[str] = []
    for name, data in tail.items():
        rows = _split_rows(data)
        if len(rows) > lines:
            # Without the bar, which every line of output has.
            shown.append(f"    {name}   … {len(rows) - lines} lines before these")
        shown += [f"    {name} | {cut(row, LINE_LENGTH)}" for row in rows[-lines:]]
    return shown


def render_lines(name: str, data: bytes) -> Iterator[str]:
    """Every line of ``data``, whole, behind the prefix that says which stream it came from."""
    return (f"{name} | {escape(row)}" for row in _split_rows(data))


def _split_rows(data: bytes) -> list[str]:
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if text else []


def render_run(result: RunResult, *, color: bool, width: int | None = None) -> str:
    """A table of the commands, what became of each task, and one sentence that says what to do next.

    With ``width`` (columns of a terminal) no row of the table is longer; reasons and warnings always stand whole.
    """
    what = f"issue {result.issue} r{result.revision} of {escape(result.repository)}"
    where = f"commit {result.commit[:12]}, image {escape(result.image)}"
    lines = [fit(f"Run {result.id}: {what}, {where}", width), ""]
    for item in result.items:
        lines.append(fit(f"{item.id}  {escape(item.title)}{_name_status(result, item)}", width))
        for attempt in item.attempts:
            lines += _render_attempt(attempt, color=color, width=width)
        lines += [fit(_render_statement(statement), width) for statement in item.statements]
    findings = [render_scope_finding(finding) for finding in result.scope.findings]
    if findings:
        lines += ["", *(f"warning: {text}" for text in findings)]
    lines += ["", _say_next(result)]
    return "\n".join(lines)


def _render_attempt(attempt: Attempt, *, color: bool, width: int | None) -> Iterator[str]:
    ran_here = attempt.started_at is not None and attempt.reused_run is None
    time = format_duration(attempt.duration_s) if ran_here else ""
    rest = f"  {time:>6}  {escape(format_command(attempt.argv))}"
    yield show_row("    ", attempt, rest, color=color, width=width)
    margin = " " * (VERDICT_WIDTH + 14)
    if attempt.verdict is not Verdict.PASSED:
        yield f"{margin}{escape(attempt.reason)}"
    for text in attempt.warnings:
        yield f"{margin}warning: {escape(text)}"


def _render_statement(statement: StatementEvidence) -> str:
    given = statement.verdict
    said = "pending" if given is None else given.answer.value
    text = f"    {said:<{VERDICT_WIDTH}}  {'':>6}  check {statement.position}: {escape(statement.text)}"
    if given is None:
        return text
    note = f": {escape(given.note)}" if given.note else ""
    return f"{text}  ({escape(given.by)}{note})"


def _name_status(result: RunResult, item: ItemResult) -> str:
    if result.ci:
        # No task is moved, so none is spoken of.
        return ""
    return f"  [{item.task} is {item.task_status}]" if item.task_status else f"  [{item.task} is no task]"


def _say_next(result: RunResult) -> str:
    if not result.items:
        left = f" Still to be proven: {', '.join(result.left)}." if result.left else ""
        return f"Nothing was run: everything passed when it last ran.{left}"
    passed = sum(item.verdict is Verdict.PASSED for item in result.items)
    counted = f"{passed} of {len(result.items)} items passed in {format_duration(result.duration_s)}."
    if not result.complete:
        left = f"; still to be proven: {', '.join(result.left)}" if result.left else ""
        counted += f" This run was partial{left}."
    return f"{counted} {_choose_advice(result)}"


def _choose_advice(result: RunResult) -> str:
    verdicts = {attempt.verdict for attempt in result.attempts}
    if verdicts & {verdict for verdict in Verdict if verdict.exit_code == 1}:
        early = "It was stopped early. " if Verdict.CANCELLED in verdicts else ""
        return f"{early}Mend {_find_first(result).id} first, commit, and run again."
    if Verdict.CANCELLED in verdicts:
        return f"It was stopped: codeboost run {result.issue} --resume goes on from here."
    if Verdict.INFRASTRUCTURE in verdicts:
        return "The engine failed, which says nothing about the work: see that it answers, and run again."
    if Verdict.NOT_APPROVED in verdicts:
        return _advise_on_approvals(result)
    if Verdict.WAITING in verdicts:
        return "What waits needs its dependencies to pass first."
    return _advise_on_review(result)


def _advise_on_approvals(result: RunResult) -> str:
    if result.ci:
        return f"With --ci only [allow] of codeboost.toml at {result.base_commit[:12]} says what may run."
    # At this commit: a file that an approval holds fast may differ from the base commit's.
    look = f"codeboost allow approve {result.issue} --rev {result.commit[:12]}"
    return f"Look at the commands that wait for approval: {look}"


def _advise_on_review(result: RunResult) -> str:
    if result.ci:
        return "Every command passed."
    if not result.pending:
        return "Next: a person looks at what is in review."
    first, count = result.pending[0], len(result.pending)
    task = next(item.task for item in result.items if item.id == first.item)
    what = "1 statement waits" if count == 1 else f"{count} statements wait"
    return f"Next: {what} for a verdict: codeboost verdict {task} {first.position} pass|fail"


def _find_first(result: RunResult) -> ItemResult:
    return next(
        item for item in result.items if any(attempt.verdict.exit_code == 1 for attempt in item.attempts)
    )
