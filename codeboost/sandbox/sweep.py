"""Removes what dead owners left behind: containers of this store and host, and snapshots that nobody uses any more."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from codeboost.errors import EngineError
from codeboost.limits import format_size
from codeboost.sandbox.base import ImageUse, SweptThing
from codeboost.sandbox.client import ConflictError, EngineClient, RefusedError
from codeboost.sandbox.container import remove_container
from codeboost.sandbox.lock import try_lock
from codeboost.sandbox.owner import Label, find_process, judge

__all__ = ["KEEP_BYTES", "KEEP_S", "sweep_containers", "sweep_images"]

KEEP_S = 14 * 24 * 3600.0
KEEP_BYTES = 20 << 30
_OURS = "codeboost/"
_KEY = re.compile(r"[0-9a-f]{64}(?:-\d+)?")
_FRACTION = re.compile(r"(\.\d{6})\d+")
# Room is made of nothing younger. A run of another store holds its snapshot by tagging it again now and then; between
# two of these lies one command at most.
_FRESH_S = 3600.0
_FRESH_OF_OTHERS_S = 24 * 3600.0
# The engine sets its tag's time a moment before the store writes the use down, by another clock perhaps.
_SKEW_S = 60.0


def sweep_containers(client: EngineClient, store: str, *, dry_run: bool = False) -> Sequence[SweptThing]:
    """Removes (or only names) every container whose owner is gone or whose deadline has passed; nothing else.

    One that cannot be removed stands in the way of nothing: it is told with its ``failure``.
    """
    me, now = find_process(), time.time()
    swept = []
    for container in client.list_containers(f"{Label.STORE}={store}"):
        reason = judge(container.get("Labels") or {}, store, me, now)
        if reason is None:
            continue
        failure = "" if dry_run else _try_to_remove(client, str(container["Id"]))
        swept.append(SweptThing("container", str(container["Id"]), reason, failure))
    return swept


def _try_to_remove(client: EngineClient, container: str) -> str:
    try:
        remove_container(client, container)
    except EngineError as error:
        return str(error)
    return ""


class _Kept(NamedTuple):
    used: float
    """The last use that anybody knows of, seconds since 1970."""
    size: int
    id: str
    tags: tuple[str, ...]
    tagged: float | None
    lock: str
    only_ours: bool
    """Whether no other store has used it since this one did."""


def sweep_images(
    client: EngineClient,
    uses: Mapping[str, ImageUse],
    *,
    keep_s: float = KEEP_S,
    keep_bytes: int = KEEP_BYTES,
    most: int | None = None,
    dry_run: bool = False,
) -> Sequence[SweptThing]:
    """Removes snapshots and prepared images that were not used for ``keep_s``, then the oldest beyond ``keep_bytes``.

    Never one that a container or a live run uses, and at most ``most`` of them: the deletion of many files slows down
    for minutes whatever creates files afterwards (facts). ``uses`` is what this store knows, by image id. Snapshots are
    shared by all stores of an engine, so the time of an image's last tag counts, too, and all the more for images of
    which this store knows nothing. One that somebody gave a name of their own is theirs.
    """
    now = time.time()
    found = [_read_image(client, str(image["Id"]), uses, now) for image in client.list_images(Label.KIND)]
    images = sorted((image for image in found if image is not None), key=lambda image: (image.used, image.id))
    total = sum(image.size for image in images)
    swept: list[SweptThing] = []
    for image in images:
        if most is not None and sum(not thing.failure for thing in swept) >= most:
            break
        use = uses.get(image.id)
        age = now - image.used
        if use is not None and use.held:
            continue
        if age > keep_s:
            reason = f"not used for {age / 86400:.0f} days"
        elif total > keep_bytes and age > (_FRESH_S if image.only_ours else _FRESH_OF_OTHERS_S):
            reason = f"snapshots take {format_size(total)}, more than {format_size(keep_bytes)}"
        else:
            continue
        failure = "" if dry_run else _remove(client, image)
        if failure is None:
            continue
        total -= 0 if failure else image.size
        swept.append(SweptThing("image", image.id, reason, failure))
    return swept


def _remove(client: EngineClient, image: _Kept) -> str | None:
    """Nothing when it is gone, None when it is in use after all, else why it could not be removed."""
    with try_lock(image.lock) as is_free:
        # Whoever takes a snapshot into use tags it under this lock.
        if not is_free or _read_tag_time(client.inspect_image(image.id) or {}) != image.tagged:
            return None
        try:
            for reference in image.tags or (image.id,):
                client.remove_image(reference)
        except ConflictError:
            # A container uses it, or another image lies on it.
            return None
        except RefusedError as error:
            return str(error)
    return ""


def _read_image(client: EngineClient, image: str, uses: Mapping[str, ImageUse], now: float) -> _Kept | None:
    found = client.inspect_image(image)
    tags = tuple(str(tag) for tag in (found or {}).get("RepoTags") or [])
    if found is None or not all(tag.startswith(_OURS) for tag in tags):
        return None
    labels = (found.get("Config") or {}).get("Labels") or {}
    size = str(labels.get(Label.BYTES) or "0")
    key = str(labels.get(Label.KEY) or "")
    kind = labels.get(Label.KIND)
    # What a build left that failed half-way has no key.
    lock = f"{kind}-{key}" if kind in ("snapshot", "setup") and _KEY.fullmatch(key) else "image"
    tagged, use = _read_tag_time(found), uses.get(image)
    times = [moment for moment in (tagged, use.last_used if use else None) if moment is not None]
    return _Kept(
        used=max(times, default=now),
        size=int(size) if size.isdecimal() else 0,
        id=image,
        tags=tags,
        tagged=tagged,
        lock=lock,
        only_ours=use is not None and tagged is not None and tagged <= use.last_used + _SKEW_S,
    )


def _read_tag_time(image: Mapping[str, Any]) -> float | None:
    text = str((image.get("Metadata") or {}).get("LastTagTime") or "")
    try:
        # The engine writes nanoseconds; Python reads microseconds.
        moment = datetime.fromisoformat(_FRACTION.sub(r"\1", text)).timestamp()
    except ValueError:
        return None
    return moment if moment > 0 else None
