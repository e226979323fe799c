"""``codeboost run``: every approved command of a plan, each in a container of its own (design §5 to §7).

Read ``run_checks`` from top to bottom: it is the order in which things happen, and what may stop a run at each step.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

from codeboost.errors import ApprovalNeededError, StoreError, UsageError
from codeboost.limits import format_duration
from codeboost.operations.check_approval import load_gate
from codeboost.operations.command_runner import CommandRunner
from codeboost.operations.evidence import collect_evidence_of
from codeboost.operations.move_tasks import TaskMover
from codeboost.operations.project import Project, require_plan
from codeboost.operations.run_model import Environment, Ground, ItemResult, RunListener, RunRequest, RunResult
from codeboost.operations.schedule import list_commands
from codeboost.plan.model import Item, Plan
from codeboost.policy import Policy, read_policy
from codeboost.sandbox.base import Executor, Owner, SetupOutcome, SetupSpec, SnapshotSpec
from codeboost.store.locks import hold_issue
from codeboost.store.runs import add_run, end_run
from codeboost.visible import cut

__all__ = ["run_checks"]


def run_checks(
    project: Project,
    request: RunRequest,
    open_executor: Callable[[], Executor],
    listener: RunListener,
    cancelled: threading.Event,
) -> RunResult:
    """Run the commands of the newest revision of an issue's plan against one commit.

    ``open_executor`` is called only if at least one command may run. Raises UsageError, ApprovalNeededError (the plan is
    not approved), InputError (a damaged policy), EngineError and StoreError; once a command has started, a fault of the
    engine is that command's verdict instead. Setting ``cancelled`` ends it soon, with every container removed.
    """
    began = time.monotonic()
    with hold_issue(project.store, project.repository.id, request.issue):
        ground = _prepare(project, request)
        mover = TaskMover.open(project, request.issue, ground.policy.task_prefix)
        for text in (*mover.replay(), *_find_uncommitted(project, mover)):
            listener.note(text)
        runner = CommandRunner(ground, mover, listener, cancelled)
        if not runner.has_work:
            run_id = _add_run(ground, None)
            runner.refuse_unapproved(run_id)
        else:
            executor = open_executor()
            try:
                environment, failed_setup = _enter_environment(ground, executor, listener)
                run_id = _add_run(ground, environment)
                runner.refuse_unapproved(run_id)
                if failed_setup is not None:
                    runner.fail_setup(run_id, failed_setup)
                else:
                    runner.execute(run_id, environment)
            finally:
                executor.close()
        runner.settle_unstarted(run_id)
        result = _summarise(ground, runner, run_id, began)
        end_run(project.store, run_id, result.exit_code)
        return result


# Before anything starts


def _prepare(project: Project, request: RunRequest) -> Ground:
    stored = require_plan(project, request.issue)
    if stored.approval is None:
        raise ApprovalNeededError(
            f"revision {stored.revision} of the plan for issue {request.issue} is not approved",
            hint=f"look at it with `codeboost plan show {request.issue}`,"
            f" then `codeboost plan approve {request.issue}`",
        )
    commit = project.git.resolve_commit(request.rev)
    if not project.git.is_ancestor(stored.base_commit, commit):
        raise UsageError(
            f"{commit[:12]} does not descend from {stored.base_commit[:12]}, the base commit of the plan",
            hint="check out the branch with the work, or name it with --rev",
        )
    policy = read_policy(project.git, stored.base_commit)
    if policy.digest != stored.policy_digest:
        raise StoreError("the policy at the base commit is not the one that was approved with the plan")
    _check_timeout(request, policy)
    plan = stored.plan
    items = _choose_items(plan, request.items)
    tree = project.git.find_tree(commit)
    covered = {item.id for item in items}
    return Ground(
        project=project,
        request=request,
        stored=stored,
        plan=plan,
        items=items,
        commands={item.id: list_commands(item) for item in items},
        settled=frozenset(
            item.id
            for item in collect_evidence_of(project, stored, commit, tree).items
            if item.id not in covered and item.commands_passed
        ),
        commit=commit,
        tree=tree,
        policy=policy,
        image=_choose_image(request, policy, stored.base_commit),
        gate=load_gate(project.store, project.repository.id, project.git, policy, stored.base_commit),
        owner=Owner(project.store.id, secrets.token_hex(6)),
    )


def _choose_items(plan: Plan, wanted: Sequence[str]) -> tuple[Item, ...]:
    known = {item.id for item in plan.items}
    for item_id in wanted:
        if item_id not in known:
            raise UsageError(
                f"the plan has no item {cut(item_id)!r}", hint=f"it has {', '.join(sorted(known))}"
            )
    return tuple(item for item in plan.items if not wanted or item.id in wanted)


def _check_timeout(request: RunRequest, policy: Policy) -> None:
    asked, allowed = request.timeout_s, policy.sandbox.limits.timeout_s
    if asked is not None and policy.present and asked > allowed:
        raise UsageError(
            f"--timeout may only shorten the {format_duration(allowed)} that codeboost.toml allows",
            hint="a longer one has to be committed there",
        )


def _choose_image(request: RunRequest, policy: Policy, base: str) -> str:
    if policy.present:
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
    if request.image is None:
        raise UsageError(
            f"there is no codeboost.toml at the base commit {base[:12]}, so no image is known",
            hint="name one with --image, or commit the codeboost.toml that `codeboost init` makes and import again",
        )
    return request.image


def _find_uncommitted(project: Project, mover: TaskMover) -> Iterator[str]:
    """One line when the work tree holds what the run will not see; the planning files change all the time."""
    changes = [path for path in project.git.list_changes() if not mover.is_planning_file(path)]
    if changes:
        shown = ", ".join(cut(path, 60) for path in changes[:3])
        more = f" and {len(changes) - 3} more" if len(changes) > 3 else ""
        yield f"not tested, because it is not committed: {shown}{more}"


# The engine answers


def _enter_environment(
    ground: Ground, executor: Executor, listener: RunListener
) -> tuple[Environment, SetupOutcome | None]:
    """Everything that the commands share, made once; the outcome of [setup] instead when that failed."""
    for swept in executor.sweep(ground.project.store.id):
        listener.note(f"removed a leftover {swept.kind} {swept.id[:12]}: {swept.reason}")
    image = executor.find_image(ground.image, ground.request.pull, listener.note)
    for warning in image.warnings:
        listener.note(warning)
    image_id = image.id
    setup = ground.policy.setup
    if setup is not None:
        listener.note("preparing the dependencies of [setup]")
        prepared = executor.prepare_setup(
            SetupSpec(setup.inputs, setup.run, setup.network, setup.timeout_s),
            ground.project.git.top,
            ground.commit,
            image_id,
            ground.owner,
        )
        if prepared.image_id is None:
            return Environment(executor, image, None), prepared
        image_id = prepared.image_id
    snapshot = executor.take_snapshot(
        SnapshotSpec(ground.project.git.top, ground.commit, image_id, ground.policy.sandbox.git)
    )
    for warning in snapshot.warnings:
        listener.note(warning)
    return Environment(executor, image, snapshot), None


def _add_run(ground: Ground, environment: Environment | None) -> int:
    request = ground.request
    return add_run(
        ground.project.store,
        repository_id=ground.project.repository.id,
        issue=request.issue,
        plan_id=ground.stored.id,
        commit=ground.commit,
        tree=ground.tree,
        image=ground.image,
        image_id=environment.image.id if environment else None,
        image_chosen=not ground.policy.present,
        engine=asdict(environment.executor.describe()) if environment else None,
        policy_digest=ground.policy.digest,
        log_head=ground.gate.log_head,
        items=[item.id for item in ground.items],
        complete=ground.is_complete,
        options={
            "rev": request.rev,
            "items": list(request.items),
            "jobs": request.jobs,
            "image": request.image,
            "timeout_s": request.timeout_s,
            "pull": request.pull.value,
            "fail_fast": request.fail_fast,
        },
    )


# Afterwards


def _summarise(ground: Ground, runner: CommandRunner, run_id: int, began: float) -> RunResult:
    covered = {item.id for item in ground.items}
    return RunResult(
        id=run_id,
        issue=ground.request.issue,
        repository=ground.project.repository.slug,
        revision=ground.stored.revision,
        plan_sha256=ground.stored.sha256,
        base_commit=ground.stored.base_commit,
        commit=ground.commit,
        tree=ground.tree,
        image=ground.image,
        image_id=runner.image_id,
        items=tuple(
            ItemResult(
                id=item.id,
                title=item.title,
                attempts=runner.list_attempts(item.id),
                blockers=runner.find_blockers(item.id),
                task=runner.mover.name_task(item.id),
                task_status=runner.mover.find_status(item.id),
            )
            for item in ground.items
        ),
        complete=ground.is_complete,
        left=tuple(item.id for item in ground.plan.items if item.id not in covered),
        warnings=runner.warnings,
        duration_s=time.monotonic() - began,
    )
