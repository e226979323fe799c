"""What a run says while it goes on: a live view on a terminal, one line an event everywhere else. Always on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from codeboost.command.grammar import format_command
from codeboost.limits import format_duration
from codeboost.operations.run_model import RunListener, Tail
from codeboost.operations.schedule import Command
from codeboost.reporting.runs import VERDICT_WIDTH, render_tail, show_row, show_verdict
from codeboost.reporting.width import fit
from codeboost.store.attempts import Attempt
from codeboost.verdict import Verdict
from codeboost.visible import count, escape

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

__all__ = ["choose_listener"]

_SHOWN_AT_ONCE = 12
_SPEAKS_FOR_ITSELF = frozenset({Verdict.PASSED, Verdict.WAITING, Verdict.CANCELLED, Verdict.NOT_APPROVED})


@contextmanager
def choose_listener(
    stream: TextIO, *, live: bool, quiet: bool, color: bool, on_begin: Callable[[], None]
) -> Iterator[RunListener]:
    """The listener that suits where ``stream`` goes. ``on_begin`` is called when preparing is over."""
    if quiet:
        yield _Quiet(on_begin)
    elif live:
        with _open_live(stream, color=color, on_begin=on_begin) as view:
            yield view
    else:
        yield _Lines(stream, color=color, on_begin=on_begin)


class _Quiet:
    """Says nothing, and is what the others build on."""

    def __init__(self, on_begin: Callable[[], None]) -> None:
        self._on_begin = on_begin

    def note(self, text: str) -> None:
        pass

    def begin(self, run_id: int, commands: Sequence[Command]) -> None:  # noqa: ARG002 - what the others need
        self._on_begin()

    def start(self, command: Command) -> None:
        pass

    def end(self, command: Command, attempt: Attempt, tail: Tail) -> None:
        pass

    def tick(self) -> None:
        pass


class _Lines(_Quiet):
    """One line an event."""

    def __init__(self, stream: TextIO, *, color: bool, on_begin: Callable[[], None]) -> None:
        super().__init__(on_begin)
        self._stream = stream
        self._color = color

    def note(self, text: str) -> None:
        self._write(f"note: {escape(text)}")

    def begin(self, run_id: int, commands: Sequence[Command]) -> None:
        super().begin(run_id, commands)
        self._write(f"run {run_id}: {_count(commands)}")

    def start(self, command: Command) -> None:
        self._write(f"{_name(command)}  {'started':<{VERDICT_WIDTH}}  {escape(command.text)}")

    def end(self, command: Command, attempt: Attempt, tail: Tail) -> None:
        for line in _describe_end(command, attempt, tail, color=self._color):
            self._write(line)

    def _write(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()


def _count(commands: Sequence[Command]) -> str:
    items = len({command.item for command in commands})
    return f"{count(len(commands), 'command')} of {count(items, 'item')}"


def _name(command: Command) -> str:
    return f"{command.item}.{command.position}".ljust(6)


def _describe_end(command: Command, attempt: Attempt, tail: Tail, *, color: bool) -> list[str]:
    """One line; for a failure the reason too, and the last lines of what the command printed."""
    verdict = show_verdict(attempt, color=color, width=VERDICT_WIDTH)
    if attempt.verdict is Verdict.PASSED:
        took = "" if attempt.reused_run is not None else f"  {format_duration(attempt.duration_s)}"
        lines = [f"{_name(command)}  {verdict}{took}"]
    else:
        lines = [f"{_name(command)}  {verdict}  {escape(attempt.reason)}"]
    lines += [f"    warning: {escape(text)}" for text in attempt.warnings]
    if attempt.verdict not in _SPEAKS_FOR_ITSELF:
        lines += render_tail(tail)
    return lines


@contextmanager
def _open_live(stream: TextIO, *, color: bool, on_begin: Callable[[], None]) -> Iterator[RunListener]:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.live import Live  # noqa: PLC0415

    console = Console(
        file=stream, force_terminal=True, no_color=not color, highlight=False, markup=False, emoji=False
    )
    # Our own ticks draw it: no second thread writes to the terminal.
    with Live(console=console, auto_refresh=False, transient=True, redirect_stderr=False) as live:
        yield _LiveView(live, color=color, on_begin=on_begin)


class _LiveView(_Quiet):
    """What runs now and how much is left, redrawn in place; what ended scrolls away above it, one line a command."""

    def __init__(self, live: Live, *, color: bool, on_begin: Callable[[], None]) -> None:
        super().__init__(on_begin)
        self._live = live
        self._color = color
        self._total = 0
        self._ended: dict[Verdict, int] = {}
        self._running: dict[Command, float] = {}
        self._began = time.monotonic()

    def note(self, text: str) -> None:
        self._print(f"note: {escape(text)}")

    def begin(self, run_id: int, commands: Sequence[Command]) -> None:
        super().begin(run_id, commands)
        self._total = len(commands)
        self._draw()

    def start(self, command: Command) -> None:
        self._running[command] = time.monotonic()
        self._draw()

    def end(self, command: Command, attempt: Attempt, tail: Tail) -> None:
        self._running.pop(command, None)
        self._ended[attempt.verdict] = self._ended.get(attempt.verdict, 0) + 1
        first, *rest = _describe_end(command, attempt, tail, color=self._color)
        if attempt.verdict is Verdict.PASSED:
            took = "" if attempt.reused_run is not None else format_duration(attempt.duration_s)
            text = f"  {took:>6}  {escape(format_command(attempt.argv))}"
            width = self._live.console.width
            first = show_row(f"{_name(command)}  ", attempt, text, color=self._color, width=width)
        for line in (first, *rest):
            self._print(line)
        self._draw()

    def tick(self) -> None:
        self._draw()

    def _print(self, line: str) -> None:
        from rich.text import Text  # noqa: PLC0415

        self._live.console.print(Text.from_ansi(line), soft_wrap=True)

    def _draw(self) -> None:
        self._live.update(self._make_view(), refresh=True)

    def _make_view(self) -> Text:
        from rich.text import Text  # noqa: PLC0415

        now = time.monotonic()
        running = list(self._running.items())
        lines = [
            f"{_name(command)}  {'running':<{VERDICT_WIDTH}}  {format_duration(now - since):>6}"
            f"  {escape(command.text)}"
            for command, since in running[:_SHOWN_AT_ONCE]
        ]
        if len(running) > _SHOWN_AT_ONCE:
            lines.append(f"and {len(running) - _SHOWN_AT_ONCE} more are running")
        done = sum(self._ended.values())
        counts = ", ".join(f"{number} {verdict.value}" for verdict, number in self._ended.items())
        left = self._total - done - len(running)
        summary = f"{done} of {self._total} done, {len(running)} running, {left} left"
        lines.append(f"{format_duration(now - self._began)}  {summary}" + (f": {counts}" if counts else ""))
        # One column is left free: a full line would wrap on some terminals, and the redraw would miss by one.
        width = max(1, self._live.console.width - 1)
        return Text("\n".join(fit(line, width) for line in lines), no_wrap=True, overflow="crop")
