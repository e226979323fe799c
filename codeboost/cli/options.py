"""Options and arguments that mean the same in every command."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["BaseOption", "IssueArgument", "JsonFlag", "RepoOption"]

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
IssueArgument = Annotated[
    int, typer.Argument(min=1, metavar="ISSUE", help="The number of the GitHub issue.", show_default=False)
]
RepoOption = Annotated[
    str | None,
    typer.Option("--repo", metavar="OWNER/NAME", help="The repository; by default what `origin` says."),
]
BaseOption = Annotated[
    str | None,
    typer.Option(
        "--base",
        metavar="REV",
        help="The base commit; by default where HEAD left the default branch.",
    ),
]
