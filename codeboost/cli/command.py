"""``codeboost command``: the command grammar, to try things out."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from codeboost.cli.console import emit, note, say
from codeboost.cli.options import CommandGroup, JsonFlag

__all__ = ["command_app"]

command_app = typer.Typer(cls=CommandGroup, help="Try the command grammar.")


@command_app.callback()
def _root() -> None:
    pass


@command_app.command("parse")
def parse(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="A command; - reads one a line from standard input.")
    ],
    as_json: JsonFlag = False,
) -> int:
    """Print the argv that a command stands for, as a JSON list. A refused line of standard input prints null."""
    text.encode()  # what is not UTF-8 is no command; the handler of every failure says so
    lines = [text] if text != "-" else _read_lines()
    parsed = [_parse(number, line, quiet=as_json) for number, line in enumerate(lines, 1)]
    exit_code = 1 if any(result["argv"] is None for result in parsed) else 0
    if as_json:
        emit("command parse", parsed, exit_code=exit_code)
        return exit_code
    from json import dumps  # noqa: PLC0415

    for result in parsed:
        if result["argv"] is not None or text == "-":
            say(dumps(result["argv"]))
    return exit_code


def _read_lines() -> list[str]:
    from codeboost.errors import InputError  # noqa: PLC0415

    data = sys.stdin.buffer.read()
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"standard input, line {line}: it is not UTF-8") from None
    return lines[:-1] if lines[-1] == "" else lines


def _parse(number: int, text: str, *, quiet: bool) -> dict[str, Any]:
    from codeboost.command.grammar import draw_error, parse_command  # noqa: PLC0415
    from codeboost.command.lint import find_suspicions  # noqa: PLC0415
    from codeboost.errors import CommandSyntaxError  # noqa: PLC0415

    result: dict[str, Any] = {"text": text, "argv": None, "suspicions": [], "error": None}
    try:
        argv = parse_command(text)
    except CommandSyntaxError as error:
        result["error"] = {"column": error.column, "reason": error.reason, "hint": error.hint}
        if not quiet:
            for line in draw_error(error):
                note(line)
            note(f"line {number}, {error}; {error.hint}")
        return result
    return result | {"argv": list(argv), "suspicions": list(find_suspicions(text, argv))}
