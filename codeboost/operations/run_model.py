"""What goes into a run and what comes out of it, as plain data; and who listens while it goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from codeboost.operations.check_approval import Gate
from codeboost.operations.evidence import StatementEvidence
from codeboost.operations.find_scope import Scope
from codeboost.operations.project import Project
from codeboost.operations.schedule import Command
from codeboost.plan.model import Item, Plan
from codeboost.policy import Policy
from codeboost.sandbox.base import Executor, ImageRecord, Owner, PullPolicy, Snapshot
from codeboost.store.attempts import Attempt
from codeboost.store.plans import StoredPlan
from codeboost.store.runs import RunRecord
from codeboost.verdict import Verdict, choose_exit_code

__all__ = [
    "Environment",
    "Ground",
    "ItemResult",
    "ResumeRequest",
    "RunListener",
    "RunRequest",
    "RunResult",
    "Tail",
]

Tail = Mapping[str, bytes]
"""The last bytes of each stream, by name: what a person wants to see of a failure at once."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a person asks for. ``items`` empty means the whole plan; ``timeout_s`` may only shorten the policy's.

    ``only_failed`` leaves out what passed when it last ran; ``fresh`` uses no earlier pass. ``ci_plan`` is the plan that
    ``--ci`` was given: its base commit decides everything, and what the store knows of approvals counts for nothing.
    """

    issue: int
    rev: str = "HEAD"
    items: tuple[str, ...] = ()
    jobs: int = 2
    image: str | None = None
    timeout_s: float | None = None
    pull: PullPolicy = PullPolicy.MISSING
    fail_fast: bool = False
    only_failed: bool = False
    fresh: bool = False
    ci_plan: StoredPlan | None = None


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    """Go on with the newest run of an issue, as it was asked for then; ``jobs`` None means as many as then."""

    issue: int
    jobs: int | None = None


@dataclass(frozen=True, slots=True)
class Ground:
    """What is fixed before anything starts. ``settled``: items outside this run with a pass for this very tree.

    ``resumed`` is the run that is taken up again, ``kept`` its results that stand. ``newer_run`` is a run that tested a
    later commit of this line of work: tasks keep the status that it gave them.
    """

    project: Project
    request: RunRequest
    stored: StoredPlan
    plan: Plan
    items: tuple[Item, ...]
    commands: Mapping[str, tuple[Command, ...]]
    settled: frozenset[str]
    commit: str
    tree: str
    policy: Policy
    image: str
    gate: Gate
    owner: Owner
    resumed: RunRecord | None = None
    kept: tuple[Attempt, ...] = ()
    newer_run: int | None = None

    @property
    def is_complete(self) -> bool:
        return len(self.items) == len(self.plan.items)

    @property
    def left(self) -> tuple[str, ...]:
        """The items that this run leaves out and that have no pass for this very tree yet."""
        covered = {item.id for item in self.items}
        return tuple(
            item.id for item in self.plan.items if item.id not in covered and item.id not in self.settled
        )


@dataclass(frozen=True, slots=True)
class Environment:
    """Where the commands run: known once the engine has answered. Without a snapshot, the setup has failed."""

    executor: Executor
    image: ImageRecord
    snapshot: Snapshot | None


@dataclass(frozen=True, slots=True)
class ItemResult:
    """One item of a run: its attempts in plan order, and ``blockers``, the dependencies that have no pass."""

    id: str
    title: str
    attempts: tuple[Attempt, ...]
    blockers: tuple[str, ...]
    task: str
    task_status: str | None
    """The status of its task afterwards; None when there is no such task."""
    statements: tuple[StatementEvidence, ...] = ()
    """Its ``check`` statements, pending or judged: they never decide the verdict."""

    @property
    def verdict(self) -> Verdict:
        """The one that a person has to know first; ``passed`` for an item without commands that waits for nobody."""
        verdicts = {attempt.verdict for attempt in self.attempts}
        for verdict in _WORST_FIRST:
            if verdict in verdicts:
                return verdict
        return Verdict.WAITING if self.blockers else Verdict.PASSED


_WORST_FIRST = (
    Verdict.SETUP_FAILED,
    Verdict.FAILED,
    Verdict.TIMED_OUT,
    Verdict.OUT_OF_MEMORY,
    Verdict.DISK_LIMIT,
    Verdict.NOT_STARTED,
    Verdict.INFRASTRUCTURE,
    Verdict.NOT_APPROVED,
    Verdict.CANCELLED,
    Verdict.WAITING,
)


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run. ``complete`` says whether it covered every item; ``left`` names those that are still to be proven."""

    id: int
    issue: int
    repository: str
    revision: int
    plan_sha256: str
    base_commit: str
    commit: str
    tree: str
    image: str
    image_id: str | None
    items: tuple[ItemResult, ...]
    complete: bool
    left: tuple[str, ...]
    warnings: tuple[str, ...]
    scope: Scope
    """What the tested commit changed, against what the plan declares: never part of the exit code here."""
    duration_s: float
    ci: bool
    """Whether the base commit alone decided what may run (``--ci``)."""

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        return tuple(attempt for item in self.items for attempt in item.attempts)

    @property
    def pending(self) -> tuple[StatementEvidence, ...]:
        """The statements that nobody has judged for this revision and tree."""
        return tuple(
            statement for item in self.items for statement in item.statements if statement.is_pending
        )

    @property
    def exit_code(self) -> int:
        """Of what it ran (design §7). What waited without anything of this run failing has no pass either."""
        verdicts = [attempt.verdict for attempt in self.attempts]
        code = choose_exit_code(verdicts)
        if code == 0 and any(verdict is not Verdict.PASSED for verdict in verdicts):
            return 1
        return code


class RunListener(Protocol):
    """Told what happens while a run goes on, always from the thread that called ``run_checks``."""

    def note(self, text: str) -> None:
        """Something a person should know before or beside the commands: a warning, a step of preparation."""
        ...

    def begin(self, run_id: int, commands: Sequence[Command]) -> None: ...

    def start(self, command: Command) -> None: ...

    def end(self, command: Command, attempt: Attempt, tail: Tail) -> None: ...

    def tick(self) -> None:
        """Called a few times a second, so that a live view can move."""
        ...
