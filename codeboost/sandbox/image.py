"""The base image: found or pulled once, before anything is scheduled, and used by its immutable id from then on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from codeboost.errors import EngineError
from codeboost.sandbox.base import ImageRecord, PullPolicy
from codeboost.sandbox.client import EngineClient, RefusedError
from codeboost.sandbox.container import make_name, remove_container
from codeboost.visible import cut

__all__ = ["find_image", "has_quota"]


def find_image(
    client: EngineClient, reference: str, pull: PullPolicy, progress: Callable[[str], None]
) -> ImageRecord:
    """The image that ``reference`` names.

    EngineError when it is absent and may not or cannot be pulled, and when it is for another platform than the engine.
    """
    shown = cut(reference, 200)
    found = None if pull is PullPolicy.ALWAYS else client.inspect_image(reference)
    if found is None and pull is PullPolicy.NEVER:
        raise EngineError(f"the image {shown} is not here, and --pull never forbids to pull it")
    platform = _find_platform(client.read_version())
    if found is None:
        progress(f"pulling {shown} for {platform}")
        try:
            client.pull_image(reference, platform)
        except RefusedError as error:
            raise EngineError(
                f"the image {shown} is not here and cannot be pulled: {error}",
                hint="check its name, or build it and use --pull never",
            ) from error
        found = client.inspect_image(reference)
    if found is None:
        raise EngineError(f"the image {shown} was pulled and is not here")
    record = _read_record(reference, found)
    if record.platform != platform:
        # An emulator, where there is one, decides by other rules than the kernel what starts and what a program may do.
        raise EngineError(
            f"the image {shown} is for {record.platform}, and this engine runs {platform}",
            hint=f"pull it for {platform} with --pull always, or name another",
        )
    return record


def has_quota(client: EngineClient, image_id: str, labels: Mapping[str, str]) -> bool:
    """Whether the engine bounds a container's writable layer by itself: overlay2 on xfs with project quotas.

    Other drivers that know quotas count the image in, and would refuse a bound below its size. ``labels`` say whose the
    container is that this takes.
    """
    info = client.read_info()
    if info.get("Driver") != "overlay2" or ["Backing Filesystem", "xfs"] not in (
        info.get("DriverStatus") or []
    ):
        return False
    # Whether the quotas are switched on, no engine says: it refuses.
    name = make_name()
    try:
        client.create(
            name,
            {
                "Image": image_id,
                "Cmd": ["true"],
                "Labels": dict(labels),
                "HostConfig": {"StorageOpt": {"size": "1073741824"}},
            },
        )
    except RefusedError:
        return False
    try:
        asked = (client.inspect(name).get("HostConfig") or {}).get("StorageOpt")
    finally:
        remove_container(client, name)
    return bool(asked)


def _read_record(reference: str, found: Mapping[str, Any]) -> ImageRecord:
    digests = [str(digest).rpartition("@")[2] for digest in found.get("RepoDigests") or []]
    exact = "@sha256:" in reference or reference.startswith("sha256:")
    warnings = (
        ()
        if exact
        else (f"{cut(reference, 200)} is a tag, which may name another image tomorrow; a digest is exact",)
    )
    return ImageRecord(
        reference=reference,
        id=str(found["Id"]),
        digest=digests[0] if digests else None,
        platform=f"{found.get('Os') or 'linux'}/{found.get('Architecture') or 'unknown'}",
        warnings=warnings,
    )


def _find_platform(version: Mapping[str, Any]) -> str:
    return f"{version.get('Os') or 'linux'}/{version.get('Arch') or 'amd64'}"
