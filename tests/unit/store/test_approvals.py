"""The log of approvals and the list in force: exact, append-only, and every edit noticed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeboost.errors import InputError, StoreError
from codeboost.store.approval_log import GENESIS, Author, LogKind, Pin, list_log, read_head
from codeboost.store.approvals import (
    NewApproval,
    add_approvals,
    find_approvals,
    find_similar_approvals,
    list_approvals,
    record_refusal,
    revoke_approvals,
    verify_log,
)
from codeboost.store.database import Store
from codeboost.store.plans import find_repository

ADA = Author("ada", "Ada <ada@example.org>")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "home") as store:
        yield store


@pytest.fixture
def repository(store: Store) -> int:
    return find_repository(store, "github.com", "o", "n").id


def new(*argv: str, pins: tuple[Pin, ...] = (), reason: str = "") -> NewApproval:
    return NewApproval(argv, pins, "c" * 40, "key", reason)


def tamper(store: Store, statement: str) -> None:
    """What a process with the same rights could do: the triggers keep out accidents, not malice."""
    for trigger in ("approval_log_is_never_edited", "approval_log_is_never_cut"):
        store.connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    store.connection.execute("PRAGMA foreign_keys=OFF")
    store.connection.execute(statement)


def test_an_approval_keeps_who_when_why_and_how(store: Store, repository: int) -> None:
    pins = (Pin("run.sh", "a" * 40), Pin("Makefile", None, asked=True))
    (made,) = add_approvals(store, repository, [new("./run.sh", "", "a b", pins=pins, reason="why")], ADA)
    (found,) = find_approvals(store, repository, ("./run.sh", "", "a b"))
    assert found == made
    assert (found.author, found.how, found.reason, found.rev, found.pins) == (
        ADA,
        "key",
        "why",
        "c" * 40,
        pins,
    )
    assert found.at.endswith("Z")
    assert list_approvals(store, repository)[0] == [made]


def test_only_the_exact_argv_is_found(store: Store, repository: int) -> None:
    add_approvals(store, repository, [new("npm", "test"), new("é"), new("cmd", "")], ADA)
    for argv in (
        ("npm",),
        ("npm", "test", ""),
        ("npm test",),
        ("Npm", "test"),
        ("e\u0301",),
        ("cmd",),
        ("npm", "test "),
    ):
        assert find_approvals(store, repository, argv) == []
    assert len(find_approvals(store, repository, ("cmd", ""))) == 1


def test_one_repository_knows_nothing_of_another(store: Store, repository: int) -> None:
    other = find_repository(store, "github.com", "o", "other").id
    add_approvals(store, repository, [new("npm", "test")], ADA)
    assert find_approvals(store, other, ("npm", "test")) == []
    assert list_approvals(store, other) == ([], GENESIS)
    assert read_head(store.connection, other) == GENESIS


def test_the_same_approval_twice_is_one(store: Store, repository: int) -> None:
    first = add_approvals(store, repository, [new("a"), new("a")], ADA)
    second = add_approvals(store, repository, [new("a")], Author("bob", None))
    assert {approval.id for approval in (*first, *second)} == {1}
    assert len(list_log(store, repository)) == 1


def test_two_contents_of_one_program_may_both_be_approved(store: Store, repository: int) -> None:
    add_approvals(store, repository, [new("./x", pins=(Pin("x", "a" * 40),))], ADA)
    add_approvals(store, repository, [new("./x", pins=(Pin("x", "b" * 40),))], ADA)
    assert len(find_approvals(store, repository, ("./x",))) == 2


def test_pinning_other_files_replaces_and_the_log_says_so(store: Store, repository: int) -> None:
    add_approvals(store, repository, [new("make", "test")], ADA)
    pinned = (Pin("Makefile", "a" * 40, asked=True),)
    add_approvals(store, repository, [new("make", "test", pins=pinned)], ADA)
    (found,) = find_approvals(store, repository, ("make", "test"))
    assert found.pins == pinned
    assert [(entry.kind, entry.target) for entry in list_log(store, repository)] == [
        (LogKind.APPROVE, None),
        (LogKind.REVOKE, 1),
        (LogKind.APPROVE, None),
    ]


def test_a_revoked_approval_is_gone_and_stays_in_the_log(store: Store, repository: int) -> None:
    made = add_approvals(store, repository, [new("a"), new("b")], ADA)
    assert revoke_approvals(store, repository, made[:1], ADA, how="allow revoke", reason="no") == made[:1]
    assert revoke_approvals(store, repository, made[:1], ADA, how="allow revoke", reason="no") == []
    assert list_approvals(store, repository)[0] == made[1:]
    assert [entry.kind for entry in list_log(store, repository)] == ["approve", "approve", "revoke"]
    assert verify_log(store, repository).problem is None


def test_a_refusal_is_history_and_nothing_else(store: Store, repository: int) -> None:
    record_refusal(store, repository, ("rm", "-rf"), ADA, how="key", reason="no")
    assert list_approvals(store, repository)[0] == []
    assert list_log(store, repository)[0].kind is LogKind.REFUSED


@pytest.mark.parametrize(
    "argv", [(), ("",), ("", "x"), ("a\\b",), ("a", "b\nc"), ("a\x9f",), ("a", "\udc80")]
)
def test_what_no_command_can_be_is_not_approved(store: Store, repository: int, argv: tuple[str, ...]) -> None:
    with pytest.raises(InputError):
        add_approvals(store, repository, [new("fine"), new(*argv)], ADA)
    assert list_log(store, repository) == []


def test_neighbours_are_found(store: Store, repository: int) -> None:
    add_approvals(store, repository, [new("git", "status"), new("git", "diff"), new("zz")], ADA)
    similar = find_similar_approvals(store, repository, ("/usr/bin/git", "status"), limit=1)
    assert ("git", "status") in [approval.argv for approval in similar]


# The chain

INSERT_COPY = (
    "INSERT INTO approval_log (repository_id, kind, argv, approver, at, how, reason, pins, previous, digest)"
    " SELECT repository_id, kind, argv, approver, at, how, reason, pins, previous, 'x' FROM approval_log WHERE id = 3"
)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE approval_log SET argv = '[\"rm\"]' WHERE id = 2",
        "UPDATE approval_log SET reason = 'other' WHERE id = 2",
        "UPDATE approval_log SET approver = 'bob' WHERE id = 1",
        "UPDATE approval_log SET at = '2020-01-01T00:00:00Z' WHERE id = 3",
        "UPDATE approval_log SET pins = '[]' WHERE id = 3",
        "UPDATE approval_log SET kind = 'refused' WHERE id = 2",
        "DELETE FROM approval_log WHERE id = 2",
        "DELETE FROM approval_log WHERE id = 1",
        "DELETE FROM approval WHERE log_id = 2",
        "DELETE FROM approval_log WHERE id = 3",
        INSERT_COPY,
        "UPDATE approval SET argv = '[\"rm\"]' WHERE log_id = 2",
    ],
)
def test_an_edit_is_noticed_and_nothing_runs_on_its_word(
    store: Store, repository: int, statement: str
) -> None:
    add_approvals(store, repository, [new("a"), new("b"), new("./c", pins=(Pin("c", "a" * 40),))], ADA)
    assert verify_log(store, repository).problem is None
    tamper(store, statement)
    assert verify_log(store, repository).problem is not None
    with pytest.raises(StoreError, match="approval log in the store is damaged"):
        list_approvals(store, repository)


def test_an_approval_slipped_into_the_index_approves_nothing(store: Store, repository: int) -> None:
    add_approvals(store, repository, [new("a")], ADA)
    tamper(store, "UPDATE approval SET argv = '[\"rm\"]', argv_sha256 = (SELECT 'x')")
    assert find_approvals(store, repository, ("rm",)) == []
    with pytest.raises(StoreError):
        list_approvals(store, repository)


def test_a_history_rewritten_whole_is_noticed_by_the_runs_that_saw_the_old_one(
    store: Store, repository: int
) -> None:
    add_approvals(store, repository, [new("a")], ADA)
    head = read_head(store.connection, repository)
    store.connection.execute("PRAGMA foreign_keys=OFF")
    columns = [row["name"] for row in store.connection.execute("PRAGMA table_info(run)") if row["notnull"]]
    values = dict.fromkeys(columns, 0) | {"repository_id": repository, "log_head": head}
    types = {row["name"]: row["type"] for row in store.connection.execute("PRAGMA table_info(run)")}
    row = {name: str(value) if types[name] == "TEXT" else value for name, value in values.items()}
    marks = ", ".join("?" * len(row))
    store.connection.execute(f"INSERT INTO run ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
    assert verify_log(store, repository).problem is None
    tamper(store, "DELETE FROM approval")
    tamper(store, "DELETE FROM approval_log")
    add_approvals(store, repository, [new("evil")], ADA)
    assert list_approvals(store, repository)[0][0].argv == ("evil",)
    problem = verify_log(store, repository).problem
    assert problem is not None
    assert "rewritten or cut short" in problem


def test_accidents_cannot_edit_the_log(store: Store, repository: int) -> None:
    add_approvals(store, repository, [new("a")], ADA)
    for statement in ("UPDATE approval_log SET reason = ''", "DELETE FROM approval_log"):
        with pytest.raises(sqlite3.IntegrityError, match="only ever added to"):
            store.connection.execute(statement)


def test_the_head_stands_for_all_that_was_said(store: Store, repository: int) -> None:
    heads = [read_head(store.connection, repository)]
    for argv in ("a", "b"):
        add_approvals(store, repository, [new(argv)], ADA)
        heads.append(read_head(store.connection, repository))
    assert heads[0] == GENESIS
    assert len(set(heads)) == 3
    assert list_approvals(store, repository)[1] == heads[-1]
