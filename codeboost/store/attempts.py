"""Attempts in the store: one command of one item in one run, and what came of it (design §7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from codeboost.limits import Limits
from codeboost.store.database import Store, encode_json
from codeboost.verdict import Verdict

__all__ = [
    "Attempt",
    "KeptStream",
    "add_attempt",
    "find_attempt",
    "find_attempts",
    "find_passed_attempt",
    "list_attempts",
    "list_decisive_attempts",
    "list_last_attempts",
]


@dataclass(frozen=True, slots=True)
class KeptStream:
    """What is known of one stream: bytes that came, bytes kept, SHA-256 of all that came.

    The kept file holds the first ``head`` bytes, and then the last ``kept - head``: what lies between was counted.
    """

    total: int
    kept: int
    head: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One command of one item in one run: everything that design §7 asks to be recorded."""

    id: str
    run_id: int
    item: str
    position: int
    argv: tuple[str, ...]
    argv_sha256: str
    approval: str | None
    verdict: Verdict
    reason: str
    exit_code: int | None
    signal: int | None
    timed_out: bool
    out_of_memory: bool
    started_at: str | None
    ended_at: str
    duration_s: float
    limits: Limits
    limits_in_force: Mapping[str, str] = field(default_factory=dict)
    container_id: str | None = None
    image_id: str | None = None
    stdout: KeptStream | None = None
    stderr: KeptStream | None = None
    warnings: tuple[str, ...] = ()
    spec_digest: str | None = None
    """Under which a pass may be used again: everything that decides what the command does."""
    reused_from: str | None = None
    """The attempt that really ran, when this pass was taken over."""
    reused_run: int | None = None
    """The run of that attempt."""


def add_attempt(store: Store, attempt: Attempt) -> None:
    """Store an attempt; call it inside the transaction that also holds what follows from it."""
    store.connection.execute(
        "INSERT INTO attempt (id, run_id, item, position, argv, argv_sha256, approval, verdict, reason,"
        " exit_code, signal, timed_out, out_of_memory, started_at, ended_at, duration_s, limits,"
        " limits_in_force, container_id, image_id, stdout, stderr, warnings, spec_digest,"
        " reused_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            attempt.id,
            attempt.run_id,
            attempt.item,
            attempt.position,
            encode_json(attempt.argv),
            attempt.argv_sha256,
            attempt.approval,
            attempt.verdict.value,
            attempt.reason,
            attempt.exit_code,
            attempt.signal,
            attempt.timed_out,
            attempt.out_of_memory,
            attempt.started_at,
            attempt.ended_at,
            attempt.duration_s,
            encode_json(asdict(attempt.limits)),
            encode_json(dict(attempt.limits_in_force)),
            attempt.container_id,
            attempt.image_id,
            encode_json(asdict(attempt.stdout)) if attempt.stdout else None,
            encode_json(asdict(attempt.stderr)) if attempt.stderr else None,
            encode_json(attempt.warnings),
            attempt.spec_digest,
            attempt.reused_from,
        ),
    )


def list_attempts(store: Store, run_id: int) -> list[Attempt]:
    """The attempts of a run in plan order: whatever the timing was, the answer is the same."""
    return _select_attempts(
        store, "a.run_id = ? ORDER BY CAST(substr(a.item, 2) AS INTEGER), a.position", run_id
    )


def find_attempt(store: Store, attempt_id: str) -> Attempt | None:
    found = _select_attempts(store, "a.id = ?", attempt_id)
    return found[0] if found else None


def find_attempts(store: Store, repository_id: int, prefix: str) -> list[Attempt]:
    """The attempts whose id begins with ``prefix`` (letters and digits), at most two: more is as good as two."""
    return _select_attempts(
        store, "r.repository_id = ? AND a.id >= ? AND a.id < ? LIMIT 2", repository_id, prefix, prefix + "~"
    )


def find_passed_attempt(
    store: Store, repository_id: int, spec_digest: str, before_run: int
) -> Attempt | None:
    """The newest real pass of the very same specification in an earlier run, or None.

    Not in the run itself: which of two equal commands comes first is a matter of timing there.
    """
    found = _select_attempts(
        store,
        "a.spec_digest = ? AND r.repository_id = ? AND a.run_id < ?"
        " AND a.verdict = 'passed' AND a.reused_from IS NULL ORDER BY a.rowid DESC LIMIT 1",
        spec_digest,
        repository_id,
        before_run,
    )
    return found[0] if found else None


def list_decisive_attempts(store: Store, plan_id: int, tree: str) -> dict[tuple[str, int], Attempt]:
    """The newest attempt of each command of a revision on this very tree, by item and position.

    An attempt that learned nothing (stopped, waiting, the engine's fault) counts only where there is no other.
    """
    found: dict[tuple[str, int], Attempt] = {}
    for attempt in _select_attempts(store, "r.plan_id = ? AND r.tree_id = ? ORDER BY a.rowid", plan_id, tree):
        key = attempt.item, attempt.position
        if key not in found or not attempt.verdict.says_nothing or found[key].verdict.says_nothing:
            found[key] = attempt
    return found


def list_last_attempts(store: Store, plan_id: int) -> dict[tuple[str, int], Attempt]:
    """The newest attempt of each command of a revision, whatever it tested, by item and position."""
    attempts = _select_attempts(store, "r.plan_id = ? ORDER BY a.rowid", plan_id)
    return {(attempt.item, attempt.position): attempt for attempt in attempts}


# Rows


_SELECT_ATTEMPTS = (
    "SELECT a.*, o.run_id AS reused_run FROM attempt a JOIN run r ON r.id = a.run_id"
    " LEFT JOIN attempt o ON o.id = a.reused_from"
)


def _select_attempts(store: Store, condition: str, *values: object) -> list[Attempt]:
    # Every condition is a literal of this module.
    rows = store.connection.execute(f"{_SELECT_ATTEMPTS} WHERE {condition}", values)
    return [_read_attempt(row) for row in rows]


def _read_attempt(row: Any) -> Attempt:
    return Attempt(
        id=row["id"],
        run_id=row["run_id"],
        item=row["item"],
        position=row["position"],
        argv=tuple(json.loads(row["argv"])),
        argv_sha256=row["argv_sha256"],
        approval=row["approval"],
        verdict=Verdict(row["verdict"]),
        reason=row["reason"],
        exit_code=row["exit_code"],
        signal=row["signal"],
        timed_out=bool(row["timed_out"]),
        out_of_memory=bool(row["out_of_memory"]),
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        duration_s=row["duration_s"],
        limits=Limits(**json.loads(row["limits"])),
        limits_in_force=json.loads(row["limits_in_force"]),
        container_id=row["container_id"],
        image_id=row["image_id"],
        stdout=KeptStream(**json.loads(row["stdout"])) if row["stdout"] else None,
        stderr=KeptStream(**json.loads(row["stderr"])) if row["stderr"] else None,
        warnings=tuple(json.loads(row["warnings"])),
        spec_digest=row["spec_digest"],
        reused_from=row["reused_from"],
        reused_run=row["reused_run"],
    )
