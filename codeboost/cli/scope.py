"""``codeboost scope``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codeboost.cli.console import emit, say
from codeboost.cli.options import IssueArgument, JsonFlag, RepoOption, refuse_empty

__all__ = ["scope"]


def scope(
    issue: IssueArgument,
    rev: Annotated[
        str, typer.Option("--rev", callback=refuse_empty, metavar="REV", help="The commit to compare.")
    ] = "HEAD",
    strict: Annotated[
        bool, typer.Option("--strict", help="Differences are errors: exit code 1 when there are any.")
    ] = False,
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Compare what a commit changed with the files that the plan declares."""
    from codeboost.diagnostics import Severity  # noqa: PLC0415
    from codeboost.operations.find_scope import find_scope  # noqa: PLC0415
    from codeboost.operations.project import open_project  # noqa: PLC0415
    from codeboost.reporting.diagnostics import to_json  # noqa: PLC0415
    from codeboost.reporting.scope import describe_scope, list_scope_diagnostics, render_scope  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    with Store.open() as store:
        found = find_scope(open_project(store, Path.cwd(), repo), issue, rev)
    severity = Severity.ERROR if strict else Severity.WARNING
    exit_code = 1 if strict and found.findings else 0
    if as_json:
        diagnostics = [to_json(one) for one in list_scope_diagnostics(found, severity)]
        emit("scope", describe_scope(found), exit_code=exit_code, diagnostics=diagnostics)
    else:
        say(render_scope(found, severity))
    return exit_code
