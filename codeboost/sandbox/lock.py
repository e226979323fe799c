"""A lock between processes and threads of one user: what two runs need at once is built once."""

from __future__ import annotations

import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codeboost.errors import EngineError

__all__ = ["hold_lock", "try_lock", "wait_for_lock"]

_LOOK_EVERY_S = 0.1


@contextmanager
def hold_lock(name: str) -> Iterator[None]:
    """Waits for the lock ``name`` and holds it. Each holder opens the file anew, so threads exclude each other too."""
    with _open(name) as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def wait_for_lock(name: str, cancelled: threading.Event) -> Iterator[bool]:
    """Like ``hold_lock``, for what may take long: gives up once ``cancelled`` is set. Says whether the lock is held."""
    with _open(name) as handle:
        # A signal does not end a blocking flock, and neither does an event.
        while not (held := _take(handle)) and not cancelled.wait(_LOOK_EVERY_S):
            pass
        yield held


@contextmanager
def try_lock(name: str) -> Iterator[bool]:
    """Holds the lock ``name`` if it is free; says whether it is."""
    with _open(name) as handle:
        yield _take(handle)


def _take(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _open(name: str) -> Iterator[int]:
    try:
        handle = os.open(_make_folder() / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise EngineError(f"no lock file can be made in {tempfile.gettempdir()}: {error.strerror}") from error
    try:
        yield handle
    finally:
        os.close(handle)


def _make_folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"codeboost-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    # A folder that somebody else put there would let them hold our locks, or lead us astray with links.
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or not folder.is_dir() or folder.is_symlink():
        raise EngineError(f"{folder} is not a private folder of this user", hint="remove it, and run again")
    return folder
