"""``codeboost run``."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codeboost.cli.console import emit, is_terminal, say, wants_color
from codeboost.cli.options import MAX_NUMBER, JsonFlag, RepoOption, read_pull, refuse_empty
from codeboost.cli.stop import Stop, report_stop, stop_on_signals

if TYPE_CHECKING:
    from codeboost.operations.project import Project
    from codeboost.operations.run_model import ResumeRequest, RunRequest, RunResult
    from codeboost.sandbox.base import Executor
    from codeboost.store.database import Store

__all__ = ["run"]


def run(
    issue: Annotated[
        int | None,
        typer.Argument(
            min=1,
            max=MAX_NUMBER,
            metavar="ISSUE",
            help="The number of the GitHub issue; with --ci the plan says it.",
            show_default=False,
        ),
    ] = None,
    rev: Annotated[
        str | None,
        typer.Option(
            "--rev", callback=refuse_empty, metavar="REV", help="The commit to test; by default HEAD."
        ),
    ] = None,
    item: Annotated[
        list[str] | None,
        typer.Option("--item", metavar="P1", help="Only this item (or task, GH412-P1); may be given again."),
    ] = None,
    only_failed: Annotated[
        bool, typer.Option("--only-failed", help="Only items that did not pass when they last ran.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run everything again, also what passed unchanged before.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was cut short.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", min=1, max=64, metavar="N", help="Commands at once; by default one a core."
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            "--image",
            callback=refuse_empty,
            metavar="REF",
            help="The image, where the base commit has no codeboost.toml.",
        ),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            "--timeout", callback=refuse_empty, metavar="D", help="A shorter limit a command, like 90s or 5m."
        ),
    ] = None,
    pull: Annotated[
        str | None,
        typer.Option(
            "--pull",
            callback=refuse_empty,
            metavar="WHEN",
            help="never, missing or always; by default missing.",
        ),
    ] = None,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failure.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Changes that the plan does not declare make the run fail.")
    ] = False,
    ci: Annotated[
        bool, typer.Option("--ci", help="Trust the base commit alone; needs --base and --plan.")
    ] = False,
    base: Annotated[
        str | None,
        typer.Option("--base", callback=refuse_empty, metavar="REV", help="With --ci: the reviewed commit."),
    ] = None,
    plan: Annotated[
        str | None,
        typer.Option(
            "--plan", callback=refuse_empty, metavar="FILE", help="With --ci: the plan, in JSON or YAML."
        ),
    ] = None,
    repo: RepoOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing until the summary.")] = False,
    as_json: JsonFlag = False,
) -> int:
    """Run every approved command of an issue's plan, each in a container of its own. Task states follow."""
    asked = _Asked(issue, rev, tuple(item or ()), jobs, image, timeout, pull, base, plan, repo)
    asked.check(resume=resume, ci=ci, picky=only_failed or fresh or fail_fast)
    from codeboost.store.database import Store  # noqa: PLC0415

    with Store.open() as store, stop_on_signals() as stop:
        try:
            with stop.interruptible():
                project, request = asked.make_request(
                    store, resume=resume, ci=ci, only_failed=only_failed, fresh=fresh, fail_fast=fail_fast
                )
            result = _run(project, request, stop, quiet=quiet, as_json=as_json)
        except KeyboardInterrupt:
            return report_stop("run", stop, "stopped before anything had started", as_json=as_json)
    undeclared = 1 if strict and result.scope.findings else 0
    exit_code = stop.exit_code or (
        result.exit_code if result.exit_code == 1 else undeclared or result.exit_code
    )
    _show(result, exit_code, as_json=as_json)
    return exit_code


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options that decide what is run, before any of them is understood."""

    issue: int | None
    rev: str | None
    items: tuple[str, ...]
    jobs: int | None
    image: str | None
    timeout: str | None
    pull: str | None
    base: str | None
    plan: str | None
    repo: str | None

    def check(self, *, resume: bool, ci: bool, picky: bool) -> None:
        """UsageError when options do not go together."""
        from codeboost.errors import UsageError  # noqa: PLC0415

        if ci and (self.base is None or self.plan is None):
            raise UsageError("--ci needs the reviewed commit and the plan: --base REV --plan FILE")
        if not ci and (self.base is not None or self.plan is not None):
            raise UsageError("--base and --plan belong to --ci; without it the approved plan says both")
        if ci and self.image is not None:
            raise UsageError("--ci takes the image from codeboost.toml at the base commit, not from --image")
        if self.issue is None and not ci:
            raise UsageError("name the issue: codeboost run ISSUE")
        fixed = (self.rev, self.items, self.image, self.timeout, self.pull)
        if resume and (ci or picky or any(fixed)):
            raise UsageError(
                "--resume goes on as the run began; of the other options it takes --jobs, --quiet, --strict and --json"
            )

    def make_request(
        self, store: Store, *, resume: bool, ci: bool, only_failed: bool, fresh: bool, fail_fast: bool
    ) -> tuple[Project, RunRequest | ResumeRequest]:
        from codeboost.errors import UsageError  # noqa: PLC0415
        from codeboost.limits import parse_duration  # noqa: PLC0415
        from codeboost.operations.ci_plan import take_ci_plan  # noqa: PLC0415
        from codeboost.operations.plan_file import read_plan_file  # noqa: PLC0415
        from codeboost.operations.project import open_project  # noqa: PLC0415
        from codeboost.operations.run_model import ResumeRequest, RunRequest  # noqa: PLC0415

        if only_failed and self.items:
            raise UsageError("--only-failed chooses the items itself; leave --item out")
        try:
            timeout_s = parse_duration(self.timeout) if self.timeout is not None else None
        except ValueError as error:
            raise UsageError(str(error)) from error
        pull = read_pull(self.pull or "missing")
        stored = None
        if ci and self.base is not None and self.plan is not None:
            file = read_plan_file(self.plan)
            project, stored = take_ci_plan(
                store, Path.cwd(), file, base=self.base, issue=self.issue, slug=self.repo
            )
        else:
            project = open_project(store, Path.cwd(), self.repo)
        issue = stored.issue if stored is not None else self.issue or 0
        if resume:
            return project, ResumeRequest(issue, self.jobs)
        request = RunRequest(
            issue=issue,
            rev=self.rev or "HEAD",
            items=self.items,
            jobs=self.jobs or max(2, os.cpu_count() or 2),
            image=self.image,
            timeout_s=timeout_s,
            pull=pull,
            fail_fast=fail_fast,
            only_failed=only_failed,
            fresh=fresh,
            ci_plan=stored,
        )
        return project, request


def _run(
    project: Project, request: RunRequest | ResumeRequest, stop: Stop, *, quiet: bool, as_json: bool
) -> RunResult:
    from codeboost.operations.run_checks import run_checks  # noqa: PLC0415
    from codeboost.reporting.progress import choose_listener  # noqa: PLC0415

    live = is_terminal(sys.stderr) and os.environ.get("TERM", "dumb") != "dumb" and not as_json
    color = wants_color(sys.stderr)
    with choose_listener(
        sys.stderr, live=live, quiet=quiet, color=color, on_begin=stop.leave_talking
    ) as listener:
        return run_checks(
            project,
            request,
            lambda: _open_executor(project.store.id),
            listener,
            stop.event,
            stop.interruptible,
            lambda: stop.exit_code,
        )


def _show(result: RunResult, exit_code: int, *, as_json: bool) -> None:
    from codeboost.reporting.runs import describe_run, render_run  # noqa: PLC0415

    if as_json:
        emit("run", describe_run(result), exit_code=exit_code)
        return
    width = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None
    say(render_run(result, color=wants_color(sys.stdout), width=width).rstrip("\n"))


def _open_executor(store_id: str) -> Executor:
    from codeboost.sandbox.engine import open_executor  # noqa: PLC0415 - docker costs 110 ms

    return open_executor(store_id)
