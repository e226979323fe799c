"""``codeboost runs`` and ``codeboost log``: what ran, and what it printed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from codeboost.errors import UsageError
from codeboost.operations.project import Project, require_plan
from codeboost.operations.task_name import TaskName, parse_task_name
from codeboost.plan.model import CheckType
from codeboost.store.attempts import Attempt, find_attempts, list_attempts
from codeboost.store.output import read_output
from codeboost.store.plans import find_plan_by_id
from codeboost.store.runs import RunRecord, list_runs
from codeboost.verdict import Verdict
from codeboost.visible import cut

__all__ = ["KeptOutput", "RunRow", "find_logged_attempts", "list_run_rows", "read_kept_output"]

_ATTEMPT = re.compile(r"[0-9a-f]{4,32}")


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run, the revision it was of, and how many attempts ended how."""

    run: RunRecord
    revision: int
    counts: Mapping[Verdict, int]


@dataclass(frozen=True, slots=True)
class KeptOutput:
    """One stream as it was kept: the first bytes, how many were counted only, the last bytes. None: pruned."""

    stream: str
    head: bytes
    dropped: int
    tail: bytes


def list_run_rows(project: Project, issue: int, *, limit: int | None = None) -> list[RunRow]:
    """The runs of an issue, newest first. UsageError for an issue that has none, and no plan either."""
    rows = []
    for run in list_runs(project.store, project.repository.id, issue, limit=limit):
        stored = find_plan_by_id(project.store, run.plan_id)
        counts = Counter(attempt.verdict for attempt in list_attempts(project.store, run.id))
        rows.append(RunRow(run, stored.revision if stored else 0, dict(counts)))
    if not rows:
        require_plan(project, issue)
    return rows


def find_logged_attempts(project: Project, name: str) -> list[Attempt]:
    """The attempts that ``name`` means: an attempt's id or its beginning, or a task (``GH412-P1``, ``GH412-P1.2``).

    Of a task, those of the newest run that covered its item. UsageError when there are none or too many.
    """
    task = parse_task_name(name)
    if task is not None:
        return _find_of_task(project, task)
    if not _ATTEMPT.fullmatch(name):
        raise UsageError(
            f"'{cut(name)}' names no attempt and no task",
            hint="an attempt is at least four characters of its id, a task is written like GH412-P1",
        )
    found = find_attempts(project.store, project.repository.id, name)
    if not found:
        raise UsageError(f"there is no attempt {cut(name)}", hint="`codeboost runs ISSUE` lists the runs")
    if len(found) > 1:
        raise UsageError(f"several attempts begin with {cut(name)}", hint="write more of the id")
    return found


def _find_of_task(project: Project, task: TaskName) -> list[Attempt]:
    for run in list_runs(project.store, project.repository.id, task.issue):
        found = [
            attempt
            for attempt in list_attempts(project.store, run.id)
            if attempt.item == task.item and task.position in (None, attempt.position)
        ]
        if found:
            return found
    raise _explain_absence(project, task)


def _explain_absence(project: Project, task: TaskName) -> UsageError:
    """Why there is nothing to show: the plan has no such entry, nothing there is a command, or none has run yet."""
    issue = task.issue
    show = f"`codeboost plan show {issue}` shows the plan"
    items = {item.id: item for item in require_plan(project, issue).plan.items}
    if task.item not in items:
        return UsageError(f"the plan for issue {issue} has no item {task.item}", hint=show)
    checks = dict(enumerate(items[task.item].acceptance, 1))
    if task.position is not None and task.position not in checks:
        what = f"{task.item} has {len(checks)} acceptance entries, and no number {task.position}"
        return UsageError(what, hint=show)
    asked = checks.values() if task.position is None else [checks[task.position]]
    if all(check.type is CheckType.CHECK for check in asked):
        name = task.item if task.position is None else f"{task.item}.{task.position}"
        return UsageError(f"{name} has no command: a statement is judged with `codeboost verdict`", hint=show)
    runs = f"`codeboost runs {issue}` lists the runs"
    return UsageError(f"nothing of {task.item} has run for issue {issue}", hint=runs)


def read_kept_output(project: Project, attempt: Attempt, stream: str) -> KeptOutput | None:
    """What was kept of ``stdout`` or ``stderr``; None when it was pruned or never came."""
    kept = attempt.stdout if stream == "stdout" else attempt.stderr
    if kept is None:
        return None
    # A pass that was taken over printed nothing of its own.
    run_id = attempt.reused_run or attempt.run_id
    found = read_output(project.store, run_id, attempt.reused_from or attempt.id, stream, kept)
    if found is None:
        return None
    return KeptOutput(stream, found[0], kept.total - kept.kept, found[1])
