"""``codeboost status``, ``verdict``, ``plan abandon`` and ``allow setup``: where an issue stands, and a person's word."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from codeboost.cli.console import emit, is_terminal, note, say
from codeboost.cli.options import MAX_NUMBER, IssueArgument, JsonFlag, RepoOption, refuse_empty

__all__ = ["abandon", "allow_setup", "status", "verdict"]


def status(
    issue: IssueArgument,
    rev: Annotated[
        str | None,
        typer.Option(
            "--rev", callback=refuse_empty, metavar="REV", help="The commit to look at; by default HEAD."
        ),
    ] = None,
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Show plan, approvals, evidence, tasks and the last run of an issue, and what waits for whom."""
    from codeboost.operations.project import open_project  # noqa: PLC0415
    from codeboost.operations.show_status import show_status  # noqa: PLC0415
    from codeboost.reporting.status import describe_status, render_status  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    with Store.open() as store:
        found = show_status(open_project(store, Path.cwd(), repo), issue, rev)
    for text in found.notes:
        note(f"note: {text}")
    if as_json:
        emit("status", describe_status(found))
    else:
        width = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None
        say(render_status(found, width=width))
    return 0


def verdict(
    task: Annotated[str, typer.Argument(metavar="TASK", help="Like GH412-P1.", show_default=False)],
    position: Annotated[
        int,
        typer.Argument(
            min=1, max=MAX_NUMBER, metavar="N", help="Which acceptance entry, as shown.", show_default=False
        ),
    ],
    answer: Annotated[str, typer.Argument(metavar="pass|fail", help="Whether it holds.", show_default=False)],
    text: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why; kept and shown.")] = "",
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            callback=refuse_empty,
            metavar="WHO",
            help="Who judged; by default the identity git is set up with.",
        ),
    ] = None,
    rev: Annotated[
        str | None,
        typer.Option(
            "--rev", callback=refuse_empty, metavar="REV", help="The commit that was judged; by default HEAD."
        ),
    ] = None,
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Say of a check statement whether it holds. It counts for this revision and this very tree, and blocks nothing."""
    from codeboost.errors import UsageError  # noqa: PLC0415
    from codeboost.operations.give_verdict import give_verdict  # noqa: PLC0415
    from codeboost.operations.project import open_project  # noqa: PLC0415
    from codeboost.reporting.history import describe_given_verdict, render_given_verdict  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415
    from codeboost.store.verdicts import Answer  # noqa: PLC0415

    if answer not in set(Answer):
        raise UsageError("the verdict is pass or fail")
    with Store.open() as store:
        project = open_project(store, Path.cwd(), repo)
        given = give_verdict(project, task, position, Answer(answer), note=text, by=by, rev=rev)
    for line in given.notes:
        note(f"note: {line}")
    if as_json:
        emit("verdict", describe_given_verdict(given))
    else:
        say(render_given_verdict(given))
    return 0


def abandon(
    issue: IssueArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Abandon without asking, for scripts.")] = False,
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Give the work on an issue up: nothing of it runs any more, unfinished tasks are dropped, its goal is done."""
    from codeboost.errors import ApprovalNeededError  # noqa: PLC0415
    from codeboost.operations.abandon_plan import abandon_plan, find_unfinished  # noqa: PLC0415
    from codeboost.operations.project import open_project  # noqa: PLC0415
    from codeboost.reporting.history import describe_abandoned, render_abandoned  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    with Store.open() as store:
        project = open_project(store, Path.cwd(), repo)
        unfinished = find_unfinished(project, issue)
        if not yes:
            if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
                raise ApprovalNeededError(
                    "nothing was abandoned: nobody is at a terminal to ask",
                    hint=f"if that is meant: codeboost plan abandon {issue} --yes",
                )
            note(f"would be dropped: {', '.join(unfinished) or 'nothing'}")
            if not typer.confirm(f"Abandon the plan for issue {issue}?", default=False, err=True):
                return 3
        abandoned = abandon_plan(project, issue)
    for text in abandoned.notes:
        note(f"note: {text}")
    if as_json:
        emit("plan abandon", describe_abandoned(abandoned))
    else:
        say(render_abandoned(abandoned))
    return 0


def allow_setup(
    issue: IssueArgument,
    rev: Annotated[
        str | None,
        typer.Option(
            "--rev", callback=refuse_empty, metavar="REV", help="Whose files to look at; by default HEAD."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Approve without asking, for scripts; recorded as such.")
    ] = False,
    repo: RepoOption = None,
    as_json: JsonFlag = False,
) -> int:
    """Look at the inputs of [setup] that differ from the base commit, and approve exactly this content."""
    from codeboost.cli.keys import is_person_present, open_keyboard  # noqa: PLC0415
    from codeboost.errors import ApprovalNeededError  # noqa: PLC0415
    from codeboost.operations.check_setup import (  # noqa: PLC0415
        approve_setup,
        ask_about_setup,
        list_differences,
    )
    from codeboost.operations.project import open_project  # noqa: PLC0415
    from codeboost.reporting.approvals import render_differences  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    with Store.open() as store:
        project = open_project(store, Path.cwd(), repo)
        question = ask_about_setup(project, issue, rev)
        approval = question.approval
        if question.is_open:
            for line in render_differences(list_differences(project, question)):
                note(line)
            how = "--yes"
            if not yes:
                if not is_person_present():
                    raise ApprovalNeededError(
                        "nothing was approved: nobody is at a terminal to look and press a key",
                        hint=f"if it has been looked at: codeboost allow setup {issue} --yes",
                    )
                with open_keyboard() as keyboard:
                    if keyboard.ask("[a]pprove  [q]uit?", "aq") != "a":
                        return 3
                how = "key"
            approval = approve_setup(project, question, how)
    if as_json:
        emit(
            "allow setup",
            {
                "issue": issue,
                "commit": question.commit,
                "changed": list(question.changed),
                "inputs": dict(question.inputs),
                "sha256": question.sha256,
                "approved_at": approval.approved_at if approval else None,
                "how": approval.how if approval else None,
            },
        )
    elif approval is None:
        say("what [setup] sees is what was reviewed at the base commit: nothing to approve")
    else:
        say(f"approved at {approval.approved_at}: exactly this content, sha256 {question.sha256[:12]}")
    return 0
