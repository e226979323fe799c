"""``codeboost plan``: import, check, show, list and approve plans."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codeboost.cli.console import emit, note, say, wants_color
from codeboost.cli.options import (
    MAX_NUMBER,
    BaseOption,
    CommandGroup,
    IssueArgument,
    JsonFlag,
    RepoOption,
    refuse_empty,
    refuse_two_formats,
)
from codeboost.cli.status import abandon

if TYPE_CHECKING:
    from codeboost.diagnostics import Diagnostic

__all__ = ["plan_app"]

plan_app = typer.Typer(cls=CommandGroup, help="Import, check, show and approve plans.")


@plan_app.command("import")
def import_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A plan in JSON or YAML; - reads standard input.")
    ],
    issue: Annotated[
        int,
        typer.Option(
            "--issue", min=1, max=MAX_NUMBER, metavar="N", help="The issue that the plan must be for."
        ),
    ],
    repo: RepoOption = None,
    base: BaseOption = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Open tasks again that are done, without asking.")
    ] = False,
    as_json: JsonFlag = False,
) -> int:
    """Check a plan strictly and store it as the next revision; its items become tasks, and a draft goal."""
    from codeboost.operations.import_plan import import_plan  # noqa: PLC0415
    from codeboost.operations.plan_file import read_plan_file  # noqa: PLC0415
    from codeboost.operations.project import open_project  # noqa: PLC0415
    from codeboost.reporting.diagnostics import to_json  # noqa: PLC0415
    from codeboost.reporting.plans import describe_import, render_import  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    source = read_plan_file(file)
    with Store.open() as store:
        project = open_project(store, Path.cwd(), repo)
        result = import_plan(
            project,
            source,
            issue,
            base=base,
            confirm_reopening=lambda tasks: yes or _confirm_reopening(tasks),
        )
    exit_code = 3 if result.declined else 0 if result.stored else 1
    if as_json:
        emit(
            "plan import",
            describe_import(result),
            exit_code=exit_code,
            diagnostics=[to_json(found) for found in result.diagnostics],
        )
    else:
        _show_diagnostics(source.name, source.data, result.diagnostics)
        if result.stored is None:
            note("nothing was stored and nothing was written")
        else:
            say(render_import(result))
    return exit_code


def _confirm_reopening(tasks: Sequence[str]) -> bool:
    from codeboost.cli.keys import is_person_present, open_keyboard  # noqa: PLC0415
    from codeboost.visible import escape  # noqa: PLC0415

    note(f"done, and changed by this revision, so open again: {escape(', '.join(tasks))}")
    if not is_person_present():
        note("  say --yes if that is meant; or run this at a terminal")
        return False
    with open_keyboard() as keyboard:
        return keyboard.ask("[o]pen them again, or [q]uit?", "oq") == "o"


def _show_diagnostics(name: str, data: bytes, diagnostics: Sequence[Diagnostic]) -> None:
    from codeboost.reporting.diagnostics import render_text  # noqa: PLC0415

    text = render_text(name, data, diagnostics, color=wants_color(sys.stderr))
    if text:
        note(text.rstrip("\n"))


@plan_app.command("check")
def check(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Plans in JSON or YAML; - is standard input.")
    ],
    issue: Annotated[
        int | None,
        typer.Option(
            "--issue", min=1, max=MAX_NUMBER, metavar="N", help="The issue that the plan must be for."
        ),
    ] = None,
    base: BaseOption = None,
    no_tree: Annotated[
        bool, typer.Option("--no-tree", help="Check the file alone, not against the base commit's files.")
    ] = False,
    format_: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, json, github or sarif.")
    ] = "text",
    as_json: JsonFlag = False,
) -> int:
    """Check plans without storing or writing anything; inside a checkout also against its base commit."""
    from codeboost.operations.check_plan_files import check_plan_files  # noqa: PLC0415
    from codeboost.reporting.checks import describe_check, render_check  # noqa: PLC0415

    refuse_two_formats(format_, as_json=as_json)
    results = check_plan_files(files, Path.cwd(), issue=issue, base=base, use_tree=not no_tree)
    exit_code = 1 if any(result.has_errors for result in results) else 0
    if as_json or format_ == "json":
        emit("plan check", describe_check(results), exit_code=exit_code)
        return exit_code
    output = render_check(results, format_, color=wants_color(sys.stdout))
    if output:
        say(output.rstrip("\n"))
    return exit_code


@plan_app.command("show")
def show(
    issue: IssueArgument,
    revision: Annotated[
        int | None,
        typer.Option(
            "--revision", min=1, max=MAX_NUMBER, metavar="R", help="A revision; by default the newest."
        ),
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, yaml, json or markdown.")
    ] = "text",
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Show a stored plan; yaml and json give back exactly what is stored."""
    from codeboost.operations.project import open_project, require_plan  # noqa: PLC0415
    from codeboost.reporting.plans import describe_plan, render_plan  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    refuse_two_formats(format_, as_json=as_json)
    with Store.open() as store:
        stored = require_plan(open_project(store, Path.cwd(), repo), issue, revision)
    if as_json:
        emit("plan show", describe_plan(stored))
    else:
        say(render_plan(stored, format_).rstrip("\n"))
    return 0


@plan_app.command("list")
def list_(
    issue: Annotated[
        int | None,
        typer.Option("--issue", min=1, max=MAX_NUMBER, metavar="N", help="Only the revisions of this issue."),
    ] = None,
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """List the stored plans of this repository: every revision, and which are approved."""
    from codeboost.operations.project import open_project  # noqa: PLC0415
    from codeboost.reporting.plans import describe_plan_row, render_plan_list  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415
    from codeboost.store.plans import list_plans  # noqa: PLC0415

    with Store.open() as store:
        project = open_project(store, Path.cwd(), repo)
        plans = list_plans(store, project.repository.id, issue)
    if as_json:
        emit("plan list", [describe_plan_row(stored) for stored in plans])
    elif plans:
        say(render_plan_list(plans))
    else:
        note("no plans yet: codeboost plan import FILE --issue N")
    return 0


@plan_app.command("approve")
def approve(
    issue: IssueArgument,
    yes: Annotated[
        bool, typer.Option("--yes", help="Approve without asking, for scripts; recorded as such.")
    ] = False,
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Approve the newest revision: it is shown, and fixed with its base commit and policy."""
    from codeboost.cli.keys import is_person_present, open_keyboard  # noqa: PLC0415
    from codeboost.errors import ApprovalNeededError  # noqa: PLC0415
    from codeboost.operations.approve_plan import record_approval  # noqa: PLC0415
    from codeboost.operations.project import open_project, require_plan  # noqa: PLC0415
    from codeboost.reporting.plans import describe_plan_row, render_plan, render_plan_row  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    with Store.open() as store:
        project = open_project(store, Path.cwd(), repo)
        stored = require_plan(project, issue)
        how = "--yes"
        if not yes and stored.approval is None:
            # With --json stdout is the document; what a person looks at goes beside it.
            show = note if as_json else say
            show(render_plan(stored, "text"))
            if not is_person_present():
                raise ApprovalNeededError(
                    f"revision {stored.revision} was not approved: nobody is at a terminal to ask",
                    hint=f"if it has been looked at: codeboost plan approve {issue} --yes",
                )
            how = "key"
            with open_keyboard() as keyboard:
                show("Approving the plan fixes its revision, base commit and policy. It approves no command.")
                if keyboard.ask("[a]pprove, or [q]uit?", "aq") != "a":
                    raise ApprovalNeededError(f"revision {stored.revision} was not approved")
        approved, warnings = record_approval(project, stored, how)
    for warning in warnings:
        note(f"warning: {warning}")
    if as_json:
        emit("plan approve", describe_plan_row(approved))
    else:
        say(render_plan_row(approved))
    return 0


@plan_app.command("diff")
def diff(
    issue: IssueArgument,
    before: Annotated[
        int,
        typer.Argument(min=1, max=MAX_NUMBER, metavar="R1", help="The earlier revision.", show_default=False),
    ],
    after: Annotated[
        int,
        typer.Argument(min=1, max=MAX_NUMBER, metavar="R2", help="The later revision.", show_default=False),
    ],
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Show item by item what changed between two revisions, and whether their base commit or policy did."""
    from codeboost.operations.project import open_project, require_plan  # noqa: PLC0415
    from codeboost.plan.difference import compare_plans  # noqa: PLC0415
    from codeboost.reporting.plans import describe_difference, render_difference  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    with Store.open() as store:
        project = open_project(store, Path.cwd(), repo)
        old, new = (require_plan(project, issue, revision) for revision in (before, after))
    difference = compare_plans(old.plan, new.plan)
    if as_json:
        emit("plan diff", describe_difference(difference, old, new))
    else:
        say(render_difference(difference, old, new, color=wants_color(sys.stdout)))
    return 0


@plan_app.command("schema")
def schema() -> int:
    """Print the JSON Schema of a plan, byte for byte as it ships (for tools that take one)."""
    from codeboost.resources import read_resource  # noqa: PLC0415

    sys.stdout.write(read_resource("schema/plan.schema.json").decode())
    return 0


@plan_app.command("new")
def new(
    issue: IssueArgument,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            callback=refuse_empty,
            metavar="FILE",
            help="Write here instead of printing; never over a file.",
        ),
    ] = None,
) -> int:
    """Begin a plan: a commented YAML skeleton that is already of the right shape."""
    from codeboost.cli.files import explain_write  # noqa: PLC0415
    from codeboost.errors import UsageError  # noqa: PLC0415
    from codeboost.plan.skeleton import make_skeleton  # noqa: PLC0415
    from codeboost.visible import escape  # noqa: PLC0415

    text = make_skeleton(issue)
    if out is None or out == "-":
        sys.stdout.write(text)
        return 0
    target = Path(out)
    if target.exists():
        raise UsageError(f"{escape(out)} is there already, and nothing is written over it")
    made = False
    try:
        with target.open("x", encoding="utf-8") as file:
            made = True
            file.write(text)
    except OSError as error:
        if made:
            # A full disk: the half must not stand in the way of the next try.
            target.unlink(missing_ok=True)
        raise explain_write(target, error) from error
    say(f"wrote {escape(out)}; check it with `codeboost plan check {escape(out)}`")
    return 0


plan_app.command("abandon")(abandon)
