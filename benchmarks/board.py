"""Measures the board at its largest: 10,000 tasks and 500 runs, written, painted and searched.

    python benchmarks/board.py [--keep DIRECTORY]

Makes a planning repository by git commits, then prints what was measured beside what is allowed, and exits 1 when
something is over it. Needs Debian's chromium and its driver (scripts/browser).
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from selenium import webdriver
from selenium.webdriver.common.by import By

if TYPE_CHECKING:
    from collections.abc import Iterator

TASKS = 10_000
RUNS = 500
GOALS = 60
WORDS = [
    "merge",
    "index",
    "note",
    "reader",
    "search",
    "table",
    "phone",
    "release",
    "account",
    "mail",
    "sync",
    "window",
    "log",
    "quota",
    "theme",
    "draft",
]
PATHS = ("open", "in-progress", "review", "done")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Measure(NamedTuple):
    name: str
    value: float
    limit: float
    unit: str


def make_history(root: Path) -> None:
    """A planning repository whose first-parent history has ``RUNS`` runs; one fast-import, so that it is quick."""
    chance = random.Random(7)
    status = dict.fromkeys(range(TASKS), "open")
    depends = {
        number: sorted(
            {number - chance.randint(1, 40) for _ in range(chance.choice((0, 1, 1, 2)))} - set(range(-40, 0))
        )
        for number in range(TASKS)
    }
    titles = [" ".join(chance.choices(WORDS, k=6)) for _ in range(TASKS)]

    def task(number: int) -> bytes:
        needs = ", ".join(f"T-{other}" for other in depends[number])
        owner = "owner: S1\n" if status[number] == "in-progress" else ""
        return (
            f"---\nid: T-{number}\ntitle: {titles[number]}\nstatus: {status[number]}\ntrack: track-{number % 12}\n"
            f"depends: [{needs}]\n{owner}---\nBody.\n"
        ).encode()

    def write(path: str, content: bytes) -> Iterator[bytes]:
        yield b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content)

    def stream() -> Iterator[bytes]:
        for run in range(RUNS):
            subject = f"Round {run} of the work".encode()
            yield b"commit refs/heads/main\ncommitter A <a@example.org> %d +0000\ndata %d\n%s\n" % (
                1_760_000_000 + run * 7200, len(subject), subject,
            )  # fmt: skip
            if run == 0:
                for number in range(TASKS):
                    yield from write(f"tasks/T-{number}.md", task(number))
                for number in range(GOALS):
                    scope = ", ".join(f"T-{one}" for one in range(number * 160, number * 160 + 120))
                    state = ("running", "approved", "draft", "done")[number % 4]
                    yield from write(
                        f"plans/goal-{number}-goal.md",
                        f"---\ntitle: Goal {number}\nstate: {state}\nstream: S{number}\nscope: [{scope}]\n---\n".encode(),
                    )
                continue
            for number in chance.sample(range(TASKS), 20):
                after = PATHS[min(PATHS.index(status[number]) + 1, 3)]
                status[number] = after if after != status[number] else "open"
                yield from write(f"tasks/T-{number}.md", task(number))

    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    subprocess.run(["git", "-C", str(root), "fast-import", "--quiet"], input=b"".join(stream()), check=True)
    subprocess.run(["git", "-C", str(root), "reset", "-q", "--hard", "main"], check=True)


def measure_page(file: Path) -> Iterator[Measure]:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
        try:
            driver.get("about:blank")
            driver.get(file.as_uri())
            time.sleep(1)
            paint = driver.execute_script(
                "return performance.getEntriesByName('first-contentful-paint')[0].startTime"
            )
            yield Measure("first contentful paint", paint, 1500, "ms")
            ready = driver.execute_script("return performance.getEntriesByType('navigation')[0].domComplete")
            yield Measure("everything drawn", ready, 1500, "ms")
            search = driver.find_element(By.ID, "search")
            driver.execute_script(
                """
                window.keystrokes = [];
                document.getElementById("search").addEventListener("keydown", () => {
                  const start = performance.now();
                  requestAnimationFrame(() => setTimeout(() => keystrokes.push(performance.now() - start)));
                });
                """
            )
            for letter in "t-99 merge":
                search.send_keys(letter)
                time.sleep(0.15)
            yield Measure(
                "slowest keystroke in search", max(driver.execute_script("return keystrokes")), 100, "ms"
            )
        finally:
            driver.quit()


def measure(root: Path) -> Iterator[Measure]:
    file = root.parent / "board.html"
    command = [sys.executable, "-m", "codeboost.cli.planr", "board", "--root", str(root), "--out", str(file)]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    yield Measure("the whole command", time.perf_counter() - start, 3, "s")
    yield Measure("size of the file", file.stat().st_size / 1e6, 6, "MB")
    yield from measure_page(file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", type=Path, help="make the repository here and keep it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = (given.keep or Path(temporary)) / "planning"
        if not root.exists():
            make_history(root)
        over = 0
        for name, value, limit, unit in measure(root):
            verdict = "ok" if value <= limit else "OVER"
            over += value > limit
            print(f"{name:32} {value:9.2f} {unit:3} of {limit:g} {unit:3} {verdict}", flush=True)
        print(f"{TASKS} tasks, {RUNS} runs")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
