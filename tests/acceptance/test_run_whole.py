"""``codeboost run`` and what stands around it, as processes on a real engine."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.engine


def wait_for(checkout: Any, process: Any, ready: Any) -> None:
    deadline = time.monotonic() + 60
    while not ready(checkout):
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def ask_store(checkout: Any, question: str) -> list[Any]:
    try:
        with sqlite3.connect(checkout.home / "store.db") as store:
            return store.execute(question).fetchall()
    except sqlite3.OperationalError:
        return []


def count_attempts(checkout: Any) -> int:
    rows = ask_store(checkout, "SELECT count(*) FROM attempt")
    return int(rows[0][0]) if rows else 0


def test_a_pass_is_used_again_until_something_changes(checkout: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": ["echo one", "python3 -c pass"]})
    assert checkout.call("run", 412).code == 0
    again = checkout.call("run", 412)
    assert again.code == 0
    assert again.out.count("passed (reused from run 1)") == 2
    assert "started" not in again.err
    fresh = checkout.call("run", 412, "--fresh", "--json")
    assert [a["reused_from"] for a in fresh.document["data"]["items"][0]["attempts"]] == [None, None]
    checkout.write({"other.txt": "x"})
    checkout.commit()
    changed = checkout.call("run", 412, "--json")
    assert [a["reused_from"] for a in changed.document["data"]["items"][0]["attempts"]] == [None, None]
    runs = checkout.call("runs", 412)
    assert [row.split()[1] for row in runs.out.splitlines()] == ["4", "3", "2", "1"]


def test_a_killed_run_goes_on_where_it_was(checkout: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": ["echo one", "python3 -c 'import time; time.sleep(4)'"]})
    process = checkout.start("run", 412, "--jobs", 1)
    wait_for(checkout, process, lambda found: count_attempts(found) == 1)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=10)
    assert "has not ended" in checkout.call("status", 412).out
    done = checkout.call("run", 412, "--resume", "--json")
    assert done.code == 0, done.err
    data = done.document["data"]
    assert (data["run"], data["complete"]) == (1, True)
    assert [a["verdict"] for a in data["items"][0]["attempts"]] == ["passed", "passed"]
    assert checkout.status("P1") == "review"
    assert checkout.call("run", 412, "--resume").code == 2


def test_only_what_failed_runs_again(checkout: Any) -> None:
    looks = "test -e fixed.txt"
    checkout.adopt({"id": "P1", "cmds": ["true"]}, {"id": "P2", "cmds": [looks]})
    assert checkout.call("run", 412).code == 1
    checkout.write({"fixed.txt": "x"})
    checkout.commit()
    done = checkout.call("run", 412, "--only-failed", "--json")
    assert done.code == 0, done.err
    data = done.document["data"]
    assert [item["id"] for item in data["items"]] == ["P2"]
    assert (data["complete"], data["left"]) == (False, ["P1"])
    assert "still to be proven: P1" in checkout.call("run", 412, "--item", "P2").out


def test_the_log_shows_every_line_and_raw_gives_every_byte(checkout: Any) -> None:
    text = "import sys; sys.stdout.buffer.write(bytes.fromhex('1b5b324a ff 0a 61 0a')); print('b', file=sys.stderr)"
    checkout.adopt({"id": "P1", "cmds": [f'python3 -c "{text}"']})
    assert checkout.call("run", 412).code == 0
    shown = checkout.call("log", "GH412-P1").out
    assert "stdout | \\x1b[2J\ufffd" in shown
    assert "stderr | b" in shown
    assert "\x1b" not in shown
    raw = subprocess.run(
        [sys.executable, "-m", "codeboost", "log", "GH412-P1.1", "--raw"],
        cwd=checkout.top,
        env=checkout.environment,
        capture_output=True,
        check=True,
    )
    assert raw.stdout == bytes.fromhex("1b5b324aff0a610a")
    only = checkout.call("log", "GH412-P1", "--stream", "stderr").out
    assert "stdout |" not in only
    assert checkout.call("log", "GH412-P7").code == 2
    [pruned] = checkout.call("prune", "--days", 0, "--json").document["data"]["output"]
    assert pruned["run"] == 1
    assert "not kept any more" in checkout.call("log", "GH412-P1").err


def test_statements_wait_until_somebody_judges_them(checkout: Any) -> None:
    checkout.adopt(
        {"id": "P1", "cmds": ["true"], "checks": ["It is right."]}, {"id": "P2", "checks": ["So is this."]}
    )
    done = checkout.call("run", 412)
    assert done.code == 0, "a statement never blocks a run"
    assert "2 statements wait for a verdict: codeboost verdict GH412-P1 2 pass|fail" in done.out
    assert checkout.status("P2") == "open"
    assert checkout.call("verdict", "GH412-P2", 1, "pass", "--note", "seen", "--by", "Grace").code == 0
    assert checkout.status("P2") == "review"
    status = checkout.call("status", 412)
    assert "1 statement to judge" in status.out
    checkout.write({"other.txt": "x"})
    checkout.commit()
    statements = checkout.call("status", 412, "--json").document["data"]["evidence"]["statements"]
    assert [one["verdict"] for one in statements] == [None, None]
    assert checkout.call("verdict", "GH412-P2", 1, "maybe").code == 2


def test_an_abandoned_plan_runs_no_more(checkout: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": ["true"]})
    assert checkout.call("plan", "abandon", 412).code == 3, "nobody is there to ask"
    assert checkout.call("plan", "abandon", 412, "--yes").code == 0
    assert checkout.status("P1") == "dropped"
    assert checkout.call("run", 412).code == 2
    assert checkout.planr("check").code == 0


def test_setup_sees_only_what_somebody_looked_at(checkout: Any) -> None:
    checkout.write(
        {
            "codeboost.toml": '[sandbox]\nimage = "codeboost/example:1"\n[setup]\ninputs = ["deps.txt"]\n'
            'run = ["cp deps.txt /opt/deps.txt"]\n',
            "deps.txt": "one\n",
        }
    )
    checkout.commit()
    checkout.adopt({"id": "P1", "cmds": ["cat /opt/deps.txt"]})
    assert checkout.call("run", 412).code == 0
    checkout.write({"deps.txt": "two\n"})
    checkout.commit()
    refused = checkout.call("run", 412)
    assert refused.code == 3
    assert "codeboost allow setup 412" in refused.err
    asked = checkout.call("allow", "setup", 412)
    assert asked.code == 3
    assert "+two" in asked.err
    assert checkout.call("allow", "setup", 412, "--yes").code == 0
    done = checkout.call("run", 412)
    assert done.code == 0, done.err
    assert "stdout | two" in checkout.call("log", "GH412-P1").out


def test_a_runner_that_ran_nothing_passes_with_a_warning(checkout: Any) -> None:
    checkout.write({"go": "#!/bin/sh\necho '[no tests to run]'\n"})
    (checkout.top / "go").chmod(0o755)
    checkout.commit()
    checkout.adopt({"id": "P1", "cmds": ["./go test ./... -run TestNoSuch"]})
    done = checkout.call("run", 412)
    assert done.code == 0
    assert "warning: no tests ran" in done.out
    assert "warning: no tests ran" in done.err


def test_undeclared_changes_are_warnings_and_errors_when_strict(checkout: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": ["true"]})
    checkout.write({"new/P1.txt": "x", "elsewhere.txt": "x"})
    checkout.commit()
    done = checkout.call("run", 412)
    assert done.code == 0
    assert "warning: elsewhere.txt" in done.out
    assert checkout.call("run", 412, "--strict").code == 1


# In a workflow


def find_image_id() -> str:
    done = subprocess.run(
        ["docker", "image", "inspect", "-f", "{{.Id}}", "codeboost/example:1"],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def test_ci_trusts_the_base_commit_alone(bare_checkout: Any, tmp_path: Path) -> None:
    checkout = bare_checkout
    checkout.write(
        {
            "codeboost.toml": f'[sandbox]\nimage = "{find_image_id()}"\n[allow]\ncommands = ["python3 -c pass"]\n'
        }
    )
    base = checkout.commit("Policy")
    plan = checkout.write_plan({"id": "P1", "cmds": ["python3 -c pass"]})
    checkout.write({"new/P1.txt": "x"})
    checkout.commit("Work")
    done = checkout.call("run", "--ci", "--base", base, "--plan", plan, "--json")
    assert done.code == 0, done.err
    assert done.document["data"]["issue"] == 412
    assert not (checkout.top / ".planr").exists()
    allowed_by_itself = checkout.write_plan({"id": "P1", "cmds": ["python3 -c pass", "echo more"]})
    checkout.write({"codeboost.toml": '[allow]\ncommands = ["echo more"]\n'})
    checkout.commit("Allows itself more")
    home = {"CODEBOOST_HOME": str(tmp_path / "other")}
    refused = checkout.call("run", "--ci", "--base", base, "--plan", allowed_by_itself, "--json", env=home)
    assert refused.code == 3
    verdicts = [a["verdict"] for a in refused.document["data"]["items"][0]["attempts"]]
    assert verdicts == ["waiting", "not-approved"]
    assert checkout.call("run", "--ci", "--base", base).code == 2
    assert checkout.call("run", "--base", base, 412).code == 2


def test_ci_shows_every_error_of_the_plan(bare_checkout: Any) -> None:
    checkout = bare_checkout
    checkout.write({"codeboost.toml": f'[sandbox]\nimage = "{find_image_id()}"\n'})
    base = checkout.commit("Policy")
    plan = json.loads(checkout.write_plan({"id": "P1", "cmds": ["true"]}).read_text())
    plan["items"][0]["files"][0]["path"] = "../out"
    path = checkout.top.parent / "bad.json"
    path.write_text(json.dumps(plan))
    done = checkout.call("run", "--ci", "--base", base, "--plan", path, "--json")
    assert done.code == 1
    assert [found["code"] for found in done.document["diagnostics"] if found["severity"] == "error"] == [
        "path"
    ]
