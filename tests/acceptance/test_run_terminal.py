"""What a person sees of a run at a real terminal: a pseudo-terminal of any width, with and without colour."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import pytest

pytestmark = pytest.mark.engine
_CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOR = re.compile(r"\x1b\[[0-9;]*[1-9][0-9;]*m")


@dataclass
class Terminal:
    """A process at a terminal; ``seen`` is everything that it wrote there."""

    process: subprocess.Popen[bytes]
    fd: int
    seen: bytearray = field(default_factory=bytearray)

    def read(self, until: Callable[[str], bool] | None = None, seconds: float = 60) -> str:
        """Read until ``until`` says so of what was seen, else to the end."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if until is not None and until(self.text):
                return self.text
            if not select.select([self.fd], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            if not data:
                break
            self.seen += data
        assert until is None, f"it never came: {self.text!r}"
        self.process.wait(timeout=20)
        return self.text

    @property
    def text(self) -> str:
        return self.seen.decode("utf-8", "replace")

    def press(self, keys: bytes) -> None:
        os.write(self.fd, keys)


@pytest.fixture
def open_terminal(checkout: Any) -> Any:
    opened: list[Terminal] = []

    def start(*arguments: object, columns: int = 80, **env: str) -> Terminal:
        main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            [sys.executable, "-m", "codeboost", *map(str, arguments)],
            cwd=checkout.top,
            env=checkout.environment | {"TERM": "xterm-256color"} | env,
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
            # The keyboard's signals go to whoever has the terminal.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no thread of ours runs yet
        )
        os.close(other)
        terminal = Terminal(process, main)
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait(timeout=10)
        os.close(terminal.fd)


def measure(line: str) -> int:
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in line
    )


def split_screen(text: str) -> list[str]:
    """Every line that was ever drawn, without codes."""
    return [_CODE.sub("", line) for line in re.split(r"\r?\n|\r", text)]


def list_containers(checkout: Any) -> list[str]:
    """Every container of this store, running or not."""
    with sqlite3.connect(checkout.home / "store.db") as store:
        [(store_id,)] = store.execute("SELECT id FROM store")
    wanted = f"label=io.codeboost.store={store_id}"
    done = subprocess.run(
        ["docker", "ps", "-aq", "--filter", wanted], check=True, capture_output=True, text=True
    )
    return done.stdout.split()


SLOW = "python3 -c 'import time; time.sleep(1.2)'"


def test_it_shows_what_runs_what_ended_and_what_is_left(checkout: Any, open_terminal: Any) -> None:
    failing = "python3 -c 'print(*range(40), sep=chr(10)); raise SystemExit(3)'"
    checkout.adopt({"id": "P1", "cmds": [SLOW, failing]}, {"id": "P2", "cmds": ["true"], "after": ["P1"]})
    terminal = open_terminal("run", 412, "--jobs", 2)
    lines = split_screen(terminal.read())
    assert terminal.process.returncode == 1
    assert any(re.match(r"P1\.1 +running +\d", line) for line in lines)
    assert any(re.match(r"P1\.1 +passed +\d\.\ds", line) for line in lines)
    assert any("of 3 done" in line and "left" in line for line in lines)
    shown = [line for line in lines if line.startswith("    stdout ")]
    assert (shown[0], shown[1], shown[-1]) == (
        "    stdout   … 20 lines before these",
        "    stdout | 20",
        "    stdout | 39",
    )
    assert any("Mend P1 first" in line for line in lines)
    assert "running" not in "".join(lines[-12:]), "the live view is gone when it is over"


@pytest.mark.parametrize("columns", [20, 70])
def test_no_line_of_the_view_is_wider_than_the_terminal(
    checkout: Any, open_terminal: Any, columns: int
) -> None:
    text = f"{SLOW} 検証検証検証検証検証検証検証検証検証検証検証検証 e\u0301e\u0301"
    checkout.adopt({"id": "P1", "cmds": [text, "true"]})
    terminal = open_terminal("run", 412, columns=columns)
    lines = split_screen(terminal.read())
    assert terminal.process.returncode == 0
    views = [line for line in lines if re.match(r"P1\.\d +(running|passed)|\d.*done", line)]
    assert len(views) > 3
    assert max(map(measure, views)) <= columns
    table = lines[max(i for i, line in enumerate(lines) if line.startswith("P1  ")) :]
    assert max(measure(line) for line in table if line.startswith(("P1  ", "    passed"))) <= columns


def test_colour_is_for_who_wants_it(checkout: Any, open_terminal: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": ["true"]})
    for env, colored in (
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ):
        terminal = open_terminal("run", 412, **env)
        terminal.read()
        assert bool(COLOR.search(terminal.text)) is colored, env
    for env, colored in (({}, False), ({"FORCE_COLOR": "1"}, True)):
        piped = checkout.call("run", 412, env=env)
        assert bool(COLOR.search(piped.out + piped.err)) is colored, env


def test_a_dumb_terminal_and_quiet_get_no_cursor_codes(checkout: Any, open_terminal: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": ["true"]})
    dumb = open_terminal("run", 412, TERM="dumb")
    assert "\x1b" not in dumb.read()
    assert "P1.1    started" in dumb.text
    quiet = open_terminal("run", 412, "--quiet", NO_COLOR="1")
    assert "\x1b" not in quiet.read()
    assert quiet.text.startswith("Run 2: ")


def test_interrupt_at_the_keyboard_cleans_up_however_often(checkout: Any, open_terminal: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": ["python3 -c 'import time; time.sleep(60)'"]})
    terminal = open_terminal("run", 412)
    terminal.read(until=lambda text: bool(re.search(r"P1\.1 +running +[1-9]", _CODE.sub("", text))))
    assert list_containers(checkout), "there is something to remove"
    began = time.monotonic()
    terminal.press(b"\x03\x03\x03")
    terminal.read()
    assert terminal.process.returncode == 130
    assert time.monotonic() - began < 20
    assert "--resume goes on from here" in terminal.text
    assert list_containers(checkout) == []
    assert checkout.status("P1") == "open"


def test_raw_output_never_reaches_a_terminal(checkout: Any, open_terminal: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": ["echo hello"]})
    assert checkout.call("run", 412).code == 0
    terminal = open_terminal("log", "GH412-P1", "--raw")
    assert "hello" not in terminal.read()
    assert terminal.process.returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_a_run_that_is_still_preparing(
    checkout: Any, number: int, tmp_path: Any
) -> None:
    """An engine that never answers a pull: the first signal waits for the step, the second does not."""
    checkout.write({"codeboost.toml": '[sandbox]\nimage = "registry.invalid/never:1"\n'})
    checkout.commit()
    checkout.adopt({"id": "P1", "cmds": ["true"]})
    address = tmp_path / "engine.sock"
    with SilentEngine(str(address)) as engine:
        process = checkout.start("run", 412, env={"DOCKER_HOST": f"unix://{address}"})
        engine.wait_for_pull()
        process.send_signal(number)
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(number)
        _, err = process.communicate(timeout=10)
    assert process.returncode == 128 + number
    assert "the same again ends it at once" in err
    assert checkout.status("P1") == "open"
    assert checkout.call("runs", 412).out == ""


class SilentEngine:
    """Hands everything to the real engine but a pull, which it takes and never answers."""

    def __init__(self, address: str) -> None:
        import socket
        import threading

        self._pulled = threading.Event()
        self._closed = threading.Event()
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(address)
        self._server.listen(16)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._open: list[Any] = [self._server]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        import socket

        self._closed.set()
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._thread.join(5)

    def wait_for_pull(self) -> None:
        assert self._pulled.wait(30)

    def _serve(self) -> None:
        import threading

        while not self._closed.is_set():
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            self._open.append(client)
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: Any) -> None:
        import socket

        real = socket.socket(socket.AF_UNIX)
        self._open.append(real)
        try:
            real.connect("/var/run/docker.sock")
            while True:
                ready = select.select([client, real], [], [])[0]
                for one in ready:
                    data = one.recv(65536)
                    if not data:
                        return
                    if one is client and b"/images/create" in data:
                        self._pulled.set()
                        return
                    (real if one is client else client).sendall(data)
        except (OSError, ValueError):
            return
