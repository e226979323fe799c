"""What commands printed: files beside the database, one a stream, never shown unescaped (design §4)."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from codeboost.errors import StoreError
from codeboost.store.attempts import KeptStream
from codeboost.store.database import Store
from codeboost.visible import cut

__all__ = [
    "STREAMS",
    "TAIL_BYTES",
    "find_output",
    "keep_output",
    "list_output",
    "read_output",
    "remove_attempt_output",
    "remove_output",
    "take_tail",
]

STREAMS = ("stdout", "stderr")
# Of each stream: enough for the last lines that a person wants to see of a failure.
TAIL_BYTES = 16 << 10


def keep_output(store: Store, run_id: int, attempt_id: str, stream: str, kept: tuple[bytes, bytes]) -> None:
    """Write one stream's first and last bytes and make them durable. StoreError when the disk is full.

    Of a stream that nothing came from there is no file.
    """
    if not any(kept):
        return
    path = _path(store, run_id, attempt_id, stream)
    try:
        # One by one: the mode of a parent that mkdir makes on the way is not ours to give.
        for folder in (path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        # Whoever may read the store's folder may read this, and nobody else.
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.writelines(kept)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise StoreError(
            f"output cannot be kept in {cut(str(path.parent), 200)}: {error.strerror}"
        ) from error


def find_output(store: Store, run_id: int, attempt_id: str, stream: str) -> Path | None:
    """The file that holds a stream's kept bytes, or None when it was pruned or nothing was printed."""
    path = _path(store, run_id, attempt_id, stream)
    return path if path.exists() else None


def read_output(
    store: Store, run_id: int, attempt_id: str, stream: str, kept: KeptStream
) -> tuple[bytes, bytes] | None:
    """The first and the last bytes that were kept; what lies between was counted and dropped. None when pruned."""
    if not kept.kept:
        return b"", b""
    try:
        data = _path(store, run_id, attempt_id, stream).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"the output of attempt {attempt_id} cannot be read: {error.strerror}") from error
    return data[: kept.head], data[kept.head :]


def take_tail(head: bytes, tail: bytes) -> bytes:
    """The last ``TAIL_BYTES`` of a stream, by its first and last kept bytes.

    What was dropped lies between them, and nothing was dropped while ``tail`` is shorter than that.
    """
    return (head[-TAIL_BYTES:] + tail)[-TAIL_BYTES:]


def remove_output(store: Store, run_id: int) -> None:
    shutil.rmtree(store.home / "output" / f"run-{run_id}", ignore_errors=True)


def remove_attempt_output(store: Store, run_id: int, attempt_id: str) -> None:
    for stream in STREAMS:
        _path(store, run_id, attempt_id, stream).unlink(missing_ok=True)


def list_output(store: Store) -> dict[int, int]:
    """The bytes of kept output of each run that has any, by run number; also of runs that are forgotten."""
    sizes = {}
    for folder in (store.home / "output").glob("run-*"):
        number = folder.name.removeprefix("run-")
        if number.isdecimal():
            sizes[int(number)] = _measure(folder)
    return sizes


def _measure(folder: Path) -> int:
    """The bytes in a folder from which another process may remove files at any moment."""
    size = 0
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            with suppress(FileNotFoundError):
                size += path.stat().st_size
    return size


def _path(store: Store, run_id: int, attempt_id: str, stream: str) -> Path:
    return store.home / "output" / f"run-{run_id}" / f"{attempt_id}.{stream}"
