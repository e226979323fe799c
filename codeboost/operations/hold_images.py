"""A run says which snapshots and prepared images it uses, so that no sweep takes them away between two commands."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

from codeboost.errors import StoreError
from codeboost.sandbox.base import ImageUse, Owner
from codeboost.sandbox.owner import find_process, judge, make_labels
from codeboost.store.database import Store
from codeboost.store.images import add_image_use, list_image_uses, release_images

__all__ = ["hold_images", "read_image_uses"]

# For an owner that cannot be judged, in another pid namespace or before a move to another host: longer than any run.
_LONGEST_S = 30 * 24 * 3600.0


@contextmanager
def hold_images(store: Store, owner: Owner) -> Iterator[Callable[[str], None]]:
    """What is yielded takes an image's id, and the image is held until the context ends or this process dies."""
    labels = make_labels(owner.store, owner.run, "", "image", _LONGEST_S)
    try:
        yield lambda image_id: add_image_use(store, image_id, labels)
    finally:
        # The process ends soon, and holds nothing then.
        with suppress(StoreError):
            release_images(store, labels)


def read_image_uses(store: Store) -> dict[str, ImageUse]:
    """What this store knows of images, by their ids."""
    me, now = find_process(), time.time()
    return {
        row.image_id: ImageUse(
            datetime.fromisoformat(row.used_at).timestamp(),
            held=any(judge(owner, store.id, me, now) is None for owner in row.owners),
        )
        for row in list_image_uses(store)
    }
