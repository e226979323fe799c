"""The files of a container that was created and has not started, found as the kernel would find them."""

from __future__ import annotations

import posixpath
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import IO, NamedTuple, Protocol, cast

from codeboost.sandbox.client import EngineClient, PathStat, RefusedError
from codeboost.visible import cut

__all__ = [
    "ContainerFiles",
    "FileHead",
    "FileReader",
    "KnownFiles",
    "Obstacle",
    "Problem",
    "may_execute",
    "open_tar",
]

_HEAD_BYTES = 64 << 10
_MOST_LINKS = 40
_NAME_MAX = 255
_PATH_MAX = 4095
_MOST_PATH_BYTES = 3072
"""Beyond that, the engine's own path to it may be too long for the kernel."""
_MOST_READ_BYTES = 256 << 20
# Mounted over at run time, so that what the image has there says nothing; and what is empty then.
_COVERED = ("/dev", "/proc", "/sys")
_EMPTIED = ("/tmp",)  # noqa: S108


class FileHead(NamedTuple):
    """A regular file: its permission bits, its owner, and its first 64 KiB. ``place`` is its path without links."""

    place: str
    mode: int
    uid: int
    gid: int
    size: int
    head: bytes
    target: str = ""
    """Where a link leads, as it is written in it."""


class Problem(Enum):
    """What execvp does about a file that does not start."""

    MISSING = auto()
    """It tries the next folder."""
    FORBIDDEN = auto()
    """The same, and the reason is worth telling."""
    FINAL = auto()
    """Nothing further is tried: it gives up, or would hand the file to a shell."""


class Obstacle(NamedTuple):
    """Why something does not start, for a person."""

    problem: Problem
    reason: str


class FileReader(Protocol):
    """The files that a program will find: regular ones, links followed."""

    def find(self, path: str) -> FileHead | Obstacle: ...

    def read_piece(self, file: FileHead, offset: int, size: int) -> bytes:
        """Bytes that may lie beyond the head; fewer than ``size`` at the end of the file."""
        ...


@dataclass(slots=True)
class KnownFiles:
    """What was found in an image, for all containers of it: reading a file takes the engine 90 ms, a look at one 5."""

    heads: dict[str, FileHead | None] = field(default_factory=dict)
    stats: dict[str, PathStat | None] = field(default_factory=dict)


class ContainerFiles:
    """The files of a created container, for a program of the user ``user`` (and the group of that number)."""

    def __init__(
        self, client: EngineClient, container: str, *, user: int, known: KnownFiles | None = None
    ) -> None:
        self._client = client
        self._container = container
        self._user = user
        self._known = KnownFiles() if known is None else known

    def find(self, path: str) -> FileHead | Obstacle:
        if len(_encode(path)) > _PATH_MAX:
            return Obstacle(Problem.FINAL, f"{cut(path)} is too long a path")
        try:
            file = self._read_header(self._resolve(path))
        except _BlockedError as blocked:
            return blocked.obstacle
        return _miss(path).obstacle if file is None else file

    def read_piece(self, file: FileHead, offset: int, size: int) -> bytes:
        if offset + size <= len(file.head) or offset >= file.size:
            return file.head[offset : offset + size]
        if offset + size > _MOST_READ_BYTES:
            return b""
        with (
            self._client.read_archive(self._container, file.place) as pieces,
            open_tar(pieces) as archive,
        ):
            member = archive.next()
            content = archive.extractfile(member) if member is not None else None
            while content is not None and offset > 0:
                offset -= len(content.read(min(offset, _HEAD_BYTES))) or offset
            return content.read(size) if content else b""

    def _resolve(self, asked: str) -> str:
        """The regular file that the kernel's walk along ``asked`` ends in, as a path without links."""
        place, links = "", 0
        rest = asked.split("/")[::-1]
        stat: PathStat | None = None
        while rest:
            part = rest.pop()
            if stat is not None and not stat.is_folder:
                raise _miss(asked)
            if not part:
                continue
            self._check_folder(place or "/")
            if part == "..":
                place, stat = posixpath.dirname(place).rstrip("/"), None
            elif part != ".":
                here = f"{place}/{part}"
                stat = self._step(part, here)
                if stat is None:
                    raise _miss(asked)
                if not stat.is_link:
                    place = here
                    continue
                links += 1
                text = self._read_link(here) if links <= _MOST_LINKS else None
                if text is None:
                    raise _BlockedError(Problem.FINAL, f"{cut(asked)} has too many links")
                rest += text.split("/")[::-1]
                place, stat = "" if text.startswith("/") else place, None
        if stat is None or not stat.is_regular:
            raise _BlockedError(Problem.FORBIDDEN, f"{_show(asked)} is not a regular file")
        return place

    def _step(self, name: str, here: str) -> PathStat | None:
        """What stands at ``here``, its last link not followed; None when there is nothing."""
        try:
            size = len(name.encode())
        except UnicodeEncodeError:
            # The engine is asked in JSON and addresses, which carry UTF-8 only.
            raise _BlockedError(
                Problem.FINAL, f"{_show(here)} is not a name that can be looked up (it is not UTF-8)"
            ) from None
        if size > _NAME_MAX:
            raise _BlockedError(Problem.FINAL, f"{cut(name)} is too long a name")
        if here in _COVERED:
            raise _BlockedError(
                Problem.FINAL, f"{here} is mounted over when it starts, so nothing there can be looked up"
            )
        if here in _EMPTIED:
            return None
        if len(_encode(here)) > _MOST_PATH_BYTES:
            raise _BlockedError(Problem.FINAL, f"{cut(here)} is too deep a place to be looked up")
        return self._stat(here)

    def _read_link(self, here: str) -> str:
        """The text of a link. A look tells only where it leads in the end, and not through which folders."""
        header = self._read_header(here)
        if header is None or not header.target:
            raise _miss(here)
        return header.target

    def _check_folder(self, folder: str) -> None:
        """Refuses a folder that the user may not go through."""
        stat = self._stat(folder)
        if stat is None or stat.mode & 0o111 == 0o111:
            return
        head = self._read_header(folder)
        if head is None or not may_execute(head, self._user):
            mode = f"{stat.mode & 0o777:04o}"
            raise _BlockedError(Problem.FORBIDDEN, f"the folder {cut(folder)} is closed to it (mode {mode})")

    def _stat(self, place: str) -> PathStat | None:
        if place not in self._known.stats:
            self._known.stats[place] = self._look_at(place)
        return self._known.stats[place]

    def _look_at(self, place: str) -> PathStat | None:
        try:
            return self._client.stat_path(self._container, place)
        except RefusedError:
            # An engine that is at fault itself does not answer this either.
            self._client.stat_path(self._container, posixpath.dirname(place))
            # Its name and its folder are sound, so it can only be a link that the engine cannot follow.
            raise _BlockedError(Problem.FINAL, f"{cut(place)} is a link that leads nowhere") from None

    def _read_header(self, place: str) -> FileHead | None:
        """What stands at ``place``, with the beginning of its content when it is a regular file."""
        if place not in self._known.heads:
            with (
                self._client.read_archive(self._container, place) as pieces,
                open_tar(pieces) as archive,
            ):
                member = archive.next()
                content = archive.extractfile(member) if member is not None and member.isreg() else None
                head = content.read(_HEAD_BYTES) if content else b""
            if member is not None and not self._client.tells_owners:
                # Root's, as almost all of an image: who is no owner of it may do the least.
                member.uid = member.gid = 0
            self._known.heads[place] = None if member is None else _make_head(place, member, head)
        return self._known.heads[place]


def _make_head(place: str, member: tarfile.TarInfo, head: bytes) -> FileHead:
    target = member.linkname if member.issym() else ""
    return FileHead(place, member.mode, member.uid, member.gid, member.size, head, target)


def may_execute(file: FileHead, user: int) -> bool:
    """Whether the bits let ``user`` start a file, or go through a folder; no capability changes that."""
    if file.uid == user:
        return bool(file.mode & 0o100)
    return bool(file.mode & (0o010 if file.gid == user else 0o001))


class _BlockedError(Exception):
    def __init__(self, problem: Problem, reason: str) -> None:
        super().__init__(reason)
        self.obstacle = Obstacle(problem, reason)


def _miss(path: str) -> _BlockedError:
    return _BlockedError(Problem.MISSING, f"{_show(path)} does not exist")


def _show(path: str) -> str:
    return cut(path.replace("/./", "/"))


def _encode(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def open_tar(pieces: Iterator[bytes]) -> tarfile.TarFile:
    """A tar archive that arrives in pieces, to be read once from front to back."""
    return tarfile.open(fileobj=cast("IO[bytes]", _PieceReader(pieces)), mode="r|")


class _PieceReader:
    """Just enough of a file for ``tarfile`` to read a stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def read(self, size: int) -> bytes:
        while len(self._rest) < size:
            piece = next(self._pieces, b"")
            if not piece:
                break
            self._rest += piece
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken
