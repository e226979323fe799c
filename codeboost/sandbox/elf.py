"""The first look of the kernel's loader at an ELF file (Linux, fs/binfmt_elf.c).

Whatever makes it give up with "unknown format" makes execvp hand the file to a shell, so here it is no program. Where a
kernel may decide either way, it is none either.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

__all__ = ["MAGIC", "Program", "read_program"]

MAGIC = b"\x7fELF"
_PT_INTERP = 3
_PT_GNU_PROPERTY = 0x6474E553
_NT_GNU_PROPERTY = 5
_ET_EXEC, _ET_DYN = 2, 3
_MOST_HEADER_BYTES = 65536
_PATH_MAX = 4096
_NOTE_MAX = 1024


class _Machine(NamedTuple):
    size_class: int
    number: int
    order: str


# What an image's architecture can start without help: EI_CLASS, e_machine, byte order. 32-bit programs in a 64-bit
# image are refused: a kernel without support for them hands the file to the shell.
_MACHINES = {
    "amd64": _Machine(2, 62, "<"),
    "386": _Machine(1, 3, "<"),
    "arm64": _Machine(2, 183, "<"),
    "arm": _Machine(1, 40, "<"),
    "ppc64le": _Machine(2, 21, "<"),
    "s390x": _Machine(2, 22, ">"),
    "riscv64": _Machine(2, 243, "<"),
    "mips64le": _Machine(2, 8, "<"),
    "loong64": _Machine(2, 258, "<"),
}


class Program(NamedTuple):
    """``loader`` is the path of the program that brings its libraries; None when it needs none."""

    loader: bytes | None


class _Segment(NamedTuple):
    kind: int
    offset: int
    size: int


def read_program(head: bytes, architecture: str) -> Program | None:
    """What the kernel sees in the beginning of a file; None when it would not start it.

    ``head`` has to hold the program headers and what is looked at through them: compilers put all of it in front.
    """
    machine = _MACHINES.get(architecture)
    if machine is None or not _is_for(head, machine):
        return None
    segments = _read_segments(head, machine)
    if segments is None or not all(_has_sound_note(head, segment, machine) for segment in segments):
        return None
    named = next((segment for segment in segments if segment.kind == _PT_INTERP), None)
    if named is None:
        return Program(None)
    name = head[named.offset : named.offset + named.size]
    if not 2 <= named.size <= _PATH_MAX or len(name) < named.size or name[-1] != 0:
        return None
    return Program(name[: name.index(0)])


def _is_for(head: bytes, machine: _Machine) -> bool:
    if len(head) < (64 if machine.size_class == 2 else 52) or not head.startswith(MAGIC):
        return False
    if head[4] != machine.size_class or head[5] != (1 if machine.order == "<" else 2):
        return False
    kind, number = struct.unpack_from(machine.order + "HH", head, 16)
    return kind in (_ET_EXEC, _ET_DYN) and number == machine.number


def _read_segments(head: bytes, machine: _Machine) -> list[_Segment] | None:
    wide, order = machine.size_class == 2, machine.order
    (offset,) = struct.unpack_from(order + ("Q" if wide else "I"), head, 32 if wide else 28)
    entry, count = struct.unpack_from(order + "HH", head, 54 if wide else 42)
    if entry != (56 if wide else 32) or not 0 < entry * count <= _MOST_HEADER_BYTES:
        return None
    if offset + entry * count > len(head):
        return None
    layout, places = (order + "Q", (8, 32)) if wide else (order + "I", (4, 16))
    segments = []
    for start in range(offset, offset + entry * count, entry):
        (kind,) = struct.unpack_from(order + "I", head, start)
        at, size = (struct.unpack_from(layout, head, start + place)[0] for place in places)
        segments.append(_Segment(kind, at, size))
    return segments


def _has_sound_note(head: bytes, segment: _Segment, machine: _Machine) -> bool:
    # Kernels that read program properties refuse what is no such note; the others look past it.
    if segment.kind != _PT_GNU_PROPERTY:
        return True
    if segment.size > _NOTE_MAX:
        return False
    note = head[segment.offset : segment.offset + min(segment.size, 16)]
    if len(note) < 16:
        return False
    name_size, _, kind = struct.unpack_from(machine.order + "III", note)
    return (name_size, kind, note[12:]) == (4, _NT_GNU_PROPERTY, b"GNU\0")
