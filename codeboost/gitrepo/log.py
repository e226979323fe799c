"""The history of a folder, taken in while git is still finding it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from queue import SimpleQueue
from subprocess import Popen
from threading import Thread
from typing import IO, NamedTuple

from codeboost.errors import GitError
from codeboost.visible import cut

__all__ = ["LOG_OPTIONS", "LogEntry", "LogReader", "read_date"]

# What makes `git log` say just what `LogReader` reads, whatever the configuration asks for.
LOG_OPTIONS = (
    "--first-parent",
    "--diff-merges=first-parent",
    "--root",
    "--raw",
    "--no-abbrev",
    "--no-renames",
    "--no-relative",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-notes",
    "--no-show-signature",
    "--no-mailmap",
    "-O/dev/null",
    "--encoding=UTF-8",
    "--reverse",
    "-z",
    "--format=%H%x00%cI%x00%s",
)

_PIECE = 1 << 16
_NO_DATE = "1970-01-01T00:00:00+00:00"


class LogEntry(NamedTuple):
    """One commit and what it did to files, against its first parent.

    ``files`` are (mode, object id, path) after the commit; a removed file has mode 0. ``date`` is the committer's, ISO 8601.
    """

    commit: str
    date: str
    subject: str
    files: list[tuple[int, str, bytes]]


class LogReader(AbstractContextManager["LogReader"]):
    """One ``git log`` process: its commits as they come. Leaving the context ends it, finished or not.

    Threads empty its pipes, so that it never waits for us while we do something else.
    """

    def __init__(self, process: Popen[bytes]) -> None:
        self._process = process
        self._output: SimpleQueue[bytes] = SimpleQueue()
        self._complaints: SimpleQueue[bytes] = SimpleQueue()
        self._threads = [
            Thread(target=_empty, args=pair, daemon=True)
            for pair in ((process.stdout, self._output), (process.stderr, self._complaints))
        ]
        for thread in self._threads:
            thread.start()

    def __iter__(self) -> Iterator[LogEntry]:
        """The commits in git's order, once. GitError with git's own first line when it fails."""
        # With ``-z`` a commit is three fields, then a line end and its files: a ``:`` record and a path each.
        fields = _split(self._output)
        commit = next(fields, b"")
        while commit:
            try:
                date, subject = next(fields), next(fields)
                files = []
                following = next(fields, b"").lstrip(b"\n")
                while following.startswith(b":"):
                    _, mode, _, oid, _ = following[1:].split(b" ")
                    files.append((int(mode, 8), oid.decode(), next(fields)))
                    following = next(fields, b"")
            except StopIteration:
                # It was cut off: how it ended says why.
                break
            yield LogEntry(commit.decode(), read_date(date), subject.decode("utf-8", "replace"), files)
            commit = following
        if self._process.wait() != 0:
            said = b"".join(iter(self._complaints.get, b"")).decode("utf-8", "replace").strip()
            raise GitError(f"git log failed: {cut(said.partition(chr(10))[0], 200)}")

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join()


def read_date(said: bytes) -> str:
    """What git says for ``%cI``. Of a commit with a broken date that is the placeholder itself: then the beginning of time,
    as `git log` shows it."""
    return said.decode() if said[:1].isdigit() else _NO_DATE


def _empty(pipe: IO[bytes], queue: SimpleQueue[bytes]) -> None:
    with pipe:
        while piece := pipe.read(_PIECE):
            queue.put(piece)
    queue.put(b"")


def _split(queue: SimpleQueue[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in iter(queue.get, b""):
        *fields, rest = (rest + piece).split(b"\0")
        yield from fields
    yield rest
