"""``codeboost issue``: select the issue to work on, and look at it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codeboost.cli.console import emit, note, say
from codeboost.cli.options import MAX_NUMBER, CommandGroup, IssueArgument, JsonFlag, RepoOption

if TYPE_CHECKING:
    from codeboost.operations.select_issue import IssueView

__all__ = ["issue_app"]

issue_app = typer.Typer(cls=CommandGroup, help="Select the issue to work on, and look at it.")

FetchFlag = Annotated[
    bool, typer.Option("--fetch", help="Ask GitHub for title, state and text; nothing else needs a network.")
]


@issue_app.command("select")
def select(
    issue: IssueArgument, fetch: FetchFlag = False, repo: RepoOption = None, as_json: JsonFlag = False
) -> int:
    """Note which issue is worked on: what `issue show` shows by itself."""
    from codeboost.operations.project import open_project  # noqa: PLC0415
    from codeboost.operations.select_issue import select_issue  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    with Store.open() as store:
        view = select_issue(open_project(store, Path.cwd(), repo), issue, fetch=fetch)
    return _tell("issue select", view, as_json=as_json, with_body=False)


@issue_app.command("show")
def show(
    issue: Annotated[
        int | None,
        typer.Argument(
            min=1,
            max=MAX_NUMBER,
            metavar="ISSUE",
            help="By default the one selected last.",
            show_default=False,
        ),
    ] = None,
    fetch: FetchFlag = False,
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Show an issue as it was fetched last."""
    from codeboost.operations.project import open_project  # noqa: PLC0415
    from codeboost.operations.select_issue import show_issue  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    with Store.open() as store:
        view = show_issue(open_project(store, Path.cwd(), repo), issue, fetch=fetch)
    return _tell("issue show", view, as_json=as_json, with_body=True)


def _tell(command: str, view: IssueView, *, as_json: bool, with_body: bool) -> int:
    from codeboost.diagnostics import Diagnostic, Severity  # noqa: PLC0415
    from codeboost.reporting.diagnostics import to_json  # noqa: PLC0415
    from codeboost.reporting.issues import describe_issue, render_issue  # noqa: PLC0415

    for warning in view.warnings:
        note(f"warning: {warning}")
    if as_json:
        found = [to_json(Diagnostic("issue", Severity.WARNING, warning)) for warning in view.warnings]
        emit(command, describe_issue(view), diagnostics=found)
    else:
        say(render_issue(view, with_body=with_body))
    return 0
