"""Proves that the sandbox keeps its promises on the engine that answers here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from codeboost.errors import EngineError, UsageError
from codeboost.gitrepo import GitRepo
from codeboost.policy import read_policy
from codeboost.sandbox.base import EngineRecord, ImageRecord, PullPolicy
from codeboost.sandbox.engine import open_engine
from codeboost.sandbox.image import find_image
from codeboost.sandbox.probe import ProbeResult, run_probes
from codeboost.sandbox.snapshot import make_bare_image
from codeboost.visible import cut

__all__ = ["DoctorReport", "choose_image", "run_doctor"]


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The engine, the image that the probes ran in, and what each found."""

    engine: EngineRecord
    image: ImageRecord
    probes: tuple[ProbeResult, ...]

    @property
    def exit_code(self) -> int:
        """0, or 4: a sandbox that does not keep its promises is a fault of the environment (design §7)."""
        return 0 if all(probe.is_green for probe in self.probes) else 4


def choose_image() -> str:
    """The image of the policy at HEAD of the checkout around us; UsageError when there is none to be found."""
    git = GitRepo.find(Path.cwd())
    head = git.find_commit("HEAD") if git is not None else None
    image = read_policy(git, head).sandbox.image if git is not None and head is not None else None
    if image is None:
        raise UsageError(
            "there is no codeboost.toml with an image here",
            hint="name an image that has python3 with --image",
        )
    return image


def run_doctor(
    reference: str, pull: PullPolicy, store_id: str, progress: Callable[[str], None]
) -> DoctorReport:
    """Every probe, in containers of the image ``reference``, which must have a python3.

    EngineError when no engine answers, when it lacks what the sandbox cannot do without, or when no probe can run.
    """
    client, record = open_engine()
    try:
        image = find_image(client, reference, pull, progress)
        progress("weakening one protection after the other, and looking from inside")
        try:
            probes = run_probes(client, record, make_bare_image(client, image.id), store_id)
        except EngineError as error:
            raise EngineError(
                f"the probes cannot run in {cut(reference, 200)}: {error}",
                hint="they need an image with python3; name one with --image",
            ) from error
        return DoctorReport(record, image, probes)
    finally:
        client.close()
