"""The seam between a run and whatever executes its commands: plain data, and the Executor protocol.

An attempt's specification holds no open files, clients or callbacks, so that it could be sent to another machine
(design §8). Nothing here imports a container library.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from codeboost.limits import Limits
from codeboost.verdict import Verdict

__all__ = [
    "HARD",
    "PODMAN",
    "CommandSpec",
    "EngineRecord",
    "Executor",
    "ImageRecord",
    "ImageUse",
    "Outcome",
    "Owner",
    "PullPolicy",
    "SetupOutcome",
    "SetupSpec",
    "Snapshot",
    "SnapshotSpec",
    "StreamRecord",
    "SweptThing",
    "name_engine",
]


HARD = "hard"
"""How an engine bounds the disk whose storage has quotas; all others are ``watched``."""
PODMAN = "Podman Engine"


class PullPolicy(StrEnum):
    NEVER = "never"
    MISSING = "missing"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class EngineRecord:
    """What this engine is and can do. ``limitations`` are sentences: what is asked for and cannot be enforced hard."""

    name: str
    version: str
    api_version: str
    address: str
    cgroup_version: str
    seccomp: bool
    rootless: bool
    userns: bool
    disk: str
    """``hard`` where the storage driver has quotas, else ``watched``."""
    runtimes: tuple[str, ...]
    swap: bool = True
    """Whether swap is bounded along with memory."""
    cpus: bool = True
    """Whether processor time is bounded."""
    processors: int = 0
    """How many it has; 0 when it does not say."""
    cgroups: bool = True
    """Whether a container gets a cgroup namespace of its own."""
    kills: bool = True
    """Whether it tells for sure that something was killed for memory."""
    limitations: tuple[str, ...] = ()


def name_engine(version: Mapping[str, Any]) -> str:
    """The name of the engine that gave this answer to ``/version``."""
    components = version.get("Components") or []
    first = str(components[0].get("Name") or "") if components else ""
    return "Docker Engine" if first in ("", "Engine") else first


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """An image as asked for, and the immutable thing that was found under that name."""

    reference: str
    id: str
    digest: str | None
    platform: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImageUse:
    """What a store knows of an image: when a run of its own last used it, in seconds since 1970; whether one still does."""

    last_used: float
    held: bool


@dataclass(frozen=True, slots=True)
class SetupSpec:
    """The preparation of dependencies (design §4): which files it sees, what it runs, with or without network."""

    inputs: tuple[str, ...]
    run: tuple[tuple[str, ...], ...]
    network: bool
    timeout_s: float = 1800.0
    """For each command."""
    limits: Limits = field(default_factory=Limits)
    """All but the timeout."""
    runtime: str | None = None


@dataclass(frozen=True, slots=True)
class SetupOutcome:
    """``image_id`` is the prepared image, or None when the setup failed; then ``message`` and ``output`` say why."""

    image_id: str | None
    reused: bool
    message: str = ""
    output: bytes = b""


@dataclass(frozen=True, slots=True)
class SnapshotSpec:
    """The exact tree of ``commit`` laid over ``image_id`` in ``/workspace``; ``git`` adds a fresh one-commit .git."""

    repository: Path
    commit: str
    image_id: str
    git: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A runnable image that holds the tree. ``key`` identifies content: same key, same bytes inside."""

    image_id: str
    key: str
    tree: str
    reused: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose container it is, written into its labels: only a dead owner's containers are swept (design §7)."""

    store: str
    run: str


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """Everything that decides what a command does. ``workdir`` is relative to ``/workspace``."""

    attempt: str
    owner: Owner
    argv: tuple[str, ...]
    snapshot: Snapshot
    limits: Limits
    workdir: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    runtime: str | None = None


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """One stream of a command: its first 256 KiB and last 768 KiB kept, the rest counted (design §5.4)."""

    head: bytes
    tail: bytes
    total: int
    sha256: str
    """Of everything that came, kept or not."""

    @property
    def kept(self) -> int:
        return len(self.head) + len(self.tail)

    @property
    def dropped(self) -> int:
        return self.total - self.kept


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one command. ``reason`` is one plain sentence; ``exit_code`` is None when there was none.

    ``duration_s`` counts from the start of the program. ``limits_in_force`` names each limit and how it was enforced
    (``{"disk": "watched"}``).
    """

    verdict: Verdict
    reason: str
    exit_code: int | None = None
    signal: int | None = None
    started: datetime | None = None
    ended: datetime | None = None
    duration_s: float = 0.0
    out_of_memory: bool = False
    timed_out: bool = False
    stdout: StreamRecord | None = None
    stderr: StreamRecord | None = None
    container_id: str | None = None
    limits_in_force: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SweptThing:
    """A container or image that was removed, or would be, and why; ``failure`` says why it is still there."""

    kind: str
    id: str
    reason: str
    failure: str = ""


class Executor(Protocol):
    """Where commands run. Every method may raise EngineError (exit code 4); none returns a fault as a result.

    ``take_snapshot`` and ``prepare_setup`` raise InputError (exit code 1) for a commit of which no snapshot may be made:
    entries named ``.git`` or ``..`` or twice, contents that are missing or do not fit their names.

    ``execute`` never raises for what the engine does while a command runs: that is ``Verdict.INFRASTRUCTURE``.
    It is called from several threads at once, and returns soon after ``cancelled`` is set, its container removed.
    """

    def describe(self) -> EngineRecord: ...

    def find_image(
        self, reference: str, pull: PullPolicy, progress: Callable[[str], None]
    ) -> ImageRecord: ...

    def prepare_setup(
        self,
        spec: SetupSpec,
        repository: Path,
        commit: str,
        image_id: str,
        owner: Owner,
        cancelled: threading.Event | None = None,
    ) -> SetupOutcome: ...

    def take_snapshot(self, spec: SnapshotSpec) -> Snapshot: ...

    def execute(self, spec: CommandSpec, cancelled: threading.Event) -> Outcome: ...

    def digest_spec(self, spec: CommandSpec) -> str:
        """SHA-256 of everything that decides the outcome: the key under which a pass may be reused."""
        ...

    def sweep(self, store: str, *, dry_run: bool = False) -> Sequence[SweptThing]:
        """Remove the containers that dead owners of ``store`` left on this host, and those past their deadline.

        One that cannot be removed is among what is returned, with the reason; the others are removed.
        """
        ...

    def sweep_images(
        self, uses: Mapping[str, ImageUse], *, most: int | None = None, dry_run: bool = False
    ) -> Sequence[SweptThing]:
        """Remove old snapshots, by age and total size, ``most`` at a time; never one in use.

        ``uses`` is what the store knows, by image id; others may know more of an image than it does.
        """
        ...

    def close(self) -> None:
        """Remove every container that still exists by this executor's doing, and leave the engine."""
        ...
