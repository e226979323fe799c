"""What a check costs in the sandbox, in one table: ``python benchmarks/sandbox.py [--quick]``.

Every figure is measured here and now, on the engine that answers, beside what it is compared with; the columns are the
figure, the bound that it has to keep, and whether it does. Exit code 1 when one does not.

Nothing is deleted in bulk before or between the measurements: ext4 creates files several times slower for minutes after
that. So wait for five minutes after a run, or after the tests, before the next.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import docker

from codeboost.limits import Limits
from codeboost.sandbox.base import CommandSpec, Owner, PullPolicy, Snapshot, SnapshotSpec
from codeboost.sandbox.engine import open_executor
from codeboost.sandbox.executor import DockerExecutor

IMAGE = "codeboost/example:1"
LIMITS = Limits(timeout_s=60.0, memory_bytes=256 << 20, cpus=2.0, pids=128, disk_bytes=1 << 30)
WORKERS = 2


class Row(NamedTuple):
    name: str
    figure: str
    bound: str
    kept: bool | None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and a tree of 2,000 files")
    quick = parser.parse_args().quick
    repetitions = 8 if quick else 20
    files = 2_000 if quick else 20_000
    executor = open_executor("benchmark")
    assert isinstance(executor, DockerExecutor)
    image = executor.find_image(IMAGE, PullPolicy.MISSING, lambda _: None)
    with tempfile.TemporaryDirectory() as folder:
        small = take(executor, make_repo(Path(folder) / "small", 10), image.id)[1]
        repo = make_repo(Path(folder) / "large", files)
        first_s, large = take(executor, repo, image.id)
        again_s, again = take(executor, repo, image.id)
        rows = [
            Row(f"first snapshot of {files:,} files", f"{first_s:.2f} s", "≤ 5 s", first_s <= 5),
            Row("the same commit again", f"{again_s * 1000:.0f} ms", "builds nothing", again.reused),
        ]
        rows += compare(executor, small, large, Path(folder) / "large", repetitions, files)
    executor.close()
    show(rows)
    return 0 if all(row.kept is not False for row in rows) else 1


def compare(
    executor: DockerExecutor, small: Snapshot, large: Snapshot, tree: Path, repetitions: int, files: int
) -> list[Row]:
    ours = {
        "small": lambda: run_ours(executor, small),
        "large": lambda: run_ours(executor, large),
        "bare": make_bare(small),
        "docker run": lambda: run_docker(small.image_id),
    }
    for call in ours.values():
        call()
    one = measure(ours, repetitions, 1)
    two = measure(ours, repetitions, WORKERS)
    subprocess.run(["git", "-C", str(tree), "reset", "-q", "--hard", "main"], check=True)
    copied = time_once(lambda: run_with_copy(small.image_id, tree))
    return [
        Row("`true` in the sandbox, 1 worker", ms(one["small"]), "", None),
        Row("the bare SDK with the same limits, 1 worker", ms(one["bare"]), "", None),
        ratio("  ours against it", one["small"], one["bare"], at_most=1.25),
        Row(f"`true` in the sandbox, {WORKERS} workers", ms(two["small"]), "", None),
        Row(f"the bare SDK with the same limits, {WORKERS} workers", ms(two["bare"]), "", None),
        ratio("  ours against it", two["small"], two["bare"], at_most=1.25),
        Row("docker run --rm --network none, in a loop", ms(one["docker run"]), "", None),
        ratio(f"  it against ours with {WORKERS} workers", one["docker run"], two["small"], at_least=2.0),
        Row(f"with {files:,} files, {WORKERS} workers", ms(two["large"]), "", None),
        ratio("  against 10 files", two["large"], two["small"], at_most=1.2),
        Row(f"copying {files:,} files into one container instead", ms(copied), "", None),
        ratio("  it against ours", copied, one["large"], at_least=1.0),
    ]


def measure(calls: dict[str, Callable[[], None]], repetitions: int, workers: int) -> dict[str, float]:
    """Seconds per call, a median of rounds; the kinds take turns, so that a noisy moment hits all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    with ThreadPoolExecutor(workers) as pool:
        for _ in range(4):
            for name, call in calls.items():
                count = max(workers, repetitions // 4)
                begin = time.perf_counter()
                for done in [pool.submit(call) for _ in range(count)]:
                    done.result()
                seconds[name].append((time.perf_counter() - begin) / count)
    return {name: statistics.median(found) for name, found in seconds.items()}


def run_ours(executor: DockerExecutor, snapshot: Snapshot) -> None:
    spec = CommandSpec(uuid.uuid4().hex, Owner("benchmark", "benchmark"), ("true",), snapshot, LIMITS)
    outcome = executor.execute(spec, threading.Event())
    assert outcome.exit_code == 0, outcome


def make_bare(snapshot: Snapshot) -> Callable[[], None]:
    """create, start, wait, remove with the SDK as its own pages show it, under the same limits."""
    api = docker.APIClient(version="auto", max_pool_size=64)
    host = api.create_host_config(
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        init=True,
        mem_limit=LIMITS.memory_bytes,
        memswap_limit=LIMITS.memory_bytes,
        pids_limit=LIMITS.pids,
        nano_cpus=int(LIMITS.cpus * 1e9),
        log_config=docker.types.LogConfig(type="none"),
        ipc_mode="private",
        tmpfs={"/tmp": "exec,size=134217728"},
    )

    def run() -> None:
        made = api.create_container(
            snapshot.image_id,
            entrypoint=["true"],
            command=[],
            host_config=host,
            user="10001:10001",
            network_disabled=True,
            use_config_proxy=False,
        )
        api.start(made)
        assert api.wait(made)["StatusCode"] == 0
        api.remove_container(made, force=True, v=True)

    return run


def run_docker(image: str) -> None:
    subprocess.run(["docker", "run", "--rm", "--network", "none", "--entrypoint", "true", image], check=True)


def run_with_copy(image: str, tree: Path) -> None:
    name = f"codeboost-copy-{uuid.uuid4().hex[:12]}"
    subprocess.run(
        ["docker", "create", "--name", name, "--network", "none", "--entrypoint", "true", image],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run(
        ["docker", "cp", "-q", f"{tree}/.", f"{name}:/workspace"], check=True, stdout=subprocess.DEVNULL
    )
    subprocess.run(["docker", "start", "-a", name], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["docker", "rm", "-f", name], check=True, stdout=subprocess.DEVNULL)


def time_once(call: Callable[[], None]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def take(executor: DockerExecutor, repo: Path, image_id: str) -> tuple[float, Snapshot]:
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=repo, capture_output=True, text=True, check=True
    )
    begin = time.perf_counter()
    snapshot = executor.take_snapshot(SnapshotSpec(repo, commit.stdout.strip(), image_id, git=True))
    return time.perf_counter() - begin, snapshot


def make_repo(path: Path, files: int) -> Path:
    """A repository as a clone is: one pack, so that git has no loose objects to delete behind our back."""
    token = os.urandom(16)

    def stream() -> Iterator[bytes]:
        yield b"commit refs/heads/main\ncommitter A <a@example.org> 1760000000 +0000\ndata 1\nx\n"
        for number in range(files):
            line = hashlib.sha256(token + number.to_bytes(4, "big")).hexdigest() + "\n"
            content = (line * (1 + number % 45)).encode()
            yield b"M 100644 inline d%d/f%d.py\ndata %d\n%s\n" % (number % 200, number, len(content), content)

    subprocess.run(["git", "init", "-q", "-b", "main", str(path)], check=True)
    keep_pack = ["-c", "fastimport.unpackLimit=0"]
    subprocess.run(
        ["git", "-C", str(path), *keep_pack, "fast-import", "--quiet"], input=b"".join(stream()), check=True
    )
    return path


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"


def ratio(
    name: str, one: float, other: float, *, at_most: float | None = None, at_least: float | None = None
) -> Row:
    found = one / other
    if at_most is not None:
        return Row(name, f"{found:.2f}x", f"≤ {at_most}x", found <= at_most)
    assert at_least is not None
    return Row(name, f"{found:.2f}x", f"≥ {at_least}x", found >= at_least)


def show(rows: list[Row]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(3)]  # type: ignore[arg-type]
    for row in rows:
        mark = {True: "ok", False: "MISSED", None: ""}[row.kept]
        print(
            f"{row.name:<{widths[0]}}  {row.figure:>{widths[1]}}  {row.bound:<{widths[2]}}  {mark}".rstrip()
        )


if __name__ == "__main__":
    sys.exit(main())
