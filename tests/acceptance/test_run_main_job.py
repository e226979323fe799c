"""The main job on a real engine: what passes, what is refused, what fails, what is left behind."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.engine
EXAMPLE = Path(__file__).parents[2] / "examples/payments"


def _list_containers(checkout: Any, *options: str) -> list[str]:
    """Every container of this store, running or not."""
    with sqlite3.connect(checkout.home / "store.db") as store:
        [(store_id,)] = store.execute("SELECT id FROM store")
    done = subprocess.run(
        ["docker", "ps", "-aq", "--filter", f"label=io.codeboost.store={store_id}", *options],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.split()


def _list_events(since: float, until: float) -> list[str]:
    done = subprocess.run(
        [
            *("docker", "events", "--since", f"{since:.3f}", "--until", f"{until:.3f}"),
            *(
                "--filter",
                "event=create",
                "--filter",
                "type=container",
                "--format",
                "{{json .Actor.Attributes}}",
            ),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()


def test_the_plan_of_the_example_ends_in_review(checkout: Any) -> None:
    assert checkout.call("plan", "import", EXAMPLE / "plan.yaml", "--issue", 412).code == 0
    for text in (
        "python3 -m unittest -v tests.test_idempotency",
        "python3 -m unittest -v tests.test_retry",
        "python3 -m unittest discover -s tests",
    ):
        assert checkout.call("allow", "add", "--reason", "test", text).code == 0
    assert checkout.call("plan", "approve", 412, "--yes").code == 0
    shutil.copytree(EXAMPLE / "change", checkout.top, dirs_exist_ok=True)
    commit = checkout.commit("The work")

    done = checkout.call("run", 412, "--json")

    assert done.code == 0, done.err
    document = done.document
    assert (document["format"], document["command"], document["ok"]) == (1, "run", True)
    assert document["data"]["commit"] == commit
    assert [item["verdict"] for item in document["data"]["items"]] == ["passed", "passed"]
    listed = checkout.planr("list", "--json").document
    assert [(task["id"], task["status"]) for task in listed] == [
        ("GH412-P1", "review"),
        ("GH412-P2", "review"),
    ]
    assert _list_containers(checkout) == []


def test_an_unapproved_command_creates_no_container(checkout: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": ["true", "touch approved-by-nobody"]}, allow=False)
    assert checkout.call("allow", "add", "--reason", "test", "true").code == 0
    since = time.time()
    done = checkout.call("run", 412)
    until = time.time()
    assert done.code == 3
    assert "not-approved" in done.out
    assert checkout.status("P1") == "decision"
    mine = [
        line
        for line in _list_events(since, until)
        if str(checkout.home) in line or _store_id(checkout) in line
    ]
    assert mine == []


def _store_id(checkout: Any) -> str:
    with sqlite3.connect(checkout.home / "store.db") as store:
        [(store_id,)] = store.execute("SELECT id FROM store")
    return str(store_id)


def test_the_events_would_have_shown_a_container(checkout: Any) -> None:
    """The question asked above has another answer when something does run."""
    checkout.adopt({"id": "P1", "cmds": ["true"]})
    since = time.time()
    assert checkout.call("run", 412).code == 0
    assert [line for line in _list_events(since, time.time()) if _store_id(checkout) in line]


def test_a_failure_shows_its_last_lines_and_its_dependants_wait(checkout: Any) -> None:
    checkout.adopt(
        {"id": "P1", "cmds": ["python3 -c 'print(*range(100), sep=chr(10)); raise SystemExit(7)'"]},
        {"id": "P2", "cmds": ["true"], "after": ["P1"]},
    )
    done = checkout.call("run", 412)
    assert done.code == 1
    shown = [row for row in done.err.splitlines() if row.startswith("    stdout | ")]
    assert shown[-1] == "    stdout | 99"
    assert len(shown) == 20
    assert "    stdout   … 80 lines before these" in done.err.splitlines()
    assert "waiting" in done.out
    assert (checkout.status("P1"), checkout.status("P2")) == ("in-progress", "open")


def test_hostile_output_is_shown_as_text(checkout: Any) -> None:
    text = r"import sys; sys.stdout.buffer.write(bytes.fromhex('1b5b324a1b5d303b68690720e280ae0d72756e2031')); sys.exit(1)"
    checkout.adopt({"id": "P1", "cmds": [f'python3 -c "{text}"']})
    done = checkout.call("run", 412)
    assert done.code == 1
    assert "\x1b" not in done.err + done.out
    assert "\u202e" not in done.err + done.out
    assert r"\x1b[2J" in done.err


def test_without_an_engine_nothing_moves(checkout: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": ["true"]})
    done = checkout.call("run", 412, env={"DOCKER_HOST": "unix:///nowhere/docker.sock"})
    assert done.code == 4
    first = done.err.splitlines()[-2:]
    assert any("unix:///nowhere/docker.sock" in row for row in first), done.err
    assert checkout.status("P1") == "open"
    as_json = checkout.call("run", 412, "--json", env={"DOCKER_HOST": "unix:///nowhere/docker.sock"})
    assert as_json.code == 4
    assert as_json.document["diagnostics"][0]["code"] == "infrastructure"


def test_a_killed_run_is_cleaned_up_by_the_next(checkout: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": ["python3 -c 'import time; time.sleep(60)'", "true"]})
    process = checkout.start("run", 412, "--jobs", 1)
    deadline = time.monotonic() + 60
    while not _list_containers(checkout, "--filter", "status=running"):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.1)
    left = _list_containers(checkout)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=10)
    assert left
    assert checkout.planr("check").code == 0

    done = checkout.call("run", 412, "--timeout", "2s")

    assert done.code == 1, "the sleeper runs into its limit; everything else is as ever"
    assert "timed-out" in done.out
    assert _list_containers(checkout) == []
    with sqlite3.connect(checkout.home / "store.db") as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert checkout.planr("check").code == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_and_removes_its_container(checkout: Any, number: int, code: int) -> None:
    checkout.adopt({"id": "P1", "cmds": ["python3 -c 'import time; time.sleep(60)'"]})
    process = checkout.start("run", 412)
    deadline = time.monotonic() + 60
    while not _list_containers(checkout, "--filter", "status=running"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == code
    assert _list_containers(checkout) == []
    assert checkout.status("P1") == "open"
    [run] = json.loads(checkout.call("runs", 412, "--json").out)["data"]
    assert run["exit_code"] == code


def test_two_runs_of_one_issue_keep_out_of_each_other_s_way(checkout: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": ["python3 -c 'import time; time.sleep(5)'"]})
    first = checkout.start("run", 412)
    deadline = time.monotonic() + 60
    while not _list_containers(checkout, "--filter", "status=running"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    second = checkout.call("run", 412)
    assert second.code == 4
    assert "another process" in second.err
    first.communicate(timeout=60)
    assert first.returncode == 0


def test_the_store_is_nobody_else_s_to_read(checkout: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": ["echo secret"]})
    assert checkout.call("run", 412).code == 0
    for path in [checkout.home, *checkout.home.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_reading_a_plan_from_standard_input(checkout: Any) -> None:
    text = checkout.write_plan({"id": "P1", "cmds": ["true"]}).read_text()
    done = checkout.call("plan", "import", "-", "--issue", 412, "--json", stdin=text)
    assert done.code == 0, done.err
    assert json.loads(done.out)["data"]["plan"]["source"] == "standard input"
