"""The ``planr`` command line: thin functions over ``codeboost.planr`` (planr-contract.md, "CLI").

A command gives an answer back and only ``main`` writes it, so that ``--json`` is one document on stdout whatever happens, and
everything that the document does not say is a line on stderr. Exit codes: 0 good, 1 validation errors, 2 usage.
"""

# ruff: noqa: PLC0415 - a command imports what it needs when it runs, and no other pays for it
# ruff: noqa: ARG001 - every command takes --json; main looks at it
from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codeboost.cli.answers import PROGRAM, Answer, ProblemsError, explain, fail, write
from codeboost.cli.options import refuse_odd_bytes
from codeboost.cli.registry import COMMANDS, Command, Group, register
from codeboost.cli.roots import RootOption, choose_root, join_roots, load_workspace, read_path
from codeboost.cli.streams import fill_streams
from codeboost.errors import CodeboostError, UsageError
from codeboost.reporting.tasks import render_goal, render_tasks
from codeboost.visible import count, cut, escape

if TYPE_CHECKING:
    from codeboost.planr.model import Goal, Status
    from codeboost.planr.workspace import Workspace

__all__ = ["build_app", "main", "run"]

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def start(
    context: typer.Context,
    *,
    root: RootOption = None,
    as_json: JsonOption = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> Answer | None:
    context.obj = root
    if version:
        from codeboost import __version__

        return Answer(f"planr {__version__}", {"version": __version__})
    if context.invoked_subcommand is None:
        raise UsageError("a command is missing", hint="planr --help lists them")
    return None


@register("check")
def check(
    context: typer.Context,
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings are errors.")] = False,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> Answer:
    """Validate every task and goal. Writes nothing."""
    from codeboost.planr.history import HistoryReader
    from codeboost.planr.workspace import Workspace

    place = choose_root(context, root)
    with HistoryReader(place) as reader:
        workspace = Workspace.load(place, keep_sources=True)
        found = workspace.warnings
        if not workspace.errors:
            found += reader.read(workspace, now="", with_dirty=False).warnings
    errors = [str(finding) for finding in workspace.errors]
    warnings = [str(finding) for finding in found]
    failures = errors + warnings if strict else errors
    counted = [count(len(workspace.tasks), "task"), count(len(workspace.goals), "goal")]
    text = f"planr: {counted[0]} and {counted[1]}, all in order"
    return Answer(
        "" if failures else text,
        {"ok": not failures, "errors": failures, "warnings": warnings},
        errors=failures,
        warnings=[] if strict else warnings,
        exit_code=1 if failures else 0,
    )


@register("index", hidden=True)
def index(
    context: typer.Context,
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings are errors.")] = False,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> Answer:
    """The old name of `check`."""
    answer = check(context, strict=strict, root=root, as_json=as_json)
    return replace(answer, remarks=["`planr index` is deprecated and writes nothing: use `planr check`"])


@register("list")
def list_tasks(
    context: typer.Context,
    *,
    status: Annotated[
        str | None, typer.Option("--status", metavar="A,B", help="Only these states, like open,review.")
    ] = None,
    track: Annotated[str | None, typer.Option("--track", metavar="TRACK", help="Only this track.")] = None,
    owner: Annotated[str | None, typer.Option("--owner", metavar="OWNER", help="Only this owner's.")] = None,
    goal: Annotated[
        str | None, typer.Option("--goal", metavar="NAME", help="Only this goal's scope.")
    ] = None,
    ready: Annotated[bool, typer.Option("--ready", help="Only what can be started.")] = False,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> Answer:
    """List tasks in the order of the board."""
    statuses = None if status is None else {_find_status(word.strip()) for word in status.split(",")}
    workspace = load_workspace(context, root)
    graph = workspace.graph
    scope = None if goal is None else set(_find_goal(workspace, goal).scope)
    chosen = graph.sort_for_board(
        task
        for task in workspace.tasks.values()
        if (statuses is None or task.status in statuses)
        and (track is None or task.track == track)
        and (owner is None or task.owner == owner)
        and (scope is None or task.id in scope)
        and (not ready or graph.is_ready(task))
    )
    if _wants_json(context):
        return _answer_with(workspace, document=[graph.describe_task(task) for task in chosen])
    return _answer_with(workspace, text=render_tasks(workspace, chosen) or "planr: no task fits")


@register("next")
def find_next(
    context: typer.Context,
    *,
    goal: Annotated[
        str | None, typer.Option("--goal", metavar="NAME", help="In this goal's scope; this or --stream.")
    ] = None,
    stream: Annotated[
        str | None, typer.Option("--stream", metavar="S", help="In this stream's approved and running goals.")
    ] = None,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> Answer:
    """Show what can be worked on now, and what waits for a person."""
    if (goal is None) == (stream is None):
        raise UsageError("next needs either --goal or --stream")
    workspace = load_workspace(context, root)
    graph = workspace.graph
    asked: dict[str, object]
    if goal is not None:
        found = _find_goal(workspace, goal)
        ready, waiting = graph.find_next([found], found.stream)
        asked = {"goal": found.name}
    else:
        ready, waiting = graph.find_next(graph.find_active_goals(stream or ""), stream)
        asked = {"stream": stream}
    document = asked | {
        "ready": [graph.describe_task(task) for task in ready],
        "waiting": [graph.describe_task(task) for task in waiting],
    }
    lines = ["ready:", render_tasks(workspace, ready) or "  nothing"]
    if waiting:
        lines += ["waiting for a person:", render_tasks(workspace, waiting)]
    return _answer_with(workspace, document=document, text="\n".join(lines))


@register("set")
def set_status(
    context: typer.Context,
    task_id: Annotated[str, typer.Argument(metavar="ID", help="The task, like AUTH-02.")],
    status: Annotated[
        str,
        typer.Argument(
            metavar="STATUS",
            help="Its new state: open, in-progress, review, blocked, decision, done or dropped.",
        ),
    ],
    *,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="OWNER", help='Who works on it; "" for nobody.')
    ] = None,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> Answer:
    """Set a task's state, and nothing else in its file."""
    from codeboost.planr.changes import check_name, set_task

    wanted = _find_status(status)
    check_name(task_id, "task id")
    refuse_odd_bytes(owner, "--owner")
    workspace = load_workspace(context, root)
    if task_id not in workspace.tasks:
        raise UsageError(f'there is no task "{cut(task_id)}"')
    change = set_task(workspace.root, task_id, status=wanted, owner=owner)
    document = {
        "ok": True,
        "id": task_id,
        "from": change.before.status.value,
        "to": change.after.status.value,
    }
    text = f"planr: {escape(task_id)}: {change.before.status} -> {change.after.status}"
    return _answer_with(workspace.with_task(change.after), document=document, text=text)


@register("goal")
def show_or_set_goal(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The goal: its file's name without -goal.md.")],
    state: Annotated[
        str | None,
        typer.Argument(metavar="STATE", help="Its new state: draft, approved, running, review or done."),
    ] = None,
    *,
    thread: Annotated[str | None, typer.Option("--thread", metavar="ID", help="Who coordinates it.")] = None,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> Answer:
    """Show a goal, or set its state."""
    from codeboost.planr.changes import check_name, set_goal
    from codeboost.planr.goalfile import ALLOWED_STATES, GOAL_STATES

    wanted = GOAL_STATES.get(state)
    if state is not None and wanted is None:
        raise UsageError(f'the state "{cut(state)}" is unknown; allowed: {ALLOWED_STATES}')
    check_name(name, "goal name")
    refuse_odd_bytes(thread, "--thread")
    workspace = load_workspace(context, root)
    goal = _find_goal(workspace, name)
    if wanted is not None or thread is not None:
        goal = set_goal(workspace.root, name, state=wanted, thread=thread).after
        workspace = workspace.with_goal(goal)
    described = workspace.graph.describe_goal(goal)
    return _answer_with(workspace, document=described, text=render_goal(described))


@register("board")
def show_board(
    context: typer.Context,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", parser=read_path, help="Default: boardOut of planr.config.json."
        ),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve it on this machine, always up to date.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", metavar="N", min=0, max=65535, help="For --serve; 0 is any that is free. Default: 4173."
        ),
    ] = None,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> Answer:
    """Make the board: one HTML page. --json prints its data, and writes the page only where --out says."""
    if port is not None and not serve:
        raise UsageError("--port needs --serve")
    if serve and (out is not None or _wants_json(context)):
        raise UsageError("--serve goes with neither --out nor --json")
    if serve:
        from codeboost.planr.server import DEFAULT_PORT
        from codeboost.planr.server import serve as serve_board

        gc.enable()
        place = load_workspace(context, root).root
        return Answer(exit_code=serve_board(place, DEFAULT_PORT if port is None else port))
    from codeboost.planr.board import build_board_data, write_board
    from codeboost.planr.history import HistoryReader

    with HistoryReader(choose_root(context, root)) as reader:
        workspace = load_workspace(context, root, keep_sources=True)
        data = build_board_data(workspace, reader)
    as_document = _wants_json(context)
    if out is not None or not as_document:
        from codeboost.planr.page import render_page

        out = out or workspace.root / workspace.config.board_out
        write_board(out, render_page(data))
    if as_document:
        return Answer(document=data)
    return Answer(f"planr: the board is in {escape(str(out))}", warnings=data["warnings"])


@register("init")
def make_root(
    context: typer.Context,
    *,
    in_repo: Annotated[
        bool, typer.Option("--in-repo", help="Inside a code repository: tasks and plans go below .planr/.")
    ] = False,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> Answer:
    """Make a planning root here. Never overwrites anything."""
    from codeboost.planr.scaffold import init

    made = init(join_roots(context, root) or Path.cwd(), in_repo=in_repo)
    lines = [f"planr: wrote {escape(path)}" for path in made.written]
    lines += [f"planr: kept {escape(path)}" for path in made.kept]
    document = {
        "ok": True,
        "root": str(made.root),
        "written": made.written,
        "kept": made.kept,
        "notes": made.notes,
    }
    return Answer("\n".join(lines), document, remarks=made.notes)


def build_app(names: Iterable[str] = ()) -> typer.Typer:
    """The command line with these commands, or with all of them."""
    app = typer.Typer(
        cls=Group,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
        add_completion=False,
        help="Tasks and goals in plain Markdown: check them, list them, move them.",
    )
    app.callback(invoke_without_command=True)(start)
    for name in names or COMMANDS:
        entry = COMMANDS[name]
        app.command(name, cls=Command, hidden=entry.hidden)(entry.run)
    return app


def main() -> None:
    """The console script."""
    # These processes live for a moment and make no rubbish to collect; looking for it, also at the end, costs a tenth.
    gc.disable()
    fill_streams()
    code = run(sys.argv[1:])
    gc.freeze()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command line, write its answer to stdout and stderr, and give its exit code."""
    as_json = "--json" in (arguments[: arguments.index("--")] if "--" in arguments else arguments)
    answer = _invoke(arguments)
    written = write(answer, as_json=as_json)
    return answer.exit_code if written else answer.exit_code or 1


def _invoke(arguments: list[str]) -> Answer:
    # The command is among the words; building the others too would be in vain.
    names = [] if {"--help", "-h"} & {*arguments} else [name for name in COMMANDS if name in arguments]
    try:
        said = typer.main.get_command(build_app(names)).main(
            args=arguments, prog_name=PROGRAM, standalone_mode=False
        )
    except ProblemsError as problems:
        return fail(problems.errors, 1, problems.warnings)
    except CodeboostError as error:
        message = escape(str(error)) + (f" ({escape(error.hint)})" if error.hint else "")
        return fail([message], 2 if isinstance(error, UsageError) else 1)
    except typer.TyperException as error:
        return fail([escape(error.format_message())], 2)
    except typer.Abort:
        return Answer(exit_code=130)
    except Exception as error:  # noqa: BLE001 - the last door: a person gets one line, a maintainer the log
        return explain(error, arguments)
    return said if isinstance(said, Answer) else Answer(exit_code=said if isinstance(said, int) else 0)


def _wants_json(context: typer.Context) -> bool:
    parent = context.parent
    return bool(context.params.get("as_json") or (parent is not None and parent.params.get("as_json")))


def _answer_with(workspace: Workspace, *, document: object = None, text: str = "") -> Answer:
    """An answer that carries what the files are warned about, and fails when a change has broken them."""
    if workspace.errors:
        raise ProblemsError(workspace.errors, workspace.warnings)
    return Answer(text, document, warnings=[str(finding) for finding in workspace.warnings])


def _find_status(word: str) -> Status:
    from codeboost.planr.taskfile import ALLOWED_STATUSES, STATUSES

    status = STATUSES.get(word)
    if status is None:
        raise UsageError(f'the status "{cut(word)}" is unknown; allowed: {ALLOWED_STATUSES}')
    return status


def _find_goal(workspace: Workspace, name: str) -> Goal:
    if name not in workspace.goals:
        raise UsageError(f'there is no goal "{cut(name)}"')
    return workspace.goals[name]


if __name__ == "__main__":
    main()
