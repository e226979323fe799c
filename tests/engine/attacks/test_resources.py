"""Programs that take all they can get: each is stopped, told as what it was, and leaves the host as before."""

from __future__ import annotations

import shutil
import threading
import time
from typing import Any

import pytest

from codeboost.verdict import Verdict

pytestmark = pytest.mark.usefixtures("unchanged_host")


def test_a_fork_bomb(lab: Any) -> None:
    text = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"
    outcome = lab.python(text, timeout_s=3.0, pids=64)
    assert outcome.verdict is Verdict.TIMED_OUT


def test_a_shell_fork_bomb(lab: Any) -> None:
    outcome = lab.run("bash", "-c", ":(){ :|:& };: ; sleep 30", timeout_s=3.0, pids=64)
    assert outcome.verdict in (Verdict.TIMED_OUT, Verdict.FAILED)


def test_a_memory_bomb(lab: Any) -> None:
    outcome = lab.python("kept = []\nwhile True: kept.append(bytearray(8 << 20))", memory_bytes=64 << 20)
    assert outcome.verdict is Verdict.OUT_OF_MEMORY


def test_a_memory_bomb_in_tmp_and_shared_memory(lab: Any) -> None:
    text = (
        "import os\n"
        "for place in ('/tmp', '/dev/shm'):\n"
        "    try:\n"
        "        with open(place + '/x', 'wb') as file:\n"
        "            while True: file.write(bytes(1 << 20))\n"
        "    except OSError: pass\n"
        "kept = bytearray(48 << 20)\n"
    )
    outcome = lab.python(text, memory_bytes=64 << 20)
    assert outcome.verdict is Verdict.OUT_OF_MEMORY


def test_many_children_that_take_memory_and_a_parent_that_ends_0(lab: Any) -> None:
    text = (
        "import os\n"
        "for n in range(4):\n"
        "    if os.fork() == 0:\n"
        "        bytearray(200 << 20); os._exit(0)\n"
        "for n in range(4): os.wait()\n"
    )
    assert lab.python(text, memory_bytes=64 << 20).verdict is Verdict.OUT_OF_MEMORY


@pytest.mark.parametrize("place", ["/workspace", "/home/codeboost", "/var/tmp"])
def test_filling_the_disk(lab: Any, place: Any) -> None:
    text = (
        "import itertools, time\n"
        "for n in itertools.count():\n"
        f"    open('{place}/f%d' % n, 'wb').write(bytes(2 << 20)); time.sleep(0.02)\n"
    )
    outcome = lab.python(text, disk_bytes=24 << 20, timeout_s=30.0)
    assert outcome.verdict is Verdict.DISK_LIMIT


def test_the_room_that_was_filled_comes_back(lab: Any) -> None:
    least = before = shutil.disk_usage("/").free
    ended = threading.Event()

    def look() -> None:
        nonlocal least
        while not ended.wait(0.05):
            least = min(least, shutil.disk_usage("/").free)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        text = "import time\nfor n in range(20): open(f'f{n}', 'wb').write(bytes(20 << 20)); time.sleep(0.05)\ntime.sleep(1)"
        assert lab.python(text, disk_bytes=1 << 30).verdict is Verdict.PASSED
    finally:
        ended.set()
        watcher.join()
    filled = 400 << 20
    # Others write meanwhile; what counts is that ours went, and came back to within 50 MB.
    assert least < before - filled // 2
    deadline = time.monotonic() + 60
    while shutil.disk_usage("/").free < least + filled - (50 << 20):
        assert time.monotonic() < deadline, "the room did not come back"
        time.sleep(0.5)


def test_filling_the_disk_with_one_file_and_going_on(lab: Any) -> None:
    text = (
        "import signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "try:\n"
        "    with open('f', 'wb') as file:\n"
        "        while True: file.write(bytes(1 << 20))\n"
        "except OSError: pass\n"
    )
    outcome = lab.python(text, disk_bytes=24 << 20)
    assert outcome.verdict is Verdict.DISK_LIMIT


def test_filling_the_disk_beside_a_path_that_no_engine_can_walk(lab: Any) -> None:
    # With a path beyond the kernel's bound in it, the engine cannot add up what the container wrote.
    text = (
        "import os, time\n"
        "for n in range(30): os.mkdir('d' * 250); os.chdir('d' * 250)\n"
        "os.chdir('/workspace')\n"
        "for n in range(6):\n"
        "    with open(f'f{n}', 'wb') as file: file.write(bytes(48 << 20))\n"
        "    time.sleep(0.5)\n"
    )
    outcome = lab.python(text, disk_bytes=64 << 20, timeout_s=30.0)
    assert outcome.verdict is Verdict.DISK_LIMIT
    assert outcome.exit_code == 137
    assert "cannot be measured" in outcome.reason


def test_a_path_that_no_engine_can_walk_made_before_the_first_look(lab: Any) -> None:
    text = "import os\nfor n in range(30): os.mkdir('d' * 250); os.chdir('d' * 250)\n"
    outcome = lab.python(text)
    assert outcome.verdict is Verdict.DISK_LIMIT
    assert "cannot be measured" in outcome.reason


def test_filling_the_disk_in_the_grace_after_term(lab: Any) -> None:
    text = (
        "import itertools, signal, time\n"
        "def fill(*_):\n"
        "    for n in itertools.count():\n"
        "        with open(f'f{n}', 'wb') as file: file.write(bytes(4 << 20))\n"
        "        time.sleep(0.02)\n"
        "signal.signal(signal.SIGTERM, fill)\n"
        "time.sleep(60)\n"
    )
    outcome = lab.python(text, disk_bytes=64 << 20, timeout_s=1.0)
    assert (outcome.verdict, outcome.exit_code) == (Verdict.TIMED_OUT, 137)
    # Not the whole grace of 5 seconds.
    assert outcome.duration_s < 4.5


def test_files_come_and_go_under_every_look(lab: Any) -> None:
    text = (
        "import os, shutil, time\n"
        "end = time.monotonic() + 4\n"
        "for n in range(3):\n"
        "    if os.fork() == 0:\n"
        "        while time.monotonic() < end:\n"
        "            os.makedirs(f'd{n}/a/b/c')\n"
        "            for m in range(20): open(f'd{n}/a/b/c/f{m}', 'w').write('x' * 1000)\n"
        "            shutil.rmtree(f'd{n}')\n"
        "        os._exit(0)\n"
        "for n in range(3): os.wait()\n"
    )
    assert lab.python(text).verdict is Verdict.PASSED


def test_filling_the_inodes(lab: Any, monkeypatch: Any) -> None:
    # The bound of a million is brought within reach; what counts is that empty files are seen at all.
    monkeypatch.setattr("codeboost.sandbox.watch._INODE_LIMIT", 5_000)
    monkeypatch.setattr("codeboost.sandbox.watch._SLOW_LOOK_S", 0.01)
    text = "import itertools, os\nfor n in itertools.count():\n    os.mknod('f%d' % n)\n"
    outcome = lab.python(text, timeout_s=60.0)
    assert outcome.verdict is Verdict.DISK_LIMIT
    assert "5000 files" in outcome.reason


def test_flooding_both_streams_without_end(lab: Any) -> None:
    text = (
        "import os\n"
        "if os.fork() == 0:\n"
        "    while True: os.write(2, b'e' * (1 << 16))\n"
        "while True: os.write(1, b'o' * (1 << 16))\n"
    )
    outcome = lab.python(text, timeout_s=2.0)
    assert outcome.verdict is Verdict.TIMED_OUT
    for stream in (outcome.stdout, outcome.stderr):
        assert stream.kept <= 1 << 20
        assert stream.total > stream.kept


def test_a_process_that_outlives_its_parent(lab: Any) -> None:
    text = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0: time.sleep(600)\n"
        "    os._exit(0)\n"
    )
    outcome = lab.python(text)
    assert outcome.verdict is Verdict.PASSED
    assert outcome.duration_s < 20


def test_everybody_ignores_term(lab: Any) -> None:
    text = (
        "import os, signal, time\n"
        "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)\n"
        "for n in range(8): os.fork()\n"
        "time.sleep(600)\n"
    )
    assert lab.python(text, timeout_s=1.0, pids=300).verdict is Verdict.TIMED_OUT


def test_stopped_processes_end_too(lab: Any) -> None:
    text = "import os, signal\nos.fork()\nos.kill(os.getpid(), signal.SIGSTOP)\n"
    assert lab.python(text, timeout_s=1.0).verdict is Verdict.TIMED_OUT


def test_signals_at_process_1(lab: Any) -> None:
    text = "import os\nfor number in range(1, 65):\n    try: os.kill(1, number)\n    except OSError: pass\nprint('alive')\n"
    outcome = lab.python(text)
    assert outcome.verdict in (Verdict.FAILED, Verdict.PASSED)
    assert outcome.verdict is Verdict.FAILED or outcome.stdout.head == b"alive\n"
