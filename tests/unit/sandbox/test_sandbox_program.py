"""What the kernel would start, decided from a file's first bytes."""

from __future__ import annotations

import posixpath
import struct
import sys
from pathlib import Path

import pytest

from codeboost.sandbox.files import FileHead, Obstacle, Problem
from codeboost.sandbox.profile import USER_ID
from codeboost.sandbox.program import check_program, read_interpreter


class Files:
    """A file system as a dictionary: path → content, or (mode, content)."""

    def __init__(self, files: dict[str, bytes | tuple[int, bytes]]) -> None:
        self._files = files

    def find(self, path: str) -> FileHead | Obstacle:
        entry = self._files.get(posixpath.normpath(path))
        if entry is None:
            return Obstacle(Problem.MISSING, f"{path} does not exist")
        mode, content = entry if isinstance(entry, tuple) else (0o755, entry)
        return FileHead(path, mode, 0, 0, len(content), content[: 64 << 10])

    def read_piece(self, file: FileHead, offset: int, size: int) -> bytes:
        entry = self._files[posixpath.normpath(file.place)]
        content = entry[1] if isinstance(entry, tuple) else entry
        return content[offset : offset + size]


def make_elf(
    *,
    bits: int = 2,
    machine: int = 62,
    kind: int = 3,
    loader: bytes = b"",
    size: int | None = None,
    segment: int = 3,
) -> bytes:
    size = len(loader) if size is None else size
    entry = struct.pack("<IIQQQQQQ", segment if loader else 1, 4, 120, 0, 0, size, size, 1)
    head = b"\x7fELF" + bytes([bits, 1, 1]) + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + entry + loader


def make_properties(*properties: tuple[int, int, bytes]) -> bytes:
    """A static program with a note of these properties: their kind, the length that they state, their content."""
    content = b"".join(struct.pack("<II", kind, size) + text for kind, size, text in properties)
    note = struct.pack("<III", 4, len(content), 5) + b"GNU\0" + content
    return make_elf(loader=note, segment=0x6474E553)


def make_arm(*, flags: int = 5 << 24, entry: int = 0, osabi: int = 0) -> bytes:
    head = b"\x7fELF" + bytes([1, 1, 1, osabi]) + bytes(8)
    head += struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, entry, 52, 0, flags, 52, 32, 1, 0, 0, 0)
    return head + struct.pack("<IIIIIIII", 1, 0, 0, 0, 0, 0, 5, 1)


def check(
    files: dict[str, bytes | tuple[int, bytes]], program: str, path: str = "/usr/bin:/bin"
) -> str | None:
    return check_program(
        Files(files), program, folder="/workspace", path=path, architecture="amd64", user=USER_ID
    )


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
        {"/bin/python": head, "/lib64/ld-linux-x86-64.so.2": head, "/lib/ld-linux-aarch64.so.1": head}
    )
    assert machine is not None
    assert check_program(files, "/bin/python", folder="/", path="", architecture=machine, user=0) is None


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


@pytest.mark.parametrize(
    ("loader", "size"),
    [
        # The kernel takes no name that is not closed by a null, is too short, or is cut off.
        (b"/bin/sh\nexit 0\n", 7),
        (b"\0", None),
        (b"/lib/ld.so\0", 11 + 4096),
        (b"/lib/ld.so\0", 1 << 40),
        (b"/" * 4096 + b"\0", None),
    ],
)
def test_a_loader_that_is_named_wrongly_makes_no_program(loader: bytes, size: int | None) -> None:
    files = {"/bin/x": make_elf(loader=loader, size=size), "/bin/sh": make_elf(), "/lib/ld.so": make_elf()}
    assert "no complete program" in (check(files, "x") or "")


def test_a_loaders_name_ends_at_the_first_null() -> None:
    assert check({"/bin/x": make_elf(loader=b"/lib/ld.so\0x\0"), "/lib/ld.so": make_elf()}, "x") is None


@pytest.mark.parametrize("loader", [(0o644, make_elf()), b"#!/bin/sh\n", b"", make_elf(machine=183)])
def test_a_loader_has_to_be_a_program_itself(loader: bytes | tuple[int, bytes]) -> None:
    assert "its interpreter" in (
        check({"/bin/x": make_elf(loader=b"/lib/ld.so\0"), "/lib/ld.so": loader}, "x") or ""
    )


@pytest.mark.parametrize(
    ("note", "starts"),
    [
        (struct.pack("<III4s", 4, 0, 5, b"GNU"), True),
        (struct.pack("<III4s", 4, 0, 4, b"GNU"), False),
        (struct.pack("<III4s", 4, 0, 5, b"XYZ"), False),
        (struct.pack("<III4s", 4, 0, 5, b"GNU") + bytes(1024), False),
        (b"x", False),
    ],
)
def test_the_note_of_properties_has_to_be_one(note: bytes, *, starts: bool) -> None:
    assert (check({"/bin/x": make_elf(loader=note, segment=0x6474E553)}, "x") is None) is starts


@pytest.mark.parametrize("content", [b"#!/bin/\xff\n", make_elf(loader=b"/bin/\xff\0")])
def test_an_interpreter_whose_name_is_not_utf8_is_told(content: bytes) -> None:
    assert "not UTF-8" in (check({"/bin/x": content}, "x") or "")


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


WORD = struct.pack("<II", 3, 0)


@pytest.mark.parametrize(
    "content",
    [
        make_properties((2, 16, WORD)),
        make_properties((2, 8, WORD), (2, 8, WORD)),
        make_properties((3, 8, WORD), (2, 8, WORD)),
        make_properties((2, 4, WORD[:4])),
        make_properties((2, 0xFFFFFFF9, WORD)),
        make_properties((2, 8, WORD))[:-1],
        make_elf(loader=b"x" * 16, segment=0x6474E553),
        make_elf(loader=b"x" * 8, segment=0x6474E553),
        make_elf(loader=make_properties((2, 2000, bytes(2000)))[120:], segment=0x6474E553),
    ],
)
def test_properties_that_a_kernel_would_not_take_do_not_start(content: bytes) -> None:
    assert check({"/bin/x": content}, "x") is not None


def test_sound_properties_start() -> None:
    assert check({"/bin/x": make_properties()}, "x") is None
    assert check({"/bin/x": make_properties((2, 4, WORD), (3, 8, WORD))}, "x") is None


@pytest.mark.parametrize(
    ("content", "starts"),
    [
        (make_arm(), True),
        (make_arm(entry=1), True),
        (make_arm(entry=2), False),
        (make_arm(flags=0), False),
        (make_arm(osabi=65), False),
        (make_arm()[:60], False),
    ],
)
def test_arm_has_rules_of_its_own(content: bytes, starts: bool) -> None:
    reason = check_program(
        Files({"/bin/x": content}), "x", folder="/", path="/bin", architecture="arm", user=USER_ID
    )
    assert (reason is None) is starts


def test_more_program_headers_than_an_older_kernel_reads() -> None:
    def make(count: int) -> bytes:
        head = bytearray(make_elf()[:64])
        head[56:58] = struct.pack("<H", count)
        return bytes(head) + make_elf()[64:] * count

    assert check({"/bin/x": make(73)}, "x") is None
    assert check({"/bin/x": make(74)}, "x") is not None
    assert check({"/bin/x": make(0)}, "x") is not None
    assert check({"/bin/x": make(3)[:-1]}, "x") is not None


def test_a_loader_named_far_back_in_the_file_is_found() -> None:
    # Tools that exchange the loader of a program put its name at the end.
    far = 1 << 20
    entry = struct.pack("<IIQQQQQQ", 3, 4, far, 0, 0, 11, 11, 1)
    content = make_elf()[:64] + entry + bytes(far - 120) + b"/lib/ld.so\0"
    assert "/lib/ld.so" in (check({"/bin/x": content}, "x") or "")
    assert check({"/bin/x": content, "/lib/ld.so": make_elf()}, "x") is None
    assert "no complete program" in (check({"/bin/x": content[:-1], "/lib/ld.so": make_elf()}, "x") or "")


@pytest.mark.parametrize("program", ["a\0b", "./a\0b", "\ud800", "/bin/\udcff"])
def test_what_cannot_be_a_name_does_not_start(program: str) -> None:
    assert "not a name that can be looked up" in (check({}, program) or "")
