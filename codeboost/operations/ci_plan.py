"""What ``run --ci`` stands on: a plan from a file, and a base commit that the workflow names (design §4).

Nobody approved anything here. The base commit is reviewed code: its policy decides which commands may run, in which
image, within which limits. The store only keeps what was observed.
"""

from __future__ import annotations

import re
from pathlib import Path

from codeboost.diagnostics import has_errors
from codeboost.errors import InputError, UsageError
from codeboost.gitrepo import GitRepo
from codeboost.operations.check_approval import load_reviewed_gate
from codeboost.operations.plan_context import make_context
from codeboost.operations.plan_file import PlanFile
from codeboost.operations.project import Project, parse_slug
from codeboost.plan.canonical import digest_plan, with_revision
from codeboost.plan.loader import check_plan
from codeboost.plan.model import Plan
from codeboost.policy import Policy, read_policy
from codeboost.store.database import Store
from codeboost.store.plans import (
    StoredPlan,
    add_plan,
    bind_checkout,
    find_checkout,
    find_latest_plan,
    find_repository,
    is_ci_plan,
    select_issue,
)
from codeboost.visible import cut

__all__ = ["take_ci_plan"]

_EXACT_IMAGE = re.compile(r"(?:.+@)?sha256:[0-9a-f]{64}")


def take_ci_plan(
    store: Store,
    start: Path,
    file: PlanFile,
    *,
    base: str,
    issue: int | None = None,
    slug: str | None = None,
) -> tuple[Project, StoredPlan]:
    """Check ``file`` against the tree of ``base`` and note it as what the next run is of; nobody approved it.

    InputError with the diagnostics when the plan has errors. UsageError when the repository is unknown, the policy at
    the base commit does not name its image by digest, or a person's plans for this issue are in the store.
    """
    git = GitRepo.open(start)
    origin = git.find_remote()
    remote = parse_slug(slug) if slug is not None else origin
    if remote is None:
        raise UsageError(
            "which repository is this? There is no `origin` that says so",
            hint="name it with --repo OWNER/NAME",
        )
    base_commit = _find_base(git, base)
    policy = read_policy(git, base_commit)
    _check_image(policy, base_commit)
    plan = _check(git, file, policy, base_commit, issue, remote.slug)
    repository = find_repository(store, remote.host, remote.owner, remote.name)
    if find_checkout(store, str(git.common_dir)) is None:
        # So that `codeboost report` knows afterwards where it is.
        bind_checkout(store, str(git.common_dir), repository, str(origin) if origin else None)
    project = Project(store, git, repository)
    return project, _keep(project, plan, policy, base_commit, file.name)


def _find_base(git: GitRepo, base: str) -> str:
    found = git.find_commit(base)
    if found is None:
        raise UsageError(
            f"the base commit {cut(base)} is not in this checkout",
            hint="check out the whole history (actions/checkout: fetch-depth: 0)"
            if git.is_shallow()
            else "name a commit of this repository with --base",
        )
    return found


def _check_image(policy: Policy, base_commit: str) -> None:
    if not policy.present:
        raise UsageError(
            f"there is no codeboost.toml at the base commit {base_commit[:12]}, and --ci trusts nothing else",
            hint="commit one, with the image and the commands that may run",
        )
    image = policy.sandbox.image
    if image is None or not _EXACT_IMAGE.fullmatch(image):
        raise UsageError(
            f"--ci needs an image by digest; codeboost.toml at {base_commit[:12]} says '{cut(image or 'nothing')}'",
            hint='write it like image = "python@sha256:…"',
        )


def _check(
    git: GitRepo, file: PlanFile, policy: Policy, base_commit: str, issue: int | None, slug: str
) -> Plan:
    approved = load_reviewed_gate(git, policy, base_commit).approved
    context = make_context(
        git, base_commit, issue=issue, approved=approved, repository=slug, any_issue=issue is None
    )
    checked = check_plan(file.data, file.format, context)
    if checked.plan is None or has_errors(checked.diagnostics):
        errors = [found for found in checked.diagnostics if found.is_error]
        raise InputError(
            f"{cut(file.name, 200)} has {len(errors)} error{'s' if len(errors) > 1 else ''}:"
            f" {errors[0].message}",
            hint=f"`codeboost plan check {cut(file.name, 200)}` shows them with their places",
            diagnostics=checked.diagnostics,
        )
    return checked.plan


def _keep(project: Project, plan: Plan, policy: Policy, base_commit: str, source: str) -> StoredPlan:
    store, repository = project.store, project.repository.id
    latest = find_latest_plan(store, repository, plan.issue)
    if latest is not None and not is_ci_plan(store, latest.id):
        raise UsageError(
            f"a person keeps plans for issue {plan.issue} in this store, and --ci would put another above them",
            hint="give it a store of its own: set CODEBOOST_HOME to an empty folder",
        )
    if latest is not None and _is_same(latest, plan, policy, base_commit):
        return latest
    select_issue(store, repository, plan.issue)
    return add_plan(
        store,
        repository,
        plan,
        base_commit=base_commit,
        policy_digest=policy.digest,
        source=source,
        given_to_ci=True,
    )


def _is_same(latest: StoredPlan, plan: Plan, policy: Policy, base_commit: str) -> bool:
    return (
        latest.sha256 == digest_plan(with_revision(plan, latest.revision))
        and latest.base_commit == base_commit
        and latest.policy_digest == policy.digest
    )
