"""Runs in the store, and which of them decides (design §5.5 and §7)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codeboost.store.attempts import Attempt
from codeboost.store.database import Store, encode_json, utc_now

__all__ = [
    "RunRecord",
    "add_run",
    "end_run",
    "find_run",
    "find_successor",
    "forget_runs",
    "list_all_runs",
    "list_forgettable_runs",
    "list_runs",
    "reopen_run",
]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run. ``items`` are the ids it covered; ``complete`` says whether that is the whole plan."""

    id: int
    repository_id: int
    issue: int
    plan_id: int
    commit: str
    tree: str
    image: str
    image_id: str | None
    image_chosen: bool
    """Whether ``--image`` named the image, because the base commit has no policy."""
    engine: Mapping[str, Any] | None
    policy_digest: str
    log_head: str
    items: tuple[str, ...]
    complete: bool
    options: Mapping[str, Any]
    started_at: str
    ended_at: str | None
    exit_code: int | None


def add_run(
    store: Store,
    *,
    repository_id: int,
    issue: int,
    plan_id: int,
    commit: str,
    tree: str,
    image: str,
    image_id: str | None,
    image_chosen: bool,
    engine: Mapping[str, Any] | None,
    policy_digest: str,
    log_head: str,
    items: Sequence[str],
    complete: bool,
    options: Mapping[str, Any],
) -> int:
    """Record that a run begins; its number is the answer."""
    with store.transaction() as connection:
        cursor = connection.execute(
            "INSERT INTO run (repository_id, issue, plan_id, commit_id, tree_id, image, image_id, image_chosen,"
            " engine, policy_digest, log_head, items, complete, options, started_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                repository_id,
                issue,
                plan_id,
                commit,
                tree,
                image,
                image_id,
                image_chosen,
                encode_json(engine) if engine is not None else None,
                policy_digest,
                log_head,
                encode_json(list(items)),
                complete,
                encode_json(options),
                utc_now(),
            ),
        )
    assert cursor.lastrowid is not None  # noqa: S101 - a row was inserted
    return cursor.lastrowid


def end_run(store: Store, run_id: int, exit_code: int) -> None:
    with store.transaction() as connection:
        connection.execute(
            "UPDATE run SET ended_at = ?, exit_code = ? WHERE id = ?", (utc_now(), exit_code, run_id)
        )


def reopen_run(store: Store, run_id: int, dropped: Sequence[Attempt], note: Mapping[str, Any]) -> None:
    """Take a run up again: it has no end any more, and the ``dropped`` attempts, which learned nothing, never were.

    ``note`` is added to the list ``resumed`` of its options.
    """
    with store.transaction() as connection:
        connection.executemany("DELETE FROM attempt WHERE id = ?", [(attempt.id,) for attempt in dropped])
        connection.execute(
            "UPDATE run SET ended_at = NULL, exit_code = NULL,"
            " options = json_set(options, '$.resumed[#]', json(?)) WHERE id = ?",
            (encode_json(note), run_id),
        )


def find_successor(store: Store, repository_id: int, issue: int, plan_id: int, run_id: int) -> str | None:
    """What has come after this run and plan, as one sentence; None while both are the newest of their issue.

    Ask inside the transaction of a result: only the newest run may say what an issue's state is (design §5.5).
    """
    row = store.connection.execute(
        "SELECT (SELECT id FROM plan WHERE repository_id = ?1 AND issue = ?2 ORDER BY revision DESC LIMIT 1)"
        " AS newest_plan, (SELECT max(id) FROM run WHERE repository_id = ?1 AND issue = ?2) AS newest_run,"
        " (SELECT abandoned_at FROM issue WHERE repository_id = ?1 AND number = ?2) AS abandoned_at",
        (repository_id, issue),
    ).fetchone()
    if row["newest_plan"] != plan_id:
        return "the plan was replaced meanwhile"
    if row["abandoned_at"] is not None:
        return "the plan was abandoned meanwhile"
    if row["newest_run"] != run_id:
        return f"run {row['newest_run']} was started meanwhile"
    return None


def find_run(store: Store, run_id: int) -> RunRecord | None:
    row = store.connection.execute("SELECT * FROM run WHERE id = ?", (run_id,)).fetchone()
    return _read_run(row) if row else None


def list_runs(store: Store, repository_id: int, issue: int, *, limit: int | None = None) -> list[RunRecord]:
    """The runs of an issue, newest first."""
    rows = store.connection.execute(
        "SELECT * FROM run WHERE repository_id = ? AND issue = ? ORDER BY id DESC LIMIT ?",
        (repository_id, issue, -1 if limit is None else limit),
    )
    return [_read_run(row) for row in rows]


def list_all_runs(store: Store) -> list[RunRecord]:
    """Every run of every repository, oldest first."""
    return [_read_run(row) for row in store.connection.execute("SELECT * FROM run ORDER BY id")]


def list_forgettable_runs(store: Store, before: str) -> list[int]:
    """Runs that ended before that time (UTC, as stored), of a replaced revision, and that no other run rests on."""
    rows = store.connection.execute(
        "SELECT r.id FROM run r JOIN plan p ON p.id = r.plan_id WHERE r.ended_at < ? AND EXISTS"
        " (SELECT 1 FROM plan n WHERE n.repository_id = p.repository_id AND n.issue = p.issue"
        "  AND n.revision > p.revision)"
        " AND NOT EXISTS (SELECT 1 FROM attempt o JOIN attempt u ON u.reused_from = o.id WHERE o.run_id = r.id)"
        " ORDER BY r.id",
        (before,),
    )
    return [row["id"] for row in rows]


def forget_runs(store: Store, before: str) -> list[int]:
    """Remove those runs and their attempts; what they did to tasks stays known. The answer is their numbers."""
    with store.transaction() as connection:
        # Looked for in here: a run that goes on could make one of them its ground meanwhile.
        run_ids = list_forgettable_runs(store, before)
        rows = [(run_id,) for run_id in run_ids]
        connection.executemany("UPDATE task_move SET run_id = NULL WHERE run_id = ?", rows)
        connection.executemany("DELETE FROM attempt WHERE run_id = ?", rows)
        connection.executemany("DELETE FROM run WHERE id = ?", rows)
    return run_ids


def _read_run(row: Any) -> RunRecord:
    return RunRecord(
        id=row["id"],
        repository_id=row["repository_id"],
        issue=row["issue"],
        plan_id=row["plan_id"],
        commit=row["commit_id"],
        tree=row["tree_id"],
        image=row["image"],
        image_id=row["image_id"],
        image_chosen=bool(row["image_chosen"]),
        engine=json.loads(row["engine"]) if row["engine"] else None,
        policy_digest=row["policy_digest"],
        log_head=row["log_head"],
        items=tuple(json.loads(row["items"])),
        complete=bool(row["complete"]),
        options=json.loads(row["options"]),
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        exit_code=row["exit_code"],
    )
