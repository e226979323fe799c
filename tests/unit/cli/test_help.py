"""``--help`` of everything is whole, and docs/cli.md and docs/planr.md leave nothing of it out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from codeboost.cli.app import build_app
from codeboost.cli.planr import build_app as build_planr

DOCS = Path(__file__).parents[3] / "docs"
PROGRAMS = {
    "codeboost": (typer.main.get_command(build_app()), DOCS / "cli.md"),
    "planr": (typer.main.get_command(build_planr()), DOCS / "planr.md"),
}
# Said once for all commands.
EVERYWHERE = {"--help", "-h", "--json", "--repo", "--root", "--version"}


def list_commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    for word, found in getattr(command, "commands", {}).items():
        if not found.hidden:
            yield from list_commands(f"{name} {word}", found)


COMMANDS = [entry for name, (command, _) in PROGRAMS.items() for entry in list_commands(name, command)]


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_help_says_what_everything_is_for(name: str, command: Any) -> None:
    context = command.make_context(name, ["--help"], resilient_parsing=True)
    shown = command.get_help(context)
    assert "..." not in shown.replace("COMMAND [ARGS]...", "").replace("ARG...", "").replace("FILE...", "")
    for parameter in command.params:
        assert parameter.help, parameter.name


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_the_page_of_the_program_names_every_command_and_option(name: str, command: Any) -> None:
    if hasattr(command, "commands"):
        return
    text = PROGRAMS[name.split(maxsplit=1)[0]][1].read_text()
    found = re.search(
        rf"^##+ {re.escape(name)}\n(.*?)(?=^##? |^### planr|\Z)", text, re.DOTALL | re.MULTILINE
    )
    assert found, f"no section on {name}"
    options = {
        option
        for parameter in command.params
        if parameter.param_type_name == "option"
        for option in parameter.opts
        if option.startswith("--")
    }
    missing = {option for option in options - EVERYWHERE if not re.search(rf"{option}\b", found[1])}
    assert not missing
    assert all(option in text for option in EVERYWHERE & options)
