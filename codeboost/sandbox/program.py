"""Whether the kernel would start a program, asked before it is tried.

The engine's init starts a program with execvp: a file that the kernel does not know runs in ``/bin/sh``, so an empty
executable "passes" (design §5.2), and one that is missing looks like a program that exits 127. So the search of execvp
and the first look of the kernel's loaders are done here, on the files of a container that has not started.
"""

from __future__ import annotations

import posixpath

from codeboost.sandbox import elf
from codeboost.sandbox.files import FileHead, FileReader, Obstacle, Problem, may_execute
from codeboost.visible import cut

__all__ = ["check_program", "read_interpreter"]

_SCRIPT_BYTES = 256
_DEPTH = 5


def check_program(
    files: FileReader, program: str, *, folder: str, path: str, architecture: str, user: int
) -> str | None:
    """Why ``program`` would not start, as a sentence; None when it would.

    ``folder`` is where it starts, ``path`` the PATH it gets, ``architecture`` the image's (``amd64``), ``user`` the
    number of its user and of its group.
    """
    shown = cut(program)
    if not _is_name(program):
        return f"{shown} is not a name that can be looked up" if program else "the program's name is empty"
    looker = _Looker(files, folder, architecture, user)
    if "/" in program:
        obstacle = looker.look(posixpath.join(folder, program))
        return None if obstacle is None else f"{shown}: {obstacle.reason}"
    reason = None
    for place in path.split(":"):
        obstacle = looker.look(posixpath.join(folder, place, program))
        if obstacle is None:
            return None
        if obstacle.problem is Problem.FINAL:
            return f"{shown}: {obstacle.reason}"
        if obstacle.problem is Problem.FORBIDDEN or "interpreter" in obstacle.reason:
            reason = reason or obstacle.reason
    if reason:
        return f"{shown}: {reason}"
    return f"program {shown} not found in the image (PATH {cut(path, 120)}); there is no shell, so no shell builtins"


class _Looker:
    def __init__(self, files: FileReader, folder: str, architecture: str, user: int) -> None:
        self._files = files
        self._folder = folder
        self._architecture = architecture
        self._user = user

    def look(self, path: str, depth: int = 0) -> Obstacle | None:
        shown = cut(path.replace("/./", "/"))
        file = self._files.find(path)
        if isinstance(file, Obstacle):
            return file
        if not may_execute(file, self._user):
            return Obstacle(Problem.FORBIDDEN, f"{shown} is not executable (mode {file.mode & 0o7777:04o})")
        if file.head.startswith(b"#!"):
            return self._look_at_script(path, file.head, depth)
        if file.head.startswith(elf.MAGIC):
            return self._look_at_elf(path, file)
        what = "is empty" if not file.size else "has no #! line and is no program that the kernel knows"
        return Obstacle(Problem.FINAL, f"{shown} {what}")

    def _look_at_script(self, path: str, head: bytes, depth: int) -> Obstacle | None:
        interpreter = read_interpreter(head)
        if interpreter is None:
            return Obstacle(Problem.FINAL, f"{cut(path)} has a #! line that names no interpreter")
        if depth >= _DEPTH:
            return Obstacle(Problem.FINAL, f"{cut(path)} is a chain of too many interpreters")
        name = _decode(interpreter)
        if name is None:
            return _refuse_name(interpreter)
        obstacle = self.look(posixpath.join(self._folder, name), depth + 1)
        if obstacle is None:
            return None
        hint = " (the line ends in a carriage return)" if name.endswith("\r") else ""
        return Obstacle(obstacle.problem, f"its interpreter does not start: {obstacle.reason}{hint}")

    def _look_at_elf(self, path: str, file: FileHead) -> Obstacle | None:
        program = self._read_program(file)
        if program is None:
            reason = f"{cut(path)} is no complete program for {cut(self._architecture)}"
            return Obstacle(Problem.FINAL, reason)
        if program.loader is None:
            return None
        name = _decode(program.loader)
        if name is None:
            return _refuse_name(program.loader)
        obstacle = self._look_at_loader(posixpath.join(self._folder, name))
        if obstacle is None:
            return None
        what = f"its interpreter {cut(name)} (the loader of its libraries)"
        return Obstacle(obstacle.problem, f"{what} does not start: {obstacle.reason}")

    def _look_at_loader(self, path: str) -> Obstacle | None:
        loader = self._files.find(path)
        if isinstance(loader, Obstacle):
            return loader
        if not may_execute(loader, self._user):
            return Obstacle(Problem.FORBIDDEN, f"it is not executable (mode {loader.mode & 0o7777:04o})")
        if self._read_program(loader) is None:
            return Obstacle(Problem.FINAL, f"it is no complete program for {cut(self._architecture)}")
        return None

    def _read_program(self, file: FileHead) -> elf.Program | None:
        def read(offset: int, size: int) -> bytes:
            return self._files.read_piece(file, offset, size)

        return elf.read_program(read, self._architecture)


def _is_name(name: str) -> bool:
    try:
        return "\0" not in name and bool(name.encode())
    except UnicodeEncodeError:
        return False


def _decode(name: bytes) -> str | None:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None


def _refuse_name(name: bytes) -> Obstacle:
    # The engine is asked in JSON and addresses, which carry UTF-8 only.
    shown = cut(name.decode("utf-8", "replace"))
    return Obstacle(
        Problem.FINAL, f"its interpreter {shown} is not a name that can be looked up (it is not UTF-8)"
    )


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
