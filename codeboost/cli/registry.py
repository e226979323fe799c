"""The commands of ``planr``, by name: typer gets only those that are wanted.

typer evaluates every annotation of every command that it is given, which takes longer than listing 300 tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from typer.core import TyperCommand, TyperGroup

from codeboost.cli.answers import Answer

__all__ = ["COMMANDS", "Command", "Group", "register"]


def _refuse_repeats(command: Any, context: Any, arguments: Sequence[str]) -> None:
    """Of an option given twice the last would silently win."""
    seen = set()
    for parameter in command.make_parser(context).parse_args(args=list(arguments))[2]:
        if parameter.param_type_name == "option" and parameter.name in seen:
            context.fail(f"{parameter.opts[0]} is given twice")
        seen.add(parameter.name)


class Command(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _refuse_repeats(self, ctx, args)
        return super().parse_args(ctx, args)


class Group(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _refuse_repeats(self, ctx, args)
        return super().parse_args(ctx, args)


class Entry(NamedTuple):
    run: Callable[..., Answer]
    hidden: bool


COMMANDS: dict[str, Entry] = {}
_Function = TypeVar("_Function", bound=Callable[..., Answer])


def register(name: str, *, hidden: bool = False) -> Callable[[_Function], _Function]:
    def add(function: _Function) -> _Function:
        COMMANDS[name] = Entry(function, hidden)
        return function

    return add
