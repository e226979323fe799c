"""Options and arguments that mean the same in every command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from codeboost.errors import UsageError
from codeboost.visible import escape

if TYPE_CHECKING:
    from codeboost.sandbox.base import PullPolicy

__all__ = [
    "MAX_DAYS",
    "MAX_NUMBER",
    "BaseOption",
    "CommandGroup",
    "IssueArgument",
    "JsonFlag",
    "RepoOption",
    "read_pull",
    "refuse_empty",
    "refuse_odd_bytes",
    "refuse_two_formats",
]

# The largest integer of a plan (plan-rules.md §1); the store holds no larger ones either.
MAX_NUMBER = 2**53 - 1
# A century: every date that lies so far back is still a date.
MAX_DAYS = 36_500

# Longer than any first sentence.
_SENTENCE = 300


class CommandGroup(TyperGroup):
    """A group whose help says of each command its whole first sentence; otherwise it is cut to one line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(_SENTENCE)) for name, command in found if command is not None
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def refuse_empty(value: str | None) -> str | None:
    """An unset variable of a script must not mean the default: what was judged then would be something else."""
    if value == "":
        raise typer.BadParameter("it is empty; leave the option out if the default is meant")
    return value


JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
IssueArgument = Annotated[
    int,
    typer.Argument(
        min=1, max=MAX_NUMBER, metavar="ISSUE", help="The number of the GitHub issue.", show_default=False
    ),
]
RepoOption = Annotated[
    str | None,
    typer.Option(
        "--repo",
        callback=refuse_empty,
        metavar="OWNER/NAME",
        help="The repository; by default what `origin` says.",
    ),
]
BaseOption = Annotated[
    str | None,
    typer.Option(
        "--base",
        callback=refuse_empty,
        metavar="REV",
        help="The base commit; by default where HEAD left the default branch.",
    ),
]


def read_pull(word: str) -> PullPolicy:
    """What ``--pull`` says."""
    from codeboost.sandbox.base import PullPolicy  # noqa: PLC0415 - only where an image is needed

    try:
        return PullPolicy(word)
    except ValueError:
        raise UsageError(f"--pull is never, missing or always, not '{escape(word)}'") from None


def refuse_two_formats(format_: str, *, as_json: bool) -> None:
    """UsageError when ``--json`` goes with a ``--format`` that is neither the default nor JSON."""
    if as_json and format_ not in ("text", "json"):
        raise UsageError(f"--json and --format {format_} are two formats: give one of them")


def refuse_odd_bytes(value: str | None, option: str) -> None:
    """UsageError for a value of ``option`` that is not UTF-8: files are."""
    if value is not None and any("\ud800" <= char <= "\udfff" for char in value):
        raise UsageError(f"{option} is not UTF-8")
