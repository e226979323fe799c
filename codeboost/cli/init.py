"""``codeboost init``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codeboost.cli.console import emit, note, say
from codeboost.cli.options import JsonFlag, RepoOption, refuse_empty

__all__ = ["init"]


def init(
    repo: RepoOption = None,
    image: Annotated[
        str | None,
        typer.Option(
            "--image",
            callback=refuse_empty,
            metavar="REF",
            help="The image for codeboost.toml; by default a guess.",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> int:
    """Set up this checkout, once: which repository it is, a planning root, a codeboost.toml."""
    from codeboost.operations.init_project import init_project  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415
    from codeboost.visible import escape  # noqa: PLC0415

    with Store.open() as store:
        result = init_project(store, Path.cwd(), slug=repo, image=image)
    for warning in result.warnings:
        note(f"warning: {escape(warning)}")

    def shorten(path: Path) -> str:
        """As seen from the top of the checkout, where that is possible."""
        return str(path.relative_to(result.top)) if path.is_relative_to(result.top) else str(path)

    if as_json:
        emit(
            "init",
            {
                "repository": str(result.repository),
                "planning_root": str(result.planning_root),
                "created": list(result.created),
                "image": result.image,
            },
        )
        return 0
    say(f"This checkout belongs to {escape(str(result.repository))}.")
    say(f"Tasks live in {escape(shorten(result.tasks_dir))}, goals in {escape(shorten(result.goals_dir))}.")
    for name in result.created:
        say(f"  made {escape(name)}")
    if result.image is not None:
        say(f"Checks will run in {escape(result.image)}.")
        say("Commit codeboost.toml: it counts as it stands at the base commit of a plan.")
    return 0
