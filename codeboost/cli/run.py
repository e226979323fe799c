"""``codeboost run``."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from codeboost.cli.console import emit, is_terminal, note, say, wants_color
from codeboost.cli.options import IssueArgument, JsonFlag

if TYPE_CHECKING:
    from codeboost.sandbox.base import Executor

__all__ = ["run"]


def run(
    issue: IssueArgument,
    rev: Annotated[str, typer.Option("--rev", metavar="REV", help="The commit to test.")] = "HEAD",
    item: Annotated[
        list[str] | None, typer.Option("--item", metavar="P1", help="Only this item; may be given again.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", min=1, max=64, metavar="N", help="Commands at once; by default one a core."
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            "--image", metavar="REF", help="The image, where the base commit has no codeboost.toml."
        ),
    ] = None,
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="D", help="A shorter limit a command, like 90s or 5m.")
    ] = None,
    pull: Annotated[
        str, typer.Option("--pull", metavar="WHEN", help="never, missing or always.")
    ] = "missing",
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failure.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing until the summary.")] = False,
    as_json: JsonFlag = False,
) -> int:
    """Run every approved command of an issue's plan, each in a container of its own. Task states follow."""
    from codeboost.errors import UsageError  # noqa: PLC0415
    from codeboost.limits import parse_duration  # noqa: PLC0415
    from codeboost.operations.project import open_project  # noqa: PLC0415
    from codeboost.operations.run_checks import run_checks  # noqa: PLC0415
    from codeboost.operations.run_model import RunRequest  # noqa: PLC0415
    from codeboost.reporting.progress import choose_listener  # noqa: PLC0415
    from codeboost.reporting.runs import describe_run, render_run  # noqa: PLC0415
    from codeboost.sandbox.base import PullPolicy  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    try:
        request = RunRequest(
            issue=issue,
            rev=rev,
            items=tuple(item or ()),
            jobs=jobs or max(2, os.cpu_count() or 2),
            image=image,
            timeout_s=parse_duration(timeout) if timeout is not None else None,
            pull=PullPolicy(pull),
            fail_fast=fail_fast,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    with Store.open() as store, _stop_on_signals() as stop:
        project = open_project(store, Path.cwd())
        live = is_terminal(sys.stderr) and not quiet and not as_json
        with choose_listener(sys.stderr, live=live, quiet=quiet, color=wants_color(sys.stderr)) as listener:
            result = run_checks(project, request, lambda: _open_executor(store.id), listener, stop.event)
    exit_code = stop.exit_code or result.exit_code
    if as_json:
        emit("run", describe_run(result), exit_code=exit_code)
    else:
        say(render_run(result, color=wants_color(sys.stdout)).rstrip("\n"))
    return exit_code


def _open_executor(store_id: str) -> Executor:
    from codeboost.sandbox.engine import open_executor  # noqa: PLC0415 - docker costs 110 ms

    return open_executor(store_id)


@dataclass(slots=True)
class _Stop:
    """Whether a signal asked to stop, and the exit code that says so: 130 for ^C, 143 for TERM."""

    event: threading.Event
    exit_code: int = 0


@contextmanager
def _stop_on_signals() -> Iterator[_Stop]:
    """Turn ^C and TERM into a wish: containers are removed before the process ends, however often it is pressed."""
    stop = _Stop(threading.Event())

    def handle(number: int, _frame: FrameType | None) -> None:
        if not stop.event.is_set():
            note("stopping: the containers are being removed")
        stop.exit_code = stop.exit_code or 128 + number
        stop.event.set()

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
