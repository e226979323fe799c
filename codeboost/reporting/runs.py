"""Runs for people (text) and programs (plain data). Everything that a command printed is escaped and prefixed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from codeboost.command.grammar import format_command
from codeboost.limits import format_duration
from codeboost.operations.run_model import ItemResult, RunResult, Tail
from codeboost.store.runs import Attempt
from codeboost.verdict import Verdict
from codeboost.visible import cut, escape

__all__ = ["STYLES", "describe_attempt", "describe_run", "render_run", "render_tail", "show_verdict"]

TAIL_LINES = 20
LINE_LENGTH = 400

# ANSI codes: green, red, yellow, dim.
STYLES = {
    Verdict.PASSED: "32",
    Verdict.WAITING: "2",
    Verdict.CANCELLED: "2",
    Verdict.NOT_APPROVED: "33",
    Verdict.INFRASTRUCTURE: "33",
}
_FAILED_STYLE = "31"


def show_verdict(verdict: Verdict, *, color: bool, width: int = 0) -> str:
    text = f"{verdict.value:<{width}}"
    return f"\x1b[{STYLES.get(verdict, _FAILED_STYLE)}m{text}\x1b[0m" if color else text


def describe_attempt(attempt: Attempt) -> dict[str, Any]:
    """An attempt as plain data: every field of design §7 under its own name."""
    return asdict(attempt) | {"verdict": attempt.verdict.value, "argv": list(attempt.argv)}


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
        "items": [
            {
                "id": item.id,
                "title": item.title,
                "verdict": item.verdict.value,
                "waits_for": list(item.blockers),
                "task": item.task,
                "task_status": item.task_status,
                "attempts": [describe_attempt(attempt) for attempt in item.attempts],
            }
            for item in result.items
        ],
    }


def render_tail(tail: Tail, *, lines: int = TAIL_LINES) -> list[str]:
    """The last lines of both streams, each behind a prefix of ours that no output can imitate."""
    shown: list[str] = []
    for name, data in tail.items():
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        rows = text.removesuffix("\n").split("\n") if text else []
        if len(rows) > lines:
            shown.append(f"    {name} | … {len(rows) - lines} lines before these")
        shown += [f"    {name} | {cut(row, LINE_LENGTH)}" for row in rows[-lines:]]
    return shown


def render_run(result: RunResult, *, color: bool) -> str:
    """A table of the commands, what became of each task, and one sentence that says what to do next."""
    what = f"issue {result.issue} r{result.revision} of {escape(result.repository)}"
    where = f"commit {result.commit[:12]}, image {escape(result.image)}"
    lines = [f"Run {result.id}: {what}, {where}", ""]
    width = max((len(verdict.value) for verdict in Verdict), default=0)
    for item in result.items:
        status = f"{item.task} is {item.task_status}" if item.task_status else f"{item.task} is no task"
        lines.append(f"{item.id}  {escape(item.title)}  [{status}]")
        for attempt in item.attempts:
            verdict = show_verdict(attempt.verdict, color=color, width=width)
            time = format_duration(attempt.duration_s) if attempt.started_at else ""
            lines.append(f"    {verdict}  {time:>6}  {escape(format_command(attempt.argv))}")
            if attempt.verdict is not Verdict.PASSED:
                lines.append(f"    {'':<{width}}          {escape(attempt.reason)}")
            lines += [f"    {'':<{width}}          warning: {escape(text)}" for text in attempt.warnings]
        if not item.attempts:
            lines.append("    no commands; its statements are for a person or a review agent to judge")
    lines += ["", _say_next(result)]
    return "\n".join(lines)


def _say_next(result: RunResult) -> str:
    passed = sum(item.verdict is Verdict.PASSED for item in result.items)
    counted = f"{passed} of {len(result.items)} items passed in {format_duration(result.duration_s)}."
    if not result.complete:
        counted += f" This run left out {', '.join(result.left)}."
    return f"{counted} {_choose_advice(result)}"


def _choose_advice(result: RunResult) -> str:
    verdicts = {attempt.verdict for attempt in result.attempts}
    if Verdict.CANCELLED in verdicts:
        return f"It was stopped: codeboost run {result.issue} starts again."
    if verdicts & {verdict for verdict in Verdict if verdict.exit_code == 1}:
        first = _find_first(result)
        return f"Mend {first.id} first, commit, and run again."
    if Verdict.INFRASTRUCTURE in verdicts:
        return "The engine failed, which says nothing about the work: see that it answers, and run again."
    if Verdict.NOT_APPROVED in verdicts:
        return f"Look at the commands that wait for approval: codeboost allow approve {result.issue}"
    if Verdict.WAITING in verdicts:
        return "What waits needs its dependencies to pass first."
    return "Next: a person looks at what is in review."


def _find_first(result: RunResult) -> ItemResult:
    return next(
        item for item in result.items if any(attempt.verdict.exit_code == 1 for attempt in item.attempts)
    )
