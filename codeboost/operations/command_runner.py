"""Runs the commands of one run: side by side where nothing waits, each result stored the moment it is there.

Worker threads do nothing but execute. Everything else (the store, the task files, the listener) happens in the thread
that called, in the order in which results come; the order in which they are listed never depends on it.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import NamedTuple

from codeboost.errors import StoreError
from codeboost.limits import Limits
from codeboost.operations.empty_pass import NO_TESTS_RAN, ran_no_tests
from codeboost.operations.move_tasks import TaskMover
from codeboost.operations.run_model import Environment, Ground, RunListener, Tail
from codeboost.operations.schedule import Command, Schedule
from codeboost.planr.model import Status
from codeboost.sandbox.base import CommandSpec, Outcome, SetupOutcome, StreamRecord
from codeboost.store.approval_log import digest_argv
from codeboost.store.attempts import Attempt, KeptStream, add_attempt, find_passed_attempt
from codeboost.store.database import utc_now
from codeboost.store.output import keep_output, take_tail
from codeboost.store.runs import find_successor
from codeboost.store.task_moves import TaskMove
from codeboost.verdict import Verdict
from codeboost.visible import count

__all__ = ["CommandRunner"]

TICK_S = 0.25


class _Place(NamedTuple):
    """What a command runs as, and the digest of all that decides what it does there."""

    spec: CommandSpec
    digest: str


class CommandRunner:
    """The commands of one run, from the gate to the last result."""

    def __init__(
        self, ground: Ground, mover: TaskMover, listener: RunListener, cancelled: threading.Event
    ) -> None:
        self.mover = mover
        self.image_id: str | None = None
        self._ground = ground
        self._store = ground.project.store
        self._listener = listener
        self._cancelled = cancelled
        self._decisions = {
            command: ground.gate.decide(command.argv, ground.commit)
            for commands in ground.commands.values()
            for command in commands
        }
        self._schedule = Schedule(ground.plan.items, ground.commands, ground.settled)
        self._attempts: dict[Command, Attempt] = {}
        self._started: set[str] = set()
        self._warnings: list[str] = []
        self._run_id = 0
        self._said_stopping = False
        known = {(c.item, c.position): c for commands in ground.commands.values() for c in commands}
        for attempt in ground.kept:
            command = known[attempt.item, attempt.position]
            self._attempts[command] = attempt
            self._started.add(command.item)
            self._schedule.record(command, attempt.verdict)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self._warnings)

    @property
    def has_work(self) -> bool:
        """Whether the engine is needed: some command is left of an item that may run, and so may all it waits for."""
        may_pass = set(self._ground.settled)
        found = False
        for item in self._ground.items:
            commands = self._ground.commands[item.id]
            left = [command for command in commands if command not in self._attempts]
            kept = [self._attempts[command] for command in commands if command in self._attempts]
            if not self._is_allowed(item.id) or any(needed not in may_pass for needed in item.depends_on):
                continue
            found = found or bool(left)
            if all(attempt.verdict is Verdict.PASSED for attempt in kept):
                may_pass.add(item.id)
        return found

    def list_attempts(self, item_id: str) -> tuple[Attempt, ...]:
        return tuple(
            self._attempts[command] for command in self._ground.commands[item_id] if command in self._attempts
        )

    def find_blockers(self, item_id: str) -> tuple[str, ...]:
        return self._schedule.find_blockers(item_id)

    def _is_allowed(self, item_id: str) -> bool:
        return all(self._decisions[command].allowed for command in self._ground.commands[item_id])

    # What never starts

    def begin(self, run_id: int) -> None:
        """Name the run, and record the commands that may not run.

        An item with one such command runs none of its commands (design §5.1).
        """
        self._run_id = run_id
        if self._attempts:
            self._listener.note(f"going on with run {run_id}: {count(len(self._attempts), 'result')} kept")
        everything = [command for commands in self._ground.commands.values() for command in commands]
        self._listener.begin(run_id, [command for command in everything if command not in self._attempts])
        for item in self._ground.items:
            if not self._is_allowed(item.id):
                self._refuse(item.id)

    def _refuse(self, item_id: str) -> None:
        commands = self._ground.commands[item_id]
        refused = [str(c.position) for c in commands if not self._decisions[c].allowed]
        for command in self._schedule.drop(item_id):
            decision = self._decisions[command]
            if decision.allowed:
                which = "command {} of {} is" if len(refused) == 1 else "commands {} of {} are"
                reason = f"{which.format(', '.join(refused), item_id)} not approved"
                outcome = Outcome(Verdict.WAITING, reason)
            else:
                outcome = Outcome(Verdict.NOT_APPROVED, decision.reason)
            self._settle(command, outcome)

    def fail_setup(self, setup: SetupOutcome) -> None:
        """Give every command that could have run the verdict of the setup that did not prepare its place."""
        output = StreamRecord(setup.output, b"", len(setup.output), hashlib.sha256(setup.output).hexdigest())
        for item in self._ground.items:
            for command in self._schedule.drop(item.id):
                self._settle(command, Outcome(Verdict.SETUP_FAILED, setup.message, stdout=output))

    # What starts

    def execute(self, environment: Environment) -> None:
        """Run what may run, at most ``jobs`` at once, until nothing is left that can start."""
        self.image_id = environment.image.id
        jobs = max(1, self._ground.request.jobs)
        running: dict[Future[Outcome], tuple[Command, _Place]] = {}
        with ThreadPoolExecutor(jobs, thread_name_prefix="command") as pool:
            try:
                while True:
                    self._start_ready(pool, environment, jobs, running)
                    if not running:
                        break
                    done, _ = wait(running, timeout=TICK_S, return_when=FIRST_COMPLETED)
                    self._listener.tick()
                    self._say_stopping()
                    for future in sorted(done, key=lambda one: running[one][0]):
                        command, place = running.pop(future)
                        self._settle(command, _look_closer(future.result()), place)
            except BaseException:
                # Whatever went wrong here, no container outlives the run.
                self._cancelled.set()
                raise

    def _say_stopping(self) -> None:
        if self._cancelled.is_set() and not self._said_stopping:
            self._said_stopping = True
            self._listener.note("stopping: what runs is ended and its containers are removed")

    def _start_ready(
        self,
        pool: ThreadPoolExecutor,
        environment: Environment,
        jobs: int,
        running: dict[Future[Outcome], tuple[Command, _Place]],
    ) -> None:
        while len(running) < jobs and not self._cancelled.is_set():
            ready = self._schedule.take_ready(1)
            if not ready:
                return
            [command] = ready
            spec = self._make_spec(command, environment)
            place = _Place(spec, environment.executor.digest_spec(spec))
            if not self._begin(command):
                self._settle(command, Outcome(Verdict.CANCELLED, "stopped before it started"))
                return
            if self._take_over(command, place):
                continue
            self._listener.start(command)
            running[pool.submit(environment.executor.execute, spec, self._cancelled)] = command, place

    def _make_spec(self, command: Command, environment: Environment) -> CommandSpec:
        assert environment.snapshot is not None  # noqa: S101 - nothing executes after a failed setup
        sandbox = self._ground.policy.sandbox
        return CommandSpec(
            attempt=secrets.token_hex(8),
            owner=self._ground.owner,
            argv=command.argv,
            snapshot=environment.snapshot,
            limits=self._choose_limits(command),
            workdir=sandbox.workdir,
            env=sandbox.env,
            runtime=sandbox.runtime,
        )

    def _choose_limits(self, command: Command) -> Limits:
        limits = self._ground.policy.sandbox.limits
        for entry in self._ground.policy.allow:
            if entry.argv == command.argv and entry.timeout_s is not None:
                limits = replace(limits, timeout_s=entry.timeout_s)
        asked = self._ground.request.timeout_s
        if asked is not None:
            shorter = min(asked, limits.timeout_s) if self._ground.policy.present else asked
            limits = replace(limits, timeout_s=shorter)
        return limits

    def _begin(self, command: Command) -> bool:
        """Move the item's task with its first command; False when something newer decides by now."""
        if command.item in self._started:
            return self._find_successor() is None
        with self._store.transaction():
            if self._find_successor() is not None:
                return False
            move = self._plan_move(command.item, Status.IN_PROGRESS)
        self._started.add(command.item)
        self._write(move)
        return True

    def _find_successor(self) -> str | None:
        ground = self._ground
        return find_successor(
            self._store,
            ground.project.repository.id,
            ground.request.issue,
            ground.stored.id,
            self._run_id,
        )

    # What came of it

    def _settle(self, command: Command, outcome: Outcome, place: _Place | None = None) -> None:
        attempt_id = place.spec.attempt if place else secrets.token_hex(8)
        outcome, streams = self._keep_output(attempt_id, outcome)
        attempt = self._make_attempt(attempt_id, command, outcome, streams, place)
        with self._store.transaction():
            attempt, move = self._store_result(command, attempt)
        self._finish(command, attempt, move, _cut_tail(outcome))

    def _take_over(self, command: Command, place: _Place) -> bool:
        """Let a pass of the very same specification count for this command; what it printed stays where it is."""
        if self._ground.request.fresh or self._ground.request.ci_plan is not None:
            # With --ci the base commit alone is trusted: a store may come out of a cache that others can write.
            return False
        repository = self._ground.project.repository.id
        # Found and used in one transaction: in between, `prune` could forget it.
        with self._store.transaction():
            earlier = find_passed_attempt(self._store, repository, place.digest, self._run_id)
            if earlier is None:
                return False
            attempt, move = self._store_result(
                command,
                replace(
                    earlier,
                    id=place.spec.attempt,
                    run_id=self._run_id,
                    item=command.item,
                    position=command.position,
                    approval=self._decisions[command].entry,
                    reason=f"the very same passed in run {earlier.run_id}",
                    reused_from=earlier.id,
                    reused_run=earlier.run_id,
                ),
            )
        self._finish(command, attempt, move, {})
        return True

    def _store_result(self, command: Command, attempt: Attempt) -> tuple[Attempt, TaskMove | None]:
        """A result and the task's next status, inside one transaction of the caller: what was stored is the answer."""
        successor = self._find_successor()
        if successor is not None:
            # What came after it decides from now on (design §5.5).
            self._cancelled.set()
            attempt = replace(attempt, verdict=Verdict.CANCELLED, reason=successor)
        add_attempt(self._store, attempt)
        self._attempts[command] = attempt
        self._schedule.record(command, attempt.verdict)
        if not self._schedule.is_complete(command.item):
            return attempt, None
        if successor is not None:
            return attempt, self.mover.plan_return(command.item, self._run_id)
        return attempt, self._plan_end_of(command.item)

    def _finish(self, command: Command, attempt: Attempt, move: TaskMove | None, tail: Tail) -> None:
        """Write the file of a stored move, then tell whoever listens."""
        self._write(move)
        if self._ground.request.fail_fast and attempt.verdict.exit_code not in (0, None, 3):
            self._cancelled.set()
        self._listener.end(command, attempt, tail)

    def _plan_end_of(self, item_id: str) -> TaskMove | None:
        """What the task becomes, by the verdicts of its commands (design §6)."""
        verdicts = self._schedule.verdicts(item_id)
        if Verdict.NOT_APPROVED in verdicts:
            return self._plan_move(item_id, Status.DECISION)
        if all(verdict is Verdict.PASSED for verdict in verdicts):
            return self._plan_move(item_id, Status.REVIEW)
        if any(verdict.exit_code == 1 for verdict in verdicts):
            return self._plan_move(item_id, Status.IN_PROGRESS)
        # The engine's fault, or somebody stopped it: nothing was learned about the work.
        return self.mover.plan_return(item_id, self._run_id)

    def _plan_move(self, item_id: str, to: Status) -> TaskMove | None:
        if self._ground.newer_run is not None:
            return None
        return self.mover.plan_move(item_id, to, self._run_id)

    def settle_unstarted(self) -> None:
        """Say of every command that never started what it waited for, or that the run was stopped first."""
        for command in self._schedule.list_unstarted():
            blockers = self._schedule.find_blockers(command.item)
            if blockers:
                reason = f"waits for {', '.join(blockers)}, which has no pass"
                self._settle(command, Outcome(Verdict.WAITING, reason))
            else:
                self._settle(command, Outcome(Verdict.CANCELLED, "stopped before it started"))

    def _write(self, move: TaskMove | None) -> None:
        if move is not None:
            for text in self.mover.write(move):
                self._warn(text)

    def _warn(self, text: str) -> None:
        self._warnings.append(text)
        self._listener.note(text)

    def _keep_output(self, attempt_id: str, outcome: Outcome) -> tuple[Outcome, Mapping[str, KeptStream]]:
        streams: dict[str, KeptStream] = {}
        for name, record in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
            if record is None:
                continue
            try:
                keep_output(self._store, self._run_id, attempt_id, name, (record.head, record.tail))
            except StoreError as error:
                # Without its output a pass is no evidence (design §5.5).
                return replace(outcome, verdict=Verdict.INFRASTRUCTURE, reason=str(error)), {}
            streams[name] = KeptStream(record.total, record.kept, len(record.head), record.sha256)
        return outcome, streams

    def _make_attempt(
        self,
        attempt_id: str,
        command: Command,
        outcome: Outcome,
        streams: Mapping[str, KeptStream],
        place: _Place | None,
    ) -> Attempt:
        return Attempt(
            id=attempt_id,
            run_id=self._run_id,
            item=command.item,
            position=command.position,
            argv=command.argv,
            argv_sha256=digest_argv(command.argv),
            approval=self._decisions[command].entry,
            verdict=outcome.verdict,
            reason=outcome.reason,
            exit_code=outcome.exit_code,
            signal=outcome.signal,
            timed_out=outcome.timed_out,
            out_of_memory=outcome.out_of_memory,
            started_at=outcome.started.isoformat() if outcome.started else None,
            ended_at=outcome.ended.isoformat() if outcome.ended else utc_now(),
            duration_s=outcome.duration_s,
            limits=place.spec.limits if place else self._choose_limits(command),
            limits_in_force=outcome.limits_in_force,
            container_id=outcome.container_id,
            image_id=place.spec.snapshot.image_id if place else None,
            stdout=streams.get("stdout"),
            stderr=streams.get("stderr"),
            warnings=outcome.warnings,
            spec_digest=place.digest if place else None,
        )


def _look_closer(outcome: Outcome) -> Outcome:
    if outcome.verdict is Verdict.PASSED and ran_no_tests(outcome):
        return replace(outcome, warnings=(*outcome.warnings, NO_TESTS_RAN))
    return outcome


def _cut_tail(outcome: Outcome) -> Tail:
    streams = {"stdout": outcome.stdout, "stderr": outcome.stderr}
    return {
        name: take_tail(record.head, record.tail) for name, record in streams.items() if record is not None
    }
