"""An engine that dies in the middle: infrastructure, never a pass, and the next run cleans up (design §7)."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from codeboost.limits import Limits
from codeboost.sandbox.archive import END, Kind, make_header, wrap
from codeboost.sandbox.base import CommandSpec, Owner, SnapshotSpec
from codeboost.sandbox.engine import open_executor
from codeboost.sandbox.owner import Label
from codeboost.verdict import Verdict


class Daemon:
    """A second dockerd with everything of its own, beside the one of this host."""

    def __init__(self, folder: Any) -> None:
        self.folder = folder
        self.address = f"unix://{folder}/docker.sock"
        self.process: subprocess.Popen | None = None

    def start(self, listener: socket.socket | None = None) -> None:
        """With a ``listener`` it takes over that socket, as systemd hands it on."""
        # A killed one leaves these, and trusts them while a process (a dead one not yet collected, too) has the number.
        for name in ("docker.pid", "exec/containerd/containerd.pid"):
            (self.folder / name).unlink(missing_ok=True)
        # In a network namespace of its own: with --bridge=none it would take down the bridge of the other engine.
        command = [
            *("unshare", "--net", "sh", "-c", 'LISTEN_PID=$$ exec dockerd "$@"', "dockerd"),
            *("--data-root", self.folder / "data", "--exec-root", self.folder / "exec"),
            *("--pidfile", self.folder / "docker.pid", "-H", "fd://" if listener else self.address),
            *("--bridge=none", "--iptables=false", "--log-level=error"),
        ]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                list(map(str, command)),
                stderr=log,
                start_new_session=True,
                env=os.environ | ({"LISTEN_FDS": "1"} if listener else {}),
                preexec_fn=(lambda: os.dup2(listener.fileno(), 3)) if listener else None,  # noqa: PLW1509
                pass_fds=(3,) if listener else (),
            )
        deadline = time.monotonic() + 60
        while subprocess.run(
            ["docker", "-H", self.address, "info"], capture_output=True, check=False
        ).returncode:
            assert time.monotonic() < deadline, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.2)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)
        # What it started lives on without it: end exactly that.
        for entry in (self.folder / "exec").rglob("*.pid"):
            try:
                os.kill(int(entry.read_text()), signal.SIGKILL)
            except (OSError, ValueError):
                continue
        # A shim outlives its container when nobody is left to tell.
        for place in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if f"{self.folder}/exec".encode() in place.read_bytes():
                    os.kill(int(place.parent.name), signal.SIGKILL)
        for line in reversed(Path("/proc/self/mountinfo").read_text("utf-8").splitlines()):
            place = line.split()[4]
            if place.startswith(str(self.folder)):
                subprocess.run(["umount", "-l", place], check=False)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: Any) -> Any:
    # Unix sockets have short names.
    folder = tmp_path_factory.mktemp("d", numbered=True)
    found = Daemon(folder)
    found.start()
    yield found
    found.stop()


@pytest.fixture(scope="module")
def busybox(daemon: Any) -> Any:
    """An image of one static binary: quick to load into an engine that has nothing."""
    content = Path("/bin/busybox").read_bytes()
    pieces = [make_header(b"bin", Kind.FOLDER, mode=0o755), *wrap(b"bin/busybox", content, mode=0o755)]
    pieces += [
        make_header(b"bin/" + name, Kind.SYMLINK, mode=0o777, target=b"busybox")
        for name in (b"sleep", b"sh", b"true")
    ]
    archive = b"".join([*pieces, END])
    done = subprocess.run(
        ["docker", "-H", daemon.address, "import", "-", "busybox:test"],
        input=archive,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


@pytest.fixture
def connected(daemon: Any, busybox: Any, repo: Any, monkeypatch: Any) -> Any:
    monkeypatch.setenv("DOCKER_HOST", daemon.address)
    executor = open_executor(store := f"test-{uuid.uuid4().hex}")
    repo.write("a", "1")
    snapshot = executor.take_snapshot(SnapshotSpec(repo.path, repo.commit(), busybox, git=True))
    yield executor, store, snapshot
    executor.close()


def make_spec(store: Any, snapshot: Any, *argv: Any) -> CommandSpec:
    return CommandSpec(
        "attempt", Owner(store, "run"), argv, snapshot, Limits(timeout_s=60, memory_bytes=64 << 20)
    )


# The library leaves the sockets of failed calls to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_death_and_return_of_the_engine(
    connected: Any, daemon: Any, busybox: Any, repo: Any, monkeypatch: Any
) -> None:
    executor, store, snapshot = connected
    assert executor.execute(make_spec(store, snapshot, "true"), threading.Event()).verdict is Verdict.PASSED
    outcomes = []
    specs = [
        make_spec(store, snapshot, "sleep", "30"),
        make_spec(store, snapshot, "sh", "-c", "sleep 3; exit 0"),
    ]
    workers = [
        threading.Thread(target=lambda spec=spec: outcomes.append(executor.execute(spec, threading.Event())))
        for spec in specs
    ]
    for worker in workers:
        worker.start()
    time.sleep(1.5)
    begin = time.monotonic()
    daemon.kill()
    for worker in workers:
        worker.join(60)
    assert time.monotonic() - begin < 50
    assert [outcome.verdict for outcome in outcomes] == [Verdict.INFRASTRUCTURE] * 2
    assert (
        executor.execute(make_spec(store, snapshot, "true"), threading.Event()).verdict
        is Verdict.INFRASTRUCTURE
    )
    time.sleep(1.0)
    gc.collect()
    daemon.start()
    # The owner lives, so only its own hand may remove them: as `run` does at its start for a dead owner.
    again = open_executor(store)
    try:
        monkeypatch.setattr("codeboost.sandbox.sweep.judge", lambda labels, *_: "its engine was restarted")
        assert len(again.sweep(store)) == 2
        commit = repo.git("rev-parse", "HEAD")
        taken = again.take_snapshot(SnapshotSpec(repo.path, commit, busybox, git=True))
        assert taken.reused
        assert again.execute(make_spec(store, taken, "true"), threading.Event()).verdict is Verdict.PASSED
    finally:
        again.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_engine_that_is_restarted_in_good_order_ends_no_command(
    daemon: Any, busybox: Any, repo: Any, monkeypatch: Any
) -> None:
    # As `systemctl restart docker` does it: the socket stays, the engine ends every program by TERM and tells the exit
    # over the connections that it has; whatever comes later is answered by the next engine.
    daemon.stop()
    place = daemon.folder / "activated.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen(128)
        monkeypatch.setattr(daemon, "address", f"unix://{place}")
        monkeypatch.setenv("DOCKER_HOST", daemon.address)
        daemon.start(listener)
        executor = open_executor(store := f"test-{uuid.uuid4().hex}")
        try:
            repo.write("a", "2")
            snapshot = executor.take_snapshot(SnapshotSpec(repo.path, repo.commit(), busybox, git=True))
            outcomes = []
            # The first shuts down in good order, which must not be taken for a pass.
            scripts = ["trap 'exit 0' TERM; while :; do sleep 0.1; done", "while :; do sleep 0.1; done"]
            workers = [
                threading.Thread(
                    target=lambda script=script: outcomes.append(
                        executor.execute(make_spec(store, snapshot, "sh", "-c", script), threading.Event())
                    )
                )
                for script in scripts
            ]
            for worker in workers:
                worker.start()
            time.sleep(2)
            daemon.process.terminate()
            daemon.process.wait(60)
            daemon.start(listener)
            for worker in workers:
                worker.join(100)
            assert [outcome.verdict for outcome in outcomes] == [Verdict.INFRASTRUCTURE] * 2
            assert executor._client.list_containers(f"{Label.STORE}={store}") == []
            again = executor.execute(make_spec(store, snapshot, "true"), threading.Event())
            assert again.verdict is Verdict.PASSED
        finally:
            executor.close()
            daemon.stop()
