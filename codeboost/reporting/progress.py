"""What a run says while it goes on: a live view on a terminal, one line an event everywhere else. Always on stderr."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from codeboost.command.grammar import format_command
from codeboost.limits import format_duration
from codeboost.operations.run_model import RunListener, Tail
from codeboost.operations.schedule import Command
from codeboost.reporting.runs import render_tail, show_verdict
from codeboost.store.runs import Attempt
from codeboost.verdict import Verdict
from codeboost.visible import cut, escape

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

__all__ = ["choose_listener"]

_SHOWN_AT_ONCE = 12
_QUIET_VERDICTS = frozenset({Verdict.PASSED, Verdict.WAITING, Verdict.CANCELLED, Verdict.NOT_APPROVED})


@contextmanager
def choose_listener(stream: TextIO, *, live: bool, quiet: bool, color: bool) -> Iterator[RunListener]:
    """The listener that suits where ``stream`` goes."""
    if quiet:
        yield _Quiet()
    elif live:
        with _open_live(stream, color=color) as view:
            yield view
    else:
        yield _Lines(stream, color=color)


class _Quiet:
    def note(self, text: str) -> None:
        pass

    def begin(self, run_id: int, commands: Sequence[Command]) -> None:
        pass

    def start(self, command: Command) -> None:
        pass

    def end(self, command: Command, attempt: Attempt, tail: Tail) -> None:
        pass

    def tick(self) -> None:
        pass


class _Lines:
    """One line an event."""

    def __init__(self, stream: TextIO, *, color: bool) -> None:
        self._stream = stream
        self._color = color
        self._width = max(len(verdict.value) for verdict in Verdict)

    def note(self, text: str) -> None:
        self._write(f"note: {escape(text)}")

    def begin(self, run_id: int, commands: Sequence[Command]) -> None:
        items = len({command.item for command in commands})
        self._write(f"run {run_id}: {len(commands)} commands of {items} items")

    def start(self, command: Command) -> None:
        self._write(f"{_name(command)}  {'started':<{self._width}}  {escape(command.text)}")

    def end(self, command: Command, attempt: Attempt, tail: Tail) -> None:
        for line in _describe_end(command, attempt, tail, color=self._color, width=self._width):
            self._write(line)

    def tick(self) -> None:
        pass

    def _write(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()


def _name(command: Command) -> str:
    return f"{command.item}.{command.position}".ljust(6)


def _describe_end(command: Command, attempt: Attempt, tail: Tail, *, color: bool, width: int) -> list[str]:
    """One line; for a failure the reason too, and the last lines of what the command printed."""
    verdict = show_verdict(attempt.verdict, color=color, width=width)
    if attempt.verdict is Verdict.PASSED:
        return [f"{_name(command)}  {verdict}  {format_duration(attempt.duration_s)}"]
    lines = [f"{_name(command)}  {verdict}  {escape(attempt.reason)}"]
    if attempt.verdict not in _QUIET_VERDICTS:
        lines += render_tail(tail)
    return lines


@contextmanager
def _open_live(stream: TextIO, *, color: bool) -> Iterator[RunListener]:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.live import Live  # noqa: PLC0415

    console = Console(file=stream, no_color=not color, highlight=False, markup=False, emoji=False)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield _LiveView(live, color=color)


class _LiveView:
    """What runs now and how much is left, redrawn in place; what ended scrolls away above it."""

    def __init__(self, live: Live, *, color: bool) -> None:
        self._live = live
        self._color = color
        self._total = 0
        self._ended: dict[Verdict, int] = {}
        self._running: dict[Command, float] = {}
        self._began = time.monotonic()
        self._width = max(len(verdict.value) for verdict in Verdict)

    def note(self, text: str) -> None:
        self._print(f"note: {escape(text)}")

    def begin(self, run_id: int, commands: Sequence[Command]) -> None:  # noqa: ARG002 - the summary names it
        self._total = len(commands)
        self._draw()

    def start(self, command: Command) -> None:
        self._running[command] = time.monotonic()
        self._draw()

    def end(self, command: Command, attempt: Attempt, tail: Tail) -> None:
        self._running.pop(command, None)
        self._ended[attempt.verdict] = self._ended.get(attempt.verdict, 0) + 1
        first, *rest = _describe_end(command, attempt, tail, color=self._color, width=self._width)
        if attempt.verdict is Verdict.PASSED:
            first = f"{first:<36}  {escape(format_command(attempt.argv))}"
        for line in (first, *rest):
            self._print(line)
        self._draw()

    def tick(self) -> None:
        self._draw()

    def _print(self, line: str) -> None:
        from rich.text import Text  # noqa: PLC0415

        self._live.console.print(Text.from_ansi(line), soft_wrap=True)

    def _draw(self) -> None:
        self._live.update(self._make_table(), refresh=True)

    def _make_table(self) -> Table:
        from rich.table import Table  # noqa: PLC0415

        table = Table.grid(padding=(0, 2), expand=False)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, justify="right")
        table.add_column(no_wrap=True, overflow="ellipsis")
        now = time.monotonic()
        for command, since in list(self._running.items())[:_SHOWN_AT_ONCE]:
            table.add_row(_name(command), format_duration(now - since), cut(command.text, 200))
        done = sum(self._ended.values())
        counts = ", ".join(f"{count} {verdict.value}" for verdict, count in self._ended.items())
        left = f"{done} of {self._total}" + (f": {counts}" if counts else "")
        table.add_row("", format_duration(now - self._began), left)
        return table
