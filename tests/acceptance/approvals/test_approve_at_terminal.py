"""The view and the key, at a real pseudo terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

QUESTION = "[a]pprove  [s]kip  [q]uit?"


def approved(desk: Any) -> list[list[str]]:
    return [entry["argv"] for entry in desk.run("allow", "list", "--json").data["approvals"]]


def test_one_key_approves_one_skips_one_quits(desk: Any, sit_down: Callable[..., Any]) -> None:
    desk.import_plan("one", "two", "three", "four")
    person = sit_down("allow", "approve", "412")
    for key in "asq":
        person.wait_for(QUESTION)
        person.press(key)
    assert person.leave() == 3
    assert "1 approved now, 0 before, 3 not approved" in person.shown
    assert approved(desk) == [["one"]]
    log = desk.run("allow", "log", "--json").data
    assert [(entry["kind"], entry["argv"], entry["how"]) for entry in log] == [
        ("approve", ["one"], "key"),
        ("refused", ["two"], "key"),
    ]
    assert log[0]["reason"] == "plan r1 of issue 412, P1"


def test_when_all_is_approved_it_says_so(desk: Any, sit_down: Callable[..., Any]) -> None:
    desk.import_plan("one", "two")
    person = sit_down("allow", "approve", "412")
    for _ in range(2):
        person.wait_for(QUESTION)
        person.press("a")
    assert person.leave() == 0
    assert desk.run("allow", "approve", "412").code == 0


def test_keys_typed_ahead_approve_nothing(desk: Any, sit_down: Callable[..., Any]) -> None:
    desk.import_plan("one", "two")
    person = sit_down("allow", "approve", "412")
    # One key alone: several would be refused anyway, for being several.
    person.press("a")
    person.wait_for(QUESTION)
    time.sleep(0.5)
    assert approved(desk) == []
    person.press("q")
    assert person.leave() == 3
    assert approved(desk) == []


def test_several_keys_at_once_are_no_answer(desk: Any, sit_down: Callable[..., Any]) -> None:
    desk.import_plan("one", "two")
    person = sit_down("allow", "approve", "412")
    person.wait_for(QUESTION)
    person.press("aaaa")
    person.wait_for("several keys at once")
    person.wait_for(QUESTION)
    person.press("\x1b[A")
    person.wait_for("several keys at once")
    person.wait_for(QUESTION)
    assert approved(desk) == []
    # Neither the return key nor any other is a default.
    for key in ("\r", "\n", " ", "y", "x"):
        person.press(key)
        person.wait_for(QUESTION)
    assert approved(desk) == []
    person.press("q")
    assert person.leave() == 3


def test_a_long_command_is_shown_whole(desk: Any, sit_down: Callable[..., Any]) -> None:
    text = "pytest -k '" + " " * 350 + "' --rootdir=/"
    desk.import_plan(text)
    person = sit_down("allow", "approve", "412")
    person.wait_for(QUESTION)
    assert "command 1 of 1, 4 arguments:" in person.shown
    assert "␣" * 350 in person.shown
    assert "350 chars" in person.shown
    assert "--rootdir=/" in person.shown
    assert "…" not in person.shown
    person.press("q")
    person.leave()


def test_a_changed_program_is_approved_after_its_difference_was_shown(
    desk: Any, sit_down: Callable[..., Any]
) -> None:
    desk.import_plan("./run.sh", files=("run.sh",))
    person = sit_down("allow", "approve", "412")
    person.wait_for(QUESTION)
    person.press("a")
    assert person.leave() == 0
    desk.git(desk.top, "checkout", "-qb", "work")
    desk.write("run.sh", "#!/bin/sh\nexit 1\n")
    tip = desk.commit()
    assert desk.run("allow", "test", "./run.sh").code == 3
    person = sit_down("allow", "approve", "412", "--rev", "HEAD")
    person.wait_for(QUESTION)
    assert "changed since it was approved" in person.shown
    assert "  | -exit 0\n  | +exit 1" in person.shown
    person.press("a")
    assert person.leave() == 0
    answer = desk.run("allow", "test", "./run.sh")
    assert (answer.code, answer.out) == (0, "yes: store:2\n")
    assert desk.run("allow", "list", "--json").data["approvals"][1]["pins"][0]["path"] == "run.sh"
    assert tip


def test_what_cannot_be_pinned_cannot_be_approved(desk: Any, sit_down: Callable[..., Any]) -> None:
    desk.import_plan("/proc/self/cwd/run.sh")
    person = sit_down("allow", "approve", "412")
    person.wait_for("[s]kip  [q]uit?")
    assert "cannot be approved" in person.shown
    person.press("a")
    person.wait_for("[s]kip  [q]uit?")
    person.press("s")
    assert person.leave() == 3
    assert approved(desk) == []


def test_a_view_that_nobody_sees_asks_nothing(desk: Any) -> None:
    """Keys at a terminal, the view in a file: nothing may be approved unseen."""
    desk.import_plan("one")
    master, slave = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "codeboost", "allow", "approve", "412"],
        cwd=desk.top,
        env=desk.env,
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.write(master, b"aaaa")
    _, err = process.communicate(timeout=60)
    os.close(master)
    os.close(slave)
    assert process.returncode == 3
    assert b"nobody is at a terminal" in err
    assert approved(desk) == []


def test_interrupt_leaves_the_terminal_and_the_list_as_they_were(
    desk: Any, sit_down: Callable[..., Any]
) -> None:
    desk.import_plan("one", "two")
    person = sit_down("allow", "approve", "412")
    person.wait_for("command 1 of 2")
    person.wait_for(QUESTION)
    assert not termios.tcgetattr(person.fd)[3] & termios.ICANON
    person.press("a")
    person.wait_for(QUESTION)
    person.press("\x03")
    time.sleep(0.2)
    assert termios.tcgetattr(person.fd)[3] & termios.ICANON
    assert person.leave() == 130
    assert approved(desk) == [["one"]]


def test_terminated_it_leaves_the_terminal_as_it_was(desk: Any, sit_down: Callable[..., Any]) -> None:
    desk.import_plan("one")
    person = sit_down("allow", "approve", "412")
    person.wait_for(QUESTION)
    os.kill(person.pid, signal.SIGTERM)
    time.sleep(0.5)
    assert termios.tcgetattr(person.fd)[3] & termios.ICANON
    assert person.leave() == 143
    assert approved(desk) == []


def test_a_terminal_that_goes_away_approves_nothing_more(desk: Any, sit_down: Callable[..., Any]) -> None:
    desk.import_plan("one", "two")
    person = sit_down("allow", "approve", "412")
    person.wait_for(QUESTION)
    os.kill(person.pid, signal.SIGHUP)
    person.leave()
    assert approved(desk) == []


def test_an_import_is_looked_at_entry_by_entry(
    desk: Any, sit_down: Callable[..., Any], tmp_path: Path
) -> None:
    desk.run("allow", "add", "one", "--reason", "seen")
    desk.run("allow", "add", "./run.sh")
    document = json.loads(desk.run("allow", "export").out)
    path = tmp_path / "approvals.json"
    path.write_text(json.dumps(document))
    desk.run("allow", "revoke", "one")
    desk.run("allow", "revoke", "./run.sh")
    person = sit_down("allow", "import", str(path))
    person.wait_for("approval 1 of 2")
    person.wait_for(QUESTION)
    person.press("s")
    person.wait_for("pinned    run.sh = ")
    person.wait_for(QUESTION)
    person.press("a")
    assert person.leave() == 3
    (entry,) = desk.run("allow", "list", "--json").data["approvals"]
    assert entry["argv"] == ["./run.sh"]
    assert entry["how"] == "import"
    assert entry["pins"]
