"""``[setup]`` may have network, so what it is fed has to be reviewed (design §4): as it is at the base commit, or
exactly as a person approved it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from codeboost.errors import ApprovalNeededError
from codeboost.gitrepo import GitRepo
from codeboost.operations.pins import FileDifference, PinnedTree
from codeboost.operations.project import Project, find_approver, require_plan
from codeboost.operations.run_model import Ground
from codeboost.policy import SetupPolicy, read_policy
from codeboost.store.plans import StoredPlan
from codeboost.store.setup_approvals import SetupApproval, add_setup_approval, find_setup_approval
from codeboost.visible import cut

__all__ = [
    "SetupQuestion",
    "approve_setup",
    "ask_about_setup",
    "list_differences",
    "require_setup_approval",
]


@dataclass(frozen=True, slots=True)
class SetupQuestion:
    """The inputs of [setup] at ``commit``. ``changed`` names those that differ from the base commit; empty: all reviewed.

    ``inputs`` maps each path to its mode and object id there (None: absent); ``sha256`` covers them and the setup itself.
    """

    plan: StoredPlan
    commit: str
    inputs: Mapping[str, str | None]
    sha256: str
    changed: tuple[str, ...]
    approval: SetupApproval | None

    @property
    def is_open(self) -> bool:
        return bool(self.changed) and self.approval is None


def ask_about_setup(project: Project, issue: int, rev: str | None = None) -> SetupQuestion:
    """Whether a person has to look at the inputs of [setup] at ``rev``, else HEAD. UsageError without a plan."""
    stored = require_plan(project, issue)
    policy = read_policy(project.git, stored.base_commit)
    return _ask(project, stored, policy.setup, project.git.resolve_commit(rev or "HEAD"))


def list_differences(project: Project, question: SetupQuestion) -> tuple[FileDifference, ...]:
    """What changed since the base commit, for a person to look at."""
    base = PinnedTree(project.git, question.plan.base_commit)
    tree = PinnedTree(project.git, question.commit)
    return tuple(
        FileDifference(path, base.read_content(path), tree.read_content(path)) for path in question.changed
    )


def approve_setup(project: Project, question: SetupQuestion, how: str) -> SetupApproval:
    """Record that a person looked at the inputs and approved exactly this content."""
    approver = find_approver(project.git)
    return add_setup_approval(
        project.store,
        project.repository.id,
        inputs_sha256=question.sha256,
        inputs=question.inputs,
        commit=question.commit,
        approver=approver.user,
        git_identity=approver.git_identity,
        how=how,
    )


def require_setup_approval(ground: Ground) -> None:
    """ApprovalNeededError when [setup] would see content that nobody has looked at."""
    question = _ask(ground.project, ground.stored, ground.policy.setup, ground.commit)
    if not question.changed:
        return
    named = ", ".join(cut(path) for path in question.changed)
    if ground.request.ci_plan is not None:
        raise ApprovalNeededError(
            f"what [setup] sees differs from the base commit: {named}",
            hint="let that change be reviewed and merged first; a run with --ci trusts the base commit alone",
        )
    if question.approval is None:
        raise ApprovalNeededError(
            f"what [setup] sees differs from the base commit: {named}",
            hint=f"look at it and approve it with"
            f" `codeboost allow setup {ground.request.issue} --rev {ground.commit[:12]}`",
        )


def _ask(project: Project, stored: StoredPlan, setup: SetupPolicy | None, commit: str) -> SetupQuestion:
    paths = setup.inputs if setup is not None else ()
    before = {path: _describe(project.git, stored.base_commit, path) for path in paths}
    after = {path: _describe(project.git, commit, path) for path in paths}
    content = {
        "inputs": sorted(after.items()),
        "network": setup.network if setup else False,
        "run": setup.run if setup else (),
    }
    digest = hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()
    return SetupQuestion(
        plan=stored,
        commit=commit,
        inputs=after,
        sha256=digest,
        changed=tuple(path for path in paths if before[path] != after[path]),
        approval=find_setup_approval(project.store, project.repository.id, digest),
    )


def _describe(git: GitRepo, commit: str, path: str) -> str | None:
    entry = git.find_entry(commit, path)
    return None if entry is None else f"{entry.mode:06o} {entry.oid}"
