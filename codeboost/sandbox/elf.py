"""The first look of the kernel's loader at an ELF file (Linux, fs/binfmt_elf.c).

Whatever makes it give up with "unknown format" makes execvp hand the file to a shell, so here it is no program. Where a
kernel may decide either way, it is none either.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["MAGIC", "Program", "read_program"]

Read = Callable[[int, int], bytes]
"""Bytes of the file: an offset and a number; fewer at its end."""

MAGIC = b"\x7fELF"
_PT_INTERP = 3
_PT_GNU_PROPERTY = 0x6474E553
_NT_GNU_PROPERTY = 5
_ET_EXEC, _ET_DYN = 2, 3
# Newer kernels take 64 KiB of program headers, older ones a page.
_MOST_HEADER_BYTES = 4096
_PATH_MAX = 4096
_NOTE_MAX = 1024
_NOTE_HEADER_BYTES = 16
_ARM = 40
_ARM_ABI = 0xFF000000
_OSABI_ARM_FDPIC = 65


class _Machine(NamedTuple):
    size_class: int
    number: int
    order: str

    @property
    def is_wide(self) -> bool:
        return self.size_class == 2


# What an image's architecture can start without help: EI_CLASS, e_machine, byte order. 32-bit programs in a 64-bit
# image are refused: a kernel without support for them hands the file to the shell. MIPS is not here, because its kernels
# give up or not by what the processor's floating point unit can do.
_MACHINES = {
    "amd64": _Machine(2, 62, "<"),
    "386": _Machine(1, 3, "<"),
    "arm64": _Machine(2, 183, "<"),
    "arm": _Machine(1, _ARM, "<"),
    "ppc64le": _Machine(2, 21, "<"),
    "s390x": _Machine(2, 22, ">"),
    "riscv64": _Machine(2, 243, "<"),
    "loong64": _Machine(2, 258, "<"),
}


class Program(NamedTuple):
    """``loader`` is the path of the program that brings its libraries; None when it needs none."""

    loader: bytes | None


class _Segment(NamedTuple):
    kind: int
    offset: int
    size: int


def read_program(read: Read, architecture: str) -> Program | None:
    """What the kernel sees in a file; None when it would not start it."""
    machine = _MACHINES.get(architecture)
    head = read(0, 64)
    if machine is None or not _is_for(head, machine):
        return None
    segments = _read_segments(read, head, machine)
    if segments is None:
        return None
    notes = (segment for segment in segments if segment.kind == _PT_GNU_PROPERTY)
    if not all(_is_sound_note(_read_piece(read, note, _NOTE_MAX), machine) for note in notes):
        return None
    named = next((segment for segment in segments if segment.kind == _PT_INTERP), None)
    if named is None:
        return Program(None)
    name = _read_piece(read, named, _PATH_MAX)
    if len(name) < 2 or name[-1] != 0:
        return None
    return Program(name[: name.index(0)])


def _is_for(head: bytes, machine: _Machine) -> bool:
    if len(head) < (64 if machine.is_wide else 52) or not head.startswith(MAGIC):
        return False
    if head[4] != machine.size_class or head[5] != (1 if machine.order == "<" else 2):
        return False
    kind, number = struct.unpack_from(machine.order + "HH", head, 16)
    if kind not in (_ET_EXEC, _ET_DYN) or number != machine.number:
        return False
    return number != _ARM or _is_for_arm(head)


def _is_for_arm(head: bytes) -> bool:
    (entry,) = struct.unpack_from("<I", head, 24)
    (flags,) = struct.unpack_from("<I", head, 36)
    # No ABI before EABI, no address between two instructions, none of the programs that have a loader of their own.
    return bool(flags & _ARM_ABI) and (entry & 3) != 2 and head[7] != _OSABI_ARM_FDPIC


def _read_segments(read: Read, head: bytes, machine: _Machine) -> list[_Segment] | None:
    wide, order = machine.is_wide, machine.order
    (offset,) = struct.unpack_from(order + ("Q" if wide else "I"), head, 32 if wide else 28)
    entry, count = struct.unpack_from(order + "HH", head, 54 if wide else 42)
    if entry != (56 if wide else 32) or not 0 < entry * count <= _MOST_HEADER_BYTES:
        return None
    table = read(offset, entry * count)
    if len(table) < entry * count:
        return None
    layout, places = (order + "Q", (8, 32)) if wide else (order + "I", (4, 16))
    segments = []
    for start in range(0, len(table), entry):
        (kind,) = struct.unpack_from(order + "I", table, start)
        at, size = (struct.unpack_from(layout, table, start + place)[0] for place in places)
        segments.append(_Segment(kind, at, size))
    return segments


def _read_piece(read: Read, segment: _Segment, most: int) -> bytes:
    """What a program header points to; nothing when it is too much, or not wholly in the file."""
    if segment.size > most:
        return b""
    piece = read(segment.offset, segment.size)
    return piece if len(piece) == segment.size else b""


def _is_sound_note(note: bytes, machine: _Machine) -> bool:
    """Kernels that read the properties of programs refuse what is no such note; the others look past it."""
    if len(note) < _NOTE_HEADER_BYTES:
        return False
    name_size, length, kind = struct.unpack_from(machine.order + "III", note)
    if (name_size, kind, note[12:16]) != (4, _NT_GNU_PROPERTY, b"GNU\0"):
        return False
    properties = note[_NOTE_HEADER_BYTES : _NOTE_HEADER_BYTES + length]
    return len(properties) == length and _are_sound_properties(properties, machine)


def _are_sound_properties(properties: bytes, machine: _Machine) -> bool:
    # Each is a kind, a length and content, aligned; every kind once, in order.
    align, last = (8 if machine.is_wide else 4), -1
    while properties:
        if len(properties) < 8:
            return False
        kind, length = struct.unpack_from(machine.order + "II", properties)
        end = 8 + (length + align - 1) // align * align
        if kind <= last or end > len(properties):
            return False
        last, properties = kind, properties[end:]
    return True
