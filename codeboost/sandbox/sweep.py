"""Removes what dead owners left behind: containers of this store and host, and snapshots that nobody uses any more."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from codeboost.limits import format_size
from codeboost.sandbox.base import SweptThing
from codeboost.sandbox.client import ConflictError, EngineClient
from codeboost.sandbox.container import remove_container
from codeboost.sandbox.owner import Label, find_process, judge

__all__ = ["KEEP_BYTES", "KEEP_S", "sweep_containers", "sweep_images"]

KEEP_S = 14 * 24 * 3600.0
KEEP_BYTES = 20 << 30
# A snapshot that was just taken has no container yet.
_FRESH_S = 3600.0


def sweep_containers(client: EngineClient, store: str, *, dry_run: bool = False) -> Sequence[SweptThing]:
    """Removes (or only names) every container whose owner is gone or whose deadline has passed; nothing else."""
    me, now = find_process(), time.time()
    swept = []
    for container in client.list_containers(f"{Label.STORE}={store}"):
        reason = judge(container.get("Labels") or {}, store, me, now)
        if reason is None:
            continue
        if not dry_run:
            remove_container(client, str(container["Id"]))
        swept.append(SweptThing("container", str(container["Id"]), reason))
    return swept


class _Kept(NamedTuple):
    used: float
    size: int
    id: str
    tags: tuple[str, ...]


def sweep_images(
    client: EngineClient,
    *,
    keep_s: float = KEEP_S,
    keep_bytes: int = KEEP_BYTES,
    most: int | None = None,
    dry_run: bool = False,
) -> Sequence[SweptThing]:
    """Removes snapshots and prepared images that were not used for ``keep_s``, then the oldest beyond ``keep_bytes``.

    Never one that a container uses or that was used within the hour, and at most ``most`` of them: the deletion of many
    files slows down for minutes whatever creates files afterwards (facts). The engine itself keeps the last use, as the
    time of the last tag: snapshots are shared by all stores of an engine.
    """
    now = time.time()
    images = sorted(_read_image(client, str(image["Id"]), now) for image in client.list_images(Label.KIND))
    total = sum(image.size for image in images)
    swept: list[SweptThing] = []
    for image in images:
        if most is not None and len(swept) >= most:
            break
        age = now - image.used
        if age > keep_s:
            reason = f"not used for {age / 86400:.0f} days"
        elif total > keep_bytes and age > _FRESH_S:
            reason = f"snapshots take {format_size(total)}, more than {format_size(keep_bytes)}"
        else:
            continue
        if dry_run or _remove(client, image):
            total -= image.size
            swept.append(SweptThing("image", image.id, reason))
    return swept


def _remove(client: EngineClient, image: _Kept) -> bool:
    try:
        for reference in image.tags or (image.id,):
            client.remove_image(reference)
    except ConflictError:
        # A container uses it.
        return False
    return True


def _read_image(client: EngineClient, image: str, now: float) -> _Kept:
    found: Mapping[str, Any] = client.inspect_image(image) or {}
    labels = (found.get("Config") or {}).get("Labels") or {}
    size = str(labels.get(Label.BYTES) or "0")
    tags = tuple(str(tag) for tag in found.get("RepoTags") or [])
    used = _read_time(str((found.get("Metadata") or {}).get("LastTagTime") or ""))
    return _Kept(now if used is None else used, int(size) if size.isdecimal() else 0, image, tags)


def _read_time(text: str) -> float | None:
    try:
        # The engine writes nanoseconds; Python reads microseconds.
        head, _, tail = text.partition(".")
        zone = tail.lstrip("0123456789") if tail else ""
        moment = datetime.fromisoformat(head + zone if tail else head).timestamp()
    except ValueError:
        return None
    return moment if moment > 0 else None
