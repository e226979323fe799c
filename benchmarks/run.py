"""The rate of a whole run against that of bare sandbox executions with the same workers, and its memory.

A plan of 10 items with 10 commands each, every command ``true``. Prints one line a figure; exits 1 when the run is
more than 15 % slower than the bare executions, or its memory grows while it goes on.

    python benchmarks/run.py [--jobs N] [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from codeboost.limits import Limits
from codeboost.operations.add_approval import add_approval
from codeboost.operations.approve_plan import record_approval
from codeboost.operations.import_plan import import_plan
from codeboost.operations.init_project import init_project
from codeboost.operations.plan_file import PlanFile
from codeboost.operations.project import open_project, require_plan
from codeboost.operations.run_checks import run_checks
from codeboost.operations.run_model import RunRequest
from codeboost.plan.canonical import encode_plan
from codeboost.plan.model import ChangeKind, Check, CheckType, FileChange, Item, Plan
from codeboost.sandbox.base import CommandSpec, Owner, PullPolicy, SnapshotSpec
from codeboost.sandbox.engine import open_executor
from codeboost.store.database import Store

ITEMS, COMMANDS = 10, 10
IMAGE = "codeboost/example:1"
WORST = 1.15
GROWTH_KIB = 8 << 10


class Watcher:
    """A listener that notes the memory of this process as commands end."""

    def __init__(self) -> None:
        self.memory: list[int] = []
        self.began = 0.0

    def note(self, _text: str) -> None:
        pass

    def begin(self, _run_id: int, _commands: Any) -> None:
        self.began = time.monotonic()

    def start(self, _command: Any) -> None:
        pass

    def end(self, _command: Any, _attempt: Any, _tail: Any) -> None:
        fields = Path("/proc/self/statm").read_text().split()
        self.memory.append(int(fields[1]) * resource.getpagesize() >> 10)

    def tick(self) -> None:
        pass


def make_checkout(top: Path) -> None:
    top.mkdir()
    (top / "README.md").write_text("A repository to measure with.\n")
    for arguments in (
        ("init", "-q", "-b", "main"),
        ("remote", "add", "origin", "https://github.com/example/measured.git"),
    ):
        subprocess.run(["git", *arguments], cwd=top, check=True)


def commit(top: Path) -> None:
    subprocess.run(["git", "add", "-A"], cwd=top, check=True)
    subprocess.run(["git", "commit", "-q", "--no-verify", "-m", "Base"], cwd=top, check=True)


def adopt(store: Any, top: Path) -> Any:
    init_project(store, top, image=IMAGE)
    commit(top)
    project = open_project(store, top)
    items = tuple(
        Item(
            id=f"P{number}",
            title=f"Item {number}",
            intent="To be measured.",
            files=(FileChange(f"new/{number}.txt", ChangeKind.ADD, None, "Add it."),),
            acceptance=(Check(CheckType.CMD, "true"),) * COMMANDS,
            depends_on=(),
        )
        for number in range(1, ITEMS + 1)
    )
    plan = Plan(1, 7, 1, "A plan to measure with.", items, ())
    file = PlanFile("plan.json", encode_plan(plan), "json")
    result = import_plan(project, file, 7, confirm_reopening=lambda _: True)
    if result.stored is None:
        sys.exit(f"the plan was refused: {result.diagnostics}")
    add_approval(project, ("true",), reason="to measure")
    record_approval(project, require_plan(project, 7), "--yes")
    return project


def measure_run(project: Any, jobs: int) -> tuple[float, list[int]]:
    """Seconds from the first command to the last result, and memory in KiB after each."""
    watcher = Watcher()
    request = RunRequest(7, jobs=jobs, fresh=True)
    result = run_checks(project, request, lambda: open_executor(project.store.id), watcher, threading.Event())
    ended = time.monotonic()
    if result.exit_code != 0:
        sys.exit(f"the run ended with {result.exit_code}")
    return ended - watcher.began, watcher.memory


def measure_bare(project: Any, jobs: int) -> float:
    """Seconds for as many executions without anything around them."""
    executor = open_executor(project.store.id)
    owner = Owner(project.store.id, "bare")
    image = executor.find_image(IMAGE, PullPolicy.NEVER, lambda _: None)
    commit_id = project.git.resolve_commit("HEAD")
    snapshot = executor.take_snapshot(SnapshotSpec(project.git.top, commit_id, image.id, git=True))
    specs = [
        CommandSpec(f"bare-{number}", owner, ("true",), snapshot, Limits())
        for number in range(ITEMS * COMMANDS)
    ]
    never = threading.Event()
    began = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(lambda spec: executor.execute(spec, never), specs))
    took = time.monotonic() - began
    executor.close()
    if any(outcome.exit_code != 0 for outcome in outcomes):
        sys.exit("a bare execution did not pass")
    return took


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=max(2, os.cpu_count() or 2))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for who in ("AUTHOR", "COMMITTER"):
        os.environ |= {f"GIT_{who}_NAME": "Ada", f"GIT_{who}_EMAIL": "ada@example.org"}
    os.environ["GIT_CONFIG_GLOBAL"] = os.devnull
    bare, whole, growth = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "measured"
        make_checkout(top)
        with Store.open(Path(folder) / "store") as store:
            project = adopt(store, top)
            measure_bare(project, options.jobs)
            # In turns, so that what the machine does besides falls on both.
            for _ in range(options.rounds):
                bare.append(measure_bare(project, options.jobs))
                seconds, memory = measure_run(project, options.jobs)
                whole.append(seconds)
                growth.append(memory[-1] - memory[len(memory) // 2])
    count = ITEMS * COMMANDS
    one, other = statistics.median(bare), statistics.median(whole)
    print(f"{options.jobs} workers, {count} commands, {options.rounds} rounds, medians")
    print(f"bare executions   {one * 1000 / count:7.1f} ms a command  {count / one:6.1f} a second")
    print(f"a whole run       {other * 1000 / count:7.1f} ms a command  {count / other:6.1f} a second")
    print(f"a run takes       {other / one:7.2f} times as long (at most {WORST})")
    print(f"memory            {max(growth):7d} KiB more in the second half (at most {GROWTH_KIB})")
    return 0 if other / one <= WORST and max(growth) <= GROWTH_KIB else 1


if __name__ == "__main__":
    sys.exit(main())
