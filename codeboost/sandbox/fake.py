"""An executor without an engine, for tests of what schedules commands: it answers from a script and records its calls."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from codeboost.sandbox.base import (
    CommandSpec,
    EngineRecord,
    ImageRecord,
    ImageUse,
    Outcome,
    Owner,
    PullPolicy,
    SetupOutcome,
    SetupSpec,
    Snapshot,
    SnapshotSpec,
    StreamRecord,
    SweptThing,
)
from codeboost.verdict import Verdict

__all__ = ["FakeExecutor", "ScriptedRun"]


@dataclass(frozen=True, slots=True)
class ScriptedRun:
    """What a command does: how it ends, how long it takes (seconds of real time), what it prints."""

    verdict: Verdict = Verdict.PASSED
    exit_code: int | None = 0
    seconds: float = 0.0
    stdout: bytes = b""
    stderr: bytes = b""
    reason: str = ""
    out_of_memory: bool = False


@dataclass(slots=True)
class FakeExecutor:
    """``script`` maps an argv to what it does; anything else passes at once.

    ``executed`` holds the specifications in the order they began; ``most_at_once`` how many ran side by side.
    """

    script: Mapping[tuple[str, ...], ScriptedRun] = field(default_factory=dict)
    setup: SetupOutcome | None = None
    leftovers: Sequence[SweptThing] = ()
    old_images: Sequence[SweptThing] = ()
    uses: Mapping[str, ImageUse] = field(default_factory=dict)
    """What the last sweep of images was told."""
    executed: list[CommandSpec] = field(default_factory=list)
    snapshots: list[SnapshotSpec] = field(default_factory=list)
    setups: list[SetupSpec] = field(default_factory=list)
    pulls: list[tuple[str, PullPolicy]] = field(default_factory=list)
    swept: list[tuple[str, bool]] = field(default_factory=list)
    most_at_once: int = 0
    closed: bool = False
    _running: int = 0
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def describe(self) -> EngineRecord:
        return EngineRecord(
            name="Fake Engine",
            version="1",
            api_version="1",
            address="fake://",
            cgroup_version="2",
            seccomp=True,
            rootless=False,
            userns=False,
            disk="watched",
            runtimes=("fake",),
        )

    def find_image(
        self,
        reference: str,
        pull: PullPolicy,
        progress: Callable[[str], None],  # noqa: ARG002
    ) -> ImageRecord:
        self.pulls.append((reference, pull))
        return ImageRecord(reference, "sha256:" + _digest(reference), None, "linux/amd64")

    def prepare_setup(
        self,
        spec: SetupSpec,
        repository: Path,  # noqa: ARG002
        commit: str,  # noqa: ARG002
        image_id: str,
        owner: Owner,  # noqa: ARG002
        cancelled: threading.Event | None = None,  # noqa: ARG002
    ) -> SetupOutcome:
        self.setups.append(spec)
        return self.setup or SetupOutcome("sha256:" + _digest(image_id + "setup"), reused=False)

    def take_snapshot(self, spec: SnapshotSpec) -> Snapshot:
        reused = spec in self.snapshots
        self.snapshots.append(spec)
        key = _digest(f"{spec.commit} {spec.image_id} {spec.git}")
        return Snapshot("sha256:" + key, key, spec.commit, reused)

    def execute(self, spec: CommandSpec, cancelled: threading.Event) -> Outcome:
        with self._guard:
            self.executed.append(spec)
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
        begin, started = time.monotonic(), datetime.now(UTC)
        scripted = self.script.get(spec.argv, ScriptedRun())
        stopped = cancelled.wait(scripted.seconds) if scripted.seconds else cancelled.is_set()
        with self._guard:
            self._running -= 1
        verdict = Verdict.CANCELLED if stopped else scripted.verdict
        return Outcome(
            verdict=verdict,
            reason=scripted.reason or ("cancelled" if stopped else f"scripted: {verdict}"),
            exit_code=None if stopped else scripted.exit_code,
            started=started,
            ended=datetime.now(UTC),
            duration_s=time.monotonic() - begin,
            out_of_memory=scripted.out_of_memory,
            timed_out=verdict is Verdict.TIMED_OUT,
            stdout=_record(scripted.stdout),
            stderr=_record(scripted.stderr),
            container_id=_digest(spec.attempt),
            limits_in_force={"disk": "watched"},
        )

    def digest_spec(self, spec: CommandSpec) -> str:
        parts = [
            spec.argv,
            spec.snapshot.key,
            spec.workdir,
            sorted(spec.env.items()),
            repr(spec.limits),
            spec.runtime,
        ]
        return _digest(json.dumps(parts))

    def sweep(self, store: str, *, dry_run: bool = False) -> Sequence[SweptThing]:
        self.swept.append((store, dry_run))
        return self.leftovers

    def sweep_images(
        self,
        uses: Mapping[str, ImageUse],
        *,
        most: int | None = None,  # noqa: ARG002
        dry_run: bool = False,  # noqa: ARG002
    ) -> Sequence[SweptThing]:
        self.uses = dict(uses)
        return self.old_images

    def close(self) -> None:
        self.closed = True


def _record(content: bytes) -> StreamRecord:
    return StreamRecord(content, b"", len(content), hashlib.sha256(content).hexdigest())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
