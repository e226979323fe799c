"""Writes an answer into a file: whole, or not at all."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from codeboost.errors import CodeboostError, InfrastructureError, UsageError
from codeboost.visible import cut

__all__ = ["explain_write", "write_answer"]

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})


def write_answer(text: str, out: Path | None) -> None:
    """Write to ``out``, or to stdout without one (and for ``-``). A reader never finds half a file.

    UsageError when it cannot be written, InfrastructureError when there is no room; then the file is what it was.
    """
    if out is None or str(out) == "-":
        sys.stdout.write(text)
        return
    try:
        # A link stays a link; a device or a pipe has no old content to protect.
        target = Path(os.path.realpath(out))
        if target.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            target.write_text(text, "utf-8")
        else:
            _replace(target, text.encode("utf-8"))
    except OSError as error:
        raise explain_write(out, error) from error


def explain_write(out: Path, error: OSError) -> CodeboostError:
    """What to raise when ``out`` could not be written: a full disk is nothing that was said wrong."""
    kind = InfrastructureError if error.errno in _NO_ROOM else UsageError
    return kind(f"{cut(str(out), 200)} cannot be written: {error.strerror}")


def _replace(target: Path, data: bytes) -> None:
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_read_umask()
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _read_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
