"""Whose container it is: labels that tell a dead owner's leftovers from a living one's work (design §7).

The owner is a process: host, boot, pid namespace, pid and start time together name one process for all time. Only the
same store on the same host judges it, and what cannot be judged (a process in another pid namespace) is left alone until
its deadline has passed.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["Label", "Process", "find_process", "is_alive", "judge", "make_labels"]

_PREFIX = "io.codeboost."


class Label(StrEnum):
    STORE = _PREFIX + "store"
    RUN = _PREFIX + "run"
    ATTEMPT = _PREFIX + "attempt"
    HOST = _PREFIX + "host"
    BOOT = _PREFIX + "boot"
    NAMESPACE = _PREFIX + "pid-namespace"
    PID = _PREFIX + "pid"
    STARTED = _PREFIX + "started"
    DEADLINE = _PREFIX + "deadline"
    """Seconds since 1970 by this host's clock."""
    KIND = _PREFIX + "kind"
    KEY = _PREFIX + "key"
    WARNINGS = _PREFIX + "warnings"
    EXTRAS = _PREFIX + "extras"
    """Set on a snapshot whose tree has names that no layer can hold."""
    BYTES = _PREFIX + "bytes"
    """How much room an image takes beyond its base."""


class Process(NamedTuple):
    host: str
    boot: str
    namespace: str
    pid: int
    started: str


def find_process() -> Process:
    """This process."""
    host, boot = _find_machine()
    pid = os.getpid()
    return Process(host, boot, _read_link("/proc/self/ns/pid"), pid, _read_start(pid) or "")


def make_labels(store: str, run: str, attempt: str, kind: str, seconds: float) -> dict[str, str]:
    """The labels of a container that may live ``seconds`` from now."""
    process = find_process()
    return {
        Label.STORE: store,
        Label.RUN: run,
        Label.ATTEMPT: attempt,
        Label.KIND: kind,
        Label.HOST: process.host,
        Label.BOOT: process.boot,
        Label.NAMESPACE: process.namespace,
        Label.PID: str(process.pid),
        Label.STARTED: process.started,
        Label.DEADLINE: str(int(time.time() + seconds)),
    }


def judge(labels: Mapping[str, str], store: str, me: Process, now: float) -> str | None:
    """Why the bearer of ``labels`` may be removed, or None when it must stay."""
    if labels.get(Label.STORE) != store or labels.get(Label.HOST) != me.host:
        return None
    deadline = labels.get(Label.DEADLINE, "")
    if deadline.isdecimal() and now > int(deadline):
        return "its deadline has passed"
    if labels.get(Label.BOOT) != me.boot:
        return "its owner ran before this host was started"
    if labels.get(Label.NAMESPACE) != me.namespace:
        return None
    pid = labels.get(Label.PID, "")
    if pid.isdecimal() and is_alive(int(pid), labels.get(Label.STARTED, "")):
        return None
    return f"its owner (process {pid}) is gone"


def is_alive(pid: int, started: str) -> bool:
    """Whether the process that had ``pid`` and began at ``started`` still runs; a later one with its number does not."""
    found = _read_start(pid)
    if found is not None:
        return found == started
    if Path("/proc/self/stat").exists():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@cache
def _find_machine() -> tuple[str, str]:
    machine = _read("/etc/machine-id") or socket.gethostname()
    return machine, _read("/proc/sys/kernel/random/boot_id")


def _read_start(pid: int) -> str | None:
    """The start time in clock ticks since boot; None for a process that is gone (or where there is no /proc)."""
    stat = _read(f"/proc/{pid}/stat")
    if not stat:
        return None
    # The name in parentheses may hold anything; what follows its last one is fixed: state is field 3, start is 22.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else fields[19]


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _read_link(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""
