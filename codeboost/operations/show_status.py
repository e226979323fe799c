"""``codeboost status``: where the work on an issue stands, and what waits for whom. It decides nothing."""

from __future__ import annotations

from dataclasses import dataclass

from codeboost.errors import CodeboostError
from codeboost.operations.approve_commands import PendingApprovals, PendingCommand, find_pending
from codeboost.operations.check_setup import ask_about_setup
from codeboost.operations.evidence import Evidence, collect_evidence_of, find_plan_in_force
from codeboost.operations.find_log import RunRow, list_run_rows
from codeboost.operations.move_tasks import TaskMover
from codeboost.operations.project import Project, require_plan
from codeboost.planr.model import Status
from codeboost.policy import read_policy
from codeboost.store.plans import StoredPlan, is_abandoned
from codeboost.store.task_moves import list_pending_moves
from codeboost.visible import count, cut

__all__ = ["IssueStatus", "TaskLine", "Wait", "show_status"]

_PERSON = "a person"
_AGENT = "a person or a review agent"
_WORKER = "whoever does the work"


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task of the newest revision. ``status`` is None where there is no readable file."""

    task: str
    item: str
    title: str
    status: str | None
    proven: bool
    """Whether its commands all have a pass for this tree; False too while no revision is approved."""
    waits_for: tuple[str, ...]
    """The tasks it depends on whose commands have none."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Something that waits: for whom, for what, and the command that helps, if one does."""

    who: str
    what: str
    command: str | None


@dataclass(frozen=True, slots=True)
class IssueStatus:
    """``plan`` is the newest revision, ``in_force`` the newest one that is approved; evidence is of that, at ``commit``."""

    issue: int
    repository: str
    plan: StoredPlan
    in_force: StoredPlan | None
    abandoned: bool
    commit: str
    approved_commands: int
    pending_commands: tuple[PendingCommand, ...]
    changed_setup_inputs: tuple[str, ...]
    evidence: Evidence | None
    tasks: tuple[TaskLine, ...]
    unwritten_moves: int
    last_run: RunRow | None
    waits: tuple[Wait, ...]
    notes: tuple[str, ...]


def show_status(project: Project, issue: int, rev: str | None = None) -> IssueStatus:
    """Look at the newest plan of an issue against ``rev``, else HEAD. UsageError when there is no plan.

    What a run could not write into task files any more is written first.
    """
    stored = require_plan(project, issue)
    commit = project.git.resolve_commit(rev or "HEAD")
    mover = TaskMover.open(project, issue, read_policy(project.git, stored.base_commit).task_prefix)
    notes = mover.replay()
    in_force = find_plan_in_force(project, issue)
    evidence = None
    if in_force is not None:
        evidence = collect_evidence_of(project, in_force, commit, project.git.find_tree(commit))
    pending = find_pending(project, issue, rev=commit)
    setup = ask_about_setup(project, issue, commit)
    rows = list_run_rows(project, issue, limit=1)
    tasks = _list_tasks(stored, evidence, mover)
    abandoned = is_abandoned(project.store, project.repository.id, issue)
    changed = setup.changed if setup.is_open else ()
    return IssueStatus(
        issue=issue,
        repository=project.repository.slug,
        plan=stored,
        in_force=in_force,
        abandoned=abandoned,
        commit=commit,
        approved_commands=pending.approved,
        pending_commands=pending.commands,
        changed_setup_inputs=changed,
        evidence=evidence,
        tasks=tasks,
        unwritten_moves=len(list_pending_moves(project.store, project.repository.id)),
        last_run=rows[0] if rows else None,
        waits=() if abandoned else tuple(_list_waits(stored, evidence, tasks, pending, changed, rows)),
        notes=tuple(notes),
    )


def _list_tasks(stored: StoredPlan, evidence: Evidence | None, mover: TaskMover) -> tuple[TaskLine, ...]:
    current = evidence if evidence is not None and evidence.plan.id == stored.id else None
    proven = {item.id for item in current.items if item.commands_passed} if current else set()
    return tuple(
        TaskLine(
            task=mover.name_task(item.id),
            item=item.id,
            title=item.title,
            status=_find_status(mover, item.id),
            proven=item.id in proven,
            waits_for=tuple(mover.name_task(needed) for needed in item.depends_on if needed not in proven),
        )
        for item in stored.plan.items
    )


def _find_status(mover: TaskMover, item_id: str) -> str | None:
    try:
        return mover.find_status(item_id)
    except CodeboostError:
        return None


def _list_waits(
    stored: StoredPlan,
    evidence: Evidence | None,
    tasks: tuple[TaskLine, ...],
    pending: PendingApprovals,
    changed: tuple[str, ...],
    rows: list[RunRow],
) -> list[Wait]:
    issue = stored.issue
    waits = []
    if stored.approval is None and (evidence is None or evidence.plan.id != stored.id):
        what = f"revision {stored.revision} of the plan is not approved"
        waits.append(Wait(_PERSON, what, f"codeboost plan approve {issue}"))
    if pending.commands:
        what = f"{count(len(pending.commands), 'command')} may not run yet"
        # Without --rev the base commit's files are shown and pinned; those of the work are others.
        differs = any(one.decision.changed_pins or one.differences for one in pending.commands)
        rev = f" --rev {pending.commit[:12]}" if differs else ""
        waits.append(Wait(_PERSON, what, f"codeboost allow approve {issue}{rev}"))
    if changed:
        what = f"[setup] would see changed files: {', '.join(cut(path) for path in changed)}"
        waits.append(Wait(_PERSON, what, f"codeboost allow setup {issue}"))
    by_status = {
        status: ", ".join(task.task for task in tasks if task.status == status)
        for status in (Status.DECISION, Status.BLOCKED, Status.REVIEW)
    }
    if evidence is not None and evidence.pending:
        first = evidence.pending[0]
        task = next((line.task for line in tasks if line.item == first.item), first.item)
        what = f"{count(len(evidence.pending), 'statement')} to judge"
        waits.append(Wait(_AGENT, what, f"codeboost verdict {task} {first.position} pass|fail"))
    for status, what in (
        (Status.DECISION, "to decide about"),
        (Status.BLOCKED, "blocked"),
        (Status.REVIEW, "to review"),
    ):
        if by_status[status]:
            waits.append(Wait(_PERSON, f"{what}: {by_status[status]}", None))
    if evidence is not None and not evidence.commands_passed:
        waits.append(_wait_for_work(issue, evidence, rows))
    return waits


def _wait_for_work(issue: int, evidence: Evidence, rows: list[RunRow]) -> Wait:
    # A run of an older revision proves nothing about this one, and is not taken up again.
    if rows and rows[0].run.ended_at is None and rows[0].run.plan_id == evidence.plan.id:
        return Wait(_WORKER, f"run {rows[0].run.id} has not ended", f"codeboost run {issue} --resume")
    failed = [
        f"{one.command.item}.{one.command.position}"
        for one in evidence.commands
        if one.attempt is not None and one.attempt.verdict.exit_code == 1
    ]
    if failed:
        return Wait(_WORKER, f"to mend: {', '.join(failed)}", f"codeboost run {issue}")
    left = sum(not one.has_passed for one in evidence.commands)
    return Wait(_WORKER, f"{count(left, 'command')} without a pass for this tree", f"codeboost run {issue}")
