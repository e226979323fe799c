"""Whether the kernel would start a program, asked before it is tried.

The engine's init starts a program with execvp: a file that the kernel does not know runs in ``/bin/sh``, so an empty
executable "passes" (design §5.2), and one that is missing looks like a program that exits 127. So the search of execvp
and the first look of the kernel's loaders are done here, on the files of a container that has not started.
"""

from __future__ import annotations

import posixpath
import struct
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import IO, NamedTuple, Protocol, cast

from codeboost.sandbox.client import EngineClient
from codeboost.sandbox.profile import USER_ID
from codeboost.visible import cut

__all__ = ["ContainerFiles", "FileHead", "FileReader", "check_program", "open_tar", "read_interpreter"]

_HEAD_BYTES = 64 << 10
_SCRIPT_BYTES = 256
_DEPTH = 5
# At run time something else is mounted there.
_COVERED = ("/tmp", "/dev", "/proc", "/sys")  # noqa: S108
# EI_CLASS, e_machine, byte order: what an image's architecture can start without help. 32-bit programs in a 64-bit
# image are refused: a kernel without support for them hands the file to the shell.
_MACHINES = {
    "amd64": (2, 62, "<"),
    "386": (1, 3, "<"),
    "arm64": (2, 183, "<"),
    "arm": (1, 40, "<"),
    "ppc64le": (2, 21, "<"),
    "s390x": (2, 22, ">"),
    "riscv64": (2, 243, "<"),
    "mips64le": (2, 8, "<"),
    "loong64": (2, 258, "<"),
}


class FileHead(NamedTuple):
    """A regular file: its permission bits, its owner, and its first 64 KiB."""

    mode: int
    uid: int
    gid: int
    size: int
    head: bytes


class FileReader(Protocol):
    """The files that a program will find. ``find`` follows links; None when there is nothing, or no regular file."""

    def find(self, path: str) -> FileHead | None: ...
    def exists(self, path: str) -> bool: ...


class _Problem(Enum):
    MISSING = auto()
    """execvp tries the next folder."""
    FORBIDDEN = auto()
    """The same, and the reason is worth telling."""
    UNKNOWN_FORMAT = auto()
    """execvp would hand it to a shell: nothing further is tried."""


@dataclass(frozen=True, slots=True)
class _Finding:
    problem: _Problem
    reason: str


def check_program(
    files: FileReader, program: str, *, folder: str, path: str, architecture: str, root: bool = False
) -> str | None:
    """Why ``program`` would not start, as a sentence; None when it would.

    ``folder`` is where it starts, ``path`` the PATH it gets, ``architecture`` the image's (``amd64``).
    """
    shown = cut(program)
    if not program:
        return "the program's name is empty"
    looker = _Looker(files, folder, architecture, root=root)
    if "/" in program:
        finding = looker.look(posixpath.join(folder, program))
        return None if finding is None else f"{shown}: {finding.reason}"
    reason = None
    for place in path.split(":"):
        finding = looker.look(posixpath.join(folder, place, program))
        if finding is None:
            return None
        if finding.problem is _Problem.UNKNOWN_FORMAT:
            return f"{shown}: {finding.reason}"
        if finding.problem is _Problem.FORBIDDEN or "interpreter" in finding.reason:
            reason = reason or finding.reason
    if reason:
        return f"{shown}: {reason}"
    return f"program {shown} not found in the image (PATH {cut(path, 120)}); there is no shell, so no shell builtins"


class _Looker:
    def __init__(self, files: FileReader, folder: str, architecture: str, *, root: bool) -> None:
        self._files = files
        self._folder = folder
        self._machine = _MACHINES.get(architecture)
        self._architecture = architecture
        self._root = root

    def look(self, path: str, depth: int = 0) -> _Finding | None:
        shown = cut(path.replace("/./", "/"))
        file = self._files.find(path)
        if file is None:
            if self._files.exists(path):
                return _Finding(_Problem.FORBIDDEN, f"{shown} is not a regular file")
            return _Finding(_Problem.MISSING, f"{shown} does not exist")
        if not self._may_execute(file):
            return _Finding(_Problem.FORBIDDEN, f"{shown} is not executable (mode {file.mode & 0o7777:04o})")
        if file.head.startswith(b"#!"):
            return self._look_at_script(path, file.head, depth)
        if file.head.startswith(b"\x7fELF"):
            return self._look_at_elf(path, file)
        what = "is empty" if not file.size else "has no #! line and is no program that the kernel knows"
        return _Finding(_Problem.UNKNOWN_FORMAT, f"{shown} {what}")

    def _may_execute(self, file: FileHead) -> bool:
        if self._root:
            return bool(file.mode & 0o111)
        if file.uid == USER_ID:
            return bool(file.mode & 0o100)
        return bool(file.mode & (0o010 if file.gid == USER_ID else 0o001))

    def _look_at_script(self, path: str, head: bytes, depth: int) -> _Finding | None:
        interpreter = read_interpreter(head)
        if interpreter is None:
            return _Finding(_Problem.UNKNOWN_FORMAT, f"{cut(path)} has a #! line that names no interpreter")
        if depth >= _DEPTH:
            return _Finding(_Problem.FORBIDDEN, f"{cut(path)} is a chain of too many interpreters")
        name = interpreter.decode("utf-8", "surrogateescape")
        finding = self.look(posixpath.join(self._folder, name), depth + 1)
        if finding is None:
            return None
        hint = " (the line ends in a carriage return)" if name.endswith("\r") else ""
        return _Finding(finding.problem, f"its interpreter does not start: {finding.reason}{hint}")

    def _look_at_elf(self, path: str, file: FileHead) -> _Finding | None:
        if self._machine is None or not _is_loadable(file, self._machine):
            reason = f"{cut(path)} is no complete program for {cut(self._architecture)}"
            return _Finding(_Problem.UNKNOWN_FORMAT, reason)
        loader = _read_loader(file, self._machine)
        if loader is None:
            return None
        name = loader.decode("utf-8", "surrogateescape")
        where = posixpath.join(self._folder, name)
        if not self._files.exists(where):
            return _Finding(
                _Problem.MISSING, f"its interpreter {cut(name)} (the loader of its libraries) does not exist"
            )
        return None


def read_interpreter(head: bytes) -> bytes | None:
    """The interpreter of a ``#!`` line as the kernel cuts it out of the first 256 bytes; None where it finds none."""
    line = head[:_SCRIPT_BYTES].ljust(_SCRIPT_BYTES, b"\0")
    end = line.find(b"\n")
    if end < 0:
        # Without a line end the name may be cut short, unless something ends it within what the kernel looks at.
        name = line[2 : _SCRIPT_BYTES - 1].lstrip(b" \t")
        if not name or not any(char in name for char in b" \t\0"):
            return None
        end = _SCRIPT_BYTES - 1
    words = line[2:end].strip(b" \t")
    for index, char in enumerate(words):
        if char in b" \t\0":
            words = words[:index]
            break
    return words or None


def _is_loadable(file: FileHead, machine: tuple[int, int, str]) -> bool:
    # Everything the kernel's loader checks before it gives up with "unknown format", at which execvp takes a shell.
    head, (size_class, number, order) = file.head, machine
    wide = size_class == 2
    if len(head) < (64 if wide else 52) or head[4] != size_class or head[5] != (1 if order == "<" else 2):
        return False
    kind, found = struct.unpack_from(order + "HH", head, 16)
    if kind not in (2, 3) or found != number:
        return False
    offset, entry, count = _read_table(head, order, wide=wide)
    if entry != (56 if wide else 32) or not 0 < entry * count <= 65536:
        return False
    return offset + entry * count <= len(head)


def _read_table(head: bytes, order: str, *, wide: bool) -> tuple[int, int, int]:
    """Where the program headers are, how long one is, how many there are."""
    (offset,) = struct.unpack_from(order + ("Q" if wide else "I"), head, 32 if wide else 28)
    entry, count = struct.unpack_from(order + "HH", head, 54 if wide else 42)
    return offset, entry, count


def _read_loader(file: FileHead, machine: tuple[int, int, str]) -> bytes | None:
    size_class, _, order = machine
    wide = size_class == 2
    offset, entry, count = _read_table(file.head, order, wide=wide)
    for index in range(count):
        start = offset + index * entry
        (kind,) = struct.unpack_from(order + "I", file.head, start)
        if kind != 3:
            continue
        place, length = (
            (struct.unpack_from(order + "Q", file.head, start + at)[0] for at in (8, 32))
            if wide
            else (struct.unpack_from(order + "I", file.head, start + at)[0] for at in (4, 16))
        )
        return file.head[place : place + length].rstrip(b"\0")
    return None


class ContainerFiles:
    """The files of a created container, as the engine shows them.

    ``known`` remembers what was found, for containers of the same image: reading a file takes the engine 80 ms.
    """

    def __init__(
        self, client: EngineClient, container: str, known: dict[str, FileHead | None] | None = None
    ) -> None:
        self._client = client
        self._container = container
        self._known = {} if known is None else known
        self._absent: set[str] = set()

    def find(self, path: str) -> FileHead | None:
        resolved = self._resolve(path)
        if resolved is None:
            return None
        if resolved not in self._known:
            self._known[resolved] = self._read(resolved)
        return self._known[resolved]

    def _read(self, resolved: str) -> FileHead | None:
        with (
            self._client.read_archive(self._container, resolved) as pieces,
            open_tar(pieces) as archive,
        ):
            member = archive.next()
            if member is None or not member.isreg():
                return None
            content = archive.extractfile(member)
            head = content.read(_HEAD_BYTES) if content else b""
        return FileHead(member.mode, member.uid, member.gid, member.size, head)

    def exists(self, path: str) -> bool:
        if path in self._absent or _is_covered(path):
            return False
        return self._client.stat_path(self._container, path) is not None

    def _resolve(self, asked: str) -> str | None:
        path = asked
        for _ in range(40):
            folded = self._fold(path)
            if folded is None:
                return None
            path = folded
            if _is_covered(path):
                return None
            stat = self._client.stat_path(self._container, path)
            if stat is None:
                self._absent.add(asked)
                return None
            if not (stat.is_link or stat.is_regular):
                return None
            if not stat.is_link:
                return path
            path = posixpath.join(posixpath.dirname(path), stat.target)
        return None

    def _fold(self, path: str) -> str | None:
        """``path`` without ``.`` and ``..``; None where a ``..`` follows a link.

        The engine drops ``x/..`` as text, the kernel walks it: behind a link they would look at two different files.
        """
        parts: list[str] = []
        for part in path.split("/"):
            if part == "..":
                stat = self._client.stat_path(self._container, "/" + "/".join(parts)) if parts else None
                if parts and (stat is None or stat.is_link or not stat.is_folder):
                    return None
                parts = parts[:-1]
            elif part not in ("", "."):
                parts.append(part)
        return "/" + "/".join(parts)


def _is_covered(path: str) -> bool:
    return any(path == place or path.startswith(place + "/") for place in _COVERED)


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
