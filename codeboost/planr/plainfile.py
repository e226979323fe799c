"""Opening a file that somebody else has put there."""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["open_plain"]


def open_plain(path: str | bytes, flags: int) -> int:
    """A descriptor of a regular file, also as an ``opener`` of ``open``.

    OSError for anything else: a pipe or a device under a file's name could hold its reader up for ever.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", path)
    return descriptor
