"""The approvals in force: exact commands that a person allowed, with the files they were pinned to (design §5)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from codeboost.command.grammar import Argv, format_command
from codeboost.errors import InputError, StoreError
from codeboost.store.approval_log import (
    GENESIS,
    Author,
    LogEntry,
    LogKind,
    Pin,
    append_entry,
    damaged,
    digest_argv,
    encode_argv,
    read_entries,
    read_head,
    read_row,
)
from codeboost.store.database import Store

__all__ = [
    "Approval",
    "LogCheck",
    "NewApproval",
    "add_approvals",
    "check_argv",
    "find_approvals",
    "find_similar_approvals",
    "list_approvals",
    "record_refusal",
    "revoke_approvals",
    "verify_log",
]


@dataclass(frozen=True, slots=True)
class NewApproval:
    """What a person approves: ``how`` is ``key``, ``allow add`` or ``import``; ``rev`` is where the pins are from."""

    argv: Argv
    pins: tuple[Pin, ...]
    rev: str | None
    how: str
    reason: str


@dataclass(frozen=True, slots=True)
class Approval:
    """One approval in force. ``id`` is its number in the log; ``at`` is UTC, ISO 8601."""

    id: int
    argv: Argv
    author: Author
    at: str
    how: str
    reason: str
    rev: str | None
    pins: tuple[Pin, ...]


@dataclass(frozen=True, slots=True)
class LogCheck:
    """What ``verify_log`` found; ``problem`` is one sentence, None when the log is whole."""

    entries: int
    head: str
    problem: str | None


# Reading

_JOIN = "SELECT l.* FROM approval a JOIN approval_log l ON l.id = a.log_id WHERE a.repository_id = ? AND "


def list_approvals(store: Store, repository_id: int) -> tuple[list[Approval], str]:
    """Every approval in force, oldest first, and the head digest of the log they were read from.

    The whole log is checked on the way: StoreError when it was edited or does not lead to this list.
    """
    with store.read() as connection:
        entries = read_entries(connection, repository_id)
        rows = connection.execute(
            "SELECT log_id, argv FROM approval WHERE repository_id = ?", (repository_id,)
        )
        listed = {row["log_id"]: row["argv"] for row in rows}
    approvals = _replay(entries)
    if listed != {approval.id: encode_argv(approval.argv) for approval in approvals}:
        raise damaged("the list in force is not what the log amounts to")
    return approvals, entries[-1].digest if entries else GENESIS


def find_approvals(store: Store, repository_id: int, argv: Sequence[str]) -> list[Approval]:
    """The approvals in force of exactly this argv, oldest first; as quick among 10,000 others as among none.

    Only these rows are checked against their digests; ``list_approvals`` checks the whole log.
    """
    with store.read() as connection:
        return _find_exact(connection, repository_id, argv)


def find_similar_approvals(
    store: Store, repository_id: int, argv: Sequence[str], limit: int = 16
) -> list[Approval]:
    """Approvals that look like ``argv``: neighbours that begin alike, and those that differ in the program only."""
    text = encode_argv(argv)
    found: dict[int, Approval] = {}
    with store.read() as connection:
        for condition, value in (
            ("a.argv >= ? ORDER BY a.argv LIMIT ?", text),
            ("a.argv < ? ORDER BY a.argv DESC LIMIT ?", text),
            ("a.rest_sha256 = ? LIMIT ?", digest_argv(argv[1:])),
        ):
            for row in connection.execute(_JOIN + condition, (repository_id, value, limit)):
                found[row["id"]] = _as_approval(read_row(row))
    return list(found.values())


def verify_log(store: Store, repository_id: int) -> LogCheck:
    """Check every row, every link, the list in force, and that the heads which runs recorded are in the log."""
    try:
        _, head = list_approvals(store, repository_id)
        with store.read() as connection:
            entries = read_entries(connection, repository_id)
            rows = connection.execute(
                "SELECT id, log_head FROM run WHERE repository_id = ? ORDER BY id", (repository_id,)
            )
            runs = [(row["id"], row["log_head"]) for row in rows]
    except StoreError as error:
        return LogCheck(0, read_head(store.connection, repository_id), str(error))
    known = {GENESIS, *(entry.digest for entry in entries)}
    lost = next((run for run, recorded in runs if recorded not in known), None)
    problem = None
    if lost is not None:
        problem = f"run {lost} recorded a head that this log does not have: it was rewritten or cut short"
    return LogCheck(len(entries), head, problem)


# Writing


def add_approvals(
    store: Store, repository_id: int, wanted: Iterable[NewApproval], author: Author
) -> list[Approval]:
    """Approve; all of them or none. What is approved already, with these very pins, is not approved twice.

    A new approval of the same argv stands beside an older one when both pin the same extra files (two contents of
    ``./gradlew``, both looked at); otherwise it replaces it, and the log says so.
    InputError when an argv is one that no command could ever equal.
    """
    entries = list(wanted)
    for entry in entries:
        check_argv(entry.argv)
    with store.transaction() as connection:
        for entry in entries:
            _approve(connection, repository_id, entry, author)
        return [
            approval
            for entry in entries
            for approval in _find_exact(connection, repository_id, entry.argv)
            if approval.pins == entry.pins
        ]


def revoke_approvals(
    store: Store,
    repository_id: int,
    approvals: Iterable[Approval],
    author: Author,
    *,
    how: str,
    reason: str,
) -> list[Approval]:
    """End these approvals; the answer is those that were still in force."""
    with store.transaction() as connection:
        return [
            approval
            for approval in approvals
            if _end(connection, repository_id, approval, author, how=how, reason=reason)
        ]


def record_refusal(
    store: Store, repository_id: int, argv: Argv, author: Author, *, how: str, reason: str
) -> None:
    """Note that a command was seen and not approved, or wanted to run and might not."""
    with store.transaction() as connection:
        append_entry(connection, repository_id, LogKind.REFUSED, argv, author, how=how, reason=reason)


def check_argv(argv: Sequence[str]) -> None:
    """InputError when no command can have this argv: such an approval would lie there for nothing."""
    try:
        format_command(argv)
        "".join(argv).encode("utf-8")
    except UnicodeEncodeError:
        raise InputError("the command holds bytes that are not UTF-8, and no plan can hold those") from None
    except ValueError as error:
        raise InputError(f"this can never be approved: {error}") from None


def _approve(connection: sqlite3.Connection, repository_id: int, entry: NewApproval, author: Author) -> None:
    current = _find_exact(connection, repository_id, entry.argv)
    if any(approval.pins == entry.pins for approval in current):
        return
    for approval in current:
        if _asked_paths(approval.pins) != _asked_paths(entry.pins):
            reason = "replaced by an approval that pins other files"
            _end(connection, repository_id, approval, author, how=entry.how, reason=reason)
    log_id = append_entry(
        connection,
        repository_id,
        LogKind.APPROVE,
        entry.argv,
        author,
        how=entry.how,
        reason=entry.reason,
        rev=entry.rev,
        pins=entry.pins,
    )
    connection.execute(
        "INSERT INTO approval (log_id, repository_id, argv, argv_sha256, rest_sha256) VALUES (?, ?, ?, ?, ?)",
        (
            log_id,
            repository_id,
            encode_argv(entry.argv),
            digest_argv(entry.argv),
            digest_argv(entry.argv[1:]),
        ),
    )


def _asked_paths(pins: Iterable[Pin]) -> frozenset[str]:
    return frozenset(pin.path for pin in pins if pin.asked)


def _end(
    connection: sqlite3.Connection,
    repository_id: int,
    approval: Approval,
    author: Author,
    *,
    how: str,
    reason: str,
) -> bool:
    cursor = connection.execute(
        "DELETE FROM approval WHERE log_id = ? AND repository_id = ?", (approval.id, repository_id)
    )
    if cursor.rowcount == 0:
        return False
    append_entry(
        connection,
        repository_id,
        LogKind.REVOKE,
        approval.argv,
        author,
        how=how,
        reason=reason,
        target=approval.id,
    )
    return True


def _find_exact(connection: sqlite3.Connection, repository_id: int, argv: Sequence[str]) -> list[Approval]:
    condition = "a.argv_sha256 = ? AND a.argv = ? ORDER BY l.id"
    rows = connection.execute(_JOIN + condition, (repository_id, digest_argv(argv), encode_argv(argv)))
    found = [_as_approval(read_row(row)) for row in rows]
    if any(approval.argv != tuple(argv) for approval in found):
        raise damaged("the list in force names another command than the log")
    return found


def _replay(entries: Iterable[LogEntry]) -> list[Approval]:
    current: dict[int, Approval] = {}
    for entry in entries:
        if entry.kind is LogKind.APPROVE:
            current[entry.id] = _as_approval(entry)
        elif entry.kind is LogKind.REVOKE:
            current.pop(entry.target or 0, None)
    return list(current.values())


def _as_approval(entry: LogEntry) -> Approval:
    if entry.kind is not LogKind.APPROVE:
        raise damaged(f"entry {entry.id} is in the list in force and approves nothing")
    return Approval(
        id=entry.id,
        argv=entry.argv,
        author=entry.author,
        at=entry.at,
        how=entry.how,
        reason=entry.reason,
        rev=entry.rev,
        pins=entry.pins,
    )
