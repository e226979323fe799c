"""``codeboost verdict``: a person or a review agent judges one ``check`` statement (design §6)."""

from __future__ import annotations

from dataclasses import dataclass

from codeboost.errors import UsageError
from codeboost.operations.evidence import (
    ItemEvidence,
    StatementEvidence,
    collect_evidence,
    collect_evidence_of,
)
from codeboost.operations.move_tasks import TaskMover
from codeboost.operations.project import Project, find_approver
from codeboost.operations.task_name import require_task_name
from codeboost.plan.model import CheckType, Item
from codeboost.planr.model import Status
from codeboost.policy import read_policy
from codeboost.store.plans import StoredPlan, find_latest_plan
from codeboost.store.task_moves import TaskMove, find_last_move
from codeboost.store.verdicts import Answer, CheckVerdict, add_verdict
from codeboost.visible import cut

__all__ = ["GivenVerdict", "give_verdict"]


@dataclass(frozen=True, slots=True)
class GivenVerdict:
    """What was recorded, the status of the task afterwards, and the statements of the issue that are still pending."""

    verdict: CheckVerdict
    text: str
    task: str
    task_status: str | None
    pending: tuple[StatementEvidence, ...]
    notes: tuple[str, ...]


def give_verdict(
    project: Project,
    task: str,
    position: int,
    answer: Answer,
    *,
    note: str = "",
    by: str | None = None,
    rev: str | None = None,
) -> GivenVerdict:
    """Record an answer for the tree of ``rev``, else of HEAD; it never blocks a run.

    An item without commands is moved by its statements alone: ``review`` when all have a pass. UsageError when there is
    no such task, or ``position`` is no ``check`` of it.
    """
    name = require_task_name(task)
    evidence = collect_evidence(project, name.issue, rev)
    stored = evidence.plan
    prefix = read_policy(project.git, stored.base_commit).task_prefix
    item = next((item for item in stored.plan.items if item.id == name.item), None)
    if item is None or name.prefix != prefix:
        known = ", ".join(f"{prefix}{name.issue}-{item.id}" for item in stored.plan.items)
        raise UsageError(f"the plan has no task {cut(task)}", hint=f"it has {known}")
    text = _find_statement(item, position)
    mover = TaskMover.open(project, name.issue, prefix)
    notes = mover.replay()
    with project.store.transaction():
        given = add_verdict(
            project.store,
            plan_id=stored.id,
            item=item.id,
            position=position,
            commit=evidence.commit,
            tree=evidence.tree,
            answer=answer,
            note=note,
            by=by or _name_person(project),
        )
        after = collect_evidence_of(project, stored, evidence.commit, evidence.tree)
        judged = next(one for one in after.items if one.id == item.id)
        move = _plan_move(project, stored, judged, mover)
    if move is not None:
        notes += mover.write(move)
    task_name = mover.name_task(item.id)
    return GivenVerdict(given, text, task_name, mover.find_status(item.id), after.pending, tuple(notes))


def _find_statement(item: Item, position: int) -> str:
    checks = {
        number: check.text for number, check in enumerate(item.acceptance, 1) if check.type is CheckType.CHECK
    }
    if position not in checks:
        known = ", ".join(map(str, checks)) or "none"
        raise UsageError(
            f"entry {position} of {item.id} is no check statement", hint=f"its statements: {known}"
        )
    return checks[position]


def _plan_move(project: Project, stored: StoredPlan, item: ItemEvidence, mover: TaskMover) -> TaskMove | None:
    newest = find_latest_plan(project.store, stored.repository_id, stored.issue)
    if item.commands or newest is None or newest.id != stored.id:
        return None
    if item.statements_passed:
        return mover.plan_move(item.id, Status.REVIEW, None)
    failed = any(statement.verdict and not statement.has_passed for statement in item.statements)
    if failed and mover.find_status(item.id) == Status.REVIEW:
        last = find_last_move(project.store, project.repository.id, str(mover.root), mover.name_task(item.id))
        if last is not None and last.to_status == Status.REVIEW:
            # Our own word, taken back; a person's stays.
            return mover.plan_move(item.id, Status.IN_PROGRESS, None)
    return None


def _name_person(project: Project) -> str:
    person = find_approver(project.git)
    return person.git_identity or person.user
