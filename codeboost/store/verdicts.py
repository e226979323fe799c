"""What people and review agents said about ``check`` statements (design §6). Append-only: the newest word counts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from codeboost.store.database import Store, utc_now

__all__ = ["Answer", "CheckVerdict", "add_verdict", "find_verdict", "list_verdicts"]


class Answer(StrEnum):
    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class CheckVerdict:
    """One answer to one ``check`` of a revision, for one tree. ``position`` counts from 1 among all acceptance entries."""

    id: int
    plan_id: int
    item: str
    position: int
    commit: str
    tree: str
    answer: Answer
    note: str
    by: str
    at: str


def add_verdict(
    store: Store,
    *,
    plan_id: int,
    item: str,
    position: int,
    commit: str,
    tree: str,
    answer: Answer,
    note: str,
    by: str,
) -> CheckVerdict:
    """Record an answer; call it inside the transaction that also holds what follows from it."""
    cursor = store.connection.execute(
        "INSERT INTO check_verdict (plan_id, item, position, commit_id, tree_id, verdict, note, given_by, given_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (plan_id, item, position, commit, tree, answer.value, note, by, utc_now()),
    )
    row = store.connection.execute("SELECT * FROM check_verdict WHERE id = ?", (cursor.lastrowid,)).fetchone()
    return _read(row)


def find_verdict(store: Store, verdict_id: int) -> CheckVerdict | None:
    row = store.connection.execute("SELECT * FROM check_verdict WHERE id = ?", (verdict_id,)).fetchone()
    return _read(row) if row else None


def list_verdicts(store: Store, plan_id: int, tree: str) -> dict[tuple[str, int], CheckVerdict]:
    """The newest answer to each statement of this revision on this very tree, by item and position."""
    rows = store.connection.execute(
        "SELECT * FROM check_verdict WHERE plan_id = ? AND tree_id = ? ORDER BY id", (plan_id, tree)
    )
    return {(row["item"], row["position"]): _read(row) for row in rows}


def _read(row: Any) -> CheckVerdict:
    return CheckVerdict(
        id=row["id"],
        plan_id=row["plan_id"],
        item=row["item"],
        position=row["position"],
        commit=row["commit_id"],
        tree=row["tree_id"],
        answer=Answer(row["verdict"]),
        note=row["note"],
        by=row["given_by"],
        at=row["given_at"],
    )
