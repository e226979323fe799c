"""The planning root that a ``planr`` command works on."""

# ruff: noqa: PLC0415 - a command imports what it needs when it runs, and no other pays for it
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codeboost.cli.answers import ProblemsError
from codeboost.errors import UsageError
from codeboost.visible import cut

if TYPE_CHECKING:
    from codeboost.planr.workspace import Workspace

__all__ = ["RootOption", "choose_root", "join_roots", "load_workspace", "read_path"]


def read_path(word: str) -> Path:
    """What an option of a path says; an unset variable of a script must not mean the folder we are in."""
    if not word:
        raise typer.BadParameter("it is empty; leave the option out if the default is meant")
    return Path(word)


RootOption = Annotated[
    Path | None,
    typer.Option(
        "--root",
        metavar="DIR",
        parser=read_path,
        help="The planning root. Default: search upwards from here.",
    ),
]


def join_roots(context: typer.Context, root: Path | None) -> Path | None:
    if root is not None and context.obj is not None:
        raise UsageError("--root is given twice")
    return root or context.obj


def choose_root(context: typer.Context, root: Path | None) -> Path:
    from codeboost.planr.config import find_root

    named = join_roots(context, root)
    if named is not None:
        if not named.is_dir():
            raise UsageError(f"--root {cut(str(named))} is no folder")
        return named
    found = find_root(Path.cwd())
    if found is None:
        raise UsageError(
            "there is no planning root here or above",
            hint="`planr init` makes one, --root names one elsewhere",
        )
    return found


def load_workspace(context: typer.Context, root: Path | None, *, keep_sources: bool = False) -> Workspace:
    from codeboost.planr.workspace import Workspace

    workspace = Workspace.load(choose_root(context, root), keep_sources=keep_sources)
    if workspace.errors:
        raise ProblemsError(workspace.errors, workspace.warnings)
    return workspace
