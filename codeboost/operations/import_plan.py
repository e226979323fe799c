"""``codeboost plan import``: a strict check, the next revision in the store, tasks and a draft goal (design §6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from codeboost.diagnostics import Diagnostic
from codeboost.errors import UsageError
from codeboost.operations.check_approval import load_gate
from codeboost.operations.choose_base import choose_base
from codeboost.operations.export_tasks import TaskChange, export_tasks, find_reopened, name_goal
from codeboost.operations.plan_context import make_context
from codeboost.operations.plan_file import PlanFile
from codeboost.operations.project import Project
from codeboost.plan.difference import compare_plans
from codeboost.plan.loader import check_plan
from codeboost.planr.config import find_root
from codeboost.policy import read_policy
from codeboost.store.plans import (
    StoredPlan,
    add_plan,
    find_exported_plan,
    find_latest_plan,
    is_abandoned,
    select_issue,
)

__all__ = ["ImportResult", "finish_export", "import_plan"]


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What came of an import. With errors among the diagnostics, nothing was stored and ``stored`` is None."""

    file: PlanFile
    diagnostics: tuple[Diagnostic, ...]
    base_commit: str
    stored: StoredPlan | None = None
    goal: str | None = None
    root: Path | None = None
    tasks: tuple[TaskChange, ...] = ()
    declined: bool = False
    """A person said no to opening tasks again that were done; nothing was stored."""
    has_policy: bool = True
    """Whether the base commit has a codeboost.toml."""
    repeats: int | None = None
    """The revision before it, if that says the same on the same base commit and policy."""


def import_plan(
    project: Project,
    file: PlanFile,
    issue: int,
    *,
    base: str | None = None,
    confirm_reopening: Callable[[Sequence[str]], bool],
) -> ImportResult:
    """Check ``file`` and, if it is free of errors, store it as the next revision and write its tasks.

    ``confirm_reopening`` is told the tasks that are done and would be open again, before anything is stored. UsageError
    without a planning root; InputError when a planning file that has to change cannot be read.
    """
    base_commit = choose_base(project.git, base)
    policy = read_policy(project.git, base_commit)
    gate = load_gate(project.store, project.repository.id, project.git, policy, base_commit)
    context = make_context(
        project.git, base_commit, issue=issue, approved=gate.approved, repository=project.repository.slug
    )
    checked = check_plan(file.data, file.format, context)
    if checked.plan is None:
        return ImportResult(file, checked.diagnostics, base_commit)
    root = find_root(project.git.top)
    if root is None:
        raise UsageError(
            "there is no planning root for the tasks", hint="`codeboost init` makes one in this repository"
        )
    finish_export(project, root, issue, policy.task_prefix)
    old = find_exported_plan(project.store, project.repository.id, issue)
    if is_abandoned(project.store, project.repository.id, issue):
        # Its tasks were dropped; all of them are work again.
        old = None
    reopened = find_reopened(root, policy.task_prefix, old.plan if old else None, checked.plan)
    if reopened and not confirm_reopening(reopened):
        return ImportResult(file, checked.diagnostics, base_commit, declined=True)
    select_issue(project.store, project.repository.id, issue)
    stored = add_plan(
        project.store,
        project.repository.id,
        checked.plan,
        base_commit=base_commit,
        policy_digest=policy.digest,
        source=file.name,
    )
    tasks = export_tasks(project, root, policy.task_prefix, old, stored)
    return ImportResult(
        file,
        checked.diagnostics,
        base_commit,
        stored,
        name_goal(policy.task_prefix, issue),
        root,
        tuple(tasks),
        has_policy=policy.present,
        repeats=old.revision if old is not None and _is_same(old, stored) else None,
    )


def _is_same(old: StoredPlan, new: StoredPlan) -> bool:
    same_ground = (old.base_commit, old.policy_digest) == (new.base_commit, new.policy_digest)
    return same_ground and compare_plans(old.plan, new.plan).is_empty


def finish_export(project: Project, root: Path, issue: int, prefix: str) -> list[TaskChange]:
    """Write the planning files of a revision that was stored when something cut its export short."""
    latest = find_latest_plan(project.store, project.repository.id, issue)
    exported = find_exported_plan(project.store, project.repository.id, issue)
    if latest is None or (exported is not None and exported.id == latest.id):
        return []
    return export_tasks(project, root, prefix, exported, latest)
