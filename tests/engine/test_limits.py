"""Limits and what is said when one is hit (design §7; public reports B01, B03, B05, B13, B39)."""

from __future__ import annotations

import hashlib
import resource
import threading
import time
from typing import Any

import pytest

from codeboost.errors import EngineError
from codeboost.sandbox.client import EngineClient
from codeboost.sandbox.owner import Label
from codeboost.verdict import Verdict


@pytest.mark.timing
def test_an_endless_program_is_ended_in_time_and_gone(plain: Any, client: Any) -> None:
    begin = time.monotonic()
    spec = plain.spec("sleep", "600", timeout_s=1.0)
    outcome = plain.executor.execute(spec, threading.Event())
    assert outcome.verdict is Verdict.TIMED_OUT
    assert outcome.timed_out
    assert 1.0 <= outcome.duration_s < 7.0
    assert time.monotonic() - begin < 11.0
    assert client.list_containers(f"{Label.ATTEMPT}={spec.attempt}") == []


def test_handling_term_with_exit_status_0_is_still_a_timeout(plain: Any) -> None:
    outcome = plain.run("sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done", timeout_s=1.0)
    assert (outcome.verdict, outcome.exit_code) == (Verdict.TIMED_OUT, 0)


def test_ignoring_term_ends_in_kill_after_the_grace(plain: Any) -> None:
    outcome = plain.run("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done", timeout_s=1.0)
    assert outcome.verdict is Verdict.TIMED_OUT
    assert outcome.exit_code == 137
    assert 6.0 <= outcome.duration_s < 12.0


def test_a_look_at_the_disk_that_takes_long_does_not_stop_the_clock(plain: Any, monkeypatch: Any) -> None:
    inspect = EngineClient.inspect

    def look_slowly(self: Any, container: str, *, size: bool = False, **options: Any) -> Any:
        if size:
            time.sleep(3.0)
        return inspect(self, container, size=size, **options)

    monkeypatch.setattr(EngineClient, "inspect", look_slowly)
    outcome = plain.run("sleep", "2", timeout_s=1.0)
    assert (outcome.verdict, outcome.exit_code) == (Verdict.TIMED_OUT, 143)
    assert outcome.duration_s < 2.0


def test_what_ended_by_itself_after_its_time_is_no_pass(plain: Any, monkeypatch: Any) -> None:
    # The clock is kept from looking, as on a machine that is too busy; the end alone tells.
    monkeypatch.setattr("codeboost.sandbox.container._TICK_S", 30.0)
    outcome = plain.run("sleep", "1.5", timeout_s=1.0)
    assert (outcome.verdict, outcome.exit_code, outcome.timed_out) == (Verdict.TIMED_OUT, 0, True)
    assert 1.0 < outcome.duration_s < 10.0


def test_a_disk_that_cannot_be_looked_at_counts_as_full(plain: Any, monkeypatch: Any) -> None:
    inspect = EngineClient.inspect

    def fail(self: Any, container: str, *, size: bool = False, **options: Any) -> Any:
        if size:
            raise EngineError("timed out")
        return inspect(self, container, **options)

    monkeypatch.setattr(EngineClient, "inspect", fail)
    monkeypatch.setattr("codeboost.sandbox.watch._BLIND_S", 1.0)
    outcome = plain.run("sleep", "30")
    assert (outcome.verdict, outcome.exit_code) == (Verdict.DISK_LIMIT, 137)
    assert "cannot be measured" in outcome.reason
    assert plain.run("true").verdict is Verdict.DISK_LIMIT


@pytest.mark.parametrize("status", [1, 2, 3, 5, 77, 124, 125, 126, 127, 128, 130, 137, 139, 143, 255])
def test_a_programs_own_exit_status_is_a_plain_failure(plain: Any, status: Any) -> None:
    outcome = plain.python(f"import sys; sys.exit({status})")
    assert (outcome.verdict, outcome.exit_code) == (Verdict.FAILED, status)
    assert f"exit status {status}" in outcome.reason
    assert not outcome.out_of_memory
    assert not outcome.timed_out


def test_a_signal_is_named_as_likely(plain: Any) -> None:
    outcome = plain.python("import os; os.kill(os.getpid(), 11)")
    assert (outcome.verdict, outcome.exit_code, outcome.signal) == (Verdict.FAILED, 139, 11)
    assert "probably ended by SIGSEGV" in outcome.reason


def test_too_much_memory_is_told_as_such(plain: Any) -> None:
    outcome = plain.python("bytearray(1 << 30)", memory_bytes=64 << 20)
    assert outcome.verdict is Verdict.OUT_OF_MEMORY
    assert outcome.out_of_memory
    assert "64 MiB" in outcome.reason


def test_a_child_killed_for_memory_counts_though_the_parent_ends_0(plain: Any) -> None:
    outcome = plain.python(
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'bytearray(1 << 30)'])",
        memory_bytes=64 << 20,
    )
    assert (outcome.verdict, outcome.exit_code) == (Verdict.OUT_OF_MEMORY, 0)


def test_more_processes_than_allowed_cannot_start(plain: Any) -> None:
    outcome = plain.python(
        "import os, time\n"
        "for n in range(5000):\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(60); os._exit(0)\n",
        pids=64,
    )
    assert outcome.verdict is Verdict.FAILED
    assert b"Resource temporarily unavailable" in outcome.stderr.head


def test_a_growing_tree_hits_the_disk_limit(plain: Any) -> None:
    text = (
        "import time\n"
        "for n in range(1000):\n"
        "    open(f'f{n}', 'wb').write(bytes(4 << 20)); time.sleep(0.05)\n"
    )
    outcome = plain.python(text, disk_bytes=32 << 20)
    assert outcome.verdict is Verdict.DISK_LIMIT
    assert "the disk limit is 32 MiB" in outcome.reason
    assert outcome.limits_in_force["disk"] == "32 MiB, watched"


def test_what_was_written_before_the_first_look_is_seen_after_the_end(plain: Any) -> None:
    text = (
        "import os\n"
        "for n in range(3):\n"
        "    os.posix_fallocate(os.open(f'f{n}', os.O_CREAT | os.O_RDWR), 0, 31 << 20)\n"
    )
    outcome = plain.python(text, disk_bytes=32 << 20)
    assert (outcome.verdict, outcome.exit_code) == (Verdict.DISK_LIMIT, 0)


def test_one_file_is_capped_by_the_kernel(plain: Any) -> None:
    outcome = plain.run("dd", "if=/dev/zero", "of=big", "bs=1M", "count=200", disk_bytes=32 << 20)
    assert outcome.verdict is Verdict.DISK_LIMIT


def test_a_full_tmp_is_an_ordinary_error(plain: Any) -> None:
    outcome = plain.python("open('/tmp/x', 'wb').write(bytes(60 << 20))", memory_bytes=96 << 20)
    assert outcome.verdict is Verdict.FAILED
    assert b"No space left on device" in outcome.stderr.head


def test_a_flood_on_both_streams_keeps_head_and_tail_and_counts_the_rest(plain: Any) -> None:
    text = (
        "import os\n"
        "os.write(1, b'first\\n'); os.write(2, b'FIRST\\n')\n"
        "for n in range(60): os.write(1, b'o' * (1 << 20)); os.write(2, b'e' * (1 << 18))\n"
        "os.write(1, b'last\\n'); os.write(2, b'LAST\\n')\n"
        "raise SystemExit(3)\n"
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = plain.python(text)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10
    assert (outcome.verdict, outcome.exit_code) == (Verdict.FAILED, 3)
    out = b"first\n" + b"o" * (60 << 20) + b"last\n"
    err = b"FIRST\n" + b"e" * (60 << 18) + b"LAST\n"
    for stream, whole in ((outcome.stdout, out), (outcome.stderr, err)):
        assert stream.total == len(whole)
        assert stream.sha256 == hashlib.sha256(whole).hexdigest()
        assert stream.head == whole[: 256 << 10]
        assert stream.tail == whole[-(768 << 10) :]
        assert stream.dropped == len(whole) - (1 << 20)


def test_short_output_is_kept_whole_in_the_head(plain: Any) -> None:
    outcome = plain.run("cat", "a.txt")
    assert (outcome.stdout.head, outcome.stdout.tail, outcome.stdout.dropped) == (b"hello\n", b"", 0)


def test_output_that_is_not_utf8_arrives_as_it_is(plain: Any) -> None:
    outcome = plain.python(r"import os; os.write(1, b'\xc3\x28 ok\n'); raise SystemExit(7)")
    assert (outcome.verdict, outcome.exit_code, outcome.stdout.head) == (Verdict.FAILED, 7, b"\xc3\x28 ok\n")


def test_cancelling_ends_a_running_command_soon(plain: Any, client: Any) -> None:
    cancelled = threading.Event()
    threading.Timer(1.0, cancelled.set).start()
    begin = time.monotonic()
    outcome = plain.run("sleep", "600", cancelled=cancelled)
    assert outcome.verdict is Verdict.CANCELLED
    assert time.monotonic() - begin < 10.0


def test_cancelled_before_the_start_makes_no_container(plain: Any) -> None:
    cancelled = threading.Event()
    cancelled.set()
    outcome = plain.run("sleep", "600", cancelled=cancelled)
    assert outcome.verdict is Verdict.CANCELLED
    assert outcome.container_id is None


def test_twenty_times_in_a_row_and_twice_at_once_without_cross_talk(plain: Any) -> None:
    results = []

    def work(name: str) -> None:
        for number in range(10):
            outcome = plain.run("echo", f"{name}-{number}")
            results.append((outcome.verdict, outcome.stdout.head == f"{name}-{number}\n".encode()))

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [(Verdict.PASSED, True)] * 20


def test_a_runner_that_selects_nothing_and_says_so_by_its_status_fails(lab: Any) -> None:
    lab.repo.write("pytest", "#!/bin/sh\necho 'no tests ran in 0.01s'\nexit 5\n", executable=True)
    outcome = lab.run("./pytest", "-k", "nosuch")
    assert (outcome.verdict, outcome.exit_code) == (Verdict.FAILED, 5)
