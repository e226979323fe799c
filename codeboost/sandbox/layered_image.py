"""A tree as one more layer on an image that the engine has: an archive for it to load, or else an ordinary build."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from codeboost.errors import EngineError
from codeboost.sandbox.archive import END, Kind, gather, make_header, pad, wrap
from codeboost.sandbox.client import EngineClient, RefusedError
from codeboost.sandbox.container import make_name, remove_container
from codeboost.sandbox.files import open_tar
from codeboost.sandbox.layer import LayerPlan, measure_layer, write_layer
from codeboost.sandbox.owner import Label
from codeboost.sandbox.profile import TMP, WORKSPACE
from codeboost.sandbox.tree import SnapshotTree, show_paths
from codeboost.visible import cut

__all__ = ["build_layered_image", "read_labels"]

_PROBES = "codeboost/probe"
_DATE = "2000-01-01T00:00:00Z"


def build_layered_image(
    client: EngineClient, plan: LayerPlan, base_id: str, reference: str, labels: Mapping[str, str]
) -> tuple[str, tuple[str, ...]]:
    """One more layer on ``base_id`` under the name ``reference``: the image's id, and what the tree lacks."""
    base = client.inspect_image(base_id)
    if base is None:
        raise EngineError(f"the image {cut(base_id)} is gone", hint="run again; it is pulled or built anew")
    # What [setup] left in the work folder is wanted there.
    plan = replace(plan, hides_base=read_labels(base).get(Label.KIND) != "setup")
    try:
        client.load_image(gather(_write_image(plan, base, reference, labels)))
    except RefusedError as error:
        if _takes_partial_images(client, base):
            raise EngineError(f"the engine does not take the snapshot: {error}") from error
        _build_by_copy(client, plan, base, reference, labels)
    # A load leaves no trace of when; the time of this tag is that of the first use.
    client.tag_image(reference, *reference.rsplit(":", 1))
    found = client.inspect_image(reference)
    if found is None:
        raise EngineError(f"the engine took the snapshot {cut(reference)} and does not have it")
    layers, expected = found["RootFS"].get("Layers") or [], base["RootFS"].get("Layers") or []
    if layers[: len(expected)] != expected:
        raise EngineError(f"the snapshot {cut(reference)} does not lie on its base image")
    return str(found["Id"]), _warn(plan)


def _takes_partial_images(client: EngineClient, base: Mapping[str, Any]) -> bool:
    """Whether this engine takes an image whose lower layers it has itself: asked with next to nothing in the upper one.

    An image store that does not would refuse every snapshot; one that does and refuses has a reason to be told.
    """
    reference = f"{_PROBES}:{secrets.token_hex(8)}"
    plan = LayerPlan(None, SnapshotTree("", "", "", (), ()))
    try:
        client.load_image(gather(_write_image(plan, base, reference, {Label.KIND: "snapshot"})))
    except RefusedError:
        return False
    with suppress(RefusedError):
        client.remove_image(reference)
    return True


def read_labels(image: Mapping[str, Any]) -> Mapping[str, str]:
    return (image.get("Config") or {}).get("Labels") or {}


def _warn(plan: LayerPlan) -> tuple[str, ...]:
    return tuple(
        f"{text}: {show_paths(paths)}"
        for paths, text in (
            (tuple(plan.lfs), "Git LFS pointers, whose content is not in the repository"),
            (plan.tree.submodules, "submodules, which are empty folders here"),
        )
        if paths
    )


# The image archive


def _write_image(
    plan: LayerPlan, base: Mapping[str, Any], reference: str, labels: Mapping[str, str]
) -> Iterator[bytes]:
    """An archive for ``docker load``: the layer first, then what can only be known once it was written."""
    digest = hashlib.sha256()
    size = measure_layer(plan)
    yield make_header(b"layer.tar", Kind.FILE, mode=0o644, size=size)
    written = 0
    for piece in write_layer(plan):
        digest.update(piece)
        written += len(piece)
        yield piece
    if written != size:
        raise EngineError(
            f"a snapshot of {size} bytes came out with {written}: the repository changed meanwhile"
        )
    yield bytes(pad(size))
    labels = dict(labels) | {Label.BYTES: str(size)}
    diff_ids = [*(base["RootFS"].get("Layers") or []), f"sha256:{digest.hexdigest()}"]
    config = json.dumps(_make_config(base, diff_ids, labels, _warn(plan)), sort_keys=True).encode()
    yield from wrap(b"config.json", config)
    # The engine has the base's layers and never reads their files here, but Podman wants to see some.
    absent = [f"absent-{index}.tar" for index in range(len(diff_ids) - 1)]
    for name in absent:
        yield from wrap(name.encode(), b"")
    manifest = [{"Config": "config.json", "RepoTags": [reference], "Layers": [*absent, "layer.tar"]}]
    yield from wrap(b"manifest.json", json.dumps(manifest).encode())
    yield END


def _make_config(
    base: Mapping[str, Any], diff_ids: list[str], labels: Mapping[str, str], warnings: tuple[str, ...]
) -> dict[str, Any]:
    """The base's environment and nothing else of its settings: no entrypoint, volumes, healthcheck or triggers."""
    settings = base.get("Config") or {}
    return {
        "architecture": base["Architecture"],
        "os": base["Os"],
        **({"variant": base["Variant"]} if base.get("Variant") else {}),
        "created": _DATE,
        "config": {
            "Env": list(settings.get("Env") or []),
            "WorkingDir": WORKSPACE,
            "Labels": dict(labels) | {Label.WARNINGS: json.dumps(warnings)},
        },
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
        # Podman commits no container of an image whose history does not tell of each layer.
        "history": [{"created": _DATE} for _ in diff_ids],
    }


# The ordinary build


def _build_by_copy(
    client: EngineClient,
    plan: LayerPlan,
    base: Mapping[str, Any],
    reference: str,
    labels: Mapping[str, str],
) -> None:
    """The same content through a Dockerfile; the tree lies in a subfolder, so no ``.dockerignore`` of it counts.

    EngineError when the base image has what such a build cannot take away.
    """
    _refuse_inherited(base)
    base_id = str(base["Id"])
    foreign = _find_foreign(client, base_id, plan) if plan.hides_base else None
    # The kind comes first: what a build that fails half-way leaves behind is swept as any old snapshot.
    lines = (
        f"FROM {base_id}\n"
        f"LABEL {Label.KIND}={labels[Label.KIND]}\n"
        # From above, so that it arrives as it is, in place of whatever stands there.
        "COPY above /\n"
        f"COPY --chown={plan.owner}:{plan.owner} tree/home /home/\n"
        f"COPY --chown={plan.owner}:{plan.owner} tree/workspace {WORKSPACE}/\n"
        f"WORKDIR {WORKSPACE}\nENTRYPOINT []\nCMD []\nHEALTHCHECK NONE\n"
    )

    def write() -> Iterator[bytes]:
        yield from wrap(b"Dockerfile", lines.encode())
        yield make_header(b"above" + TMP.encode(), Kind.FOLDER, mode=0o1777)
        yield from write_layer(plan, b"tree/")

    # Labels go first over the wire, so what the tree lacks has to be known before.
    size = sum(map(len, write_layer(plan)))
    more: dict[str, str] = {Label.BYTES: str(size), Label.WARNINGS: json.dumps(_warn(plan))}
    client.build_image(gather(write()), reference, dict(labels) | more)
    if foreign is not None and _has(client, reference, foreign):
        client.remove_image(reference)
        raise _refuse_base(f"it has files in {WORKSPACE} that would be taken for the tree's: {cut(foreign)}")


def _refuse_inherited(base: Mapping[str, Any]) -> None:
    settings = base.get("Config") or {}
    if settings.get("Volumes"):
        raise _refuse_base(f"it declares volumes: {cut(', '.join(sorted(settings['Volumes'])), 200)}")
    if settings.get("OnBuild"):
        raise _refuse_base("it has ONBUILD triggers, which would run")


def _refuse_base(reason: str) -> EngineError:
    return EngineError(
        f"this engine takes snapshots only by an ordinary build, and the base image does not allow one: {reason}",
        hint="use another base image, or an engine that loads images on top of layers it has",
    )


def _find_foreign(client: EngineClient, base_id: str, plan: LayerPlan) -> str | None:
    """A path in the base's own work folder that the tree does not have: whether it is gone tells whether all are."""
    known = {b"", *plan.tree.folders, *(entry.path for entry in plan.tree.entries)}
    with _made(client, base_id) as container:
        stat = client.stat_path(container, WORKSPACE)
        if stat is None:
            return None
        if not stat.is_folder:
            raise _refuse_base(f"{WORKSPACE} is no folder in it")
        with client.read_archive(container, WORKSPACE) as pieces, open_tar(pieces) as tar:
            for member in tar:
                path = member.name.partition("/")[2].rstrip("/")
                if path.encode("utf-8", "surrogateescape") not in known:
                    return path
    return None


def _has(client: EngineClient, image: str, path: str) -> bool:
    with _made(client, image) as container:
        return client.stat_path(container, f"{WORKSPACE}/{path}") is not None


@contextmanager
def _made(client: EngineClient, image: str) -> Iterator[str]:
    """A container that is never started: a view of the image's files."""
    name = make_name()
    try:
        yield client.create(name, {"Image": image, "Entrypoint": ["true"], "NetworkDisabled": True})
    finally:
        remove_container(client, name)
