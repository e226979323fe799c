"""How long, and in how much memory, plans are read and checked: the limits that reading must keep.

    python benchmarks/plan_reading.py

Each case runs in a process of its own, so that its peak memory is its own. Times are of the processor (``process_time``),
medians of five; memory is the growth of the peak over the same process before the case. Exits 1 when a limit is passed.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from codeboost import BaseEntry, PlanContext, PlanSourceError, check_plan, parse_source

MIB = 1 << 20
READ_LIMIT_S = 0.3
READ_LIMIT_MB = 100
TREE_LIMIT_S = 2.0
START_LIMIT = 3.0
ROUNDS = 5
START_ROUNDS = 20

TEXTS: dict[str, tuple[str, Callable[[], str]]] = {
    "50,000 nested brackets, JSON": ("json", lambda: "[" * 50_000 + "]" * 50_000),
    "50,000 nested brackets, YAML": ("yaml", lambda: "[" * 50_000 + "]" * 50_000),
    "1 MiB of [, JSON": ("json", lambda: "[" * MIB),
    "1 MiB of [, YAML": ("yaml", lambda: "[" * MIB),
    '1 MiB of ", JSON': ("json", lambda: '"' * MIB),
    '1 MiB of ", YAML': ("yaml", lambda: '"' * MIB),
    '1 MiB of "- ", JSON': ("json", lambda: "- " * (MIB // 2)),
    '1 MiB of "- ", YAML': ("yaml", lambda: "- " * (MIB // 2)),
    "1 MiB of line breaks, YAML": ("yaml", lambda: "\n" * MIB),
    "1 MiB of tabs, YAML": ("yaml", lambda: "\t" * MIB),
    "1 MiB of comments, YAML": ("yaml", lambda: "# c\n" * (MIB // 4)),
    "1 MiB of tabs and comments, YAML": ("yaml", lambda: "\t#\n" * (MIB // 3)),
    '1 MiB of "? ", YAML': ("yaml", lambda: "? " * (MIB // 2)),
    '1 MiB of ": ", YAML': ("yaml", lambda: ": " * (MIB // 2)),
    "1 MiB of escapes, YAML": ("yaml", lambda: '"' + "\\n" * (MIB // 2 - 1) + '"'),
    "1 MiB of carriage returns, YAML": ("yaml", lambda: "\r" * MIB),
    "1 MiB of documents, YAML": ("yaml", lambda: "---\n" * (MIB // 4)),
    "1 MiB of directives, YAML": ("yaml", lambda: "%A\n" * (MIB // 3)),
    "1 MiB of anchors, YAML": ("yaml", lambda: "&a " * (MIB // 3)),
    "a MiB of tabs after a dash, YAML": ("yaml", lambda: "- " + "\t" * (MIB - 4) + "a"),
    "100,000 keys, JSON": (
        "json",
        lambda: "{" + ",".join(f'"{number:x}":1' for number in range(100_000)) + "}",
    ),
    "100,000 keys, YAML": ("yaml", lambda: "\n".join(f"a{number:x}: 1" for number in range(100_000))),
    "1 MiB scalar, JSON": ("json", lambda: '"' + "x" * (MIB - 2) + '"'),
    "1 MiB scalar, YAML": ("yaml", lambda: "x" * MIB),
    "1 MiB block scalar, YAML": ("yaml", lambda: "|\n" + " x\n" * (MIB // 3 - 1)),
    "a number of 1 MiB, JSON": ("json", lambda: "1" * MIB),
    "a fraction of 1 MiB, YAML": ("yaml", lambda: "0." + "1" * (MIB - 2)),
}


def measure_reading(name: str) -> dict[str, float]:
    """The median time in seconds and the growth of memory in MB for one text."""
    format_, make = TEXTS[name]
    data = make().encode()
    for known in ("json", "yaml"):
        parse_source(b"[1]", known)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        with suppress(PlanSourceError):
            parse_source(data, format_)
        times.append(time.process_time() - start)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": statistics.median(times), "megabytes": (after - before) / 1024}


def measure_tree() -> float:
    """Seconds to check a plan of 30 items against a tree of 200,000 entries, context and all."""
    entries = [
        BaseEntry(f"src/part{number % 500}/deep{number % 41}/file{number}.py", "file")
        for number in range(200_000)
    ]
    data = make_plan(30).encode()
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        context = PlanContext(412, entries, [], "casefold")
        check_plan(data, "yaml", context)
        times.append(time.process_time() - start)
    return statistics.median(times)


def make_plan(items: int) -> str:
    """A plan that a person could have written: four files and two commands an item."""
    lines = ["schema_version: 1", "issue: 412", "revision: 1", "summary: Many things at once.", "items:"]
    for number in range(1, items + 1):
        lines += [
            f"  - id: P{number}",
            f"    title: Part {number}",
            "    intent: It is needed.",
            "    files:",
        ]
        for part in range(4):
            lines += [
                f"      - path: src/part{number}/deep{part}/file{number * 41 + part}.py",
                "        kind: add",
                "        renamed_from: null",
                "        change: A function is added that does what the title says.",
            ]
        lines += ["    acceptance:"]
        for part in range(2):
            lines += [
                "      - type: cmd",
                f"        text: python3 -m pytest -q tests/part{number} -k test_{part}",
            ]
        lines += ["    depends_on: []"]
    return "\n".join([*lines, "questions: []"]) + "\n"


def measure_starts(folder: Path) -> dict[str, float]:
    """The median wall times in seconds of whole processes, taken in turns so that a noisy moment hits all of them."""
    for arguments in (
        ["init", "-q", "-b", "main"],
        ["-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    check = [str(Path(sys.executable).with_name("codeboost")), "plan", "check", "-"]
    commands = {
        "import typer": [sys.executable, "-c", "import typer"],
        "plan check, 30 items": [*check, "--no-tree"],
        "the same, in a checkout": check,
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    plan = make_plan(30).encode()
    for _ in range(START_ROUNDS):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, cwd=folder, input=plan, capture_output=True, check=True)
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def run_part(name: str) -> dict[str, float]:
    """One measurement in a new process of this file."""
    result = subprocess.run([sys.executable, __file__, name], capture_output=True, check=True)
    answer: dict[str, float] = json.loads(result.stdout)
    return answer


def main() -> int:
    if len(sys.argv) == 2:
        name = sys.argv[1]
        print(json.dumps({"seconds": measure_tree()} if name == "tree" else measure_reading(name)))
        return 0
    slow = 0
    for name in TEXTS:
        found = run_part(name)
        passed = found["seconds"] > READ_LIMIT_S or found["megabytes"] > READ_LIMIT_MB
        slow += passed
        print(
            f"{name:32} {found['seconds']:7.3f} s {found['megabytes']:7.1f} MB{'  over the limit' if passed else ''}"
        )
    tree = run_part("tree")["seconds"]
    slow += tree > TREE_LIMIT_S
    print(f"{'200,000 entries, 30 items':32} {tree:7.3f} s")
    with tempfile.TemporaryDirectory() as folder:
        starts = measure_starts(Path(folder))
    typer = starts["import typer"]
    for name, seconds in starts.items():
        slow += seconds > START_LIMIT * typer
        print(f"{name:32} {seconds:7.3f} s, {seconds / typer:.2f} times `import typer`")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
