"""Dependencies, prepared once: ``[setup]`` of the reviewed policy, run where it sees only its inputs (design §4).

It runs as root of the container, so that installing into the image works, with every capability dropped. What it made is
kept as an image, keyed by the base image, the commands and the content of the inputs.
"""

from __future__ import annotations

import hashlib
import io
import json
import threading
from contextlib import suppress
from dataclasses import dataclass, replace

from codeboost.errors import EngineError
from codeboost.gitrepo import GitRepo
from codeboost.sandbox.archive import END, Kind, make_header
from codeboost.sandbox.base import EngineRecord, Outcome, Owner, SetupOutcome, SetupSpec
from codeboost.sandbox.client import EngineClient, MissingError
from codeboost.sandbox.container import LiveNames, Run, make_name, run_container
from codeboost.sandbox.files import ContainerFiles, open_tar
from codeboost.sandbox.layer import LayerPlan
from codeboost.sandbox.layered_image import build_layered_image
from codeboost.sandbox.lock import wait_for_lock
from codeboost.sandbox.owner import Label, make_labels
from codeboost.sandbox.profile import (
    HOME,
    USER_ID,
    WORKSPACE,
    ContainerSettings,
    find_bounds,
    make_config,
    make_environment,
)
from codeboost.sandbox.program import check_program
from codeboost.sandbox.tree import SnapshotTree, digest_inputs, find_missing, read_tree
from codeboost.verdict import Verdict
from codeboost.visible import cut

__all__ = ["REPOSITORY", "SetupPlace", "prepare_setup"]

REPOSITORY = "codeboost/setup"
_FORMAT = 3
_SHOWN_BYTES = 64 << 10
_SLACK_S = 300.0


@dataclass(frozen=True, slots=True)
class SetupPlace:
    """Where a setup runs: the engine, the tested commit, the base image, whose it is."""

    client: EngineClient
    names: LiveNames
    repository: GitRepo
    commit: str
    image_id: str
    owner: Owner
    record: EngineRecord


def prepare_setup(place: SetupPlace, spec: SetupSpec, cancelled: threading.Event) -> SetupOutcome:
    """The prepared image, made or found. A command that does not pass is told in the outcome; the engine's fault raises."""
    tree = read_tree(place.repository, place.commit, only=spec.inputs)
    missing = find_missing(tree, spec.inputs)
    if missing:
        named = ", ".join(cut(path) for path in missing)
        return SetupOutcome(
            None, reused=False, message=f"the inputs of [setup] are not in the commit: {named}"
        )
    key = _make_key(place.image_id, spec, tree)
    # Whoever removes old images takes the same lock: what is found here stays.
    with wait_for_lock(f"setup-{key}", cancelled) as held:
        if not held:
            return SetupOutcome(None, reused=False, message="cancelled while another run prepared the same")
        found = _find(place.client, f"{REPOSITORY}:{key}", key)
        if found is None:
            return _Setup(place, spec, key, cancelled).go(tree)
        place.client.tag_image(found, REPOSITORY, key)
        return SetupOutcome(found, reused=True)


def _make_key(image_id: str, spec: SetupSpec, tree: SnapshotTree) -> str:
    parts = {
        "format": _FORMAT,
        "image": image_id,
        "inputs": digest_inputs(tree),
        "network": spec.network,
        "run": spec.run,
        # What ran on another kernel may have been built for it.
        "runtime": spec.runtime,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _find(client: EngineClient, reference: str, key: str) -> str | None:
    found = client.inspect_image(reference)
    labels = ((found or {}).get("Config") or {}).get("Labels") or {}
    return str(found["Id"]) if found is not None and labels.get(Label.KEY) == key else None


class _Setup:
    def __init__(self, place: SetupPlace, spec: SetupSpec, key: str, cancelled: threading.Event) -> None:
        self._place = place
        self._client = place.client
        self._spec = spec
        self._key = key
        self._cancelled = cancelled
        self._tags: list[str] = []

    def go(self, tree: SnapshotTree) -> SetupOutcome:
        try:
            image = self._lay_inputs(tree)
            for number, argv in enumerate(self._spec.run, 1):
                last = number == len(self._spec.run)
                outcome, made = self._run(image, argv, number, last=last)
                if made is None:
                    return self._explain(outcome, argv, number)
                image = made
            if not self._spec.run:
                self._client.tag_image(image, REPOSITORY, self._key)
            return SetupOutcome(image, reused=False)
        finally:
            for tag in self._tags:
                with suppress(EngineError):
                    self._client.remove_image(tag)

    def _lay_inputs(self, tree: SnapshotTree) -> str:
        reference = self._make_step(0)
        labels: dict[str, str] = {Label.KIND: "setup", Label.KEY: self._key}
        plan = LayerPlan(self._place.repository, tree, owner=0)
        image, _ = build_layered_image(self._client, plan, self._place.image_id, reference, labels)
        return image

    def _make_step(self, number: int) -> str:
        tag = f"{REPOSITORY}:{self._key}-{number}"
        self._tags.append(tag)
        return tag

    def _run(
        self, image: str, argv: tuple[str, ...], number: int, *, last: bool
    ) -> tuple[Outcome, str | None]:
        found = self._client.inspect_image(image)
        if found is None:
            raise EngineError(f"the image {image[:19]} vanished while [setup] ran")
        owner = self._place.owner
        limits = replace(self._spec.limits, timeout_s=self._spec.timeout_s)
        settings = ContainerSettings(
            image=image,
            argv=argv,
            limits=limits,
            labels=make_labels(
                owner.store, owner.run, f"setup-{number}", "setup", limits.timeout_s + _SLACK_S
            ),
            environment=make_environment((found.get("Config") or {}).get("Env") or [], {}),
            root=True,
            network=self._spec.network,
            runtime=self._spec.runtime,
            bounds=find_bounds(self._place.record),
        )
        made: list[str] = []

        def prepare(container: str) -> str | None:
            return check_program(
                ContainerFiles(self._client, container, user=0),
                argv[0],
                folder=WORKSPACE,
                path=settings.environment["PATH"],
                architecture=str(found.get("Architecture") or ""),
                user=0,
            )

        def keep(container: str) -> None:
            if last:
                self._hand_over(container)
            made.append(self._commit(container, number, last=last))

        run = Run(make_name(), make_config(settings), limits, prepare, keep=keep)
        outcome = run_container(self._client, run, self._cancelled, self._place.names)
        return outcome, made[0] if made and outcome.verdict is Verdict.PASSED else None

    def _commit(self, container: str, number: int, *, last: bool) -> str:
        tag = self._key if last else self._make_step(number).rpartition(":")[2]
        size = int(self._client.inspect(container, size=True).get("SizeRw") or 0)
        labels: dict[str, str] = {
            Label.KIND: "setup",
            Label.KEY: self._key if last else f"{self._key}-{number}",
            Label.BYTES: str(size),
        }
        return self._client.commit(container, REPOSITORY, tag, {"Labels": labels})

    def _hand_over(self, container: str) -> None:
        """Gives the folders below HOME and the work folder to the user that checks run as; files stay root's.

        So a check can write beside what was installed (caches, build folders), and replace it in its own container.
        """
        for top in (HOME, WORKSPACE):
            folders = io.BytesIO()
            with (
                suppress(MissingError),
                self._client.read_archive(container, top) as pieces,
                open_tar(pieces) as tar,
            ):
                for member in tar:
                    if member.isdir():
                        name = member.name.encode("utf-8", "surrogateescape").rstrip(b"/")
                        folders.write(
                            make_header(name, Kind.FOLDER, mode=member.mode & 0o777 | 0o700, owner=USER_ID)
                        )
            folders.write(END)
            self._client.put_archive(container, top.rpartition("/")[0] or "/", folders.getvalue())

    def _explain(self, outcome: Outcome, argv: tuple[str, ...], number: int) -> SetupOutcome:
        if outcome.verdict is Verdict.INFRASTRUCTURE:
            raise EngineError(f"[setup] could not run: {outcome.reason}")
        what = f"command {number} of [setup] ({cut(' '.join(argv), 120)})"
        printed = b"".join(
            stream.head + stream.tail for stream in (outcome.stdout, outcome.stderr) if stream is not None
        )
        message = f"{what}: {outcome.verdict}, {outcome.reason}"
        return SetupOutcome(None, reused=False, message=message, output=printed[-_SHOWN_BYTES:])
