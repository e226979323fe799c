"""The little of HTTP that the board needs: one request a connection, read whole or not at all.

Small on purpose. What the browser sends is not trusted, so whatever is not plainly a request is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HEADERS", "HEAD_LIMIT", "Request", "drain", "names_loopback", "parse_request", "refuse", "send"]

HEAD_LIMIT = 16 << 10
_WRITE_SECONDS = 30.0
_LINGER_SECONDS = 1.0
_PIECE = 256 << 10

_REQUEST_LINE = re.compile(rb"([A-Z]{1,16}) (/[\x21-\x7e]{0,4000}) HTTP/1\.[01]")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")
_HOST = re.compile(r"(localhost|\[[0-9a-f:.]+\]|[0-9.]+)(?::([0-9]{1,5}))?", re.IGNORECASE)
HEADERS = (
    "Cache-Control: no-store\r\n"
    "Content-Security-Policy: frame-ancestors 'none'\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Connection: close\r\n"
)
_REASONS = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
}


class Request(NamedTuple):
    method: str
    path: str
    hosts: tuple[str, ...]


def names_loopback(hosts: Sequence[str], port: int) -> bool:
    """Whether the one Host header names a loopback address and ``port``: anything else is DNS rebinding."""
    match = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    if match is None or int(match[2] or 80) != port:
        return False
    name = match[1].strip("[]")
    try:
        return name.lower() == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def parse_request(head: bytes) -> Request | None:
    lines = head[:-4].split(b"\r\n")
    first = _REQUEST_LINE.fullmatch(lines[0])
    headers = [_HEADER.fullmatch(line) for line in lines[1:]]
    if first is None or not all(headers):
        return None
    hosts = (match[2].decode("latin-1") for match in headers if match and match[1].lower() == b"host")
    return Request(first[1].decode(), first[2].decode(), tuple(hosts))


async def refuse(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    status: int,
    text: str,
    more: str = "",
    *,
    only_head: bool = False,
) -> None:
    await send(writer, status, "text/plain; charset=utf-8", f"{text}\n".encode(), more, only_head=only_head)
    # Closing on unread bytes resets the connection, and the answer would be lost: read a little of what still comes.
    if writer.can_write_eof():
        writer.write_eof()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_SECONDS):
            for _ in range(64):
                if not await reader.read(HEAD_LIMIT):
                    break


async def send(
    writer: asyncio.StreamWriter,
    status: int,
    kind: str,
    body: bytes,
    more: str = "",
    *,
    only_head: bool = False,
) -> None:
    head = f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}{more}{HEADERS}\r\n".encode())
    # In pieces: two hundred slow readers of a large page must not cost two hundred copies of it.
    view = memoryview(b"" if only_head else body)
    for start in range(0, len(view), _PIECE):
        writer.write(view[start : start + _PIECE])
        await drain(writer)
    await drain(writer)


async def drain(writer: asyncio.StreamWriter) -> None:
    async with asyncio.timeout(_WRITE_SECONDS):
        await writer.drain()
