"""Leftovers: what a killed run leaves is removed by the next, and nothing else ever is (design §7; B07)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from typing import Any

import pytest

from codeboost.sandbox.owner import Label, make_labels
from codeboost.sandbox.sweep import sweep_images
from codeboost.verdict import Verdict

RUNNER = """
import signal, sys, threading
from pathlib import Path
from codeboost.limits import Limits
from codeboost.sandbox.base import CommandSpec, Owner, SnapshotSpec
from codeboost.sandbox.engine import open_executor
cancelled = threading.Event()
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: cancelled.set())
store, repo, commit, image = sys.argv[1:]
executor = open_executor(store)
snapshot = executor.take_snapshot(SnapshotSpec(Path(repo), commit, image, True))
spec = CommandSpec("left", Owner(store, "killed"), ("sleep", "60"), snapshot, Limits(timeout_s=50))
print("ready", flush=True)
outcome = executor.execute(spec, cancelled)
print(outcome.verdict, flush=True)
executor.close()
"""


@pytest.fixture
def runner(plain: Any, client: Any) -> Any:
    """A process that runs a command of a minute in a store of its own, and its container."""
    store = f"test-{uuid.uuid4().hex}"
    commit = plain.repo.git("rev-parse", "HEAD") if plain.snapshot() else ""
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER, store, plain.repo.path, commit, plain.image_id],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    wait_until(
        lambda: any(found["State"] == "running" for found in client.list_containers(f"{Label.STORE}={store}"))
    )
    yield process, store
    process.kill()
    process.wait()
    process.stdout.close()
    for found in client.list_containers(f"{Label.STORE}={store}"):
        client.remove(found["Id"])


def wait_until(condition: Any, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_takes_its_container_along(runner: Any, client: Any, number: Any) -> None:
    process, store = runner
    process.send_signal(number)
    process.send_signal(number)
    assert process.wait(20) == 0
    assert process.stdout.read() == "cancelled\n"
    assert client.list_containers(f"{Label.STORE}={store}") == []


def test_what_a_killed_run_left_is_swept_once_it_is_dead(runner: Any, client: Any, executor: Any) -> None:
    process, store = runner
    assert executor.sweep(store) == []
    assert executor.sweep("another-store") == []
    process.kill()
    process.wait()
    planned = executor.sweep(store, dry_run=True)
    assert [(thing.kind, "is gone" in thing.reason) for thing in planned] == [("container", True)]
    assert len(client.list_containers(f"{Label.STORE}={store}")) == 1
    assert executor.sweep("another-store") == []
    assert executor.sweep(store) == planned
    assert client.list_containers(f"{Label.STORE}={store}") == []
    assert executor.sweep(store) == []


@pytest.mark.parametrize(
    ("changes", "removed"),
    [
        ({}, False),
        ({Label.PID: "999999999"}, True),
        ({Label.STARTED: "1"}, True),
        ({Label.BOOT: "another"}, True),
        ({Label.HOST: "another", Label.PID: "999999999"}, False),
        ({Label.NAMESPACE: "pid:[1]", Label.PID: "999999999"}, False),
        ({Label.NAMESPACE: "pid:[1]", Label.DEADLINE: "1"}, True),
        ({Label.DEADLINE: "1"}, True),
        ({Label.HOST: "another", Label.DEADLINE: "1"}, False),
    ],
)
def test_only_dead_or_overdue_owners_of_this_store_and_host_are_judged(
    client: Any, executor: Any, image_id: Any, changes: Any, removed: Any
) -> None:
    store = f"test-{uuid.uuid4().hex}"
    labels = make_labels(store, "run", "attempt", "command", 600.0) | changes
    name = client.create(
        f"codeboost-{uuid.uuid4().hex[:16]}", {"Image": image_id, "Cmd": ["true"], "Labels": labels}
    )
    try:
        assert [thing.id for thing in executor.sweep(store)] == ([name] if removed else [])
        assert len(client.list_containers(f"{Label.STORE}={store}")) == (0 if removed else 1)
    finally:
        if not removed:
            client.remove(name)


def test_closing_the_executor_removes_what_still_runs(plain: Any, client: Any) -> None:
    import threading

    from codeboost.sandbox.engine import open_executor

    executor = open_executor(plain.store)
    lab = type(plain)(executor, plain.image_id, plain.store, plain.repo)
    spec = lab.spec("sleep", "60")
    outcomes = []
    worker = threading.Thread(target=lambda: outcomes.append(executor.execute(spec, threading.Event())))
    worker.start()
    label = f"{Label.ATTEMPT}={spec.attempt}"
    wait_until(lambda: any(found["State"] == "running" for found in client.list_containers(label)))
    executor.close()
    worker.join(20)
    assert client.list_containers(label) == []
    assert outcomes[0].verdict is not Verdict.PASSED


def test_old_snapshots_go_by_age_and_size_but_never_one_in_use(
    lab: Any, client: Any, monkeypatch: Any
) -> None:
    lab.repo.write("a", os.urandom(64))
    snapshot = lab.snapshot()
    every = client.list_images
    monkeypatch.setattr(
        type(client),
        "list_images",
        lambda self, *labels: [one for one in every(*labels) if one["Id"] == snapshot.image_id],
    )
    assert sweep_images(client) == []
    assert sweep_images(client, keep_bytes=0) == []
    assert [thing.id for thing in sweep_images(client, keep_s=0, dry_run=True)] == [snapshot.image_id]
    assert sweep_images(client, keep_s=0, most=0) == []
    held = client.create(f"codeboost-{uuid.uuid4().hex[:16]}", {"Image": snapshot.image_id, "Cmd": ["true"]})
    try:
        assert sweep_images(client, keep_s=0) == []
        assert client.inspect_image(snapshot.image_id) is not None
    finally:
        client.remove(held)
    assert [thing.id for thing in sweep_images(client, keep_s=0)] == [snapshot.image_id]
    assert client.inspect_image(snapshot.image_id) is None
    assert client.inspect_image(lab.image_id) is not None


def test_a_use_makes_a_snapshot_young_again(lab: Any, client: Any) -> None:
    lab.repo.write("a", os.urandom(64))
    first = lab.snapshot()
    before = client.inspect_image(first.image_id)["Metadata"]["LastTagTime"]
    lab._snapshots.clear()
    lab.snapshot()
    assert client.inspect_image(first.image_id)["Metadata"]["LastTagTime"] > before
