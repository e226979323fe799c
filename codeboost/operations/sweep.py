"""Removes what runs that were killed left on the engine, and snapshots that nobody used for long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codeboost.operations.hold_images import read_image_uses
from codeboost.sandbox.base import Executor, SweptThing
from codeboost.store.database import Store
from codeboost.store.images import forget_images

__all__ = ["SweepResult", "sweep", "sweep_images"]


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What was removed; with ``dry_run``, what would be."""

    swept: tuple[SweptThing, ...]
    dry_run: bool


def sweep(executor: Executor, store: Store, *, dry_run: bool = False) -> SweepResult:
    """Containers of dead owners of this store on this host, and old snapshots; nothing else. EngineError as ever."""
    containers = executor.sweep(store.id, dry_run=dry_run)
    images = sweep_images(executor, store, dry_run=dry_run)
    return SweepResult((*containers, *images), dry_run)


def sweep_images(
    executor: Executor, store: Store, *, most: int | None = None, dry_run: bool = False
) -> Sequence[SweptThing]:
    """Old snapshots, ``most`` of them, by what the store and the engine know of their last use."""
    swept = executor.sweep_images(read_image_uses(store), most=most, dry_run=dry_run)
    if not dry_run:
        forget_images(store, [thing.id for thing in swept if not thing.failure])
    return swept
