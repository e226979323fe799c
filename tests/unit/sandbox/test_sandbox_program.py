"""What the kernel would start, decided from a file's first bytes."""

from __future__ import annotations

import posixpath
import struct
import sys
from pathlib import Path

import pytest

from codeboost.sandbox.program import FileHead, check_program, read_interpreter


class Files:
    """A file system as a dictionary: path → content, or (mode, content)."""

    def __init__(self, files: dict[str, bytes | tuple[int, bytes]]) -> None:
        self._files = files

    def find(self, path: str) -> FileHead | None:
        entry = self._files.get(posixpath.normpath(path))
        if entry is None:
            return None
        mode, content = entry if isinstance(entry, tuple) else (0o755, entry)
        return FileHead(mode, 0, 0, len(content), content[: 64 << 10])

    def exists(self, path: str) -> bool:
        return posixpath.normpath(path) in self._files


def make_elf(*, bits: int = 2, machine: int = 62, kind: int = 3, loader: bytes = b"") -> bytes:
    entry = struct.pack("<IIQQQQQQ", 3 if loader else 1, 4, 120, 0, 0, len(loader), len(loader), 1)
    head = b"\x7fELF" + bytes([bits, 1, 1]) + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + entry + loader


def check(
    files: dict[str, bytes | tuple[int, bytes]], program: str, path: str = "/usr/bin:/bin"
) -> str | None:
    return check_program(Files(files), program, folder="/workspace", path=path, architecture="amd64")


@pytest.mark.parametrize(
    ("head", "interpreter"),
    [
        (b"#!/bin/sh\n", b"/bin/sh"),
        (b"#! \t/bin/sh -e\n", b"/bin/sh"),
        (b"#!/bin/sh", b"/bin/sh"),
        (b"#!/usr/bin/env\tpython3\n", b"/usr/bin/env"),
        (b"#!/bin/sh\r\n", b"/bin/sh\r"),
        (b"#!sh\0x\n", b"sh"),
        (b"#!\n", None),
        (b"#!", None),
        (b"#!  \t\n/bin/sh\n", None),
        (b"#!" + b"x" * 254, None),
        (b"#!/bin/sh " + b"x" * 300, b"/bin/sh"),
        (b"#!" + b" " * 300, None),
    ],
)
def test_the_interpreter_is_cut_out_as_the_kernel_does(head: bytes, interpreter: bytes | None) -> None:
    assert read_interpreter(head) == interpreter


def test_this_python_is_a_program_for_this_machine() -> None:
    if sys.platform != "linux" or struct.calcsize("P") != 8:
        pytest.skip("looks at an ELF file of this machine")
    head = Path(sys.executable).resolve().read_bytes()
    machine = {62: "amd64", 183: "arm64"}.get(struct.unpack_from("<H", head, 18)[0])
    files = Files(
        {"/bin/python": head, "/lib64/ld-linux-x86-64.so.2": b"x", "/lib/ld-linux-aarch64.so.1": b"x"}
    )
    assert machine is not None
    assert check_program(files, "/bin/python", folder="/", path="", architecture=machine) is None


@pytest.mark.parametrize(
    "content",
    [
        make_elf()[:63],
        make_elf()[:100],
        make_elf(bits=1),
        make_elf(machine=183),
        make_elf(kind=1),
        make_elf(kind=4),
        b"\x7fELF",
        b"",
        b"MZ",
        b"echo hello\n",
        b" #!/bin/sh\n",
    ],
)
def test_what_would_go_to_a_shell_does_not_start(content: bytes) -> None:
    assert check({"/bin/x": content}, "x") is not None
    assert check({"/bin/x": content, "/bin/y": b"#!/bin/x\n"}, "y") is not None


def test_complete_programs_start() -> None:
    assert check({"/bin/x": make_elf()}, "x") is None
    assert check({"/bin/x": make_elf(kind=2), "/workspace/s": b"#!/bin/x -a\n"}, "./s") is None


def test_a_program_without_its_loader_does_not() -> None:
    program = make_elf(loader=b"/lib/ld.so\0")
    assert "/lib/ld.so" in (check({"/bin/x": program}, "x") or "")
    assert check({"/bin/x": program, "/lib/ld.so": make_elf()}, "x") is None


def test_the_search_goes_on_past_what_may_not_run_and_stops_at_an_unknown_format() -> None:
    good = make_elf()
    assert check({"/usr/bin/x": (0o644, good), "/bin/x": good}, "x") is None
    assert check({"/usr/bin/x": b"", "/bin/x": good}, "x") is not None
    assert "0644" in (check({"/usr/bin/x": (0o644, good)}, "x") or "")
    assert check({"/workspace/x": good}, "x", path="/usr/bin::/bin") is None


def test_interpreters_may_not_form_a_circle() -> None:
    assert "too many" in (check({"/bin/a": b"#!/bin/b\n", "/bin/b": b"#!/bin/a\n"}, "a") or "")


def test_names_are_escaped() -> None:
    reason = check({}, "\x1b[31m")
    assert reason is not None
    assert "\x1b" not in reason
    assert check({}, "") == "the program's name is empty"
