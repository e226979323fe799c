"""The report on one commit for people (text) and programs (plain data)."""

from __future__ import annotations

from typing import Any

from codeboost.command.grammar import format_command
from codeboost.limits import format_duration
from codeboost.operations.evidence import CommandEvidence, StatementEvidence
from codeboost.operations.make_report import NOT_RUN, Report, Result, name_verdict, say_why
from codeboost.reporting.runs import describe_attempt, describe_statement, render_tail, show_verdict
from codeboost.reporting.scope import describe_scope, render_scope_finding
from codeboost.visible import escape

__all__ = ["describe_report", "render_report"]

_RESULT_STYLES = {Result.PASSED: "32", Result.WARNED: "33", Result.FAILED: "31"}
_WIDTH = 14


def describe_report(report: Report) -> dict[str, Any]:
    evidence = report.evidence
    plan = evidence.plan
    return {
        "issue": evidence.issue,
        "repository": evidence.repository,
        "revision": plan.revision,
        "plan_sha256": plan.sha256,
        "base_commit": plan.base_commit,
        "policy_digest": plan.policy_digest,
        "approved_by": evidence.approved_by,
        "commit": evidence.commit,
        "tree": evidence.tree,
        "result": report.result.value,
        "reasons": list(report.reasons),
        "complete": evidence.is_complete,
        "items": [
            {
                "id": item.id,
                "title": item.title,
                "task": report.name_task(item.id),
                "commands": [_describe_command(command) for command in item.commands],
                "checks": [describe_statement(statement) for statement in item.statements],
            }
            for item in evidence.items
        ],
        "runs": [
            {
                "run": run.id,
                "commit": run.commit,
                "complete": run.complete,
                "image": run.image,
                "image_id": run.image_id,
                "image_chosen": run.image_chosen,
                "approval_log_head": run.log_head,
                "started_at": run.started_at,
                "ended_at": run.ended_at,
                "exit_code": run.exit_code,
            }
            for run in evidence.runs.values()
        ],
        "scope": describe_scope(report.scope),
    }


def _describe_command(command: CommandEvidence) -> dict[str, Any]:
    return {
        "position": command.command.position,
        "text": command.command.text,
        "argv": list(command.command.argv),
        "verdict": name_verdict(command),
        "attempt": describe_attempt(command.attempt) if command.attempt is not None else None,
    }


def render_report(report: Report, *, color: bool) -> str:
    """Item by item, then what the scope says, then the result and why."""
    evidence = report.evidence
    plan = evidence.plan
    what = f"issue {evidence.issue} r{plan.revision} of {escape(evidence.repository)}"
    lines = [f"Report on {what}, commit {evidence.commit[:12]} (base {plan.base_commit[:12]})", ""]
    for item in evidence.items:
        lines.append(f"{item.id}  {escape(item.title)}  [{report.name_task(item.id)}]")
        for command in item.commands:
            lines += _render_command(report, command, color=color)
        for statement in item.statements:
            lines += _render_statement(statement, color=color)
    if report.scope.findings:
        lines.append("")
        lines += [f"warning: {render_scope_finding(finding)}" for finding in report.scope.findings]
    lines += ["", _paint(report.result.value, _RESULT_STYLES[report.result], color=color)]
    lines += [f"  {escape(reason)}" for reason in report.reasons]
    return "\n".join(lines)


def _render_command(report: Report, command: CommandEvidence, *, color: bool) -> list[str]:
    attempt = command.attempt
    if attempt is None:
        verdict = _paint(f"{NOT_RUN:<{_WIDTH}}", "2", color=color)
    else:
        verdict = show_verdict(attempt, color=color, width=_WIDTH)
    time = format_duration(attempt.duration_s) if attempt and attempt.started_at else ""
    lines = [f"    {verdict}  {time:>6}  {escape(format_command(command.command.argv))}"]
    if not command.has_passed:
        lines.append(f"    {'':<{_WIDTH}}          {escape(say_why(command))}")
    if attempt is not None:
        lines += [f"    {'':<{_WIDTH}}          warning: {escape(text)}" for text in attempt.warnings]
        lines += [f"    {line}" for line in render_tail(report.tails.get(attempt.id, {}))]
    return lines


def _render_statement(statement: StatementEvidence, *, color: bool) -> list[str]:
    verdict = statement.verdict
    word = f"check {verdict.answer.value}" if verdict else "check pending"
    style = "2" if verdict is None else "32" if statement.has_passed else "31"
    lines = [
        f"    {_paint(f'{word:<{_WIDTH}}', style, color=color)}          {escape(statement.text)}",
    ]
    if verdict is not None:
        note = f": {escape(verdict.note)}" if verdict.note else ""
        lines.append(f"    {'':<{_WIDTH}}          by {escape(verdict.by)}{note}")
    return lines


def _paint(text: str, code: str, *, color: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if color else text
