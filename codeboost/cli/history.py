"""``codeboost runs``, ``log`` and ``prune``: what ran, what it printed, and what of that is kept."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codeboost.cli.console import emit, is_terminal, note, say, wants_color
from codeboost.cli.options import MAX_DAYS, MAX_NUMBER, IssueArgument, JsonFlag, RepoOption

if TYPE_CHECKING:
    from codeboost.operations.find_log import KeptOutput
    from codeboost.operations.project import Project
    from codeboost.store.attempts import Attempt

__all__ = ["log", "prune", "runs"]


def runs(
    issue: IssueArgument,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=MAX_NUMBER, metavar="N", help="At most so many, the newest.")
    ] = 20,
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """List the runs of an issue, newest first."""
    from codeboost.operations.find_log import list_run_rows  # noqa: PLC0415
    from codeboost.operations.project import open_project  # noqa: PLC0415
    from codeboost.reporting.history import describe_run_row, render_run_rows  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    with Store.open() as store:
        rows = list_run_rows(open_project(store, Path.cwd(), repo), issue, limit=limit)
    if as_json:
        emit("runs", [describe_run_row(row) for row in rows])
    elif rows:
        say(render_run_rows(rows))
    else:
        note(f"nothing has run for issue {issue} yet: codeboost run {issue}")
    return 0


def log(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ATTEMPT|TASK",
            help="An attempt's id or its beginning, or a task: GH412-P1, or GH412-P1.2 for one command.",
            show_default=False,
        ),
    ],
    stream: Annotated[
        str | None,
        typer.Option(
            "--stream", metavar="NAME", help="Only stdout, or only stderr; --raw takes stdout without it."
        ),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="The very bytes of one stream of one attempt; never to a terminal.")
    ] = False,
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Show what a command printed, line by line, with everything invisible escaped."""
    from codeboost.errors import UsageError  # noqa: PLC0415
    from codeboost.operations.find_log import find_logged_attempts  # noqa: PLC0415
    from codeboost.operations.project import open_project  # noqa: PLC0415
    from codeboost.reporting.history import describe_log, render_attempt_head  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415
    from codeboost.store.output import STREAMS  # noqa: PLC0415

    if stream not in (None, *STREAMS):
        raise UsageError("--stream is stdout or stderr")
    if raw and as_json:
        raise UsageError("--raw and --json exclude each other")
    with Store.open() as store:
        project = open_project(store, Path.cwd(), repo)
        attempts = find_logged_attempts(project, name)
        if raw:
            return _write_raw(project, attempts, stream)
        wanted = STREAMS if stream is None else (stream,)
        shown = [(attempt, _read(project, attempt, wanted)) for attempt in attempts]
    if as_json:
        emit("log", describe_log(shown))
        return 0
    for number, (attempt, outputs) in enumerate(shown):
        if number:
            say()
        say(render_attempt_head(attempt, color=wants_color(sys.stdout)))
        _show_outputs(attempt, outputs, wanted)
    return 0


def _show_outputs(attempt: Attempt, outputs: list[KeptOutput], wanted: tuple[str, ...]) -> None:
    from codeboost.reporting.history import render_output  # noqa: PLC0415

    for output in outputs:
        for line in render_output(output):
            say(line)
    if _is_pruned(attempt, outputs, wanted):
        note(f"what {attempt.item}.{attempt.position} printed is not kept any more")
    elif outputs and not any(output.head or output.tail for output in outputs):
        say(f"  it printed nothing{f' on {wanted[0]}' if len(wanted) == 1 else ''}")


def _read(project: Project, attempt: Attempt, streams: tuple[str, ...]) -> list[KeptOutput]:
    from codeboost.operations.find_log import read_kept_output  # noqa: PLC0415

    found = (read_kept_output(project, attempt, stream) for stream in streams)
    return [output for output in found if output is not None]


def _is_pruned(attempt: Attempt, outputs: list[KeptOutput], wanted: tuple[str, ...]) -> bool:
    found = {output.stream for output in outputs}
    kept = {"stdout": attempt.stdout, "stderr": attempt.stderr}
    return any(kept[stream] is not None and stream not in found for stream in wanted)


def _write_raw(project: Project, attempts: list[Attempt], stream: str | None) -> int:
    from codeboost.errors import InputError, UsageError  # noqa: PLC0415
    from codeboost.limits import format_size  # noqa: PLC0415
    from codeboost.operations.find_log import read_kept_output  # noqa: PLC0415

    if is_terminal(sys.stdout):
        raise UsageError(
            "--raw never writes to a terminal: the bytes could do anything there",
            hint="send it into a file or a pipe, or leave --raw out",
        )
    if len(attempts) > 1:
        names = ", ".join(f"{attempt.item}.{attempt.position}" for attempt in attempts)
        raise UsageError(f"--raw takes one attempt, and these are {len(attempts)}: {names}")
    output = read_kept_output(project, attempts[0], stream or "stdout")
    if output is None:
        raise InputError(
            f"there is no {stream or 'stdout'} of {attempts[0].id}: nothing came, or it was pruned"
        )
    sys.stdout.buffer.write(output.head)
    sys.stdout.buffer.write(output.tail)
    sys.stdout.buffer.flush()
    if output.dropped:
        note(f"{format_size(output.dropped)} after the first {len(output.head)} bytes were not kept")
    return 0


def prune(
    days: Annotated[
        int, typer.Option("--days", min=0, max=MAX_DAYS, metavar="N", help="Output older than this goes.")
    ] = 30,
    size: Annotated[
        str, typer.Option("--size", metavar="SIZE", help="Beyond this the oldest output goes.")
    ] = "1GiB",
    run_days: Annotated[
        int,
        typer.Option(
            "--run-days",
            min=0,
            max=MAX_DAYS,
            metavar="N",
            help="Runs of replaced revisions older than this go.",
        ),
    ] = 365,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    as_json: JsonFlag = False,
) -> int:
    """Remove old output and forget old runs. What an issue's state rests on stays."""
    from codeboost.errors import UsageError  # noqa: PLC0415
    from codeboost.limits import parse_size  # noqa: PLC0415
    from codeboost.operations.prune import prune as prune_store  # noqa: PLC0415
    from codeboost.reporting.history import describe_prune, render_prune  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    try:
        most = parse_size(size)
    except ValueError as error:
        raise UsageError(str(error)) from error
    with Store.open() as store:
        result = prune_store(store, output_days=days, output_bytes=most, run_days=run_days, dry_run=dry_run)
    if as_json:
        emit("prune", describe_prune(result))
    else:
        say(render_prune(result, dry_run=dry_run))
    return 0
