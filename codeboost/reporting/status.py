"""Where an issue stands, for people (text) and programs (plain data)."""

from __future__ import annotations

from typing import Any

from codeboost.operations.show_status import IssueStatus
from codeboost.reporting.history import describe_run_row, render_run_row
from codeboost.reporting.plans import describe_plan_row
from codeboost.reporting.runs import describe_statement
from codeboost.reporting.width import fit
from codeboost.visible import escape

__all__ = ["describe_status", "render_status"]


def describe_status(status: IssueStatus) -> dict[str, Any]:
    evidence = status.evidence
    return {
        "issue": status.issue,
        "repository": status.repository,
        "abandoned": status.abandoned,
        "plan": describe_plan_row(status.plan),
        "plan_in_force": status.in_force.revision if status.in_force else None,
        "commit": status.commit,
        "commands": {
            "approved": status.approved_commands,
            "pending": [list(command.argv) for command in status.pending_commands],
        },
        "changed_setup_inputs": list(status.changed_setup_inputs),
        "evidence": None
        if evidence is None
        else {
            "complete": evidence.is_complete,
            "commands": [
                {
                    "item": one.command.item,
                    "position": one.command.position,
                    "verdict": one.attempt.verdict.value if one.attempt else None,
                    "attempt": one.attempt.id if one.attempt else None,
                    "run": one.attempt.run_id if one.attempt else None,
                }
                for one in evidence.commands
            ],
            "statements": [describe_statement(statement) for statement in evidence.statements],
        },
        "tasks": [
            {
                "id": task.task,
                "item": task.item,
                "title": task.title,
                "status": task.status,
                "proven": task.proven,
                "waits_for": list(task.waits_for),
            }
            for task in status.tasks
        ],
        "last_run": describe_run_row(status.last_run) if status.last_run else None,
        "waits": [{"who": wait.who, "what": wait.what, "command": wait.command} for wait in status.waits],
    }


def render_status(status: IssueStatus, *, width: int | None = None) -> str:
    lines = [
        f"Issue {status.issue} of {escape(status.repository)}{', abandoned' if status.abandoned else ''}",
        f"  plan      {_say_plan(status)}",
        f"  commands  {_say_commands(status)}",
        f"  evidence  {_say_evidence(status)}",
        f"  last run  {render_run_row(status.last_run) if status.last_run else 'nothing has run yet'}",
        "",
    ]
    columns = max((len(task.task) for task in status.tasks), default=0)
    for task in status.tasks:
        waits = f"  (waits for {', '.join(task.waits_for)})" if task.waits_for else ""
        lines.append(
            f"  {task.task:<{columns}}  {task.status or 'no task':<11}"
            f"  {'proven' if task.proven else '':<6}  {escape(task.title)}{waits}"
        )
    if status.unwritten_moves:
        lines.append(f"  {status.unwritten_moves} changes of task files could not be written yet")
    lines += ["", *_say_waits(status)]
    return "\n".join(fit(line, width) for line in lines)


def _say_plan(status: IssueStatus) -> str:
    plan, in_force = status.plan, status.in_force
    text = f"r{plan.revision}, base {plan.base_commit[:12]}"
    if plan.approval is not None:
        approval = plan.approval
        return (
            f"{text}, approved by {escape(approval.approver)} on {approval.approved_at[:10]} ({approval.how})"
        )
    if in_force is None:
        return f"{text}, not approved"
    if in_force.id == plan.id:
        return f"{text}, given to a run with --ci"
    return f"{text}, not approved; r{in_force.revision} is"


def _say_commands(status: IssueStatus) -> str:
    waiting = len(status.pending_commands)
    return f"{status.approved_commands} may run, {waiting} {'waits' if waiting == 1 else 'wait'} for approval"


def _say_evidence(status: IssueStatus) -> str:
    evidence = status.evidence
    if evidence is None:
        return "none before a revision is approved"
    passed = sum(one.has_passed for one in evidence.commands)
    judged = sum(one.has_passed for one in evidence.statements)
    # Of another revision than the newest, where that is not approved yet.
    which = "" if evidence.plan.id == status.plan.id else f"of r{evidence.plan.revision} "
    return (
        f"{which}at {status.commit[:12]}: {passed} of {len(evidence.commands)} commands passed,"
        f" {judged} of {len(evidence.statements)} statements"
    )


def _say_waits(status: IssueStatus) -> list[str]:
    if status.abandoned:
        return ["Nothing waits: the plan was abandoned."]
    if not status.waits:
        return ["Nothing waits: everything is proven."]
    lines = []
    for wait in status.waits:
        how = f": {wait.command}" if wait.command else ""
        lines.append(f"Waits for {wait.who}: {escape(wait.what)}{how}")
    return lines
