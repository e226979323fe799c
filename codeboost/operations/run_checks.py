"""``codeboost run``: every approved command of a plan, each in a container of its own (design §5 to §7).

Read ``run_checks`` from top to bottom: it is the order in which things happen, and what may stop a run at each step.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict

from codeboost.errors import EngineError
from codeboost.operations.check_setup import require_setup_approval
from codeboost.operations.command_runner import CommandRunner
from codeboost.operations.evidence import collect_evidence_of
from codeboost.operations.find_scope import find_scope_of
from codeboost.operations.hold_images import hold_images
from codeboost.operations.move_tasks import TaskMover
from codeboost.operations.prepare_run import prepare_resumed_run, prepare_run
from codeboost.operations.project import Project
from codeboost.operations.run_model import (
    Environment,
    Ground,
    ItemResult,
    ResumeRequest,
    RunListener,
    RunRequest,
    RunResult,
)
from codeboost.operations.sweep import sweep_images
from codeboost.sandbox.base import Executor, SetupOutcome, SetupSpec, SnapshotSpec
from codeboost.store.attempts import list_attempts
from codeboost.store.database import utc_now
from codeboost.store.locks import hold_issue
from codeboost.store.output import remove_attempt_output
from codeboost.store.runs import add_run, end_run, reopen_run
from codeboost.visible import cut

__all__ = ["run_checks"]

# Deleting many files slows down for minutes whatever creates files afterwards, so old snapshots go a few at a time.
_SWEPT_AT_ONCE = 2

Interruptible = Callable[[], AbstractContextManager[object]]


def run_checks(
    project: Project,
    request: RunRequest | ResumeRequest,
    open_executor: Callable[[], Executor],
    listener: RunListener,
    cancelled: threading.Event,
    interruptible: Interruptible = nullcontext,
    find_stop_code: Callable[[], int] = lambda: 0,
) -> RunResult:
    """Run the commands of the newest revision of an issue's plan against one commit.

    ``open_executor`` is called only if at least one command may run. Raises UsageError, ApprovalNeededError (the plan or
    the inputs of [setup] are not approved), InputError (a damaged policy), EngineError and StoreError; once a command
    has started, a fault of the engine is that command's verdict instead. Setting ``cancelled`` ends it soon, with every
    container removed: as KeyboardInterrupt, and without a trace, while nothing has started yet. What may take long and
    has no container happens inside ``interruptible``: only there may the caller raise KeyboardInterrupt at once.
    ``find_stop_code`` gives the exit code of an interrupted process, or 0: it is kept with the run.
    """
    began = time.monotonic()
    with hold_issue(project.store, project.repository.id, request.issue):
        if isinstance(request, ResumeRequest):
            ground = prepare_resumed_run(project, request)
        else:
            ground = prepare_run(project, request)
        mover = _open_mover(ground)
        for text in (*mover.replay(), *_find_uncommitted(ground, mover)):
            listener.note(text)
        runner = CommandRunner(ground, mover, listener, cancelled)
        if not runner.has_work:
            run_id = _begin_run(ground, None)
            runner.begin(run_id)
        else:
            require_setup_approval(ground)
            _stop_if(cancelled)
            executor = open_executor()
            try:
                with hold_images(project.store, ground.owner) as hold:
                    environment, failed_setup = _enter_environment(
                        ground, executor, listener, cancelled, hold, interruptible
                    )
                    run_id = _begin_run(ground, environment)
                    runner.begin(run_id)
                    if failed_setup is not None:
                        runner.fail_setup(failed_setup)
                    else:
                        runner.execute(environment)
                    if not cancelled.is_set():
                        with suppress(EngineError):
                            sweep_images(executor, project.store, most=_SWEPT_AT_ONCE)
            finally:
                executor.close()
        runner.settle_unstarted()
        result = _summarise(ground, runner, run_id, began)
        end_run(project.store, run_id, find_stop_code() or result.exit_code)
        return result


def _open_mover(ground: Ground) -> TaskMover:
    prefix = ground.policy.task_prefix
    if ground.request.ci_plan is not None:
        # A workflow's checkout is thrown away; who plans there is nobody.
        return TaskMover(ground.project, ground.request.issue, prefix, None)
    mover = TaskMover.open(ground.project, ground.request.issue, prefix)
    if ground.resumed is not None:
        mover.recall(ground.resumed.id)
    return mover


def _find_uncommitted(ground: Ground, mover: TaskMover) -> Iterator[str]:
    """One line when the work tree holds what the run will not see; the planning files change all the time."""
    changes = [path for path in ground.project.git.list_changes() if not mover.is_planning_file(path)]
    if changes:
        shown = ", ".join(cut(path, 60) for path in changes[:3])
        more = f" and {len(changes) - 3} more" if len(changes) > 3 else ""
        yield f"not tested, because it is not committed: {shown}{more}"
    if ground.newer_run is not None:
        yield f"run {ground.newer_run} tested a later commit, so the tasks keep their status"


# The engine answers


def _enter_environment(
    ground: Ground,
    executor: Executor,
    listener: RunListener,
    cancelled: threading.Event,
    hold: Callable[[str], None],
    interruptible: Interruptible,
) -> tuple[Environment, SetupOutcome | None]:
    """Everything that the commands share, made once; the outcome of [setup] instead when that failed."""
    for swept in executor.sweep(ground.project.store.id):
        if swept.failure:
            listener.note(f"a leftover {swept.kind} {swept.id[:12]} cannot be removed: {swept.failure}")
        else:
            listener.note(f"removed a leftover {swept.kind} {swept.id[:12]}: {swept.reason}")
    reference = (ground.resumed and ground.resumed.image_id) or ground.image
    _stop_if(cancelled)
    with interruptible():
        image = executor.find_image(reference, ground.request.pull, listener.note)
    _stop_if(cancelled)
    for warning in image.warnings:
        listener.note(warning)
    image_id = image.id
    setup = ground.policy.setup
    if setup is not None:
        listener.note("preparing the dependencies of [setup]")
        prepared = executor.prepare_setup(
            SetupSpec(
                setup.inputs,
                setup.run,
                setup.network,
                setup.timeout_s,
                ground.policy.sandbox.limits,
                ground.policy.sandbox.runtime,
            ),
            ground.project.git.top,
            ground.commit,
            image_id,
            ground.owner,
            cancelled,
        )
        _stop_if(cancelled)
        if prepared.image_id is None:
            return Environment(executor, image, None), prepared
        image_id = prepared.image_id
        hold(image_id)
    with interruptible():
        snapshot = executor.take_snapshot(
            SnapshotSpec(ground.project.git.top, ground.commit, image_id, ground.policy.sandbox.git)
        )
    hold(snapshot.image_id)
    _stop_if(cancelled)
    for warning in snapshot.warnings:
        listener.note(warning)
    return Environment(executor, image, snapshot), None


def _stop_if(cancelled: threading.Event) -> None:
    if cancelled.is_set():
        raise KeyboardInterrupt


def _begin_run(ground: Ground, environment: Environment | None) -> int:
    """The number of the run: a new one, or the one that is taken up again."""
    store, request = ground.project.store, ground.request
    engine = asdict(environment.executor.describe()) if environment else None
    if ground.resumed is not None:
        kept = {attempt.id for attempt in ground.kept}
        dropped = [a for a in list_attempts(store, ground.resumed.id) if a.id not in kept]
        note = {"at": utc_now(), "log_head": ground.gate.log_head, "engine": engine}
        reopen_run(store, ground.resumed.id, dropped, note)
        for attempt in dropped:
            remove_attempt_output(store, ground.resumed.id, attempt.id)
        return ground.resumed.id
    return add_run(
        store,
        repository_id=ground.project.repository.id,
        issue=request.issue,
        plan_id=ground.stored.id,
        commit=ground.commit,
        tree=ground.tree,
        image=ground.image,
        image_id=environment.image.id if environment else None,
        image_chosen=not ground.policy.present,
        engine=engine,
        policy_digest=ground.policy.digest,
        log_head=ground.gate.log_head,
        items=[item.id for item in ground.items],
        complete=ground.is_complete,
        options={
            "rev": request.rev,
            "items": list(request.items),
            "only_failed": request.only_failed,
            "fresh": request.fresh,
            "jobs": request.jobs,
            "image": request.image,
            "timeout_s": request.timeout_s,
            "pull": request.pull.value,
            "fail_fast": request.fail_fast,
            "ci": request.ci_plan is not None,
            "resumed": [],
        },
    )


# Afterwards


def _summarise(ground: Ground, runner: CommandRunner, run_id: int, began: float) -> RunResult:
    evidence = collect_evidence_of(ground.project, ground.stored, ground.commit, ground.tree)
    statements = {item.id: item.statements for item in evidence.items}
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
                statements=statements[item.id],
            )
            for item in ground.items
        ),
        complete=ground.is_complete,
        left=ground.left,
        warnings=runner.warnings,
        scope=find_scope_of(ground.project, ground.stored, ground.commit, ground.gate),
        duration_s=time.monotonic() - began,
        ci=ground.request.ci_plan is not None,
    )
