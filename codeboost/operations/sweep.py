"""Removes what runs that were killed left on the engine, and snapshots that nobody used for long."""

from __future__ import annotations

from dataclasses import dataclass

from codeboost.sandbox.base import Executor, SweptThing

__all__ = ["SweepResult", "sweep"]


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What was removed; with ``dry_run``, what would be."""

    swept: tuple[SweptThing, ...]
    dry_run: bool


def sweep(executor: Executor, store_id: str, *, dry_run: bool = False) -> SweepResult:
    """Containers of dead owners of this store on this host, and old snapshots; nothing else. EngineError as ever."""
    containers = executor.sweep(store_id, dry_run=dry_run)
    images = executor.sweep_images(dry_run=dry_run)
    return SweepResult((*containers, *images), dry_run)
