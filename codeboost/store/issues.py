"""The issues that a person selected, and what GitHub said of them when it was last asked (design §4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from codeboost.store.database import Store, utc_now

__all__ = ["IssueRecord", "find_issue", "find_last_issue", "record_issue", "take_issue"]


@dataclass(frozen=True, slots=True)
class IssueRecord:
    """One issue. ``title``, ``state`` and ``body`` are None until it was fetched; times are ISO 8601, UTC."""

    number: int
    selected_at: str
    title: str | None
    state: str | None
    body: str | None
    fetched_at: str | None
    abandoned_at: str | None


def take_issue(store: Store, repository_id: int, number: int) -> IssueRecord:
    """Note that a person selected an issue, now; an abandoned one is taken up again."""
    with store.transaction() as connection:
        connection.execute(
            "INSERT INTO issue (repository_id, number, selected_at) VALUES (?, ?, ?)"
            " ON CONFLICT (repository_id, number)"
            " DO UPDATE SET abandoned_at = NULL, selected_at = excluded.selected_at",
            (repository_id, number, utc_now()),
        )
        row = connection.execute(f"{_SELECT} AND number = ?", (repository_id, number)).fetchone()
    return _read(row)


def record_issue(
    store: Store, repository_id: int, number: int, *, title: str, state: str, body: str
) -> IssueRecord | None:
    """Keep what GitHub said of a selected issue; None when it was never selected."""
    with store.transaction() as connection:
        connection.execute(
            "UPDATE issue SET title = ?, state = ?, body = ?, fetched_at = ? WHERE repository_id = ? AND number = ?",
            (title, state, body, utc_now(), repository_id, number),
        )
    return find_issue(store, repository_id, number)


def find_issue(store: Store, repository_id: int, number: int) -> IssueRecord | None:
    row = store.connection.execute(f"{_SELECT} AND number = ?", (repository_id, number)).fetchone()
    return _read(row) if row else None


def find_last_issue(store: Store, repository_id: int) -> IssueRecord | None:
    """The issue that was selected last, abandoned ones aside; None when there is none."""
    row = store.connection.execute(
        f"{_SELECT} AND abandoned_at IS NULL ORDER BY selected_at DESC, number DESC LIMIT 1", (repository_id,)
    ).fetchone()
    return _read(row) if row else None


_SELECT = "SELECT number, selected_at, title, state, body, fetched_at, abandoned_at FROM issue WHERE repository_id = ?"


def _read(row: Any) -> IssueRecord:
    return IssueRecord(*row)
