"""The last use of snapshots and prepared images, and who still uses them: what ``codeboost sweep`` goes by (design §7)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from codeboost.store.database import Store, encode_json, utc_now

__all__ = ["ImageRow", "add_image_use", "forget_images", "list_image_uses", "release_images"]


@dataclass(frozen=True, slots=True)
class ImageRow:
    """An image of some engine; ``used_at`` is UTC, ``owners`` are the labels of those who hold it."""

    image_id: str
    used_at: str
    owners: tuple[Mapping[str, str], ...]


def add_image_use(store: Store, image_id: str, owner: Mapping[str, str]) -> None:
    """Record that ``owner`` uses the image from now on, until ``release_images``."""
    with store.transaction() as connection:
        connection.execute(
            "INSERT INTO image_use (image_id, used_at) VALUES (?, ?)"
            " ON CONFLICT (image_id) DO UPDATE SET used_at = excluded.used_at",
            (image_id, utc_now()),
        )
        connection.execute(
            "INSERT INTO image_holder (image_id, owner) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (image_id, encode_json(dict(owner))),
        )


def release_images(store: Store, owner: Mapping[str, str]) -> None:
    """Record that ``owner`` uses none any more; the last use of those it held is now."""
    text = encode_json(dict(owner))
    with store.transaction() as connection:
        connection.execute(
            "UPDATE image_use SET used_at = ? WHERE image_id IN (SELECT image_id FROM image_holder WHERE owner = ?)",
            (utc_now(), text),
        )
        connection.execute("DELETE FROM image_holder WHERE owner = ?", (text,))


def list_image_uses(store: Store) -> list[ImageRow]:
    rows = store.connection.execute(
        "SELECT u.image_id, u.used_at, (SELECT json_group_array(json(h.owner)) FROM image_holder h"
        "  WHERE h.image_id = u.image_id) AS owners FROM image_use u ORDER BY u.used_at, u.image_id"
    )
    return [ImageRow(row["image_id"], row["used_at"], tuple(json.loads(row["owners"]))) for row in rows]


def forget_images(store: Store, image_ids: Iterable[str]) -> None:
    """Drop what is known of images that are gone."""
    with store.transaction() as connection:
        connection.executemany("DELETE FROM image_use WHERE image_id = ?", [(name,) for name in image_ids])
