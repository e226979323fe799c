"""A lock that dies with its process: one run per issue at a time (design §7)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from codeboost.errors import StoreError
from codeboost.store.database import Store

__all__ = ["hold_issue"]


@contextmanager
def hold_issue(store: Store, repository_id: int, issue: int) -> Iterator[None]:
    """Keep other runs of this issue out. StoreError, at once, while another process holds it."""
    path = store.home / "locks" / f"{repository_id}-{issue}.lock"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"issue {issue} is being run by another process",
                hint="wait for it to end; other issues can run at the same time",
            ) from None
        yield
    finally:
        os.close(handle)
