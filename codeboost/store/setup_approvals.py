"""What a person said about the inputs of ``[setup]`` where they differ from the reviewed ones (design §4)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from codeboost.store.database import Store, utc_now

__all__ = ["SetupApproval", "add_setup_approval", "find_setup_approval"]


@dataclass(frozen=True, slots=True)
class SetupApproval:
    """That a person approved exactly this content; ``how`` is ``key`` or ``--yes``, ``approved_at`` is UTC."""

    id: int
    inputs_sha256: str
    inputs: Mapping[str, str | None]
    """Path to mode and object id; None for what is absent."""
    commit: str
    approver: str
    git_identity: str | None
    approved_at: str
    how: str


def add_setup_approval(
    store: Store,
    repository_id: int,
    *,
    inputs_sha256: str,
    inputs: Mapping[str, str | None],
    commit: str,
    approver: str,
    git_identity: str | None,
    how: str,
) -> SetupApproval:
    """Record an approval; a second one of the same content changes nothing."""
    with store.transaction() as connection:
        connection.execute(
            "INSERT INTO setup_approval (repository_id, inputs_sha256, inputs, commit_id, approver, git_identity,"
            " approved_at, how) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                repository_id,
                inputs_sha256,
                json.dumps(dict(inputs), ensure_ascii=False),
                commit,
                approver,
                git_identity,
                utc_now(),
                how,
            ),
        )
    found = find_setup_approval(store, repository_id, inputs_sha256)
    assert found is not None  # noqa: S101 - a row was inserted, or was there
    return found


def find_setup_approval(store: Store, repository_id: int, inputs_sha256: str) -> SetupApproval | None:
    row = store.connection.execute(
        "SELECT * FROM setup_approval WHERE repository_id = ? AND inputs_sha256 = ?",
        (repository_id, inputs_sha256),
    ).fetchone()
    if row is None:
        return None
    return SetupApproval(
        id=row["id"],
        inputs_sha256=row["inputs_sha256"],
        inputs=json.loads(row["inputs"]),
        commit=row["commit_id"],
        approver=row["approver"],
        git_identity=row["git_identity"],
        approved_at=row["approved_at"],
        how=row["how"],
    )
