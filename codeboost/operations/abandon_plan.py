"""``codeboost plan abandon``: a person gives the work on an issue up; what is known of it stays."""

from __future__ import annotations

from dataclasses import dataclass

from codeboost.errors import CodeboostError
from codeboost.operations.export_tasks import name_goal
from codeboost.operations.move_tasks import name_task
from codeboost.operations.project import Project, require_plan
from codeboost.planr.changes import read_goal_source, read_task_source, set_goal, set_task
from codeboost.planr.config import find_root
from codeboost.planr.model import GoalState, Status
from codeboost.planr.taskfile import parse_status
from codeboost.policy import read_policy
from codeboost.store.locks import hold_issue
from codeboost.store.plans import abandon_issue
from codeboost.visible import cut

__all__ = ["Abandoned", "abandon_plan", "find_unfinished"]


@dataclass(frozen=True, slots=True)
class Abandoned:
    """``dropped`` are the tasks that were not done; ``goal`` is done now. ``notes`` say what could not be written."""

    issue: int
    revision: int
    goal: str
    dropped: tuple[str, ...]
    notes: tuple[str, ...]


def find_unfinished(project: Project, issue: int) -> list[str]:
    """The tasks that abandoning the plan would drop. UsageError when there is no plan."""
    stored = require_plan(project, issue)
    root = find_root(project.git.top)
    if root is None:
        return []
    prefix = read_policy(project.git, stored.base_commit).task_prefix
    names = [name_task(prefix, issue, item.id) for item in stored.plan.items]
    found = []
    for name in names:
        source = read_task_source(root, name)
        if source is not None and parse_status(source) not in (None, Status.DONE, Status.DROPPED):
            found.append(name)
    return found


def abandon_plan(project: Project, issue: int) -> Abandoned:
    """No run of this issue any more, its unfinished tasks ``dropped``, its goal ``done``.

    Importing a plan takes the issue up again. UsageError when there is no plan; StoreError while a run goes on.
    """
    stored = require_plan(project, issue)
    with hold_issue(project.store, project.repository.id, issue):
        unfinished = find_unfinished(project, issue)
        abandon_issue(project.store, project.repository.id, issue)
        root = find_root(project.git.top)
        prefix = read_policy(project.git, stored.base_commit).task_prefix
        goal = name_goal(prefix, issue)
        dropped: list[str] = []
        notes: list[str] = []
        for name in unfinished:
            try:
                assert root is not None  # noqa: S101 - the tasks were found in it
                set_task(root, name, status=Status.DROPPED)
                dropped.append(name)
            except CodeboostError as error:
                notes.append(f"{name} could not be dropped: {cut(str(error), 200)}")
        try:
            if root is not None and read_goal_source(root, goal) is not None:
                set_goal(root, goal, state=GoalState.DONE)
        except CodeboostError as error:
            notes.append(f"the goal {goal} could not be set to done: {cut(str(error), 200)}")
    return Abandoned(issue, stored.revision, goal, tuple(dropped), tuple(notes))
