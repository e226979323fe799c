"""Changes of a task's status that follow from a result, stored with it and written into the file after it (design §6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from codeboost.store.database import Store, utc_now

__all__ = [
    "TaskMove",
    "add_task_move",
    "find_last_move",
    "is_pending",
    "list_pending_moves",
    "list_run_moves",
    "settle_move",
    "supersede_unwritten_moves",
]


@dataclass(frozen=True, slots=True)
class TaskMove:
    """A change of a task's status that a run or a verdict wants: made with the result, written to the file after it."""

    id: int
    run_id: int | None
    root: str
    task: str
    from_status: str
    to_status: str
    expected_sha256: str
    state: str


def add_task_move(
    store: Store,
    *,
    repository_id: int,
    run_id: int | None,
    root: str,
    task: str,
    from_status: str,
    to_status: str,
    expected_sha256: str,
) -> TaskMove:
    """Record an intended change of a task's status; call it inside the transaction of the result it follows from."""
    cursor = store.connection.execute(
        "INSERT INTO task_move (repository_id, run_id, root, task, from_status, to_status, expected_sha256, state,"
        " made_at) VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', ?)",
        (repository_id, run_id, root, task, from_status, to_status, expected_sha256, utc_now()),
    )
    assert cursor.lastrowid is not None  # noqa: S101 - a row was inserted
    return TaskMove(cursor.lastrowid, run_id, root, task, from_status, to_status, expected_sha256, "pending")


def settle_move(store: Store, move: TaskMove, state: str) -> None:
    """``written``, or ``superseded`` when the file had been changed by someone else; what is settled stays so."""
    with store.transaction() as connection:
        connection.execute(
            "UPDATE task_move SET state = ? WHERE id = ? AND state = 'pending'", (state, move.id)
        )


def is_pending(store: Store, move: TaskMove) -> bool:
    """Whether nobody has settled this move since it was read."""
    row = store.connection.execute("SELECT state FROM task_move WHERE id = ?", (move.id,)).fetchone()
    return row is not None and row["state"] == "pending"


def supersede_unwritten_moves(
    store: Store, repository_id: int, root: str, task: str, expected_sha256: str
) -> bool:
    """Give up moves that still wait for this very file, because a newer one takes their place; whether there were any.

    Call it inside the transaction that adds the newer one.
    """
    cursor = store.connection.execute(
        "UPDATE task_move SET state = 'superseded' WHERE repository_id = ? AND root = ? AND task = ?"
        " AND state = 'pending' AND expected_sha256 = ?",
        (repository_id, root, task, expected_sha256),
    )
    return cursor.rowcount > 0


def list_pending_moves(store: Store, repository_id: int) -> list[TaskMove]:
    """Moves whose file may not have been written, oldest first."""
    rows = store.connection.execute(
        "SELECT * FROM task_move WHERE repository_id = ? AND state = 'pending' ORDER BY id", (repository_id,)
    )
    return [_read_move(row) for row in rows]


def list_run_moves(store: Store, run_id: int) -> list[TaskMove]:
    """What a run did to tasks so far, oldest first."""
    rows = store.connection.execute("SELECT * FROM task_move WHERE run_id = ? ORDER BY id", (run_id,))
    return [_read_move(row) for row in rows]


def find_last_move(store: Store, repository_id: int, root: str, task: str) -> TaskMove | None:
    """The last status that a run gave a task: only its own ``decision`` may a run take back."""
    row = store.connection.execute(
        "SELECT * FROM task_move WHERE repository_id = ? AND root = ? AND task = ? AND state = 'written'"
        " ORDER BY id DESC LIMIT 1",
        (repository_id, root, task),
    ).fetchone()
    return _read_move(row) if row else None


def _read_move(row: Any) -> TaskMove:
    return TaskMove(
        row["id"],
        row["run_id"],
        row["root"],
        row["task"],
        row["from_status"],
        row["to_status"],
        row["expected_sha256"],
        row["state"],
    )
