"""What is fixed before a run starts: plan, commit, items, policy, image, approvals. Nothing here asks the engine."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from codeboost.errors import ApprovalNeededError, StoreError, UsageError
from codeboost.gitrepo import GitRepo
from codeboost.limits import format_duration
from codeboost.operations.check_approval import Gate, load_gate, load_reviewed_gate
from codeboost.operations.evidence import collect_evidence_of
from codeboost.operations.move_tasks import name_task
from codeboost.operations.project import Project, require_plan
from codeboost.operations.run_model import Ground, ResumeRequest, RunRequest
from codeboost.operations.schedule import list_commands
from codeboost.plan.model import Item, Plan
from codeboost.policy import Policy, read_policy
from codeboost.sandbox.base import Owner, PullPolicy
from codeboost.store.attempts import Attempt, list_attempts, list_last_attempts
from codeboost.store.plans import StoredPlan, find_plan_by_id, is_abandoned
from codeboost.store.runs import RunRecord, list_runs
from codeboost.verdict import Verdict
from codeboost.visible import cut

__all__ = ["prepare_resumed_run", "prepare_run"]

# How far back a run is looked for that tested a later commit.
_LOOK_BACK = 10


def prepare_run(project: Project, request: RunRequest) -> Ground:
    """The ground of a new run. UsageError, ApprovalNeededError, InputError or StoreError when there can be none."""
    stored = request.ci_plan or _require_approved(project, request.issue)
    commit = project.git.resolve_commit(request.rev)
    if not project.git.is_ancestor(stored.base_commit, commit):
        raise UsageError(
            f"{commit[:12]} does not descend from {stored.base_commit[:12]}, the base commit of the plan",
            hint="check out the branch with the work, or name it with --rev",
        )
    policy = _read_policy(project, stored)
    _check_timeout(request, policy)
    tree = project.git.find_tree(commit)
    if request.only_failed:
        items = _choose_failed(project, stored, commit, tree)
    else:
        items = _choose_items(stored.plan, request.items, policy.task_prefix)
    return _lay_ground(
        project, request, stored, commit, items, policy, _choose_image(request, policy, stored.base_commit)
    )


def prepare_resumed_run(project: Project, request: ResumeRequest) -> Ground:
    """The ground of the newest run of an issue: revision, commit, image and limits as recorded, approvals anew.

    UsageError when there is nothing to go on with; ApprovalNeededError when a result that stands is of a command that
    may not run any more.
    """
    runs = list_runs(project.store, project.repository.id, request.issue, limit=1)
    if not runs:
        raise UsageError(
            f"nothing has run for issue {request.issue} yet",
            hint=f"start with `codeboost run {request.issue}`",
        )
    run = runs[0]
    stored = find_plan_by_id(project.store, run.plan_id)
    newest = require_plan(project, request.issue)
    if stored is None or newest.id != stored.id:
        raise UsageError(
            f"run {run.id} was of an older revision of the plan, and proves nothing about r{newest.revision}",
            hint=f"start a new one with `codeboost run {request.issue}`",
        )
    # What counts is whom the run asked: a person may have approved a plan that --ci brought.
    ci = bool(run.options["ci"])
    if not ci:
        _require_approved(project, request.issue)
    kept = tuple(attempt for attempt in list_attempts(project.store, run.id) if _stands(attempt))
    plan = stored.plan
    items = tuple(item for item in plan.items if item.id in run.items)
    left = sum(len(list_commands(item)) for item in items) - len(kept)
    if run.image_id is None or (run.ended_at is not None and left == 0):
        raise UsageError(
            f"run {run.id} has nothing left to go on with",
            hint=f"start a new one with `codeboost run {request.issue}`",
        )
    policy = _read_policy(project, stored)
    recorded = _read_request(run, stored, request.jobs, ci=ci)
    ground = _lay_ground(project, recorded, stored, run.commit, items, policy, run.image, run, kept)
    for attempt in kept:
        if not ground.gate.decide(attempt.argv, ground.commit).allowed:
            raise ApprovalNeededError(
                f"run {run.id} holds a result of {attempt.item}.{attempt.position}, which may not run any more",
                hint=f"start a new run with `codeboost run {request.issue}`",
            )
    return ground


def _stands(attempt: Attempt) -> bool:
    """Whether a result of a run that was cut short stands: what never ran, or may run by now, is asked again."""
    return not attempt.verdict.says_nothing and attempt.verdict is not Verdict.NOT_APPROVED


def _read_request(run: RunRecord, stored: StoredPlan, jobs: int | None, *, ci: bool) -> RunRequest:
    options = run.options
    return RunRequest(
        issue=run.issue,
        rev=run.commit,
        items=tuple(options["items"]),
        jobs=jobs or options["jobs"],
        image=options["image"],
        timeout_s=options["timeout_s"],
        # The recorded image, by its id: another one would be another run.
        pull=PullPolicy.NEVER,
        fail_fast=options["fail_fast"],
        only_failed=options["only_failed"],
        fresh=options["fresh"],
        ci_plan=stored if ci else None,
    )


def _require_approved(project: Project, issue: int) -> StoredPlan:
    stored = require_plan(project, issue)
    if is_abandoned(project.store, project.repository.id, issue):
        raise UsageError(
            f"the plan for issue {issue} was abandoned",
            hint="importing a plan for it takes the issue up again",
        )
    if stored.approval is None:
        raise ApprovalNeededError(
            f"revision {stored.revision} of the plan for issue {issue} is not approved",
            hint=f"look at it with `codeboost plan show {issue}`, then `codeboost plan approve {issue}`",
        )
    return stored


def _read_policy(project: Project, stored: StoredPlan) -> Policy:
    policy = read_policy(project.git, stored.base_commit)
    if policy.digest != stored.policy_digest:
        raise StoreError("the policy at the base commit is not the one that was approved with the plan")
    return policy


def _lay_ground(
    project: Project,
    request: RunRequest,
    stored: StoredPlan,
    commit: str,
    items: tuple[Item, ...],
    policy: Policy,
    image: str,
    resumed: RunRecord | None = None,
    kept: tuple[Attempt, ...] = (),
) -> Ground:
    tree = project.git.find_tree(commit)
    covered = {item.id for item in items}
    evidence = collect_evidence_of(project, stored, commit, tree)
    return Ground(
        project=project,
        request=request,
        stored=stored,
        plan=stored.plan,
        items=items,
        commands={item.id: list_commands(item) for item in items},
        settled=frozenset(
            item.id for item in evidence.items if item.id not in covered and item.commands_passed
        ),
        commit=commit,
        tree=tree,
        policy=policy,
        image=image,
        gate=_load_gate(project, stored, policy, reviewed_only=request.ci_plan is not None),
        owner=Owner(project.store.id, secrets.token_hex(6)),
        resumed=resumed,
        kept=kept,
        newer_run=_find_newer_run(project, stored, commit),
    )


def _load_gate(project: Project, stored: StoredPlan, policy: Policy, *, reviewed_only: bool) -> Gate:
    if reviewed_only:
        return load_reviewed_gate(project.git, policy, stored.base_commit)
    return load_gate(project.store, project.repository.id, project.git, policy, stored.base_commit)


def _find_newer_run(project: Project, stored: StoredPlan, commit: str) -> int | None:
    """A run of this revision that tested a later commit which HEAD still holds."""
    git = project.git
    head = git.find_commit("HEAD")
    runs = list_runs(project.store, project.repository.id, stored.issue, limit=_LOOK_BACK)
    others = {
        run.commit: run.id for run in reversed(runs) if run.plan_id == stored.id and run.commit != commit
    }
    for other, number in others.items():
        if head is None or git.find_commit(other) is None:
            continue
        if git.is_ancestor(commit, other) and _holds(git, head, other):
            return number
    return None


def _holds(git: GitRepo, head: str, commit: str) -> bool:
    return head == commit or git.is_ancestor(commit, head)


# Which items


def _choose_items(plan: Plan, wanted: Sequence[str], prefix: str) -> tuple[Item, ...]:
    """The items that are named, as the plan does (``P1``) or as their tasks are (``GH412-P1``); without names all."""
    known = [item.id for item in plan.items]
    ids = {name: name.removeprefix(name_task(prefix, plan.issue, "")) for name in wanted}
    for name, item_id in ids.items():
        if item_id not in known:
            raise UsageError(f"the plan has no item '{cut(name)}'", hint=f"it has {', '.join(known)}")
    return tuple(item for item in plan.items if not wanted or item.id in ids.values())


def _choose_failed(project: Project, stored: StoredPlan, commit: str, tree: str) -> tuple[Item, ...]:
    """The items with a command that did not pass when it last ran, and what they need that has no pass for this tree."""
    last = list_last_attempts(project.store, stored.id)
    if not last:
        raise UsageError(
            f"nothing of revision {stored.revision} has run yet, so nothing has failed",
            hint=f"start with `codeboost run {stored.issue}`",
        )
    passed = {key for key, attempt in last.items() if attempt.verdict is Verdict.PASSED}
    plan = stored.plan
    wanted = {
        item.id
        for item in plan.items
        if any((item.id, command.position) not in passed for command in list_commands(item))
    }
    proven = {
        item.id for item in collect_evidence_of(project, stored, commit, tree).items if item.commands_passed
    }
    return _add_needed(plan.items, wanted, proven)


def _add_needed(items: Sequence[Item], wanted: Iterable[str], proven: Iterable[str]) -> tuple[Item, ...]:
    chosen = set(wanted)
    # Dependencies name earlier items only (plan-rules.md §3): one walk from the end is enough.
    for item in reversed(items):
        if item.id in chosen:
            chosen |= set(item.depends_on) - set(proven)
    return tuple(item for item in items if item.id in chosen)


# Limits and image


def _check_timeout(request: RunRequest, policy: Policy) -> None:
    asked, allowed = request.timeout_s, policy.sandbox.limits.timeout_s
    if asked is not None and policy.present and asked > allowed:
        raise UsageError(
            f"--timeout may only shorten the {format_duration(allowed)} that codeboost.toml allows",
            hint="a longer one has to be committed there",
        )


def _choose_image(request: RunRequest, policy: Policy, base: str) -> str:
    if not policy.present:
        if request.image is None:
            raise UsageError(
                f"there is no codeboost.toml at the base commit {base[:12]}, so no image is known",
                hint="name one with --image, or commit the codeboost.toml that `codeboost init` makes and import again",
            )
        return request.image
    if request.image is not None:
        raise UsageError(
            f"--image is refused: codeboost.toml at the base commit {base[:12]} decides the image",
            hint="change it there, and let the change be reviewed",
        )
    if policy.sandbox.image is None:
        raise UsageError(
            f"codeboost.toml at the base commit {base[:12]} names no image",
            hint='add image = "…" below [sandbox] and commit it',
        )
    return policy.sandbox.image
