"""``codeboost allow``: which commands may run, who said so, and what a person still has to look at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from codeboost.cli.console import emit, note, say
from codeboost.cli.options import (
    MAX_NUMBER,
    BaseOption,
    CommandGroup,
    IssueArgument,
    JsonFlag,
    RepoOption,
    refuse_empty,
)
from codeboost.cli.status import allow_setup

if TYPE_CHECKING:
    from codeboost.command.grammar import Argv
    from codeboost.operations.approve_commands import PendingApprovals, PendingCommand
    from codeboost.operations.project import Project

__all__ = ["allow_app"]

allow_app = typer.Typer(cls=CommandGroup, help="Approve commands, exactly as they will run.")

_AFTER_DASHES = "codeboost.argv"

TextArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TEXT | -- ARG...", help="A command as a plan writes it, or its arguments after --."
    ),
]
ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept in the log.")]
RevOption = Annotated[
    str | None, typer.Option("--rev", callback=refuse_empty, metavar="REV", help="Whose files to look at.")
]


class ArgvCommand(TyperCommand):
    """Takes everything after the first ``--`` for an argv, untouched: click drops the dashes and forgets them."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        at = args.index("--") if "--" in args else None
        ctx.meta[_AFTER_DASHES] = tuple(args[at + 1 :]) if at is not None else None
        return super().parse_args(ctx, args[:at])


@allow_app.command("add", cls=ArgvCommand)
def add(
    ctx: typer.Context,
    text: TextArgument = None,
    reason: ReasonOption = "",
    rev: RevOption = None,
    pin: Annotated[
        list[str] | None,
        typer.Option("--pin", metavar="PATH", help="A file that has to stay as it is, too; may be repeated."),
    ] = None,
    base: BaseOption = None,
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Approve one command. A program with a slash in it is pinned to the file that it names."""
    from codeboost.operations.add_approval import add_approval  # noqa: PLC0415
    from codeboost.reporting.approvals import (  # noqa: PLC0415
        describe_approval,
        make_entry,
        render_approval,
        render_argv,
        render_differences,
    )

    argv = _take_argv(ctx, text)
    with _open(repo) as project:
        added = add_approval(project, argv, reason=reason, rev=rev, base=base, pins=pin or ())
    if as_json:
        emit("allow add", describe_approval(added.approval, added.suspicions) | {"new": added.is_new})
        return 0
    for line in (*render_differences(added.differences), *(f"look twice: {why}" for why in added.suspicions)):
        note(line)
    say("approved:" if added.is_new else "approved already:")
    for line in (*render_argv(argv), *render_approval(make_entry(added.approval), "")):
        say(line)
    return 0


@allow_app.command("approve")
def approve(
    issue: IssueArgument, rev: RevOption = None, repo: RepoOption = None, as_json: JsonFlag = False
) -> int:
    """Look at each command of the newest plan that may not run yet, and decide with one key."""
    from codeboost.cli.keys import is_person_present  # noqa: PLC0415
    from codeboost.operations.approve_commands import find_pending  # noqa: PLC0415
    from codeboost.reporting.approvals import describe_pending, render_ground, render_pending  # noqa: PLC0415

    with _open(repo) as project:
        pending = find_pending(project, issue, rev=rev)
        if as_json:
            exit_code = 3 if pending.commands else 0
            emit("allow approve", describe_pending(pending), exit_code=exit_code)
            return exit_code
        for line in render_ground(pending):
            say(line)
        if not pending.commands:
            say(f"every command may run already ({pending.approved})")
            return 0
        if is_person_present():
            return _decide_all(project, pending)
        for number, command in enumerate(pending.commands, 1):
            say()
            for line in render_pending(command, number, len(pending.commands)):
                say(line)
    _explain_absence(pending)
    return 3


def _decide_all(project: Project, pending: PendingApprovals) -> int:
    from codeboost.cli.keys import open_keyboard  # noqa: PLC0415
    from codeboost.operations.approve_commands import approve_command, refuse_command  # noqa: PLC0415
    from codeboost.reporting.approvals import render_pending  # noqa: PLC0415

    total, approved = len(pending.commands), 0
    with open_keyboard() as keyboard:
        for number, command in enumerate(pending.commands, 1):
            say()
            for line in render_pending(command, number, total):
                say(line)
            question, keys = "[a]pprove  [s]kip  [q]uit?", "asq"
            if command.problem:
                question, keys = "[s]kip  [q]uit?", "sq"
            key = keyboard.ask(question, keys)
            if key == "a":
                approval = approve_command(project, pending, command)
                say(f"approved as store:{approval.id}")
                approved += 1
            elif key == "s":
                refuse_command(project, pending, command)
            else:
                break
    left = total - approved
    say()
    say(f"{approved} approved now, {pending.approved} before, {left} not approved")
    return 3 if left else 0


def _explain_absence(pending: PendingApprovals) -> None:
    note("nothing was approved: nobody is at a terminal to look and press a key")
    note("  run this at a terminal; or, for what has been looked at, say so command by command:")
    for command in pending.commands:
        note(f"    {_write_add(pending, command)}")


def _write_add(pending: PendingApprovals, command: PendingCommand) -> str:
    from shlex import join  # noqa: PLC0415 - written for a person's shell; never read back

    from codeboost.visible import escape  # noqa: PLC0415

    rev = ["--rev", pending.commit[:12]] if command.pins else []
    words = ["codeboost", "allow", "add", "--reason", "WHY", *rev, "--", *command.argv]
    return escape(join(words))


@allow_app.command("list")
def list_(base: BaseOption = None, repo: RepoOption = None, as_json: JsonFlag = False) -> int:
    """List every command that may run: on whose word, since when, with which files pinned."""
    from codeboost.operations.list_approvals import list_all_approvals  # noqa: PLC0415
    from codeboost.reporting.approvals import describe_entry, render_list  # noqa: PLC0415

    with _open(repo) as project:
        listing = list_all_approvals(project, base=base)
    if as_json:
        found = [describe_entry(listed.entry, listed.suspicions) for listed in listing.approvals]
        emit(
            "allow list",
            {"base_commit": listing.base_commit, "log_head": listing.log_head, "approvals": found},
        )
        return 0
    for line in render_list(listing):
        say(line)
    if not listing.approvals:
        note("no command is approved yet: codeboost allow approve ISSUE")
    return 0


@allow_app.command("revoke", cls=ArgvCommand)
def revoke(
    ctx: typer.Context,
    text: TextArgument = None,
    approval: Annotated[
        int | None,
        typer.Option(
            "--id", min=1, max=MAX_NUMBER, metavar="N", help="The approval store:N, instead of a command."
        ),
    ] = None,
    reason: ReasonOption = "",
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Take an approval back. What a run has begun with, it ends with."""
    from codeboost.errors import UsageError  # noqa: PLC0415
    from codeboost.operations.revoke_approval import revoke_by_argv, revoke_by_id  # noqa: PLC0415
    from codeboost.reporting.approvals import describe_approval  # noqa: PLC0415

    if approval is not None and (text is not None or ctx.meta[_AFTER_DASHES] is not None):
        raise UsageError("name the command or --id N, not both")
    argv = None if approval is not None else _take_argv(ctx, text)
    with _open(repo) as project:
        if argv is not None:
            ended = revoke_by_argv(project, argv, reason=reason)
        else:
            ended = revoke_by_id(project, approval or 0, reason=reason)
    if as_json:
        emit("allow revoke", [describe_approval(entry) for entry in ended])
    else:
        say("revoked " + ", ".join(f"store:{entry.id}" for entry in ended))
    return 0


@allow_app.command("test", cls=ArgvCommand)
def try_out(
    ctx: typer.Context,
    text: TextArgument = None,
    rev: RevOption = None,
    base: BaseOption = None,
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Say whether a command may run, and which entry lets it; or what the nearest approved command differs in."""
    from codeboost.operations.ask_gate import ask_gate  # noqa: PLC0415
    from codeboost.reporting.approvals import describe_answer, render_answer  # noqa: PLC0415

    argv = _take_argv(ctx, text)
    with _open(repo) as project:
        answer = ask_gate(project, argv, rev=rev, base=base)
    exit_code = 0 if answer.decision.allowed else 3
    if as_json:
        emit("allow test", describe_answer(answer), exit_code=exit_code)
        return exit_code
    for line in render_answer(answer):
        say(line)
    return exit_code


@allow_app.command("log")
def log(
    verify: Annotated[bool, typer.Option("--verify", help="Check the chain instead of showing it.")] = False,
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Show the history of approvals; --verify says whether anything in it was edited."""
    from codeboost.operations.list_approvals import check_log, read_log  # noqa: PLC0415
    from codeboost.reporting.approvals import describe_log_entry, render_log  # noqa: PLC0415

    with _open(repo) as project:
        if verify:
            return _show_check(check_log(project), as_json=as_json)
        entries = read_log(project)
    if as_json:
        emit("allow log", [describe_log_entry(entry) for entry in entries])
        return 0
    for line in render_log(entries):
        say(line)
    return 0


def _show_check(check: Any, *, as_json: bool) -> int:
    exit_code = 1 if check.problem else 0
    if as_json:
        data = {"entries": check.entries, "head": check.head, "problem": check.problem}
        emit("allow log", data, exit_code=exit_code)
    elif check.problem:
        note(check.problem)
    else:
        say(f"{check.entries} entries, unbroken; head {check.head}")
    return exit_code


@allow_app.command("export")
def export(repo: RepoOption = None) -> int:
    """Print the approvals in the store as a JSON document."""
    from json import dumps  # noqa: PLC0415

    from codeboost.operations.export_approvals import export_approvals  # noqa: PLC0415

    with _open(repo) as project:
        say(dumps(export_approvals(project), indent=2))
    return 0


@allow_app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `codeboost allow export` printed.")],
    repo: RepoOption = None,
) -> int:
    """Show each approval of a document and take in those that a person agrees to, key by key."""
    from codeboost.cli.keys import is_person_present, open_keyboard  # noqa: PLC0415
    from codeboost.errors import ApprovalNeededError, UsageError  # noqa: PLC0415
    from codeboost.operations.export_approvals import import_approvals, read_export  # noqa: PLC0415
    from codeboost.reporting.approvals import render_import  # noqa: PLC0415
    from codeboost.visible import count, cut  # noqa: PLC0415

    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{cut(str(file), 200)} cannot be read: {error.strerror}") from None
    with _open(repo) as project:
        entries = read_export(project, data)
        new = [entry for entry in entries if not entry.known]
        say(f"{count(len(entries), 'approval')}, {len(entries) - len(new)} of them known already")
        if not new:
            return 0
        if not is_person_present():
            raise ApprovalNeededError(
                "nothing was approved: nobody is at a terminal to look and press a key",
                hint="run this at a terminal, or use `codeboost allow add` for what has been looked at",
            )
        taken = 0
        with open_keyboard() as keyboard:
            for number, entry in enumerate(new, 1):
                say()
                for line in render_import(entry, number, len(new)):
                    say(line)
                key = keyboard.ask("[a]pprove  [s]kip  [q]uit?", "asq")
                if key == "a":
                    import_approvals(project, [entry])
                    taken += 1
                elif key != "s":
                    break
    say(f"{taken} approved, {len(new) - taken} not approved")
    return 0 if taken == len(new) else 3


@contextmanager
def _open(repo: str | None) -> Iterator[Project]:
    from codeboost.operations.project import open_project  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    with Store.open() as store:
        yield open_project(store, Path.cwd(), repo)


def _take_argv(ctx: typer.Context, text: str | None) -> Argv:
    """The command of this call: what stands after ``--``, else the text as the grammar reads it."""
    from codeboost.errors import UsageError  # noqa: PLC0415

    after: Argv | None = ctx.meta[_AFTER_DASHES]
    if (after is None) == (text is None):
        raise UsageError("name one command", hint="as one quoted TEXT, or its arguments after --")
    return after if after is not None else _parse(text or "")


def _parse(text: str) -> Argv:
    from codeboost.command.grammar import draw_error, parse_command  # noqa: PLC0415
    from codeboost.errors import CommandSyntaxError  # noqa: PLC0415

    try:
        return parse_command(text)
    except CommandSyntaxError as error:
        for line in draw_error(error):
            note(line)
        raise


allow_app.command("setup")(allow_setup)
