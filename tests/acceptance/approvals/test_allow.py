"""``codeboost allow`` as scripts and people without a terminal use it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest


def entries(desk: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = desk.run("allow", "list", "--json").data["approvals"]
    return found


def test_a_text_and_its_arguments_are_the_same_approval(desk: Any) -> None:
    assert desk.run("allow", "add", "make 'a b' \"\"", "--reason", "seen").code == 0
    said = desk.run("allow", "add", "--reason", "again", "--", "make", "a b", "")
    assert said.code == 0
    assert "approved already" in said.out
    (entry,) = entries(desk)
    assert entry["argv"] == ["make", "a b", ""]
    assert entry["how"] == "allow add"
    assert entry["reason"] == "seen"
    assert entry["git_identity"] == "Ada <ada@example.org>"
    assert entry["at"].endswith("Z")
    assert entry["approver"]


def test_who_it_was_is_not_what_the_environment_says(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "somebody-else")
    desk.run("allow", "add", "npm test")
    assert entries(desk)[0]["approver"] != "somebody-else"


def test_what_follows_the_dashes_is_taken_as_it_is(desk: Any) -> None:
    assert desk.run("allow", "add", "--", "cmd", "--reason", "--", "-x", "--json").code == 0
    assert entries(desk)[0]["argv"] == ["cmd", "--reason", "--", "-x", "--json"]
    assert desk.run("allow", "test", "--", "cmd", "--reason", "--", "-x", "--json").code == 0
    assert desk.run("allow", "test", "--", "cmd", "--reason", "--", "-x").code == 3


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["add"], 2),
        (["add", "npm", "test"], 2),
        (["add", "npm test", "--", "npm", "test"], 2),
        (["add", "npm test | sh"], 1),
        (["add", "--"], 1),
        (["add", "--", ""], 1),
        (["add", "--", "a\nb"], 1),
        (["add", "--", "a\\b"], 1),
        (["add", "--", "/proc/self/cwd/run.sh"], 1),
        (["add", "--rev", "nowhere", "npm test"], 2),
        (["add", "--pin", "../x", "npm test"], 2),
        (["test", ""], 1),
        (["revoke", "npm test"], 2),
        (["revoke", "--id", "7"], 2),
        (["revoke"], 2),
        (["import", "nowhere.json"], 2),
    ],
)
def test_a_call_that_makes_no_sense_approves_nothing(desk: Any, arguments: list[str], code: int) -> None:
    said = desk.run("allow", *arguments)
    assert said.code == code, said
    assert said.err.startswith("codeboost: ") or "^" in said.err
    assert entries(desk) == []


def test_a_refused_text_is_shown_with_a_caret(desk: Any) -> None:
    lines = desk.run("allow", "add", "npm test | sh").err.splitlines()
    assert lines[:2] == ["npm test | sh", "         ^"]


def test_both_sources_are_listed_with_their_pins_and_warnings(desk: Any) -> None:
    desk.write("codeboost.toml", '[allow]\ncommands = ["./run.sh lint"]\n')
    base = desk.commit()
    desk.run("allow", "add", "--pin", "Makefile", "--", "sh", "-c", "make test")
    said = desk.run("allow", "list")
    assert f"review, [allow] at {base[:12]}" in said.out
    assert "pinned    run.sh = " in said.out
    assert "pinned    Makefile = absent (asked for)" in said.out
    assert "sh -c 'make␣test'" in said.out
    assert "look twice: sh takes code as text" in said.out
    by_source = {entry["source"]: entry for entry in entries(desk)}
    assert by_source["policy"]["entry"] == "policy:codeboost.toml"
    assert by_source["store"]["entry"] == "store:1"


def test_a_program_that_is_not_there_is_pinned_so_and_said(desk: Any) -> None:
    said = desk.run("allow", "add", "./tools/missing.sh --all")
    assert said.code == 0
    assert "pinned    tools/missing.sh = absent" in said.out
    assert "look twice: tools/missing.sh is not in " in said.err
    # Absence that was asked for needs no remark.
    assert desk.run("allow", "add", "--pin", "Makefile", "npm test").err == ""


def test_yes_names_the_entry_and_no_marks_what_differs(desk: Any) -> None:
    desk.run("allow", "add", "git status --short")
    yes = desk.run("allow", "test", "git  status '--short'")
    assert (yes.code, yes.out) == (0, "yes: store:1\n")
    no = desk.run("allow", "test", "/usr/bin/git status --long")
    assert no.code == 3
    assert no.out.splitlines()[1:] == [
        "compared with store:1 (- approved, + asked for):",
        "  - git",
        "  + /usr/bin/git",
        "    status",
        "  - --short",
        "  + --long",
    ]
    document = json.loads(desk.run("allow", "test", "--json", "git diff").out)
    assert (document["ok"], document["exit_code"], document["data"]["allowed"]) == (False, 3, False)
    assert document["data"]["nearest"]["argv"] == ["git", "status", "--short"]


def test_a_changed_program_is_refused_until_its_content_is_approved(desk: Any) -> None:
    base = desk.git(desk.top, "rev-parse", "HEAD").strip()
    desk.run("allow", "add", "./run.sh")
    assert desk.run("allow", "test", "./run.sh").code == 0
    desk.git(desk.top, "checkout", "-qb", "work")
    desk.write("run.sh", "#!/bin/sh\n\x1b[2Jcurl evil\n")
    tip = desk.commit()
    no = desk.run("allow", "test", "./run.sh")
    assert no.code == 3
    assert f"codeboost allow approve ISSUE --rev {tip[:12]}" in no.out
    said = desk.run("allow", "add", "--rev", "HEAD", "--reason", "read it", "./run.sh")
    assert said.code == 0
    assert r"  | +\x1b[2Jcurl evil" in said.err
    assert "  | -exit 0" in said.err
    assert desk.run("allow", "test", "./run.sh").code == 0
    assert desk.run("allow", "test", "--rev", base, "./run.sh").code == 0


def test_a_damaged_policy_names_itself_and_nothing_is_approved(desk: Any) -> None:
    desk.run("allow", "add", "npm test")
    desk.write("codeboost.toml", "[sandbox]\nimgae = 'x'\n")
    desk.commit()
    for call in (["allow", "list"], ["allow", "test", "npm test"], ["allow", "add", "make"]):
        said = desk.run(*call)
        assert said.code == 1, said
        assert "codeboost.toml at" in said.err
        assert "line 2: unknown key imgae" in said.err


def test_a_damaged_log_names_itself_and_nothing_runs(desk: Any, tmp_path: Path) -> None:
    desk.run("allow", "add", "npm test")
    assert desk.run("allow", "log", "--verify").code == 0
    with sqlite3.connect(tmp_path / "home" / "store.db") as connection:
        connection.execute("DROP TRIGGER approval_log_is_never_edited")
        connection.execute("UPDATE approval_log SET approver = 'somebody else'")
    connection.close()
    for call in (["list"], ["test", "npm test"], ["log"], ["export"]):
        said = desk.run("allow", *call)
        assert said.code == 4, said
        assert "the approval log in the store is damaged: entry 1" in said.err
    said = desk.run("allow", "log", "--verify")
    assert said.code == 1
    assert "entry 1 is not what was written" in said.err


def test_a_damaged_database_names_itself(desk: Any, tmp_path: Path) -> None:
    store = tmp_path / "home" / "store.db"
    for name in ("store.db-wal", "store.db-shm"):
        (store.parent / name).unlink(missing_ok=True)
    store.write_bytes(b"this is no database at all, and longer than a header of one hundred bytes" * 40)
    said = desk.run("allow", "test", "npm test")
    assert said.code == 4
    assert "store.db" in said.err


def test_the_log_tells_everything_in_order(desk: Any) -> None:
    desk.run("allow", "add", "a", "--reason", "one")
    desk.run("allow", "add", "b")
    desk.run("allow", "revoke", "a", "--reason", "no longer")
    desk.run("allow", "revoke", "--id", "2")
    log = desk.run("allow", "log", "--json").data
    assert [(entry["kind"], entry["argv"], entry["target"]) for entry in log] == [
        ("approve", ["a"], None),
        ("approve", ["b"], None),
        ("revoke", ["a"], 1),
        ("revoke", ["b"], 2),
    ]
    assert "4 entries, unbroken" in desk.run("allow", "log", "--verify").out
    assert "revoke of 1  a" in desk.run("allow", "log").out
    assert entries(desk) == []


def test_export_is_a_document_and_import_approves_nothing_without_a_person(desk: Any, tmp_path: Path) -> None:
    desk.run("allow", "add", "--reason", "seen", "--", "./run.sh", "a b")
    said = desk.run("allow", "export")
    document = json.loads(said.out)
    assert document["repository"] == "github.com/o/n"
    assert document["approvals"][0]["argv"] == ["./run.sh", "a b"]
    path = tmp_path / "approvals.json"
    path.write_text(said.out)
    assert "1 of them known already" in desk.run("allow", "import", str(path)).out
    desk.run("allow", "revoke", "--id", "1")
    refused = desk.run("allow", "import", str(path), stdin="a\na\na\n")
    assert refused.code == 3
    assert "nobody is at a terminal" in refused.err
    assert entries(desk) == []


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"kind": "x"},
        {"repository": "github.com/o/other"},
        {"approvals": {}},
        {"approvals": ["x"]},
        {"approvals": [{"argv": "npm test"}]},
        {"approvals": [{"argv": ["a"], "pins": [{"path": "x"}], "approver": "", "at": "", "reason": ""}]},
        {
            "approvals": [
                {
                    "argv": ["a"],
                    "pins": [{"path": "x", "oid": "x", "asked": False}],
                    "approver": "",
                    "at": "",
                    "reason": "",
                }
            ]
        },
        {"approvals": [{"argv": ["a\\b"], "pins": [], "approver": "", "at": "", "reason": ""}]},
    ],
)
def test_a_document_that_is_none_is_refused_whole(desk: Any, tmp_path: Path, change: dict[str, Any]) -> None:
    whole = {"format": 1, "kind": "codeboost-approvals", "repository": "github.com/o/n", "approvals": []}
    path = tmp_path / "approvals.json"
    path.write_text(json.dumps(whole | change))
    said = desk.run("allow", "import", str(path))
    assert said.code == 1, said
    assert said.out == ""
    for broken in (b"\xff", b"[" * 100_000, b'{"format": 1, "format": 1}'):
        path.write_bytes(broken)
        assert desk.run("allow", "import", str(path)).code == 1


def test_without_a_terminal_approve_shows_everything_and_approves_nothing(desk: Any) -> None:
    desk.import_plan("./run.sh 'a b' \u202ex", "npm test")
    said = desk.run("allow", "approve", "412", stdin="a" * 100)
    assert said.code == 3
    assert "command 1 of 2, 3 arguments:" in said.out
    assert "a␣b" in said.out
    assert r"\u{202e}x" in said.out
    assert "wanted by P1, check 1: Do it" in said.out
    assert "because: Because somebody asked." in said.out
    assert "image   python:3.12-slim" in said.out
    assert "network none" in said.out
    assert "limits  10m00s, 2 GiB memory, 4 GiB disk, 2 cpus, 512 processes" in said.out
    assert "pinned    run.sh = " in said.out
    assert "look twice: argument 2 holds U+202E" in said.out
    assert "nobody is at a terminal" in said.err
    assert "codeboost allow add --reason" in said.err
    assert "-- npm test" in said.err
    assert entries(desk) == []
    pending = json.loads(desk.run("allow", "approve", "412", "--json").out)
    assert pending["exit_code"] == 3
    assert [command["argv"] for command in pending["data"]["pending"]] == [
        ["./run.sh", "a b", "\u202ex"],
        ["npm", "test"],
    ]
    assert entries(desk) == []


def test_nothing_left_to_approve_is_success(desk: Any) -> None:
    desk.import_plan("npm test", "make")
    desk.run("allow", "add", "npm test")
    desk.run("allow", "add", "make")
    said = desk.run("allow", "approve", "412")
    assert (said.code, said.out.splitlines()[-1]) == (0, "every command may run already (2)")


def test_no_plan_is_a_usage_error(desk: Any) -> None:
    assert desk.run("allow", "approve", "7").code == 2


def test_another_repository_is_refused(desk: Any) -> None:
    said = desk.run("allow", "list", "--repo", "o/other")
    assert said.code == 2
    assert "github.com/o/n" in said.err


def test_parse_prints_argv_as_json(desk: Any) -> None:
    assert desk.run("command", "parse", "n'p'm \"a b\" ''").out == '["npm", "a b", ""]\n'
    many = desk.run("command", "parse", "-", stdin="a 'b c'\na | b\n\né\n")
    assert many.code == 1
    assert many.out == '["a", "b c"]\nnull\nnull\n["\\u00e9"]\n'
    assert "line 2, column 3: the operator |" in many.err
    assert "line 3, column 1: the command is empty" in many.err
    document = json.loads(desk.run("command", "parse", "--json", "a;").out)
    assert document["exit_code"] == 1
    assert document["data"][0]["error"]["column"] == 2
    assert desk.run("command", "parse", "").code == 1
