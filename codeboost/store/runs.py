"""Runs, attempts, and the task moves that follow from them, in the store (design §6 and §7)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from codeboost.limits import Limits
from codeboost.store.database import Store, utc_now
from codeboost.verdict import Verdict

__all__ = [
    "Attempt",
    "KeptStream",
    "RunRecord",
    "TaskMove",
    "add_attempt",
    "add_run",
    "add_task_move",
    "end_run",
    "find_attempt",
    "find_attempts",
    "find_last_move",
    "find_passed_attempt",
    "find_run",
    "find_successor",
    "forget_runs",
    "is_pending",
    "list_all_runs",
    "list_attempts",
    "list_decisive_attempts",
    "list_forgettable_runs",
    "list_last_attempts",
    "list_pending_moves",
    "list_run_moves",
    "list_runs",
    "reopen_run",
    "settle_move",
    "supersede_unwritten_moves",
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


# Runs


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
                _dump(engine) if engine is not None else None,
                policy_digest,
                log_head,
                _dump(list(items)),
                complete,
                _dump(options),
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
            (_dump(note), run_id),
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


# Attempts


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
            _dump(attempt.argv),
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
            _dump(asdict(attempt.limits)),
            _dump(dict(attempt.limits_in_force)),
            attempt.container_id,
            attempt.image_id,
            _dump(asdict(attempt.stdout)) if attempt.stdout else None,
            _dump(asdict(attempt.stderr)) if attempt.stderr else None,
            _dump(attempt.warnings),
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


# Task moves


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


# Rows


_SELECT_ATTEMPTS = (
    "SELECT a.*, o.run_id AS reused_run FROM attempt a JOIN run r ON r.id = a.run_id"
    " LEFT JOIN attempt o ON o.id = a.reused_from"
)


def _select_attempts(store: Store, condition: str, *values: object) -> list[Attempt]:
    # Every condition is a literal of this module.
    rows = store.connection.execute(f"{_SELECT_ATTEMPTS} WHERE {condition}", values)
    return [_read_attempt(row) for row in rows]


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


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
