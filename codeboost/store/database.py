"""The store: one SQLite database in the user's data folder, out of reach of plans and containers (design §4).

Everything a person decided and everything that was observed lives here: repositories, plan revisions, approvals, runs
and attempts. Command output lies beside it in files. A store newer than the program is refused.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from codeboost.errors import StoreError, UsageError
from codeboost.visible import cut

__all__ = ["Store", "encode_json", "find_home", "utc_now"]

_MIGRATIONS = Path(__file__).parent / "migrations"
# Longer than any transaction of ours; another process that holds the lock for longer is stuck.
_BUSY_MS = 30_000


def find_home() -> Path:
    """The folder of the store: ``CODEBOOST_HOME``, else the user's data folder.

    UsageError for a relative one: what a person approved would be another in each folder, and could lie in a checkout.
    """
    named = os.environ.get("CODEBOOST_HOME")
    if named:
        home = Path(named).expanduser()
        if not home.is_absolute():
            raise UsageError(f"CODEBOOST_HOME has to be an absolute path, and is {cut(named, 200)}")
        return home
    from platformdirs import user_data_path  # noqa: PLC0415 - only when the environment does not say

    return user_data_path("codeboost", appauthor=False)


def utc_now() -> str:
    """The time as it is stored: ISO 8601, UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def encode_json(value: object) -> str:
    """JSON as it is stored in a column."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(slots=True)
class Store:
    """An open store. Not for several threads at once: whoever opened it reads and writes it."""

    home: Path
    id: str
    connection: sqlite3.Connection

    @classmethod
    def open(cls, home: Path | None = None) -> Store:
        """Open the store, made and migrated when needed. StoreError when it cannot be used."""
        folder = home or find_home()
        path = folder / "store.db"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # SQLite gives its side files the mode of the database, so this covers them all.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            connection = sqlite3.connect(path, timeout=_BUSY_MS / 1000, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"the store at {cut(str(path), 200)} cannot be opened: {error}") from error
        try:
            with _explain(path):
                connection.row_factory = sqlite3.Row
                for pragma in (
                    "journal_mode=WAL",
                    "foreign_keys=ON",
                    "synchronous=FULL",
                    "trusted_schema=OFF",
                ):
                    connection.execute(f"PRAGMA {pragma}")
                _migrate(connection, path)
                row = connection.execute("SELECT id FROM store").fetchone()
                if row is None:
                    raise StoreError(f"the store at {cut(str(path), 200)} is damaged: it has no identity")
        except BaseException:
            connection.close()
            raise
        return cls(folder, row["id"], connection)

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):
            # Reads happen everywhere; what they stumble over is the store's fault and nobody's bug.
            raise _unusable(self.home / "store.db", error) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing of it; writers of other processes wait. StoreError when the disk is full."""
        with _explain(self.home / "store.db"):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself when the disk was full.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Several reads that see one and the same state."""
        with _explain(self.home / "store.db"):
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            finally:
                self.connection.execute("COMMIT")


@contextmanager
def _explain(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.IntegrityError:
        # A rule of the schema said no: whoever asked knows what that means.
        raise
    except sqlite3.Error as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: sqlite3.Error) -> StoreError:
    return StoreError(f"the store at {cut(str(path), 200)} cannot be used: {error}")


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    steps = sorted(_MIGRATIONS.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    newest = int(steps[-1].name[:4])
    if _read_version(connection) == newest:
        return
    # Two processes may get here at once: the second finds the work done.
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _read_version(connection)
        if version > newest:
            raise StoreError(
                f"the store at {cut(str(path), 200)} has version {version}; this codeboost knows up to {newest}",
                hint="update codeboost",
            )
        for step in steps:
            if int(step.name[:4]) > version:
                for statement in _split_statements(step.read_text("utf-8")):
                    connection.execute(statement)
        if version == 0:
            connection.execute(
                "INSERT INTO store (id, created_at) VALUES (?, ?)", (secrets.token_hex(8), utc_now())
            )
        connection.execute(f"PRAGMA user_version = {newest}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _read_version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _split_statements(script: str) -> Iterator[str]:
    # sqlite3's executescript commits first, and a half migration must not stay.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
