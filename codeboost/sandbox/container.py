"""One command in one container, from create to confirmed removal (design §5.4, §5.5, §7)."""

from __future__ import annotations

import math
import secrets
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from codeboost.errors import EngineError
from codeboost.limits import Limits, format_duration, format_size
from codeboost.sandbox.base import HARD, Outcome
from codeboost.sandbox.client import ConflictError, EngineClient, MissingError, RefusedError
from codeboost.sandbox.life import Life
from codeboost.sandbox.output import OutputKeeper
from codeboost.sandbox.profile import Bounds, find_differences
from codeboost.sandbox.watch import PATIENCE_S, DiskLimit, DiskWatch, Waiter
from codeboost.verdict import Verdict
from codeboost.visible import cut

__all__ = ["LiveNames", "Run", "describe_limits", "make_name", "remove_container", "run_container"]

TERM_GRACE_S = 5.0
_TICK_S = 0.05
_KILL_S = 2.0
"""How long we wait for the engine to say that it sent a signal."""
_FILE_TOO_LARGE = 25


@dataclass(frozen=True, slots=True)
class Run:
    """What ``run_container`` is asked for.

    ``config`` is the body of the engine's create call. ``prepare`` sees the created container and may say why not to
    start it. ``compare`` is off only for ``doctor``, which weakens containers on purpose.
    """

    name: str
    config: Mapping[str, Any]
    limits: Limits
    prepare: Callable[[str], str | None]
    compare: bool = True
    keep: Callable[[str], None] | None = None
    """Called with a container that ended with status 0, before its removal: how a prepared image is committed."""


class LiveNames:
    """The containers that exist now by our doing, for whoever has to remove them in a hurry."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._guard = threading.Lock()

    def add(self, name: str) -> None:
        with self._guard:
            self._names.add(name)

    def forget(self, name: str) -> None:
        """Only after its removal was confirmed."""
        with self._guard:
            self._names.discard(name)

    def list(self) -> tuple[str, ...]:
        with self._guard:
            return tuple(sorted(self._names))


def make_name() -> str:
    """A container's name, chosen before it is created: one whose creation timed out can still be found."""
    return f"codeboost-{secrets.token_hex(8)}"


def run_container(
    client: EngineClient, run: Run, cancelled: threading.Event, names: LiveNames | None = None
) -> Outcome:
    """Runs to the end and removes the container whatever happens; never raises for what the engine does.

    While ``names`` holds the container's name, it may exist: also when an exception of another kind got through.
    """
    attempt = _Attempt(client, run, cancelled, LiveNames() if names is None else names)
    outcome = Outcome(Verdict.INFRASTRUCTURE, "nothing was started")
    try:
        outcome = attempt.go()
    except EngineError as error:
        outcome = attempt.fail(str(error))
    except Exception as error:  # noqa: BLE001 - a tree that we cannot cope with must not end the other commands
        outcome = attempt.fail(f"an error in codeboost: {type(error).__name__}: {error}")
    finally:
        left = attempt.clean()
    if left is not None:
        # A result whose container may still run is no result (B01: confirmed gone).
        outcome = replace(outcome, verdict=Verdict.INFRASTRUCTURE, reason=left)
    return outcome


def remove_container(client: EngineClient, container: str) -> None:
    """Removes and waits until it is gone. EngineError when it is still there after 30 s."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            client.remove(container)
        except MissingError:
            return
        except ConflictError as error:
            # Somebody else is removing it already, or it is about to end.
            if time.monotonic() > deadline:
                raise EngineError(f"container {container[:12]} cannot be removed: {error}") from error
            time.sleep(_TICK_S)
        else:
            return


class _Attempt:
    def __init__(self, client: EngineClient, run: Run, cancelled: threading.Event, names: LiveNames) -> None:
        self._client = client
        self._names = names
        self._run = run
        self._limits = run.limits
        self._cancelled = cancelled
        self._output = OutputKeeper()
        self._container: str | None = None
        self._begin: float | None = None
        self._deadline = math.inf
        self._end: float | None = None
        self._started: datetime | None = None
        self._waiter = Waiter()
        # The kernel's cap holds for each file, a quota of the engine's storage for the whole.
        quota = "StorageOpt" in run.config.get("HostConfig", {})
        self._disk = DiskLimit(run.limits.disk_bytes, quota=quota)
        self._stopped_for: Verdict | None = None
        self._excess: str | None = None

    # The course of an attempt

    def go(self) -> Outcome:
        if self._cancelled.is_set():
            return self._make(Verdict.CANCELLED, "cancelled before it started")
        # From here on there may be a container, even if the answer never comes.
        self._names.add(self._run.name)
        container = self._container = self._client.create(self._run.name, self._run.config)
        made = self._client.inspect(container)
        differences = find_differences(self._run.config, made) if self._run.compare else []
        if differences:
            return self.fail("the engine made another container than asked for: " + "; ".join(differences))
        reason = self._run.prepare(container)
        if reason is not None:
            return self._make(Verdict.NOT_STARTED, reason)
        life = self._client.find_life()
        with self._client.attach(container) as stream:
            drainer = threading.Thread(
                target=self._drain, args=(stream,), daemon=True, name="codeboost-drain"
            )
            drainer.start()
            self._waiter.begin(self._client, container)
            self._client.start(container)
            self._begin, self._started = time.monotonic(), datetime.now(UTC)
            self._deadline = self._begin + self._limits.timeout_s
            self._watch(container)
            self._end = self._waiter.ended or time.monotonic()
            if self._waiter.status is not None:
                drainer.join(PATIENCE_S)
        return self._conclude(container, life)

    def _drain(self, stream: Any) -> None:
        # Whatever breaks the stream leaves the output incomplete, and that is no pass.
        with suppress(Exception):
            self._output.drain(stream)

    def _watch(self, container: str) -> None:
        """Until the program has ended, by itself or by our hand."""
        with DiskWatch(self._client, container, self._disk) as disk:
            while not self._waiter.finished.wait(_TICK_S):
                self._stopped_for = self._find_reason(disk)
                if self._stopped_for is not None:
                    self._stop(container, disk)
                    break
        self._excess = disk.excess

    def _find_reason(self, disk: DiskWatch) -> Verdict | None:
        """Why the program has to end now."""
        if self._is_late(time.monotonic()):
            return Verdict.TIMED_OUT
        if self._cancelled.is_set():
            return Verdict.CANCELLED
        return Verdict.DISK_LIMIT if disk.is_full() else None

    def _is_late(self, moment: float) -> bool:
        return moment > self._deadline

    def _stop(self, container: str, disk: DiskWatch) -> None:
        """TERM, and KILL when the grace is over: at once where the disk is full, and as soon as it gets full."""
        if not disk.is_full():
            until = time.monotonic() + TERM_GRACE_S
            self._signal(container, "SIGTERM")
            while not disk.is_full() and time.monotonic() < until:
                if self._waiter.finished.wait(_TICK_S):
                    return
        self._signal(container, "SIGKILL")
        self._waiter.finished.wait(PATIENCE_S)

    def _signal(self, container: str, name: str) -> None:
        # What counts is the exit. An engine that is slow to signal must not give the program more time.
        with suppress(EngineError):
            self._client.kill(container, name, timeout=_KILL_S)

    # The verdict

    def _conclude(self, container: str, life: Life) -> Outcome:
        if not self._waiter.finished.is_set():
            return self.fail("the engine did not confirm that the program ended")
        status = self._waiter.status
        if status is None:
            return self.fail(f"the engine was lost while the program ran: {self._waiter.error}")
        found = self._inspect_ended(container)
        state: Mapping[str, Any] = found["State"]
        problem = _find_contradiction(state, status)
        if problem is not None:
            return self.fail(problem)
        oom = bool(state.get("OOMKilled"))
        verdict, reason = self._judge(status, oom=oom, excess=self._disk.find_excess(found))
        if verdict in (Verdict.PASSED, Verdict.FAILED):
            self._client.confirm_life(life)
        if verdict is Verdict.PASSED and self._run.keep is not None:
            self._run.keep(container)
        outcome = self._make(verdict, reason)
        return replace(outcome, exit_code=status, signal=_find_signal(status), out_of_memory=oom)

    def _inspect_ended(self, container: str) -> Mapping[str, Any]:
        try:
            return self._client.inspect(container, size=True)
        except RefusedError:
            raise
        except EngineError:
            # Adding up so many files took it too long, unless it is gone: then this one tells.
            return self._client.inspect(container)

    def _judge(self, status: int, *, oom: bool, excess: str | None) -> tuple[Verdict, str]:  # noqa: PLR0911 - a table
        limits = self._limits
        if self._stopped_for is Verdict.CANCELLED:
            return Verdict.CANCELLED, "cancelled while it ran"
        if self._stopped_for is Verdict.TIMED_OUT:
            return Verdict.TIMED_OUT, f"it ran longer than {format_duration(limits.timeout_s)} and was ended"
        if self._excess is not None:
            return Verdict.DISK_LIMIT, self._excess
        if self._waiter.ended is not None and self._is_late(self._waiter.ended):
            return Verdict.TIMED_OUT, f"it ran longer than {format_duration(limits.timeout_s)}"
        if oom:
            return (
                Verdict.OUT_OF_MEMORY,
                f"something in it needed more than {format_size(limits.memory_bytes)} of memory",
            )
        if excess is not None:
            return Verdict.DISK_LIMIT, excess
        if not self._output.complete:
            return Verdict.INFRASTRUCTURE, "the engine lost part of the output"
        if status == 0:
            return Verdict.PASSED, "exit status 0"
        return Verdict.FAILED, _explain_status(status)

    def fail(self, reason: str) -> Outcome:
        return self._make(Verdict.INFRASTRUCTURE, reason)

    def _make(self, verdict: Verdict, reason: str) -> Outcome:
        ran = self._begin is not None
        end = self._end if self._end is not None else time.monotonic()
        duration = max(0.0, end - self._begin) if self._begin is not None else 0.0
        stdout = self._output.stdout.record() if ran else None
        stderr = self._output.stderr.record() if ran else None
        return Outcome(
            verdict=verdict,
            reason=cut(reason, 500),
            started=self._started,
            ended=datetime.now(UTC) if ran else None,
            duration_s=duration,
            timed_out=verdict is Verdict.TIMED_OUT,
            stdout=stdout,
            stderr=stderr,
            container_id=self._container,
        )

    # Afterwards

    def clean(self) -> str | None:
        """Removes the container; a sentence when that could not be confirmed."""
        if self._run.name not in self._names.list():
            return None
        try:
            # By name: a create that timed out may still have landed.
            remove_container(self._client, self._container or self._run.name)
        except EngineError as error:
            return f"its container could not be removed: {error}"
        self._names.forget(self._run.name)
        return None


def _find_contradiction(state: Mapping[str, Any], status: int) -> str | None:
    """Where inspect does not confirm what wait said (design §5.5)."""
    if state.get("Running") or state.get("Status") not in ("exited", "stopped"):
        return f"the engine says both that the program ended and that it is {cut(str(state.get('Status')))}"
    if state.get("ExitCode") != status:
        return f"the engine gave two exit statuses: {status} and {state.get('ExitCode')}"
    if state.get("Error"):
        return f"the engine reports an error: {cut(str(state['Error']), 200)}"
    return None


def _explain_status(status: int) -> str:
    number = _find_signal(status)
    if number is None:
        return f"exit status {status}"
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    more = "; a file reached the disk limit" if number == _FILE_TOO_LARGE else ""
    return f"exit status {status} (128+{number}, so probably ended by {name}{more})"


def _find_signal(status: int) -> int | None:
    """The likely signal: from outside, an end by one and an exit with 128+n look the same."""
    return status - 128 if 128 < status <= 128 + 64 else None


def describe_limits(limits: Limits, bounds: Bounds) -> dict[str, str]:
    """Each limit as it is in force, for the record of the attempt: also what this engine cannot enforce."""
    swap = "no swap" if bounds.swap else "no hard bound on swap"
    kills = "" if bounds.kills else ", kills may go untold"
    return {
        "timeout": format_duration(limits.timeout_s),
        "memory": f"{format_size(limits.memory_bytes)}, {swap}{kills}",
        "cpus": _describe_cpus(limits, bounds),
        "pids": str(limits.pids),
        "disk": f"{format_size(limits.disk_bytes)}, {HARD if bounds.quota else 'watched'}",
    }


def _describe_cpus(limits: Limits, bounds: Bounds) -> str:
    cpus = bounds.bound_cpus(limits)
    if cpus is None:
        return "no bound: the kernel has no CPU quota"
    return f"{cpus:g}" if cpus == limits.cpus else f"{cpus:g}, all that the engine has"
