"""A lock that dies with its process: one run per issue at a time (design §7)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from codeboost.errors import StoreError
from codeboost.store.database import Store
from codeboost.visible import cut

__all__ = ["hold_issue", "is_issue_held"]


@contextmanager
def hold_issue(store: Store, repository_id: int, issue: int) -> Iterator[None]:
    """Keep other runs of this issue out. StoreError, at once, while another process holds it."""
    handle = _open(store, repository_id, issue)
    try:
        if not _take(handle):
            raise StoreError(
                f"issue {issue} is being run by another process",
                hint="wait for it to end; other issues can run at the same time",
            )
        yield
    finally:
        os.close(handle)


def is_issue_held(store: Store, repository_id: int, issue: int) -> bool:
    """Whether a process runs this issue just now."""
    handle = _open(store, repository_id, issue)
    try:
        return not _take(handle)
    finally:
        os.close(handle)


def _open(store: Store, repository_id: int, issue: int) -> int:
    path = store.home / "locks" / f"{repository_id}-{issue}.lock"
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"the lock {cut(str(path), 200)} cannot be opened: {error.strerror}") from error


def _take(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
