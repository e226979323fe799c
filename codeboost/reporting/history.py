"""Runs of an issue, kept output, verdicts and what was pruned, for people (text) and programs (plain data)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from codeboost.command.grammar import format_command
from codeboost.limits import format_duration, format_size
from codeboost.operations.abandon_plan import Abandoned
from codeboost.operations.find_log import KeptOutput, RunRow
from codeboost.operations.give_verdict import GivenVerdict
from codeboost.operations.prune import PruneResult
from codeboost.reporting.runs import describe_attempt, describe_statement, render_lines, show_verdict
from codeboost.store.attempts import Attempt
from codeboost.visible import escape

__all__ = [
    "describe_abandoned",
    "describe_given_verdict",
    "describe_log",
    "describe_prune",
    "describe_run_row",
    "render_abandoned",
    "render_attempt_head",
    "render_given_verdict",
    "render_output",
    "render_prune",
    "render_run_row",
    "render_run_rows",
]


# runs


def describe_run_row(row: RunRow) -> dict[str, Any]:
    run = row.run
    return {
        "run": run.id,
        "revision": row.revision,
        "commit": run.commit,
        "tree": run.tree,
        "image": run.image,
        "image_id": run.image_id,
        "items": list(run.items),
        "complete": run.complete,
        "ci": bool(run.options.get("ci")),
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "exit_code": run.exit_code,
        "verdicts": {verdict.value: count for verdict, count in sorted(row.counts.items())},
    }


def render_run_row(row: RunRow) -> str:
    run = row.run
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in sorted(row.counts.items()))
    ended = "not ended" if run.ended_at is None else f"exit {run.exit_code}"
    what = "whole plan" if run.complete else f"partial: {', '.join(run.items) or 'nothing'}"
    started = run.started_at[:19].replace("T", " ")
    return (
        f"run {run.id}  {started}  r{row.revision}  {run.commit[:12]}  {ended}  {what};"
        f" {counts or 'no results'}"
    )


def render_run_rows(rows: Sequence[RunRow]) -> str:
    return "\n".join(render_run_row(row) for row in rows)


# log


def describe_log(attempts: Sequence[tuple[Attempt, Sequence[KeptOutput]]]) -> list[dict[str, Any]]:
    """Attempts with what was kept of their streams; bytes that are no UTF-8 are replaced."""
    return [
        {
            "attempt": describe_attempt(attempt),
            "output": [
                {
                    "stream": output.stream,
                    "head": output.head.decode("utf-8", "replace"),
                    "dropped": output.dropped,
                    "tail": output.tail.decode("utf-8", "replace"),
                }
                for output in outputs
            ],
        }
        for attempt, outputs in attempts
    ]


def render_attempt_head(attempt: Attempt, *, color: bool) -> str:
    took = f" in {format_duration(attempt.duration_s)}" if attempt.started_at else ""
    lines = [
        (
            f"{attempt.item}.{attempt.position}  {show_verdict(attempt, color=color)}{took}"
            f"  attempt {attempt.id} of run {attempt.run_id}"
        ),
        f"  {escape(format_command(attempt.argv))}",
        f"  {escape(attempt.reason)}",
    ]
    lines += [f"  warning: {escape(text)}" for text in attempt.warnings]
    return "\n".join(lines)


def render_output(output: KeptOutput) -> Iterator[str]:
    """Line by line, each behind the name of its stream; what was not kept is counted where it is missing."""
    if not output.dropped:
        yield from render_lines(output.stream, output.head + output.tail)
        return
    yield from render_lines(output.stream, output.head)
    yield f"{output.stream}   … {format_size(output.dropped)} were not kept …"
    yield from render_lines(output.stream, output.tail)


# verdict


def describe_given_verdict(given: GivenVerdict) -> dict[str, Any]:
    verdict = given.verdict
    return {
        "task": given.task,
        "item": verdict.item,
        "position": verdict.position,
        "text": given.text,
        "verdict": verdict.answer.value,
        "note": verdict.note,
        "by": verdict.by,
        "at": verdict.at,
        "commit": verdict.commit,
        "tree": verdict.tree,
        "task_status": given.task_status,
        "pending": [describe_statement(statement) for statement in given.pending],
    }


def render_given_verdict(given: GivenVerdict) -> str:
    verdict = given.verdict
    status = f"{given.task} is {given.task_status}" if given.task_status else f"{given.task} is no task"
    count = len(given.pending)
    left = "No statement of this issue is pending." if count == 0 else f"{count} still pending."
    return (
        f"{given.task} {verdict.position}: {verdict.answer.value} at {verdict.commit[:12]},"
        f" by {escape(verdict.by)}\n  {escape(given.text)}\n{status}. {left}"
    )


# plan abandon


def describe_abandoned(abandoned: Abandoned) -> dict[str, Any]:
    return {
        "issue": abandoned.issue,
        "revision": abandoned.revision,
        "goal": abandoned.goal,
        "dropped": list(abandoned.dropped),
    }


def render_abandoned(abandoned: Abandoned) -> str:
    dropped = (
        f"Dropped {', '.join(abandoned.dropped)}." if abandoned.dropped else "No task had to be dropped."
    )
    return f"The plan for issue {abandoned.issue} is abandoned. {dropped} Importing one takes the issue up again."


# prune


def describe_prune(result: PruneResult) -> dict[str, Any]:
    return {
        "output": [{"run": one.run, "bytes": one.size, "reason": one.reason} for one in result.output],
        "runs": list(result.runs),
        "left_bytes": result.left_bytes,
    }


def render_prune(result: PruneResult, *, dry_run: bool) -> str:
    would = "would remove" if dry_run else "removed"
    lines = [
        f"{would} the output of run {one.run} ({format_size(one.size)}): {one.reason}"
        for one in result.output
    ]
    lines += [f"{'would forget' if dry_run else 'forgot'} run {number}" for number in result.runs]
    lines.append(f"{format_size(result.left_bytes)} of output {'would be' if dry_run else 'are'} kept")
    return "\n".join(lines)
