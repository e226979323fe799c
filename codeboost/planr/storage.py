"""How planning files are written: one writer at a time, and never half a file.

The lock is an advisory ``flock`` on the planning root *folder* itself: it leaves no file behind that a repository would see,
and the kernel drops it when its holder dies. Everything that writes tasks or goals, planr and codeboost alike, takes it.

A file is written to a temporary file in the same folder, flushed, compared with what its writer had read, renamed over the old
one, and the folder is flushed: after a crash or on a full disk the old or the new file is there, whole. The temporary name is
fixed, so that what a killed writer left behind is replaced by the next one.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from codeboost.errors import ConflictError, InfrastructureError, InputError
from codeboost.planr.config import is_inside
from codeboost.planr.plainfile import open_plain
from codeboost.visible import cut

__all__ = ["Writer", "lock_root", "replace_file"]

_TEMPORARY = ".planr-write.tmp"
_WAIT = 60.0


class Writer:
    """Writes files of one planning root while its lock is held. Made by ``lock_root``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, file: str) -> bytes | None:
        """The content of ``file`` (relative to the root), or None when there is none."""
        try:
            with open(self._resolve(file), "rb", opener=open_plain) as found:
                return found.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InfrastructureError(f"{cut(file)} cannot be read: {error.strerror}") from error

    def write(self, file: str, content: bytes, *, expected: bytes | None) -> None:
        """Put ``content`` in place of ``expected``, None meaning that there must be no file yet.

        The mode stays, and a link stays a link. ConflictError when the file holds something else by now;
        InfrastructureError when the disk does not take it. In both cases the old file is untouched.
        """
        target = self._resolve(file)

        def compare() -> None:
            if self.read(file) != expected:
                raise ConflictError(
                    f"{cut(file)} has changed since it was read",
                    hint="nothing was written; look at it and try again",
                )

        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with self._lock_folder(target.parent):
                replace_file(target, content, compare)
        except OSError as error:
            raise InfrastructureError(f"{cut(file)} cannot be written: {error.strerror}") from error

    @contextmanager
    def _lock_folder(self, folder: Path) -> Iterator[None]:
        """Holds off writers that came by another root: ``.planr`` is one, and so is the repository above it."""
        if os.path.samefile(folder, self.root):  # noqa: PTH121 - the root's own lock is held already
            yield
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # Held for one write only, so waiting is short.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _resolve(self, file: str) -> Path:
        path = self.root / file
        if not is_inside(path, self.root):
            raise InputError(f"{cut(file)} leads out of the planning root")
        return Path(os.path.realpath(path))


def replace_file(
    target: Path, content: bytes, compare: Callable[[], None] = lambda: None, *, temporary: str = _TEMPORARY
) -> None:
    """Put ``content`` at ``target``, whole or not at all. ``compare`` is called just before, and may raise to stop it.

    ``temporary`` names the file beside it that is written first; who does not hold the lock needs a name of its own.
    """
    beside = target.parent / temporary
    try:
        _write_temporary(beside, content, like=target)
        compare()
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    _flush_folder(target.parent)


@contextmanager
def lock_root(root: Path) -> Iterator[Writer]:
    """The one writer of a planning root. Others wait up to a minute, then InfrastructureError. Not to be nested."""
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise InfrastructureError(
            f"the planning root {cut(str(root))} cannot be opened: {error.strerror}"
        ) from error
    try:
        _wait_for_lock(descriptor, root)
        yield Writer(root)
    finally:
        os.close(descriptor)


def _wait_for_lock(descriptor: int, root: Path) -> None:
    deadline = time.monotonic() + _WAIT
    pause = 0.002
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise InfrastructureError(
                    f"another program has been writing in {cut(str(root))} for a minute",
                    hint="end it and try again",
                ) from None
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        except OSError as error:
            raise InfrastructureError(
                f"the folder {cut(str(root))} cannot be locked: {error.strerror}"
            ) from error
        else:
            return


def _write_temporary(path: Path, content: bytes, *, like: Path) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with suppress(FileNotFoundError):
            old = like.stat()
            if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                with suppress(PermissionError):
                    os.fchown(descriptor, old.st_uid, old.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
