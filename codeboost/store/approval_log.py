"""The log of approvals: append-only, one chain of SHA-256 digests a repository (design §4).

Anyone who can write the database as this user can also forge a consistent log. The chain makes an edit visible, and
the head that every run records makes a rewritten history visible; neither makes it impossible.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from codeboost.command.grammar import Argv
from codeboost.errors import StoreError
from codeboost.store.database import Store, utc_now

__all__ = [
    "GENESIS",
    "Author",
    "LogEntry",
    "LogKind",
    "Pin",
    "append_entry",
    "damaged",
    "digest_argv",
    "encode_argv",
    "list_log",
    "read_entries",
    "read_head",
    "read_row",
]

GENESIS = "0" * 64
"""The head digest of a repository whose log is empty."""


class LogKind(StrEnum):
    APPROVE = "approve"
    REVOKE = "revoke"
    REFUSED = "refused"


class Author(NamedTuple):
    """Who did it: the user of the operating system, and the identity that git is set up with."""

    approver: str
    git_identity: str | None


class Pin(NamedTuple):
    """A path of the tree and the object that it named; ``oid`` is None when there was nothing.

    ``asked`` tells a pin that a person added (``--pin``) from the files that argv[0] itself resolves to.
    """

    path: str
    oid: str | None
    asked: bool = False


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One row. ``at`` is UTC, ISO 8601; ``rev`` is where the pins are from; ``target`` the approval that a revoke ends."""

    id: int
    kind: LogKind
    argv: Argv
    author: Author
    at: str
    how: str
    reason: str
    rev: str | None
    pins: tuple[Pin, ...]
    target: int | None
    digest: str


def encode_argv(argv: Sequence[str]) -> str:
    """Canonical JSON: equal text means equal argv."""
    return _encode(list(argv))


def digest_argv(argv: Sequence[str]) -> str:
    """SHA-256 of the argv as canonical JSON: the name of a command."""
    return _sha256(encode_argv(argv))


def list_log(store: Store, repository_id: int) -> list[LogEntry]:
    """The whole history, oldest first. StoreError when it was edited."""
    with store.read() as connection:
        return read_entries(connection, repository_id)


def read_head(connection: sqlite3.Connection, repository_id: int) -> str:
    """The digest of the newest row: it stands for the whole history before it."""
    row = connection.execute(
        "SELECT digest FROM approval_log WHERE repository_id = ? ORDER BY id DESC LIMIT 1", (repository_id,)
    ).fetchone()
    return row["digest"] if row else GENESIS


def read_entries(connection: sqlite3.Connection, repository_id: int) -> list[LogEntry]:
    """Every row, oldest first, each checked against its digest and against the row before it."""
    head = GENESIS
    entries = []
    rows = connection.execute(
        "SELECT * FROM approval_log WHERE repository_id = ? ORDER BY id", (repository_id,)
    )
    for row in rows:
        if row["previous"] != head:
            raise damaged(f"entry {row['id']} does not follow from the one before it")
        entries.append(read_row(row))
        head = row["digest"]
    return entries


def read_row(row: sqlite3.Row) -> LogEntry:
    """One row, checked against its own digest."""
    if _sha256(_encode({name: row[name] for name in _CONTENT})) != row["digest"]:
        raise damaged(f"entry {row['id']} is not what was written")
    try:
        argv = tuple(json.loads(row["argv"]))
        pins = tuple(Pin(*pin) for pin in json.loads(row["pins"]))
        kind = LogKind(row["kind"])
    except (ValueError, TypeError):
        raise damaged(f"entry {row['id']} cannot be read") from None
    author = Author(row["approver"], row["git_identity"])
    return LogEntry(
        id=row["id"],
        kind=kind,
        argv=argv,
        author=author,
        at=row["at"],
        how=row["how"],
        reason=row["reason"],
        rev=row["rev"],
        pins=pins,
        target=row["target"],
        digest=row["digest"],
    )


def append_entry(
    connection: sqlite3.Connection,
    repository_id: int,
    kind: LogKind,
    argv: Argv,
    author: Author,
    *,
    how: str,
    reason: str,
    rev: str | None = None,
    pins: Sequence[Pin] = (),
    target: int | None = None,
) -> int:
    """Add a row inside the caller's transaction; the answer is its number."""
    values: dict[str, str | int | None] = {
        "repository_id": repository_id,
        "kind": kind.value,
        "argv": encode_argv(argv),
        "approver": author.approver,
        "git_identity": author.git_identity,
        "at": utc_now(),
        "how": how,
        "reason": reason,
        "rev": rev,
        "pins": _encode([list(pin) for pin in pins]),
        "target": target,
        "previous": read_head(connection, repository_id),
    }
    values["digest"] = _sha256(_encode(values))
    columns = ", ".join(values)
    marks = ", ".join("?" * len(values))
    cursor = connection.execute(
        f"INSERT INTO approval_log ({columns}) VALUES ({marks})",  # noqa: S608 - the names are those above
        tuple(values.values()),
    )
    assert cursor.lastrowid is not None  # noqa: S101 - an INSERT that did not raise has one
    return cursor.lastrowid


def damaged(what: str) -> StoreError:
    return StoreError(
        f"the approval log in the store is damaged: {what}; nothing runs on its word",
        hint="restore the store from a backup, or approve again in a fresh one",
    )


# Made once: json.dumps makes one a call, and a run encodes the whole log.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)
_CONTENT = [
    "repository_id",
    "kind",
    "argv",
    "approver",
    "git_identity",
    "at",
    "how",
    "reason",
    "rev",
    "pins",
    "target",
    "previous",
]


def _encode(value: object) -> str:
    return _ENCODER.encode(value)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
