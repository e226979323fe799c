"""The command line of codeboost: every command in one table. Heavy modules are imported inside the commands."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from importlib import import_module
from typing import Annotated, NamedTuple

import typer

from codeboost.cli.options import CommandGroup

__all__ = ["build_app"]


class _Entry(NamedTuple):
    """A command, or a group of them, and the module of this package that holds it."""

    name: str
    module: str
    attribute: str


_ENTRIES = (
    _Entry("init", "init", "init"),
    _Entry("issue", "issue", "issue_app"),
    _Entry("plan", "plan", "plan_app"),
    _Entry("allow", "allow", "allow_app"),
    _Entry("run", "run", "run"),
    _Entry("status", "status", "status"),
    _Entry("verdict", "status", "verdict"),
    _Entry("runs", "history", "runs"),
    _Entry("log", "history", "log"),
    _Entry("prune", "history", "prune"),
    _Entry("scope", "scope", "scope"),
    _Entry("report", "report", "report"),
    _Entry("attest", "attest", "attest_app"),
    _Entry("command", "command", "command_app"),
    _Entry("doctor", "doctor", "doctor"),
    _Entry("sweep", "doctor", "sweep"),
)


def build_app(words: Sequence[str] = ()) -> typer.Typer:
    """The command line; only the command that ``words`` begin with, when they do begin with one.

    Turning functions into commands takes a millisecond each, and a call needs one of them.
    """
    app = typer.Typer(
        cls=CommandGroup,
        help="Check a plan for a GitHub issue, approve its exact commands, run each of them in a container.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    named = [entry for entry in _ENTRIES if words and entry.name == words[0]]
    for entry in named or _ENTRIES:
        command = getattr(import_module(f"codeboost.cli.{entry.module}"), entry.attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(_narrow(command, words[1:]) if named else command, name=entry.name)
        else:
            app.command(entry.name)(command)
    return app


def _narrow(group: typer.Typer, words: Sequence[str]) -> typer.Typer:
    wanted = [command for command in group.registered_commands if words and command.name == words[0]]
    narrowed = copy(group)
    narrowed.registered_commands = wanted or group.registered_commands
    return narrowed


def _show_version(wanted: bool) -> None:
    if wanted:
        from codeboost import __version__  # noqa: PLC0415

        typer.echo(f"codeboost {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
