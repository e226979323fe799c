"""Runs the commands of one run: side by side where nothing waits, each result stored the moment it is there.

Worker threads do nothing but execute. Everything else (the store, the task files, the listener) happens in the thread
that called, in the order in which results come; the order in which they are listed never depends on it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace

from codeboost.errors import StoreError
from codeboost.limits import Limits
from codeboost.operations.check_approval import Decision
from codeboost.operations.move_tasks import TaskMover
from codeboost.operations.run_model import Environment, Ground, RunListener, Tail
from codeboost.operations.schedule import Command, Schedule
from codeboost.planr.model import Status
from codeboost.sandbox.base import CommandSpec, Outcome, SetupOutcome, StreamRecord
from codeboost.store.database import utc_now
from codeboost.store.output import keep_output
from codeboost.store.plans import find_latest_plan
from codeboost.store.runs import Attempt, KeptStream, TaskMove, add_attempt
from codeboost.verdict import Verdict

__all__ = ["CommandRunner"]

TICK_S = 0.25
TAIL_BYTES = 16 << 10


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

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self._warnings)

    @property
    def has_work(self) -> bool:
        """Whether the engine is needed: some item may run whole, and so may everything that it waits for."""
        open_items = set(self._ground.settled)
        found = False
        for item in self._ground.items:
            if self._is_allowed(item.id) and all(needed in open_items for needed in item.depends_on):
                open_items.add(item.id)
                found = found or bool(self._ground.commands[item.id])
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

    def refuse_unapproved(self, run_id: int) -> None:
        """Record the commands that may not run; an item with one of them runs none of its commands (design §5.1)."""
        everything = [command for commands in self._ground.commands.values() for command in commands]
        self._listener.begin(run_id, everything)
        for item in self._ground.items:
            if self._is_allowed(item.id):
                continue
            refused = [
                command.position
                for command in self._ground.commands[item.id]
                if not self._decisions[command].allowed
            ]
            for command in self._schedule.drop(item.id):
                decision = self._decisions[command]
                if decision.allowed:
                    others = ", ".join(map(str, refused))
                    outcome = Outcome(Verdict.WAITING, f"command {others} of {item.id} is not approved")
                else:
                    outcome = Outcome(Verdict.NOT_APPROVED, decision.reason)
                self._settle(run_id, command, outcome, None)

    def fail_setup(self, run_id: int, setup: SetupOutcome) -> None:
        """Give every command that could have run the verdict of the setup that did not prepare its place."""
        for item in self._ground.items:
            for command in self._schedule.drop(item.id):
                outcome = Outcome(
                    Verdict.SETUP_FAILED,
                    setup.message,
                    stdout=StreamRecord(setup.output, b"", len(setup.output), _digest(setup.output)),
                )
                self._settle(run_id, command, outcome, None)

    # What starts

    def execute(self, run_id: int, environment: Environment) -> None:
        """Run what may run, at most ``jobs`` at once, until nothing is left that can start."""
        self.image_id = environment.image.id
        jobs = max(1, self._ground.request.jobs)
        running: dict[Future[Outcome], tuple[Command, CommandSpec]] = {}
        with ThreadPoolExecutor(jobs, thread_name_prefix="command") as pool:
            try:
                while True:
                    if not self._cancelled.is_set():
                        for command in self._schedule.take_ready(jobs - len(running)):
                            spec = self._make_spec(command, environment)
                            self._begin_item(run_id, command)
                            self._listener.start(command)
                            future = pool.submit(environment.executor.execute, spec, self._cancelled)
                            running[future] = (command, spec)
                    if not running:
                        break
                    done, _ = wait(running, timeout=TICK_S, return_when=FIRST_COMPLETED)
                    self._listener.tick()
                    for future in sorted(done, key=lambda one: running[one][0]):
                        command, spec = running.pop(future)
                        self._settle(run_id, command, future.result(), spec, environment)
            except BaseException:
                # Whatever went wrong here, no container outlives the run.
                self._cancelled.set()
                raise

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

    def _begin_item(self, run_id: int, command: Command) -> None:
        if command.item in self._started:
            return
        self._started.add(command.item)
        with self._store.transaction():
            move = self.mover.plan_move(command.item, Status.IN_PROGRESS, run_id)
        self._write(move)

    # What came of it

    def _settle(
        self,
        run_id: int,
        command: Command,
        outcome: Outcome,
        spec: CommandSpec | None,
        environment: Environment | None = None,
    ) -> None:
        """Store a result and the task's next status as one, then write the file, then tell whoever listens."""
        attempt_id = spec.attempt if spec else secrets.token_hex(8)
        outcome, streams = self._keep_output(run_id, attempt_id, outcome)
        move: TaskMove | None = None
        with self._store.transaction():
            newest = find_latest_plan(
                self._store, self._ground.project.repository.id, self._ground.request.issue
            )
            is_current = newest is not None and newest.id == self._ground.stored.id
            if not is_current:
                # An attempt of an older revision proves nothing about the plan that holds now (design §5.5).
                self._cancelled.set()
                outcome = replace(
                    outcome, verdict=Verdict.CANCELLED, reason="the plan was replaced meanwhile"
                )
            attempt = self._make_attempt(run_id, attempt_id, command, outcome, streams, spec, environment)
            add_attempt(self._store, attempt)
            self._attempts[command] = attempt
            self._schedule.record(command, outcome.verdict)
            if is_current and self._schedule.is_complete(command.item):
                move = self._plan_end_of(command.item, run_id)
        self._write(move)
        if self._ground.request.fail_fast and outcome.verdict.exit_code not in (0, None, 3):
            self._cancelled.set()
        self._listener.end(command, attempt, _cut_tail(outcome))

    def _plan_end_of(self, item_id: str, run_id: int) -> TaskMove | None:
        """What the task becomes, by the verdicts of its commands (design §6)."""
        verdicts = self._schedule.verdicts(item_id)
        if Verdict.NOT_APPROVED in verdicts:
            return self.mover.plan_move(item_id, Status.DECISION, run_id)
        if all(verdict is Verdict.PASSED for verdict in verdicts):
            return self.mover.plan_move(item_id, Status.REVIEW, run_id)
        if any(verdict.exit_code == 1 for verdict in verdicts):
            return self.mover.plan_move(item_id, Status.IN_PROGRESS, run_id)
        # The engine's fault, or somebody stopped it: nothing was learned about the work.
        return self.mover.plan_return(item_id, run_id)

    def settle_unstarted(self, run_id: int) -> None:
        """Say of every command that never started what it waited for, or that the run was stopped first."""
        for command in self._schedule.list_unstarted():
            blockers = self._schedule.find_blockers(command.item)
            if blockers:
                reason = f"waits for {', '.join(blockers)}, which has no pass"
                self._settle(run_id, command, Outcome(Verdict.WAITING, reason), None)
            else:
                self._settle(run_id, command, Outcome(Verdict.CANCELLED, "stopped before it started"), None)

    def _write(self, move: TaskMove | None) -> None:
        if move is not None:
            for text in self.mover.write(move):
                self._warn(text)

    def _warn(self, text: str) -> None:
        self._warnings.append(text)
        self._listener.note(text)

    def _keep_output(
        self, run_id: int, attempt_id: str, outcome: Outcome
    ) -> tuple[Outcome, Mapping[str, KeptStream]]:
        streams: dict[str, KeptStream] = {}
        for name, record in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
            if record is None:
                continue
            try:
                keep_output(self._store, run_id, attempt_id, name, (record.head, record.tail))
            except StoreError as error:
                # Without its output a pass is no evidence (design §5.5).
                return replace(outcome, verdict=Verdict.INFRASTRUCTURE, reason=str(error)), {}
            streams[name] = KeptStream(record.total, record.kept, len(record.head), record.sha256)
        return outcome, streams

    def _make_attempt(
        self,
        run_id: int,
        attempt_id: str,
        command: Command,
        outcome: Outcome,
        streams: Mapping[str, KeptStream],
        spec: CommandSpec | None,
        environment: Environment | None,
    ) -> Attempt:
        decision: Decision = self._decisions[command]
        return Attempt(
            id=attempt_id,
            run_id=run_id,
            item=command.item,
            position=command.position,
            argv=command.argv,
            argv_sha256=_digest(json.dumps(command.argv, ensure_ascii=False).encode()),
            approval=decision.entry,
            verdict=outcome.verdict,
            reason=outcome.reason,
            exit_code=outcome.exit_code,
            signal=outcome.signal,
            timed_out=outcome.timed_out,
            out_of_memory=outcome.out_of_memory,
            started_at=outcome.started.isoformat() if outcome.started else None,
            ended_at=outcome.ended.isoformat() if outcome.ended else utc_now(),
            duration_s=outcome.duration_s,
            limits=spec.limits if spec else self._choose_limits(command),
            limits_in_force=outcome.limits_in_force,
            container_id=outcome.container_id,
            image_id=spec.snapshot.image_id if spec else None,
            stdout=streams.get("stdout"),
            stderr=streams.get("stderr"),
            warnings=outcome.warnings,
            spec_digest=environment.executor.digest_spec(spec) if environment and spec else None,
        )


def _cut_tail(outcome: Outcome) -> Tail:
    streams = {"stdout": outcome.stdout, "stderr": outcome.stderr}
    return {
        name: (record.head + record.tail)[-TAIL_BYTES:] if not record.tail else record.tail[-TAIL_BYTES:]
        for name, record in streams.items()
        if record is not None
    }


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
