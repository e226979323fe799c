"""``codeboost prune``: forget old output, and then old runs; never what the state of an issue rests on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from codeboost.limits import format_size
from codeboost.store.database import Store
from codeboost.store.locks import is_issue_held
from codeboost.store.output import list_output, remove_output
from codeboost.store.runs import RunRecord, forget_runs, list_all_runs, list_forgettable_runs

__all__ = ["PruneResult", "Pruned", "prune"]

# A run without an end may be taken up again; after so many days only one that goes on just now is spared.
_UNFINISHED_DAYS = 2


@dataclass(frozen=True, slots=True)
class Pruned:
    run: int
    size: int
    reason: str


@dataclass(frozen=True, slots=True)
class PruneResult:
    """Whose output was removed (bytes), which runs were forgotten whole, and what output is left."""

    output: tuple[Pruned, ...]
    runs: tuple[int, ...]
    left_bytes: int


def prune(
    store: Store, *, output_days: int, output_bytes: int, run_days: int, dry_run: bool = False
) -> PruneResult:
    """Remove output older than ``output_days``, then the oldest beyond ``output_bytes``; forget runs over ``run_days``.

    A run is forgotten only when it is of a replaced revision and no later run rests on one of its passes.
    """
    now = datetime.now(UTC)
    runs = {run.id: run for run in list_all_runs(store)}
    sizes = list_output(store)
    total = sum(sizes.values())
    pruned = []
    for number in sorted(sizes):
        run = runs.get(number)
        if run is not None and _may_go_on(store, run, now):
            continue
        if run is None:
            reason = "its run is forgotten"
        elif _age(run, now) > timedelta(days=output_days):
            reason = f"older than {output_days} days"
        elif total > output_bytes:
            reason = f"output takes more than {format_size(output_bytes)}"
        else:
            continue
        total -= sizes[number]
        pruned.append(Pruned(number, sizes[number], reason))
        if not dry_run:
            remove_output(store, number)
    limit = (now - timedelta(days=run_days)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    old = list_forgettable_runs(store, limit) if dry_run else forget_runs(store, limit)
    if not dry_run:
        for number in old:
            remove_output(store, number)
    return PruneResult(tuple(pruned), tuple(old), total)


def _age(run: RunRecord, now: datetime) -> timedelta:
    return now - datetime.fromisoformat(run.ended_at or run.started_at)


def _may_go_on(store: Store, run: RunRecord, now: datetime) -> bool:
    return run.ended_at is None and (
        _age(run, now) < timedelta(days=_UNFINISHED_DAYS)
        or is_issue_held(store, run.repository_id, run.issue)
    )
