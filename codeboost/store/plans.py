"""Repositories, checkouts, issues and plan revisions in the store (design §4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codeboost.plan.canonical import decode_plan, digest_plan, encode_plan, with_revision
from codeboost.plan.model import Plan
from codeboost.store.database import Store, utc_now

__all__ = [
    "PlanApproval",
    "RepositoryRecord",
    "StoredPlan",
    "abandon_issue",
    "add_plan",
    "approve_plan",
    "bind_checkout",
    "find_checkout",
    "find_exported_plan",
    "find_latest_plan",
    "find_plan",
    "find_plan_by_id",
    "find_repository",
    "is_abandoned",
    "is_ci_plan",
    "list_exports",
    "list_plans",
    "record_export",
    "select_issue",
]


@dataclass(frozen=True, slots=True)
class RepositoryRecord:
    id: int
    host: str
    owner: str
    name: str

    @property
    def slug(self) -> str:
        return f"{self.owner}/{self.name}"

    def __str__(self) -> str:
        return f"{self.host}/{self.owner}/{self.name}"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout bound to a repository by a person; ``origin`` is what its remote said then."""

    common_dir: str
    repository: RepositoryRecord
    origin: str | None


@dataclass(frozen=True, slots=True)
class PlanApproval:
    """That a person approved the plan: what exactly, who, when (UTC) and how (``key`` or ``--yes``)."""

    sha256: str
    base_commit: str
    policy_digest: str
    approver: str
    git_identity: str | None
    approved_at: str
    how: str


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """One immutable revision. ``approval`` is None until a person approved it."""

    id: int
    repository_id: int
    issue: int
    revision: int
    sha256: str
    canonical: bytes
    base_commit: str
    policy_digest: str
    source: str
    imported_at: str
    approval: PlanApproval | None

    @property
    def plan(self) -> Plan:
        return decode_plan(self.canonical)


# Repositories and checkouts


def find_repository(store: Store, host: str, owner: str, name: str) -> RepositoryRecord:
    """The record of a repository, made when there is none yet."""
    with store.transaction() as connection:
        connection.execute(
            "INSERT INTO repository (host, owner, name, created_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (host, owner, name, utc_now()),
        )
        row = connection.execute(
            "SELECT id FROM repository WHERE host = ? AND owner = ? AND name = ?", (host, owner, name)
        ).fetchone()
    return RepositoryRecord(row["id"], host, owner, name)


def bind_checkout(store: Store, common_dir: str, repository: RepositoryRecord, origin: str | None) -> None:
    """Record that a person confirmed which repository this checkout belongs to."""
    with store.transaction() as connection:
        connection.execute(
            "INSERT INTO checkout (common_dir, repository_id, origin, bound_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (common_dir) DO UPDATE"
            " SET repository_id = excluded.repository_id, origin = excluded.origin, bound_at = excluded.bound_at",
            (common_dir, repository.id, origin, utc_now()),
        )


def find_checkout(store: Store, common_dir: str) -> Checkout | None:
    row = store.connection.execute(
        "SELECT c.common_dir, c.origin, r.id, r.host, r.owner, r.name FROM checkout c"
        " JOIN repository r ON r.id = c.repository_id WHERE c.common_dir = ?",
        (common_dir,),
    ).fetchone()
    if row is None:
        return None
    repository = RepositoryRecord(row["id"], row["host"], row["owner"], row["name"])
    return Checkout(row["common_dir"], repository, row["origin"])


def select_issue(store: Store, repository_id: int, number: int) -> None:
    """Note that work on an issue has begun; an abandoned one is taken up again."""
    with store.transaction() as connection:
        connection.execute(
            "INSERT INTO issue (repository_id, number, selected_at) VALUES (?, ?, ?)"
            " ON CONFLICT (repository_id, number) DO UPDATE SET abandoned_at = NULL",
            (repository_id, number, utc_now()),
        )


def abandon_issue(store: Store, repository_id: int, number: int) -> None:
    """Note that a person gave the work on an issue up; importing a plan for it takes it up again."""
    with store.transaction() as connection:
        connection.execute(
            "UPDATE issue SET abandoned_at = ? WHERE repository_id = ? AND number = ?",
            (utc_now(), repository_id, number),
        )


def is_abandoned(store: Store, repository_id: int, number: int) -> bool:
    row = store.connection.execute(
        "SELECT 1 FROM issue WHERE repository_id = ? AND number = ? AND abandoned_at IS NOT NULL",
        (repository_id, number),
    ).fetchone()
    return row is not None


# Plans

_COLUMNS = (
    "p.id, p.repository_id, p.issue, p.revision, p.sha256, p.canonical, p.base_commit, p.policy_digest,"
    " p.source, p.imported_at, a.sha256 AS a_sha256, a.base_commit AS a_base, a.policy_digest AS a_policy,"
    " a.approver, a.git_identity, a.approved_at, a.how"
)
_FROM = " FROM plan p LEFT JOIN plan_approval a ON a.plan_id = p.id"


def _next_revision(store: Store, repository_id: int, issue: int) -> int:
    row = store.connection.execute(
        "SELECT coalesce(max(revision), 0) + 1 AS next FROM plan WHERE repository_id = ? AND issue = ?",
        (repository_id, issue),
    ).fetchone()
    revision: int = row["next"]
    return revision


def add_plan(
    store: Store,
    repository_id: int,
    plan: Plan,
    *,
    base_commit: str,
    policy_digest: str,
    source: str,
    given_to_ci: bool = False,
) -> StoredPlan:
    """Store ``plan`` as the next revision of its issue; its own revision number is replaced.

    ``given_to_ci`` says that no person imported it here: ``run --ci`` was given it as a file.
    """
    with store.transaction() as connection:
        numbered = with_revision(plan, _next_revision(store, repository_id, plan.issue))
        cursor = connection.execute(
            "INSERT INTO plan (repository_id, issue, revision, sha256, canonical, base_commit, policy_digest,"
            " source, imported_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                repository_id,
                numbered.issue,
                numbered.revision,
                digest_plan(numbered),
                encode_plan(numbered),
                base_commit,
                policy_digest,
                source,
                utc_now(),
            ),
        )
        if given_to_ci:
            connection.execute(
                "INSERT INTO ci_plan (plan_id, made_at) VALUES (?, ?)", (cursor.lastrowid, utc_now())
            )
        stored = _select(store, "p.id = ?", (cursor.lastrowid,))[0]
    return stored


def is_ci_plan(store: Store, plan_id: int) -> bool:
    """Whether ``run --ci`` was given this plan: nobody approved it here, and only such a run takes it for fixed."""
    row = store.connection.execute("SELECT 1 FROM ci_plan WHERE plan_id = ?", (plan_id,)).fetchone()
    return row is not None


def find_latest_plan(store: Store, repository_id: int, issue: int) -> StoredPlan | None:
    """The newest revision for an issue, or None."""
    found = _select(
        store, "p.repository_id = ? AND p.issue = ? ORDER BY p.revision DESC LIMIT 1", (repository_id, issue)
    )
    return found[0] if found else None


def find_plan(store: Store, repository_id: int, issue: int, revision: int) -> StoredPlan | None:
    found = _select(
        store,
        "p.repository_id = ? AND p.issue = ? AND p.revision = ?",
        (repository_id, issue, revision),
    )
    return found[0] if found else None


def find_plan_by_id(store: Store, plan_id: int) -> StoredPlan | None:
    found = _select(store, "p.id = ?", (plan_id,))
    return found[0] if found else None


def list_plans(store: Store, repository_id: int, issue: int | None = None) -> list[StoredPlan]:
    """Every revision, by issue and revision; of one issue when it is named."""
    if issue is None:
        return _select(store, "p.repository_id = ? ORDER BY p.issue, p.revision", (repository_id,))
    return _select(store, "p.repository_id = ? AND p.issue = ? ORDER BY p.revision", (repository_id, issue))


def approve_plan(
    store: Store, plan: StoredPlan, approver: str, git_identity: str | None, how: str
) -> StoredPlan:
    """Record a person's approval of one revision; a second one changes nothing."""
    with store.transaction() as connection:
        connection.execute(
            "INSERT INTO plan_approval (plan_id, sha256, base_commit, policy_digest, approver, git_identity,"
            " approved_at, how) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (plan_id) DO NOTHING",
            (
                plan.id,
                plan.sha256,
                plan.base_commit,
                plan.policy_digest,
                approver,
                git_identity,
                utc_now(),
                how,
            ),
        )
        stored = _select(store, "p.id = ?", (plan.id,))[0]
    return stored


# Files that import wrote


def record_export(store: Store, repository_id: int, plan_id: int, digests: dict[str, str]) -> None:
    """Remember what import wrote: planning-root-relative path to SHA-256 of the body, to tell a person's edit later.

    The revision counts as exported from then on.
    """
    with store.transaction() as connection:
        connection.executemany(
            "INSERT INTO exported_file (repository_id, path, body_sha256, plan_id) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (repository_id, path) DO UPDATE"
            " SET body_sha256 = excluded.body_sha256, plan_id = excluded.plan_id",
            [(repository_id, path, digest, plan_id) for path, digest in digests.items()],
        )
        connection.execute(
            "INSERT INTO plan_export (plan_id, exported_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (plan_id, utc_now()),
        )


def find_exported_plan(store: Store, repository_id: int, issue: int) -> StoredPlan | None:
    """The newest revision whose planning files were written whole, or None."""
    found = _select(
        store,
        "p.repository_id = ? AND p.issue = ? AND p.id IN (SELECT plan_id FROM plan_export)"
        " ORDER BY p.revision DESC LIMIT 1",
        (repository_id, issue),
    )
    return found[0] if found else None


def list_exports(store: Store, repository_id: int) -> dict[str, str]:
    """Planning-root-relative path to the SHA-256 of the body that import last wrote there."""
    rows = store.connection.execute(
        "SELECT path, body_sha256 FROM exported_file WHERE repository_id = ?", (repository_id,)
    )
    return {row["path"]: row["body_sha256"] for row in rows}


def _select(store: Store, condition: str, values: Sequence[object]) -> list[StoredPlan]:
    # Every condition is a literal of this module.
    rows = store.connection.execute(f"SELECT {_COLUMNS}{_FROM} WHERE {condition}", tuple(values))
    return [
        StoredPlan(
            id=row["id"],
            repository_id=row["repository_id"],
            issue=row["issue"],
            revision=row["revision"],
            sha256=row["sha256"],
            canonical=bytes(row["canonical"]),
            base_commit=row["base_commit"],
            policy_digest=row["policy_digest"],
            source=row["source"],
            imported_at=row["imported_at"],
            approval=None
            if row["approver"] is None
            else PlanApproval(
                row["a_sha256"],
                row["a_base"],
                row["a_policy"],
                row["approver"],
                row["git_identity"],
                row["approved_at"],
                row["how"],
            ),
        )
        for row in rows
    ]
