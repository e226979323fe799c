"""Proves that the sandbox keeps its promises on the engine that answers here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from codeboost.errors import EngineError, UsageError
from codeboost.gitrepo import GitRepo
from codeboost.operations.choose_base import choose_base
from codeboost.policy import read_policy
from codeboost.sandbox.base import EngineRecord, ImageRecord, PullPolicy
from codeboost.sandbox.engine import open_engine
from codeboost.sandbox.image import find_image
from codeboost.sandbox.probe import ProbeResult, run_probes
from codeboost.sandbox.snapshot import make_bare_image
from codeboost.visible import cut

__all__ = ["DoctorReport", "Patient", "choose_patient", "run_doctor"]


@dataclass(frozen=True, slots=True)
class Patient:
    """What is looked at: an image with python3, and the engine's runtime. ``source`` says who named the image."""

    image: str
    runtime: str | None
    source: str


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The engine, the image that the probes ran in, and what each found."""

    engine: EngineRecord
    image: ImageRecord
    probes: tuple[ProbeResult, ...]
    runtime: str | None = None

    @property
    def exit_code(self) -> int:
        """0, or 4: a sandbox that does not keep its promises is a fault of the environment (design §7)."""
        return 0 if all(probe.is_green for probe in self.probes) else 4


def choose_patient(image: str | None, runtime: str | None, start: Path) -> Patient:
    """What the caller names; for the rest, the policy at the base commit of the checkout around ``start`` (design §4).

    The image's program runs in weakened containers, so the tested commit and the work tree have no say in it. UsageError
    when no image is named and none is found; InputError when the policy that has to be read is damaged.
    """
    if image is not None and runtime is not None:
        return Patient(image, runtime, "--image")
    git = GitRepo.find(start)
    if image is not None and (git is None or git.find_commit("HEAD") is None):
        return Patient(image, None, "--image")
    hint = "name an image that has python3 with --image"
    if git is None:
        raise UsageError("no repository is around here, so no codeboost.toml names an image", hint=hint)
    try:
        base = choose_base(git)
    except UsageError as error:
        if image is not None:
            return Patient(image, None, "--image")
        raise UsageError(f"no base commit says which image is reviewed: {error}", hint=hint) from error
    sandbox = read_policy(git, base).sandbox
    runtime = runtime or sandbox.runtime
    if image is not None:
        return Patient(image, runtime, "--image")
    if sandbox.image is None:
        raise UsageError(f"no codeboost.toml at the base commit {base[:12]} names an image", hint=hint)
    return Patient(sandbox.image, runtime, f"codeboost.toml at the base commit {base[:12]}")


def run_doctor(
    patient: Patient,
    pull: PullPolicy,
    store_id: str,
    progress: Callable[[str], None],
    cancelled: threading.Event | None = None,
    interruptible: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> DoctorReport:
    """Every probe, in containers of the patient's image, which must have a python3.

    ``progress`` hears which image gets the weakened containers before anything of it runs. Setting ``cancelled`` ends it
    soon, with every container removed: as KeyboardInterrupt. Inside ``interruptible`` no container exists, so there the
    caller may raise it at once.

    EngineError when no engine answers, when it lacks what the sandbox cannot do without, or when no probe can run.
    """
    client, record = open_engine()
    try:
        if patient.runtime is not None and patient.runtime not in record.runtimes:
            raise EngineError(
                f"the engine at {record.address} has no runtime {cut(patient.runtime)}",
                hint=f"it has {', '.join(record.runtimes) or 'none that it names'}",
            )
        with interruptible():
            image = find_image(client, patient.image, pull, progress)
            progress(
                f"the image is {cut(patient.image, 200)} ({image.id[:19]}), named by {patient.source}:"
                " its python3 now runs in containers that lack one protection each"
            )
            bare = make_bare_image(client, image.id)
        try:
            probes = run_probes(client, record, bare, store_id, runtime=patient.runtime, cancelled=cancelled)
        except EngineError as error:
            raise EngineError(
                f"the probes cannot run in {cut(patient.image, 200)}: {error}",
                hint="they need an image with python3; name one with --image",
            ) from error
        return DoctorReport(record, image, probes, patient.runtime)
    finally:
        client.close()
