"""How long planr takes, as whole processes, on planning roots that it makes itself.

    python benchmarks/planr.py [--quick] [--runs N]

The data: tasks with three dependencies on average, 10 goals, 50 commits. The limits are those of the project's contract with
itself: ``check`` 1.0 s and ``list --json`` 0.6 s at 5,000 tasks, at most 4.6 times that at 20,000, and ``list`` at 300 tasks within
1.6 times ``import typer``. Exits 1 when one is missed. Run it alone: other work on the machine is measured too.
"""

from __future__ import annotations

import argparse
import compileall
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
STATES = ["open", "open", "open", "in-progress", "review", "blocked", "decision", "done", "dropped"]
COMMITS = 50


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="leave out the 20,000 tasks")
    parser.add_argument("--runs", type=int, default=7, help="runs of each command; the median counts")
    arguments = parser.parse_args()
    compileall.compile_dir(ROOT / "codeboost", quiet=2)
    sizes = [300, 5_000] if arguments.quick else [300, 5_000, 20_000]
    with tempfile.TemporaryDirectory(prefix="planr-bench-") as folder:
        roots = {size: Path(folder) / str(size) for size in sizes}
        for size, root in roots.items():
            make_root(root, size)
        # What was just written goes to the disk in the background, beside whatever is timed first.
        os.sync()
        planr = [sys.executable, "-m", "codeboost.cli.planr"]
        calls = {("import typer", 0): ([sys.executable, "-c", "import typer"], Path(folder))}
        for words in (["list", "--json"], ["check"], ["next", "--goal", "g0"], ["set", "T-1", "done"]):
            calls |= {(words[0], size): ([*planr, *words], root) for size, root in roots.items()}
        medians = measure(calls, arguments.runs)
    print(f"{'command':<14}{'tasks':>8}{'median':>10}")
    for (name, size), took in medians.items():
        print(f"{name:<14}{size or '':>8}{took * 1000:>7.0f} ms")
    base = medians["import typer", 0]
    limits = {
        "list, 300 tasks, against import typer": (medians["list", 300] / base, 1.6),
        "list, 5,000 tasks, seconds": (medians["list", 5_000], 0.6),
        "check, 5,000 tasks, seconds": (medians["check", 5_000], 1.0),
    }
    if not arguments.quick:
        for name in ("list", "check"):
            limits[f"{name}, 20,000 tasks against 5,000"] = (
                medians[name, 20_000] / medians[name, 5_000],
                4.6,
            )
    print()
    for what, (value, limit) in limits.items():
        print(f"{what:<40}{value:>7.2f}  limit {limit}{'' if value <= limit else '  MISSED'}")
    return int(any(value > limit for value, limit in limits.values()))


def make_root(root: Path, size: int) -> None:
    """A planning root with ``size`` tasks in a git repository of 50 commits."""
    chance = random.Random(size)
    (root / "tasks").mkdir(parents=True)
    (root / "plans").mkdir()
    for number in range(size):
        write_task(root, number, chance.choice(STATES), chance)
    for goal in range(10):
        scope = ", ".join(f"T-{number}" for number in range(goal * size // 10, (goal + 1) * size // 10))
        state = "running" if goal == 0 else "draft"
        text = f"---\ntitle: Goal {goal}\nstate: {state}\nstream: S{goal}\nscope: [{scope}]\n---\nText.\n"
        (root / f"plans/g{goal}-goal.md").write_text(text)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Start")
    for commit in range(COMMITS - 1):
        for number in chance.sample(range(size), max(1, size // 100)):
            write_task(root, number, chance.choice(STATES), chance)
        git(root, "commit", "-q", "-a", "--allow-empty", "-m", f"Step {commit}")


def write_task(root: Path, number: int, state: str, chance: random.Random) -> None:
    depends = sorted({f"T-{chance.randrange(number)}" for _ in range(chance.randrange(7))}) if number else []
    text = (
        f"---\nid: T-{number}\ntitle: Do the thing with number {number}\nstatus: {state}\ntrack: t{number % 7}\n"
        f"depends: [{', '.join(depends)}]\nowner: S{number % 10}\nrefs: [owner/name#{number}]\n---\n"
        + "What is to be done, in which files, and how we know that it is.\n"
        * 12
    )
    (root / f"tasks/T-{number}.md").write_text(text)


def measure(calls: dict[tuple[str, int], tuple[list[str], Path]], runs: int) -> dict[tuple[str, int], float]:
    """The median time of each whole process, in seconds, after one round that warms the caches.

    They take turns, so that a noisy moment hits all of them.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(ROOT)
    times: dict[tuple[str, int], list[float]] = {name: [] for name in calls}
    for _ in range(runs + 1):
        for name, (command, folder) in calls.items():
            start = time.perf_counter()
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
            times[name].append(time.perf_counter() - start)
            if done.returncode:
                raise SystemExit(f"{command} failed: {done.stderr.decode()[-500:]}")
    return {name: statistics.median(found[1:]) for name, found in times.items()}


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "gc.auto=0"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
