"""What the attacks are judged by sees a process that hides: one that has no environment, and has left its parent."""

from __future__ import annotations

import threading
import time
from typing import Any


def test_a_process_without_an_environment_is_seen(lab: Any, client: Any, host_check: Any) -> None:
    known = host_check.list_processes()
    cancelled = threading.Event()
    # The mark of the laboratory is gone from it, and so is its parent.
    text = "import os\nif os.fork(): os.wait()\nelse:\n os.setsid()\n os.execve('/bin/sleep', ['sleep', '60'], {})\n"
    worker = threading.Thread(target=lambda: lab.python(text, cancelled=cancelled))
    worker.start()
    try:
        deadline = time.monotonic() + 30
        hidden: set[int] = set()
        containers: set[str] = set()
        while not hidden:
            assert time.monotonic() < deadline, "nothing was seen"
            time.sleep(0.2)
            label = f"io.codeboost.run=run-{lab.mark[:8]}"
            containers = {found["Id"] for found in client.list_containers(label)}
            seen = host_check.find_strays(known, containers)
            hidden = {pid for pid in seen if _read_program(pid) == b"sleep\x0060\x00"}
        assert hidden.isdisjoint(host_check.list_marked(lab.mark))
        # Others' containers are not ours.
        assert hidden.isdisjoint(host_check.find_strays(known, {"0" * 64}))
    finally:
        cancelled.set()
        worker.join()
    assert host_check.find_strays(known, containers) == []


def _read_program(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123 - it may be gone
            return file.read()
    except OSError:
        return b""
