"""The command line of codeboost: every command group in one place. Heavy modules are imported inside the commands."""

from __future__ import annotations

from typing import Annotated

import typer

from codeboost.cli.allow import allow_app
from codeboost.cli.attest import attest_app
from codeboost.cli.command import command_app
from codeboost.cli.doctor import doctor, sweep
from codeboost.cli.history import log, prune, runs
from codeboost.cli.init import init
from codeboost.cli.issue import issue_app
from codeboost.cli.options import CommandGroup
from codeboost.cli.plan import plan_app
from codeboost.cli.report import report
from codeboost.cli.run import run
from codeboost.cli.scope import scope
from codeboost.cli.status import abandon, allow_setup, status, verdict

__all__ = ["app"]

app = typer.Typer(
    cls=CommandGroup,
    help="Check a plan for a GitHub issue, approve its exact commands, run each of them in a container.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("init")(init)
app.add_typer(issue_app, name="issue")
app.add_typer(plan_app, name="plan")
app.add_typer(allow_app, name="allow")
plan_app.command("abandon")(abandon)
allow_app.command("setup")(allow_setup)
app.command("run")(run)
app.command("status")(status)
app.command("verdict")(verdict)
app.command("runs")(runs)
app.command("log")(log)
app.command("prune")(prune)
app.command("scope")(scope)
app.command("report")(report)
app.add_typer(attest_app, name="attest")
app.add_typer(command_app, name="command")
app.command("doctor")(doctor)
app.command("sweep")(sweep)


def _show_version(wanted: bool) -> None:
    if wanted:
        from codeboost import __version__  # noqa: PLC0415

        typer.echo(f"codeboost {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
