"""``codeboost report``: the evidence on one commit, for people and machines."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codeboost.cli.console import note, render_document, wants_color
from codeboost.cli.options import IssueArgument, JsonFlag, RepoOption, refuse_empty, refuse_two_formats

if TYPE_CHECKING:
    from codeboost.operations.make_report import Report

__all__ = ["report"]

_FORMATS = ("text", "json", "markdown", "junit", "github", "attestation")


def report(
    issue: IssueArgument,
    rev: Annotated[
        str,
        typer.Option(
            "--rev", callback=refuse_empty, metavar="REV", help="The commit whose tree is reported on."
        ),
    ] = "HEAD",
    format_: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help=f"One of {', '.join(_FORMATS)}.")
    ] = "text",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write here, whole or not at all.")
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(
            "--sign",
            callback=refuse_empty,
            metavar="KEY",
            help="Sign the attestation with this ed25519 private key.",
        ),
    ] = None,
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Say what is proven about a commit, what is not, and what that amounts to. It runs nothing."""
    from codeboost.cli.files import write_answer  # noqa: PLC0415
    from codeboost.errors import UsageError  # noqa: PLC0415
    from codeboost.operations.make_report import make_report  # noqa: PLC0415
    from codeboost.operations.project import open_project  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    refuse_two_formats(format_, as_json=as_json)
    if as_json:
        format_ = "json"
    if format_ not in _FORMATS:
        raise UsageError(f"there is no format {format_!r}", hint=f"there are {', '.join(_FORMATS)}")
    if sign is not None and format_ != "attestation":
        raise UsageError("--sign goes with --format attestation: nothing else is signed")
    with Store.open() as store:
        project = open_project(store, Path.cwd(), repo)
        made = make_report(project, issue, rev)
    write_answer(_render(made, format_, str(project.repository), sign, to_file=out is not None), out)
    if format_ == "github":
        _write_summary(made)
    return 0


def _render(made: Report, format_: str, repository: str, sign: Path | None, *, to_file: bool) -> str:
    if format_ == "json":
        from codeboost.diagnostics import Severity  # noqa: PLC0415
        from codeboost.reporting.diagnostics import to_json  # noqa: PLC0415
        from codeboost.reporting.reports import describe_report  # noqa: PLC0415
        from codeboost.reporting.scope import list_scope_diagnostics  # noqa: PLC0415

        found = [to_json(one) for one in list_scope_diagnostics(made.scope, Severity.WARNING)]
        return render_document("report", describe_report(made), diagnostics=found)
    if format_ == "markdown":
        from codeboost.reporting.markdown import render_markdown  # noqa: PLC0415

        return render_markdown(made)
    if format_ == "junit":
        from codeboost.reporting.junit import render_junit  # noqa: PLC0415

        return render_junit(made)
    if format_ == "github":
        from codeboost.reporting.github import render_annotations  # noqa: PLC0415

        return render_annotations(made)
    if format_ == "attestation":
        from codeboost.operations.attestation import build_statement  # noqa: PLC0415
        from codeboost.operations.envelope import sign_statement  # noqa: PLC0415
        from codeboost.reporting.attestation import render_attestation  # noqa: PLC0415

        statement = build_statement(made, repository)
        return render_attestation(statement if sign is None else sign_statement(statement, sign))
    from codeboost.reporting.reports import render_report  # noqa: PLC0415

    return render_report(made, color=not to_file and wants_color(sys.stdout)) + "\n"


def _write_summary(made: Report) -> None:
    """Add a table to the summary of the workflow's step, where there is one; what does not fit is left out."""
    named = os.environ.get("GITHUB_STEP_SUMMARY")
    if not named:
        return
    from codeboost.reporting.github import SUMMARY_LIMIT  # noqa: PLC0415
    from codeboost.reporting.markdown import render_summary  # noqa: PLC0415
    from codeboost.visible import cut  # noqa: PLC0415

    try:
        with Path(named).open("ab") as file:
            # Steps share the limit with what they wrote before; beyond it GitHub drops everything.
            file.write(render_summary(made, room=SUMMARY_LIMIT - file.tell()).encode())
    except OSError as error:
        note(f"warning: the summary {cut(named, 200)} cannot be written: {error.strerror}")
