"""Real signals while containers exist: however many come, and whenever, none of them is left behind."""

from __future__ import annotations

import os
import select
import signal
import sqlite3
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codeboost.sandbox.lock import hold_lock

pytestmark = pytest.mark.engine

IMAGE = "codeboost/example:1"
# Deaf to TERM, so that its end takes five seconds and signals come in the middle of it.
DEAF = "python3 -c 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)'"


def ask_docker(*arguments: str) -> list[str]:
    return subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True).stdout.split()


def list_containers(checkout: Any) -> list[str]:
    return ask_docker("ps", "-aq", "--filter", f"label=io.codeboost.store={read_store_id(checkout)}")


def read_store_id(checkout: Any) -> str:
    with sqlite3.connect(checkout.home / "store.db") as store:
        [(found,)] = store.execute("SELECT id FROM store")
    return str(found)


def list_setup_locks() -> set[str]:
    folder = Path(tempfile.gettempdir()) / f"codeboost-{os.getuid()}"
    return {path.stem for path in folder.glob("setup-*.lock")}


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


@pytest.fixture
def prepared(checkout: Any) -> Iterator[Any]:
    """A plan whose policy has a [setup] that takes a minute and does not listen to TERM."""
    checkout.write(
        {
            "needs.txt": uuid.uuid4().hex,
            "codeboost.toml": f'[sandbox]\nimage = "{IMAGE}"\n[setup]\ninputs = ["needs.txt"]\n'
            f'run = ["""{DEAF}"""]\n',
        }
    )
    checkout.commit()
    checkout.adopt({"id": "P1", "cmds": ["true"]})
    yield checkout
    assert list_containers(checkout) == []


@pytest.mark.parametrize(
    "numbers",
    [
        (signal.SIGINT,),
        (signal.SIGTERM,),
        (signal.SIGINT, signal.SIGINT, signal.SIGINT),
        (signal.SIGTERM, signal.SIGINT, signal.SIGTERM),
    ],
    ids=lambda numbers: "-".join(number.name for number in numbers),
)
def test_a_setup_that_runs_is_ended_and_removed(prepared: Any, numbers: tuple[int, ...]) -> None:
    process = prepared.start("run", 412)
    wait_for(lambda: list_containers(prepared))
    # Long enough for the program to have made itself deaf.
    time.sleep(1.5)
    began = time.monotonic()
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.7)
    out, err = process.communicate(timeout=40)
    assert process.returncode == 128 + numbers[0], err
    assert time.monotonic() - began < 25
    assert list_containers(prepared) == []
    assert "Traceback" not in err
    assert "stopping after this step\n" in err, "nothing is promised that would leave a container"
    assert err.endswith("stopped before anything had started\n")
    assert out == ""
    assert prepared.status("P1") == "open"
    assert prepared.call("runs", 412).out == ""


def test_many_signals_at_any_time_leave_nothing(prepared: Any) -> None:
    """A signal every few hundredths of a second, from before the container is created until after it is removed."""
    process = prepared.start("run", 412)
    told, sent = process.stderr.fileno(), 0
    said = b""
    while b"[setup]" not in said:
        said += os.read(told, 4096)
    while b"stopped" not in said:
        process.send_signal(signal.SIGINT)
        sent += 1
        if select.select([told], [], [], 0.03)[0]:
            more = os.read(told, 4096)
            assert more, said
            said += more
    process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert sent > 3
    assert b"Traceback" not in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_waiting_for_another_runs_setup_ends_at_the_first_signal(
    prepared: Any, number: signal.Signals
) -> None:
    known = list_setup_locks()
    first = prepared.start("run", 412)
    wait_for(lambda: list_containers(prepared))
    [lock] = list_setup_locks() - known
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=40)
    assert first.returncode == 143
    with hold_lock(lock):
        process = prepared.start("run", 412)
        line = ""
        while "[setup]" not in line:
            line = process.stderr.readline()
            assert line, "it ended too soon"
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(number)
        began = time.monotonic()
        process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("numbers", [(signal.SIGINT,), (signal.SIGTERM, signal.SIGINT, signal.SIGINT)])
def test_doctor_leaves_nothing_either(checkout: Any, numbers: tuple[int, ...]) -> None:
    process = checkout.start("doctor", "--pull", "never")
    wait_for(lambda: (checkout.home / "store.db").exists() and len(list_containers(checkout)) > 1)
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.2)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 128 + numbers[0], err
    assert "Traceback" not in err
    assert err.endswith("stopped; its containers are removed\n")
    assert out == ""
    assert list_containers(checkout) == []


@pytest.mark.parametrize(("command", "code"), [("true", 0), ("false", 1)])
def test_a_run_whose_progress_nobody_reads_goes_on(checkout: Any, command: str, code: int) -> None:
    checkout.adopt({"id": "P1", "cmds": [command]}, {"id": "P2", "cmds": ["true"]})
    process = checkout.start("run", 412)
    assert process.stderr.readline()
    process.stderr.close()
    process.stdout.close()
    assert process.wait(timeout=60) == code
    assert checkout.status("P2") == "review"
