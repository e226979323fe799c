"""Serves the board to this machine alone, and tells the open pages when the plan has changed.

One thread reads the planning files and renders; the event loop only hands out bytes that are ready. What the browser
sends is not trusted: a page on the web can make it send requests here, so only loopback names are answered (DNS
rebinding), nothing but reading is offered, and no other origin may look at an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import resource
import secrets
import signal
import socket
import sys
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from codeboost.errors import CodeboostError, UsageError
from codeboost.planr.http import (
    HEAD_LIMIT,
    HEADERS,
    Request,
    drain,
    names_loopback,
    parse_request,
    refuse,
    send,
)
from codeboost.planr.page import encode_data, render_page
from codeboost.planr.watch import Watcher
from codeboost.visible import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

__all__ = ["DEFAULT_PORT", "Built", "serve"]

DEFAULT_PORT = 4173

_HEAD_SECONDS = 5.0
_HEARTBEAT_SECONDS = 15.0
_MOST_CONNECTIONS = 500
_MOST_STREAMS = 100
_SHOWN_ERRORS = 10


class Built(NamedTuple):
    """What reading the planning files gave: the board's data, or the errors that stand in its way."""

    data: Mapping[str, object] | None
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _State:
    """What the server hands out at one time."""

    version: str
    page: bytes
    data: bytes
    errors: tuple[str, ...]

    @property
    def event(self) -> bytes:
        shown = json.dumps({"version": self.version, "errors": self.errors})
        return f"event: state\ndata: {shown}\n\n".encode()


def serve(
    root: Path,
    port: int = DEFAULT_PORT,
    *,
    build: Callable[[Path], Built] | None = None,
    announce: Callable[[str], None] | None = None,
    complain: Callable[[str], None] | None = None,
) -> int:
    """Serve the board of ``root`` on loopback until the process is interrupted or terminated; the exit code.

    0 after Ctrl-C or TERM, 1 when the port cannot be had. Port 0 takes any free one. ``announce`` gets the line with
    the address (stdout by default), ``complain`` every line about a problem (stderr).
    """
    if not 0 <= port <= 65535:
        raise UsageError(f"port {port} is not between 0 and 65535")
    complain = complain or _write_error
    try:
        sockets = _bind(port)
    except OSError as error:
        complain(_explain_refusal(port, error))
        return 1
    server = _Server(sockets, _Source(root, build or _build, complain))
    asyncio.run(server.run(announce or _write_line))
    return 0


def _write_line(text: str) -> None:
    # Whoever started the server may have stopped reading; that is no reason to end it.
    with contextlib.suppress(OSError):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def _write_error(text: str) -> None:
    with contextlib.suppress(OSError):
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


# Sockets


def _bind(port: int) -> list[socket.socket]:
    """Sockets on 127.0.0.1 and, where the machine has it, ::1, with one port."""
    for attempt in range(20):
        first = _listen(socket.AF_INET, "127.0.0.1", port)
        chosen = first.getsockname()[1]
        try:
            return [first, _listen(socket.AF_INET6, "::1", chosen)]
        except OSError as error:
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                return [first]
            first.close()
            # A port picked for IPv4 may be taken for IPv6: pick another.
            if port or error.errno != errno.EADDRINUSE or attempt == 19:
                raise
    raise AssertionError


def _listen(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((host, port))
        # Listening now makes a second server fail here, and lets early visitors wait instead of failing.
        listener.listen(_MOST_CONNECTIONS)
    except OSError:
        listener.close()
        raise
    return listener


def _explain_refusal(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"planr: port {port} is in use; name another with --port, or 0 for any free one"
    return f"planr: port {port} cannot be opened: {error.strerror}"


def _most_connections() -> int:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return (
        _MOST_CONNECTIONS if files == resource.RLIM_INFINITY else max(16, min(_MOST_CONNECTIONS, files - 64))
    )


# Rendering, in a thread of its own


class _Source:
    """Turns the planning files into states, again after every burst of changes."""

    def __init__(self, root: Path, build: Callable[[Path], Built], complain: Callable[[str], None]) -> None:
        self._root = root
        self._build = build
        self._complain = complain
        self._series = secrets.token_hex(4)
        self._count = 0
        self._good: _State | None = None

    def follow(self, publish: Callable[[_State], None], stop: threading.Event) -> None:
        """Publish the present state and then every new one until ``stop`` is set."""
        watcher = Watcher(self._root)
        while True:
            publish(self._render())
            if not watcher.wait(stop):
                return

    def _render(self) -> _State:
        built = self._read()
        if built.errors:
            self._report(built.errors)
        data = built.data
        if data is None and self._good is not None:
            # The last sound page stays; only the errors are new.
            good = self._good
            return _State(good.version, good.page, good.data, built.errors)
        self._count += 1
        version = f"{self._series}-{self._count}"
        shown = _make_empty_board(self._root) if data is None else data
        state = _State(
            version, render_page(shown, live=version).encode(), encode_data(shown).encode(), built.errors
        )
        if data is not None:
            self._good = state
        return state

    def _read(self) -> Built:
        try:
            return self._build(self._root)
        except (CodeboostError, OSError) as error:
            return Built(None, (str(error),))
        except Exception as error:  # noqa: BLE001 - a dead thread would leave the pages stale without a word
            return Built(None, (f"the board could not be made: {type(error).__name__}: {error}",))

    def _report(self, errors: Sequence[str]) -> None:
        for error in errors[:_SHOWN_ERRORS]:
            self._complain(f"planr: {escape(error)}")
        if len(errors) > _SHOWN_ERRORS:
            self._complain(f"planr: and {len(errors) - _SHOWN_ERRORS} more errors")


def _build(root: Path) -> Built:
    from codeboost.planr.board import build_board_data  # noqa: PLC0415 - reads history, which brings git
    from codeboost.planr.history import HistoryReader  # noqa: PLC0415
    from codeboost.planr.workspace import Workspace  # noqa: PLC0415

    with HistoryReader(root) as reader:
        workspace = Workspace.load(root, keep_sources=True)
        if workspace.errors:
            return Built(None, tuple(str(error) for error in workspace.errors))
        return Built(build_board_data(workspace, reader))


def _make_empty_board(root: Path) -> dict[str, object]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    lists: dict[str, object] = {name: [] for name in ("tasks", "goals", "runs", "warnings")}
    return {"project": root.name, "commit": "", "dirty": False, "generatedAt": now} | lists


# HTTP


class _Server:
    def __init__(self, sockets: list[socket.socket], source: _Source) -> None:
        self._sockets = sockets
        self._source = source
        self._port: int = sockets[0].getsockname()[1]
        self._state: _State | None = None
        self._most = _most_connections()
        # Both in order of age: when too many are open, the oldest that still waits for a request goes first.
        self._open: dict[asyncio.StreamWriter, None] = {}
        self._waiting: dict[asyncio.StreamWriter, None] = {}
        self._streams: dict[asyncio.StreamWriter, asyncio.Event] = {}

    async def run(self, announce: Callable[[str], None]) -> None:
        loop = asyncio.get_running_loop()
        # Broken connections are the visitors' business and not worth a traceback.
        loop.set_exception_handler(lambda _loop, _context: None)
        ended = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ended.set)
        rendered = asyncio.Event()

        def publish(state: _State) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has closed
                loop.call_soon_threadsafe(self._take, state, rendered)

        stop = threading.Event()
        threading.Thread(target=self._source.follow, args=(publish, stop), daemon=True).start()
        try:
            waits = [asyncio.create_task(event.wait()) for event in (rendered, ended)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if ended.is_set():
                return
            for listener in self._sockets:
                await asyncio.start_server(
                    self._answer, sock=listener, limit=HEAD_LIMIT, backlog=_MOST_CONNECTIONS
                )
            announce(f"planr: board at http://127.0.0.1:{self._port}/ (Ctrl-C ends it)")
            await ended.wait()
        finally:
            stop.set()
            for writer in self._open:
                writer.transport.abort()

    def _take(self, state: _State, rendered: asyncio.Event) -> None:
        self._state = state
        rendered.set()
        for changed in self._streams.values():
            changed.set()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= self._most:
            oldest = next(iter(self._waiting), writer)
            oldest.transport.abort()
            self._waiting.pop(oldest, None)
            if oldest is writer:
                return
        self._open[writer] = None
        try:
            await self._respond(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            writer.transport.abort()
        finally:
            self._open.pop(writer, None)
            writer.close()

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._waiting[writer] = None
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            await refuse(reader, writer, 431, "This request is too long.")
            return
        finally:
            self._waiting.pop(writer, None)
        request = parse_request(head)
        if request is None or len(request.hosts) > 1:
            await refuse(reader, writer, 400, "This is no request that the board understands.")
        elif not names_loopback(request.hosts, self._port):
            await refuse(reader, writer, 403, f"The board answers only to http://127.0.0.1:{self._port}/.")
        elif request.method not in ("GET", "HEAD"):
            await refuse(reader, writer, 405, "The board can only be read.", "Allow: GET, HEAD\r\n")
        else:
            await self._hand_out(request, reader, writer)

    async def _hand_out(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        state = self._state
        path = request.path.partition("?")[0]
        only_head = request.method == "HEAD"
        if state is None or path not in ("/", "/data.json", "/events"):
            await refuse(
                reader, writer, 404, "There is nothing here. The board is at /.", only_head=only_head
            )
        elif path == "/":
            await send(writer, 200, "text/html; charset=utf-8", state.page, only_head=only_head)
        elif path == "/data.json":
            await send(writer, 200, "application/json", state.data, only_head=only_head)
        else:
            await self._stream(reader, writer, only_head=only_head)

    async def _stream(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, only_head: bool
    ) -> None:
        """Server-sent events: the present state, and each later one."""
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{HEADERS}\r\n".encode())
        if only_head:
            await writer.drain()
            return
        writer.write(b"retry: 1000\n\n")
        while len(self._streams) >= _MOST_STREAMS:
            oldest = next(iter(self._streams))
            oldest.transport.abort()
            del self._streams[oldest]
        changed = self._streams[writer] = asyncio.Event()
        # A browser sends nothing more on this connection: whatever comes is the end of it.
        left = asyncio.ensure_future(reader.read(1))
        try:
            while not left.done() and self._state is not None:
                writer.write(self._state.event)
                await drain(writer)
                while not await _wait_for_any(changed, left, _HEARTBEAT_SECONDS):
                    writer.write(b": still here\n\n")
                    await drain(writer)
        finally:
            left.cancel()
            self._streams.pop(writer, None)


async def _wait_for_any(changed: asyncio.Event, left: asyncio.Future[bytes], seconds: float) -> bool:
    """Whether there is news (and then ``changed`` is clear again) or the visitor has left, within ``seconds``."""
    news = asyncio.ensure_future(changed.wait())
    either: list[asyncio.Future[Any]] = [news, left]
    await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    news.cancel()
    found = changed.is_set() or left.done()
    changed.clear()
    return found
