"""Leftovers: what a killed run leaves is removed by the next, and nothing else ever is (design §7; B07)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from typing import Any

import pytest

from codeboost.operations.sweep import sweep_images as sweep_old
from codeboost.sandbox.base import ImageUse
from codeboost.sandbox.client import EngineClient, RefusedError
from codeboost.sandbox.lock import hold_lock
from codeboost.sandbox.owner import Label, make_labels
from codeboost.sandbox.sweep import sweep_images
from codeboost.store.database import Store
from codeboost.store.images import list_image_uses
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


def test_an_interrupted_removal_is_made_up_for_when_the_executor_closes(
    plain: Any, client: Any, monkeypatch: Any
) -> None:
    from codeboost.sandbox.engine import open_executor

    executor = open_executor(plain.store)
    lab = type(plain)(executor, plain.image_id, plain.store, plain.repo)
    spec = lab.spec("true")
    remove = EngineClient.remove

    def interrupt(self: Any, container: str) -> None:
        monkeypatch.setattr(EngineClient, "remove", remove)
        raise KeyboardInterrupt

    monkeypatch.setattr(EngineClient, "remove", interrupt)
    with pytest.raises(KeyboardInterrupt):
        executor.execute(spec, threading.Event())
    label = f"{Label.ATTEMPT}={spec.attempt}"
    assert len(client.list_containers(label)) == 1
    executor.close()
    assert client.list_containers(label) == []


def test_a_container_that_cannot_be_removed_is_tried_again_when_the_executor_closes(
    plain: Any, client: Any, monkeypatch: Any
) -> None:
    from codeboost.sandbox.engine import open_executor

    executor = open_executor(plain.store)
    lab = type(plain)(executor, plain.image_id, plain.store, plain.repo)
    spec = lab.spec("true")
    with monkeypatch.context() as patch:

        def refuse(self: Any, container: str) -> None:
            raise RefusedError("no")

        patch.setattr(EngineClient, "remove", refuse)
        outcome = executor.execute(spec, threading.Event())
    assert outcome.verdict is Verdict.INFRASTRUCTURE
    assert "could not be removed: no" in outcome.reason
    executor.close()
    assert client.list_containers(f"{Label.ATTEMPT}={spec.attempt}") == []


def test_closing_the_executor_removes_what_still_runs(plain: Any, client: Any) -> None:
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


@pytest.fixture
def alone(client: Any, monkeypatch: Any) -> Any:
    """Lets a sweep of images see only these: the engine is shared with others."""
    every = client.list_images
    return lambda *ids: monkeypatch.setattr(
        type(client), "list_images", lambda self, *labels: [one for one in every(*labels) if one["Id"] in ids]
    )


def test_old_snapshots_go_by_age_and_size_but_never_one_in_use(lab: Any, client: Any, alone: Any) -> None:
    lab.repo.write("a", os.urandom(64))
    snapshot = lab.snapshot()
    alone(snapshot.image_id)
    assert sweep_images(client, {}) == []
    assert sweep_images(client, {}, keep_bytes=0) == []
    assert [thing.id for thing in sweep_images(client, {}, keep_s=0, dry_run=True)] == [snapshot.image_id]
    assert sweep_images(client, {}, keep_s=0, most=0) == []
    held = client.create(f"codeboost-{uuid.uuid4().hex[:16]}", {"Image": snapshot.image_id, "Cmd": ["true"]})
    try:
        assert sweep_images(client, {}, keep_s=0) == []
        assert client.inspect_image(snapshot.image_id) is not None
    finally:
        client.remove(held)
    assert [thing.id for thing in sweep_images(client, {}, keep_s=0)] == [snapshot.image_id]
    assert client.inspect_image(snapshot.image_id) is None
    assert client.inspect_image(lab.image_id) is not None


def test_the_last_use_is_the_later_of_what_the_store_and_the_engine_know(
    lab: Any, client: Any, alone: Any, monkeypatch: Any
) -> None:
    lab.repo.write("a", os.urandom(64))
    image = lab.snapshot().image_id
    alone(image)
    begin = time.time()

    def would_go(days: float, **what: Any) -> bool:
        monkeypatch.setattr("codeboost.sandbox.sweep.time.time", lambda: begin + days * 86400)
        return bool(sweep_images(client, dry_run=True, **what))

    own = {image: ImageUse(begin, held=False)}
    assert not would_go(13.9, uses={})
    assert would_go(14.1, uses={})
    assert not would_go(14.1, uses={image: ImageUse(begin + 86400, held=False)})
    assert not would_go(1000, uses={image: ImageUse(begin, held=True)})
    assert not would_go(1000, uses={image: ImageUse(begin, held=True)}, keep_bytes=0)
    # Room is made of this store's own after an hour, of what others may hold after a day.
    assert not would_go(0.5 / 24, uses=own, keep_bytes=0)
    assert would_go(1.5 / 24, uses=own, keep_bytes=0)
    assert not would_go(1.5 / 24, uses={}, keep_bytes=0)
    assert not would_go(1.5 / 24, uses={image: ImageUse(begin - 3600, held=False)}, keep_bytes=0)
    assert would_go(1.1, uses={}, keep_bytes=0)


def test_a_name_that_somebody_else_gave_is_never_taken_away(lab: Any, client: Any, alone: Any) -> None:
    lab.repo.write("a", os.urandom(64))
    image = lab.snapshot().image_id
    alone(image)
    client.tag_image(image, "codeboost-test-kept", "1")
    try:
        assert sweep_images(client, {}, keep_s=0) == []
        assert len(client.inspect_image(image)["RepoTags"]) == 2
    finally:
        client.remove_image("codeboost-test-kept:1")


def test_a_snapshot_that_is_taken_into_use_just_now_stays(
    lab: Any, client: Any, alone: Any, monkeypatch: Any
) -> None:
    lab.repo.write("a", os.urandom(64))
    snapshot = lab.snapshot()
    alone(snapshot.image_id)
    with hold_lock(f"snapshot-{snapshot.key}"):
        assert sweep_images(client, {}, keep_s=0) == []
    inspect, calls = type(client).inspect_image, []

    def use_between(self: Any, reference: str) -> Any:
        calls.append(reference)
        if len(calls) == 2:
            client.tag_image(snapshot.image_id, "codeboost/snapshot", snapshot.key)
        return inspect(self, reference)

    monkeypatch.setattr(type(client), "inspect_image", use_between)
    assert sweep_images(client, {}, keep_s=0) == []
    monkeypatch.undo()
    assert client.inspect_image(snapshot.image_id) is not None


def test_a_use_makes_a_snapshot_young_again(lab: Any, client: Any, monkeypatch: Any) -> None:
    def read_time() -> Any:
        return client.inspect_image(first.image_id)["Metadata"]["LastTagTime"]

    lab.repo.write("a", os.urandom(64))
    first = lab.snapshot()
    before = read_time()
    lab._snapshots.clear()
    lab.snapshot()
    between = read_time()
    assert between > before
    assert lab.run("true").verdict is Verdict.PASSED
    assert read_time() == between
    # A run may take longer than other stores wait.
    monkeypatch.setattr("codeboost.sandbox.executor._NOTED_AGAIN_S", 0.0)
    assert lab.run("true").verdict is Verdict.PASSED
    assert read_time() > between


HOLDER = """
import sys
from pathlib import Path
from codeboost.operations.hold_images import hold_images
from codeboost.sandbox.base import Owner
from codeboost.store.database import Store
store = Store.open(Path(sys.argv[1]))
with hold_images(store, Owner(store.id, "run")) as hold:
    hold(sys.argv[2])
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("killed", [False, True])
def test_between_two_commands_of_a_long_run_its_snapshot_stays(
    lab: Any, client: Any, executor: Any, alone: Any, monkeypatch: Any, tmp_path: Any, killed: Any
) -> None:
    lab.repo.write("a", os.urandom(64))
    image = lab.snapshot().image_id
    alone(image)
    now = time.time()
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path, image], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"held\n"
    with Store.open(tmp_path) as store:
        try:
            # The run is in its third week, and no container of it exists just now.
            monkeypatch.setattr("codeboost.sandbox.sweep.time.time", lambda: now + 20 * 86400)
            assert sweep_old(executor, store) == []
            assert [row.image_id for row in list_image_uses(store)] == [image]
        finally:
            if killed:
                process.kill()
            process.stdin.close()
            process.wait()
            process.stdout.close()
        assert sweep_old(executor, store, dry_run=True) != []
        assert len(list_image_uses(store)) == 1
        assert [thing.id for thing in sweep_old(executor, store)] == [image]
        assert list_image_uses(store) == []
    assert client.inspect_image(image) is None


def test_a_leftover_that_cannot_be_removed_is_told_and_the_others_go(
    client: Any, executor: Any, image_id: Any, monkeypatch: Any
) -> None:
    store = f"test-{uuid.uuid4().hex}"
    labels = make_labels(store, "run", "attempt", "command", 600.0) | {Label.PID: "999999999"}
    made = [
        client.create(
            f"codeboost-{uuid.uuid4().hex[:16]}", {"Image": image_id, "Cmd": ["true"], "Labels": labels}
        )
        for _ in range(3)
    ]
    remove = type(client).remove

    def fail_one(self: Any, container: str) -> None:
        if container == made[1]:
            raise RefusedError("driver failed to remove root filesystem: device or resource busy")
        remove(self, container)

    try:
        with monkeypatch.context() as patch:
            patch.setattr(type(client), "remove", fail_one)
            swept = executor.sweep(store)
        assert {thing.id: "busy" in thing.failure for thing in swept} == {
            name: name == made[1] for name in made
        }
        assert len(client.list_containers(f"{Label.STORE}={store}")) == 1
    finally:
        assert [thing.id for thing in executor.sweep(store)] == [made[1]]


def test_an_image_that_cannot_be_removed_is_told_and_the_others_go(
    lab: Any, make_repo: Any, client: Any, alone: Any, monkeypatch: Any
) -> None:
    images = []
    for number in range(2):
        other = type(lab)(lab.executor, lab.image_id, lab.store, make_repo(f"repo-{number}"))
        other.repo.write("a", os.urandom(64))
        images.append(other.snapshot())
    alone(*(snapshot.image_id for snapshot in images))
    remove = type(client).remove_image

    def fail_first(self: Any, reference: str) -> None:
        if images[0].key in reference:
            raise RefusedError("unlinkat: read-only file system")
        remove(self, reference)

    monkeypatch.setattr(type(client), "remove_image", fail_first)
    swept = sweep_images(client, {}, keep_s=0, most=1)
    assert [(thing.id, "read-only" in thing.failure) for thing in swept] == [
        (images[0].image_id, True),
        (images[1].image_id, False),
    ]
    monkeypatch.undo()
    client.remove_image(images[0].image_id)
