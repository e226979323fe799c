"""Many approve at the same moment, some die in the middle: nothing is lost, nothing is half."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ADD_FOREVER = """
import sys
from pathlib import Path
from codeboost.operations.add_approval import add_approval
from codeboost.operations.project import open_project
from codeboost.store.database import Store
with Store.open() as store:
    project = open_project(store, Path.cwd())
    for number in range(10_000):
        add_approval(project, ("cmd", str(number)))
        print(number, flush=True)
"""


def count_log(home: Path) -> int:
    with sqlite3.connect(home / "store.db") as connection:
        count: int = connection.execute("SELECT count(*) FROM approval_log").fetchone()[0]
    connection.close()
    return count


def test_twenty_processes_lose_none_of_twenty_approvals(desk: Any, tmp_path: Path) -> None:
    processes = [desk.start("allow", "add", "--", "make", f"target-{number}") for number in range(20)]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    listed = desk.run("allow", "list", "--json").data["approvals"]
    assert sorted(entry["argv"][1] for entry in listed) == sorted(f"target-{number}" for number in range(20))
    assert "20 entries, unbroken" in desk.run("allow", "log", "--verify").out
    left = {path.name for path in (tmp_path / "home").iterdir()}
    assert left <= {"store.db", "store.db-wal", "store.db-shm"}


def test_the_same_approval_from_many_is_one(desk: Any, tmp_path: Path) -> None:
    processes = [desk.start("allow", "add", "npm test") for _ in range(6)]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert count_log(tmp_path / "home") == 1


def test_a_kill_at_any_moment_leaves_the_old_or_the_new_list(desk: Any, tmp_path: Path) -> None:
    chance = random.Random(412)
    known = 0
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", ADD_FOREVER], cwd=desk.top, env=desk.env, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        # It begins with what the ones before it approved already, so wait until it makes something new.
        for line in process.stdout:
            if int(line) >= known:
                break
        time.sleep(chance.uniform(0.0, 0.08))
        os.kill(process.pid, signal.SIGKILL)
        said = process.stdout.read().split()
        process.stdout.close()
        process.wait()
        listed = desk.run("allow", "list", "--json").data["approvals"]
        numbers = sorted(int(entry["argv"][1]) for entry in listed)
        assert numbers == list(range(len(numbers)))
        # What was reported as done is there; at most the one in the making came on top.
        done = int(said[-1]) + 1 if said else known + 1
        assert done <= len(numbers) <= done + 1
        assert "unbroken" in desk.run("allow", "log", "--verify").out
        known = len(numbers)
