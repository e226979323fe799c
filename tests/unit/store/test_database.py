"""The store as a file: made once, migrated once, refused when it is newer or damaged, whole after every accident."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import time
from pathlib import Path

import pytest

from codeboost.errors import StoreError, UsageError
from codeboost.store.database import Store, find_home
from codeboost.store.plans import find_repository


def test_a_new_store_is_private_and_has_an_identity(tmp_path: Path) -> None:
    with Store.open(tmp_path / "home") as store:
        assert len(store.id) == 16
    with Store.open(tmp_path / "home") as again:
        assert again.id == store.id
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    for path in (tmp_path / "home").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600, path


@pytest.mark.parametrize("named", ["home", "./home", "../home"])
def test_a_home_that_depends_on_the_folder_is_refused(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("CODEBOOST_HOME", named)
    with pytest.raises(UsageError, match=r"CODEBOOST_HOME has to be an absolute path"):
        find_home()


def test_a_store_newer_than_the_program_is_refused_untouched(tmp_path: Path) -> None:
    Store.open(tmp_path).close()
    with sqlite3.connect(tmp_path / "store.db") as raw:
        raw.execute("PRAGMA user_version = 9999")
    with pytest.raises(StoreError, match="version 9999"):
        Store.open(tmp_path)
    with sqlite3.connect(tmp_path / "store.db") as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (9999,)


@pytest.mark.parametrize(
    "content",
    [b"not a database at all, but long enough to be read as one" * 40, b"SQLite format 3\0" + b"\xff" * 4096],
)
def test_a_damaged_store_is_an_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "store.db").write_bytes(content)
    with pytest.raises(StoreError, match=str(tmp_path / "store.db")):
        Store.open(tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store.open(tmp_path / "file" / "home")


def test_an_exception_rolls_back_and_the_store_goes_on(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        with pytest.raises(KeyError), store.transaction() as connection:
            connection.execute(
                "INSERT INTO repository (host, owner, name, created_at) VALUES ('h', 'o', 'n', 't')"
            )
            raise KeyError
        assert store.connection.execute("SELECT count(*) FROM repository").fetchone()[0] == 0
        find_repository(store, "h", "o", "n")
        assert store.connection.execute("SELECT count(*) FROM repository").fetchone()[0] == 1


def test_a_full_disk_is_a_store_error_and_loses_nothing(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        find_repository(store, "h", "o", "before")
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
        store.connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="full"), store.transaction() as connection:
            connection.execute(
                "INSERT INTO repository (host, owner, name, created_at) VALUES ('h', 'o', ?, 't')",
                ("n" * 1_000_000,),
            )
        store.connection.execute("PRAGMA max_page_count = 1000000")
        assert [row["name"] for row in store.connection.execute("SELECT name FROM repository")] == ["before"]
        find_repository(store, "h", "o", "after")


def _open_and_add(home: Path, name: str) -> None:
    with Store.open(home) as store:
        find_repository(store, "h", "o", name)


def test_twenty_processes_make_one_store_together(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_open_and_add, args=(tmp_path, f"n{n}")) for n in range(20)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    with Store.open(tmp_path) as store:
        names = {row["name"] for row in store.connection.execute("SELECT name FROM repository")}
        assert names == {f"n{n}" for n in range(20)}
        assert store.connection.execute("SELECT count(*) FROM store").fetchone()[0] == 1


def _write_for_ever(home: Path) -> None:
    with Store.open(home) as store:
        for number in range(1_000_000):
            with store.transaction() as connection:
                for half in ("a", "b"):
                    connection.execute(
                        "INSERT INTO repository (host, owner, name, created_at) VALUES (?, 'o', ?, 't')",
                        (half, str(number)),
                    )


def test_kill_9_leaves_whole_transactions(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_write_for_ever, args=(tmp_path,))
    process.start()
    deadline = time.monotonic() + 30
    while not (tmp_path / "store.db-wal").exists() or (tmp_path / "store.db-wal").stat().st_size < 200_000:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(10)
    with Store.open(tmp_path) as store:
        assert store.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        halves = [
            {
                row["name"]
                for row in store.connection.execute("SELECT name FROM repository WHERE host = ?", (host,))
            }
            for host in ("a", "b")
        ]
        assert halves[0] == halves[1]
        assert halves[0]


def test_damage_that_shows_while_reading_is_an_error_that_names_the_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=str(tmp_path / "store.db")), Store.open(tmp_path) as store:
        store.connection.execute("SELECT nothing FROM nowhere")


def test_a_commit_that_fails_leaves_no_transaction_open(tmp_path: Path) -> None:
    """A deferred foreign key is looked at last, as a full disk may be."""
    with Store.open(tmp_path) as store:
        with pytest.raises(sqlite3.IntegrityError), store.transaction() as connection:
            connection.execute("PRAGMA defer_foreign_keys = ON")
            connection.execute(
                "INSERT INTO issue (repository_id, number, selected_at) VALUES (99, 1, 'never')"
            )
        assert not store.connection.in_transaction
        find_repository(store, "h", "o", "after")
