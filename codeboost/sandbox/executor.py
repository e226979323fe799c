"""Runs commands on a container engine: the Executor of ``base``, put together from the parts of this package."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from codeboost import __version__
from codeboost.errors import EngineError, InfrastructureError
from codeboost.gitrepo import GitRepo
from codeboost.sandbox.base import (
    HARD,
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
    SweptThing,
)
from codeboost.sandbox.client import EngineClient
from codeboost.sandbox.container import (
    LiveNames,
    Run,
    describe_limits,
    make_name,
    remove_container,
    run_container,
)
from codeboost.sandbox.files import ContainerFiles, KnownFiles
from codeboost.sandbox.image import find_image, has_quota
from codeboost.sandbox.owner import make_labels
from codeboost.sandbox.profile import (
    USER_ID,
    WORKSPACE,
    ContainerSettings,
    find_bounds,
    make_config,
    make_environment,
)
from codeboost.sandbox.program import check_program
from codeboost.sandbox.setup import SetupPlace, prepare_setup
from codeboost.sandbox.snapshot import FORMAT, LaidTree, note_use, take_snapshot
from codeboost.sandbox.sweep import sweep_containers, sweep_images
from codeboost.verdict import Verdict
from codeboost.visible import cut

__all__ = ["DockerExecutor"]

# How long past its timeout a container may exist: the grace of TERM, the engine's slowness, the removal.
_SLACK_S = 300.0
_NOTED_AGAIN_S = 600.0


class DockerExecutor:
    """See ``base.Executor``. Safe to call from several threads at once."""

    def __init__(self, client: EngineClient, record: EngineRecord, store: str) -> None:
        self._client = client
        self._record = record
        self._store = store
        self._images: dict[str, tuple[list[str], str]] = {}
        self._programs: dict[tuple[str, ...], str | None] = {}
        self._files: dict[str, KnownFiles] = {}
        self._laid: dict[str, LaidTree] = {}
        self._folders: dict[tuple[str, str], bool] = {}
        self._names = LiveNames()
        self._guard = threading.Lock()
        self._image: str | None = None
        self._quota_known = False
        self._noted: dict[str, float] = {}

    def describe(self) -> EngineRecord:
        if self._image is not None:
            self._learn_quota(self._image)
        return self._record

    def find_image(self, reference: str, pull: PullPolicy, progress: Callable[[str], None]) -> ImageRecord:
        found = find_image(self._client, reference, pull, progress)
        self._image = found.id
        return found

    def prepare_setup(
        self,
        spec: SetupSpec,
        repository: Path,
        commit: str,
        image_id: str,
        owner: Owner,
        cancelled: threading.Event | None = None,
    ) -> SetupOutcome:
        self._learn_quota(image_id)
        place = SetupPlace(
            self._client, self._names, GitRepo.open(repository), commit, image_id, owner, self._record
        )
        return prepare_setup(place, spec, cancelled or threading.Event())

    def take_snapshot(self, spec: SnapshotSpec) -> Snapshot:
        repository = GitRepo.open(spec.repository)
        snapshot, laid = take_snapshot(self._client, repository, spec.commit, spec.image_id, git=spec.git)
        self._laid[snapshot.image_id] = laid
        self._noted[snapshot.image_id] = time.monotonic()
        return snapshot

    def execute(self, spec: CommandSpec, cancelled: threading.Event) -> Outcome:
        try:
            self._learn_quota(spec.snapshot.image_id)
            run = self._plan(spec)
        except InfrastructureError as error:
            return Outcome(Verdict.INFRASTRUCTURE, str(error))
        if isinstance(run, str):
            return Outcome(Verdict.NOT_STARTED, run)
        self._note_use(spec.snapshot)
        outcome = run_container(self._client, run, cancelled, self._names)
        return replace(outcome, limits_in_force=describe_limits(spec.limits, find_bounds(self._record)))

    def digest_spec(self, spec: CommandSpec) -> str:
        parts = {
            "argv": spec.argv,
            "codeboost": __version__,
            "env": dict(spec.env),
            "format": FORMAT,
            "limits": asdict(spec.limits),
            "runtime": spec.runtime,
            "snapshot": [spec.snapshot.key, spec.snapshot.image_id],
            "workdir": spec.workdir,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def sweep(self, store: str, *, dry_run: bool = False) -> Sequence[SweptThing]:
        return sweep_containers(self._client, store, dry_run=dry_run)

    def sweep_images(
        self, uses: Mapping[str, ImageUse], *, most: int | None = None, dry_run: bool = False
    ) -> Sequence[SweptThing]:
        return sweep_images(self._client, uses, most=most, dry_run=dry_run)

    def close(self) -> None:
        """Removes what still runs, and leaves the engine."""
        for name in self._names.list():
            with suppress(EngineError):
                remove_container(self._client, name)
        self._client.close()

    def _learn_quota(self, image_id: str) -> None:
        """Finds out, once, whether the engine bounds the disk by itself: it takes a container to ask, and so an image."""
        with self._guard:
            if self._quota_known:
                return
            labels = make_labels(self._store, "quota", "quota", "quota", _SLACK_S)
            if has_quota(self._client, image_id, labels):
                limitations = tuple(text for text in self._record.limitations if not text.startswith("disk:"))
                self._record = replace(self._record, disk=HARD, limitations=limitations)
            self._quota_known = True

    # One command

    def _note_use(self, snapshot: Snapshot) -> None:
        """Lets every store of this engine see that a long run still uses its snapshot."""
        now = time.monotonic()
        if now - self._noted.get(snapshot.image_id, now) > _NOTED_AGAIN_S:
            self._noted[snapshot.image_id] = now
            with suppress(EngineError):
                note_use(self._client, snapshot.image_id, snapshot.key)

    def _is_folder(self, laid: LaidTree, workdir: str) -> bool:
        key = (laid.commit, workdir)
        if key not in self._folders:
            self._folders[key] = laid.is_folder(workdir)
        return self._folders[key]

    def _plan(self, spec: CommandSpec) -> Run | str:
        """What to run, or why it cannot start."""
        image = spec.snapshot.image_id
        laid = self._laid.get(image)
        if laid is None:
            raise EngineError("the snapshot was not taken on this engine, so what it holds is not known")
        workdir = spec.workdir.strip("/")
        if workdir not in ("", ".") and not self._is_folder(laid, workdir):
            return f"the work folder {cut(spec.workdir)} is no folder at this commit"
        inherited, architecture = self._read_image(image)
        environment = make_environment(inherited, spec.env)
        folder = WORKSPACE if workdir in ("", ".") else f"{WORKSPACE}/{workdir}"
        labels = make_labels(
            spec.owner.store, spec.owner.run, spec.attempt, "command", spec.limits.timeout_s + _SLACK_S
        )
        settings = ContainerSettings(
            image=image,
            argv=spec.argv,
            limits=spec.limits,
            labels=labels,
            environment=environment,
            folder=folder,
            runtime=spec.runtime,
            bounds=find_bounds(self._record),
        )

        def prepare(container: str) -> str | None:
            if laid.extras:
                self._client.put_archive(container, WORKSPACE, laid.extras)
            return self._check_program(container, settings, architecture)

        return Run(make_name(), make_config(settings), spec.limits, prepare)

    def _read_image(self, image: str) -> tuple[list[str], str]:
        """The environment that the image brings, and its architecture."""
        known = self._images.get(image)
        if known is None:
            found = self._client.inspect_image(image)
            if found is None:
                raise EngineError(f"the snapshot {image[:19]} is gone from the engine", hint="run again")
            known = list((found.get("Config") or {}).get("Env") or []), str(found.get("Architecture") or "")
            self._images[image] = known
        return known

    def _check_program(self, container: str, settings: ContainerSettings, architecture: str) -> str | None:
        path = settings.environment["PATH"]
        key = (settings.image, settings.folder, path, settings.argv[0])
        if key not in self._programs:
            known = self._files.setdefault(settings.image, KnownFiles())
            files = ContainerFiles(self._client, container, user=USER_ID, known=known)
            self._programs[key] = check_program(
                files,
                settings.argv[0],
                folder=settings.folder,
                path=path,
                architecture=architecture,
                user=USER_ID,
            )
        return self._programs[key]
