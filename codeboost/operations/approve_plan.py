"""``codeboost plan approve``: a person fixes revision, base commit and policy; the goal mirrors it (design §4)."""

from __future__ import annotations

from codeboost.errors import CodeboostError
from codeboost.operations.export_tasks import name_goal
from codeboost.operations.import_plan import finish_export
from codeboost.operations.project import Project, find_approver
from codeboost.planr.changes import set_goal
from codeboost.planr.config import find_root
from codeboost.planr.model import GoalState
from codeboost.policy import read_policy
from codeboost.store.plans import StoredPlan, approve_plan
from codeboost.visible import cut

__all__ = ["record_approval"]


def record_approval(project: Project, stored: StoredPlan, how: str) -> tuple[StoredPlan, list[str]]:
    """Record that a person approved ``stored``, and set its goal to ``approved``.

    ``how`` is ``key`` (a key at a terminal) or ``--yes``. The answer holds the plan with its approval, and what could
    not be mirrored into the planning files: that gates nothing.
    """
    approver = find_approver(project.git)
    approved = approve_plan(project.store, stored, approver.user, approver.git_identity, how)
    root = find_root(project.git.top)
    if root is None:
        return approved, ["there is no planning root, so no goal was set to approved"]
    prefix = read_policy(project.git, stored.base_commit).task_prefix
    try:
        finish_export(project, root, stored.issue, prefix)
        set_goal(root, name_goal(prefix, stored.issue), state=GoalState.APPROVED)
    except CodeboostError as error:
        return approved, [f"the goal could not be set to approved: {cut(str(error), 200)}"]
    return approved, []
