"""Options and arguments that mean the same in every command."""

from __future__ import annotations

from typing import Annotated

import typer

from codeboost.errors import UsageError

__all__ = [
    "MAX_DAYS",
    "MAX_NUMBER",
    "BaseOption",
    "IssueArgument",
    "JsonFlag",
    "RepoOption",
    "refuse_two_formats",
]

# The largest integer of a plan (plan-rules.md §1); the store holds no larger ones either.
MAX_NUMBER = 2**53 - 1
# A century: every date that lies so far back is still a date.
MAX_DAYS = 36_500

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
IssueArgument = Annotated[
    int,
    typer.Argument(
        min=1, max=MAX_NUMBER, metavar="ISSUE", help="The number of the GitHub issue.", show_default=False
    ),
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


def refuse_two_formats(format_: str, *, as_json: bool) -> None:
    """UsageError when ``--json`` goes with a ``--format`` that is neither the default nor JSON."""
    if as_json and format_ not in ("text", "json"):
        raise UsageError(f"--json and --format {format_} are two formats: give one of them")
