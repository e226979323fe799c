"""Turns a stored plan into planning files: one task per item, and a draft goal (design §6).

A later revision is compared item by item with the one exported before: an unchanged item keeps its status, a changed,
new or reappearing one is ``open``, a vanished one ``dropped``. A body that a person edited is never overwritten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from codeboost.errors import InputError
from codeboost.operations.move_tasks import name_task
from codeboost.operations.project import Project
from codeboost.parsing.frontmatter import split_body
from codeboost.plan.difference import ItemDifference, ItemFate, compare_plans
from codeboost.plan.markdown import render_item
from codeboost.plan.model import Item, Plan
from codeboost.planr.changes import find_goal_file, find_task_file, write_goal, write_task
from codeboost.planr.config import Config, load_config
from codeboost.planr.goalfile import parse_goal, render_goal, rewrite_goal
from codeboost.planr.model import GoalState, Status
from codeboost.planr.storage import Writer, lock_root
from codeboost.planr.taskfile import parse_task, render_task, rewrite_task
from codeboost.store.plans import StoredPlan, list_exports, record_export

__all__ = ["TaskChange", "export_tasks", "find_reopened", "name_goal"]

# A new title alone is no other work.
_OPENED = frozenset({ItemFate.ADDED, ItemFate.CHANGED})


@dataclass(frozen=True, slots=True)
class TaskChange:
    """One task and what became of it. ``kept_body`` is the new text that was not written over a person's edit."""

    task: str
    file: str
    fate: ItemFate
    before: Status | None
    after: Status
    kept_body: str | None = None


def name_goal(prefix: str, issue: int) -> str:
    """The goal of an issue: ``gh-412``."""
    return f"{prefix.lower()}-{issue}"


def find_reopened(root: Path, prefix: str, old: Plan | None, new: Plan) -> list[str]:
    """The tasks that a person had set to ``done`` and that importing ``new`` would open again.

    InputError when a task or goal file that the import has to change cannot be read: better before anything is stored.
    """
    config = _load_config(root)
    writer = Writer(root)
    reopened = []
    for difference in _compare(old, new):
        task_id = name_task(prefix, new.issue, difference.id)
        file = find_task_file(config, task_id)
        source = writer.read(file)
        if source is None:
            continue
        status = _read_status(task_id, file, source)
        if difference.fate in _OPENED and status is Status.DONE:
            reopened.append(task_id)
    name = name_goal(prefix, new.issue)
    source = writer.read(find_goal_file(config, name))
    if source is not None:
        _read_goal(name, find_goal_file(config, name), source)
    return reopened


def export_tasks(
    project: Project, root: Path, prefix: str, old: StoredPlan | None, new: StoredPlan
) -> list[TaskChange]:
    """Write the tasks and the draft goal of ``new``, whose predecessor ``old`` was exported before.

    Doing it again changes nothing, so what a kill cut short is simply done again. InputError when a task or goal file
    that has to change cannot be read.
    """
    config = _load_config(root)
    exports = list_exports(project.store, project.repository.id)
    digests: dict[str, str] = {}
    plan = new.plan
    results = []
    with lock_root(root) as writer:
        work = _TaskWork(project, root, config, prefix, new, exports, digests, writer)
        for difference in _compare(old.plan if old else None, plan):
            if difference.after is None:
                results += work.drop(difference.id)
            else:
                results.append(work.write(difference.after, difference.fate))
        _write_goal(root, config, prefix, plan, writer)
    record_export(project.store, project.repository.id, new.id, digests)
    return results


def _compare(old: Plan | None, new: Plan) -> tuple[ItemDifference, ...]:
    if old is None:
        return tuple(ItemDifference(item.id, None, item) for item in new.items)
    return compare_plans(old, new).items


@dataclass(frozen=True, slots=True)
class _TaskWork:
    project: Project
    root: Path
    config: Config
    prefix: str
    stored: StoredPlan
    exports: Mapping[str, str]
    digests: dict[str, str]
    writer: Writer

    def write(self, item: Item, fate: ItemFate) -> TaskChange:
        issue = self.stored.issue
        task_id = name_task(self.prefix, issue, item.id)
        file = find_task_file(self.config, task_id)
        refs = [f"{self.project.repository.slug}#{issue}", f"plan:r{self.stored.revision}"]
        depends = [name_task(self.prefix, issue, needed) for needed in item.depends_on]
        body = "\n" + render_item(item)
        source = self.writer.read(file)
        if source is None:
            content = render_task(
                task_id, title=item.title, track=f"issue-{issue}", body=body, depends=depends, refs=refs
            )
            write_task(self.root, task_id, content, expected=None, writer=self.writer)
            self.digests[file] = _digest(body.encode())
            return TaskChange(task_id, file, fate, None, Status.OPEN)
        before = _read_status(task_id, file, source)
        if fate not in _OPENED:
            self._replace(task_id, source, rewrite_task(source, refs=refs))
            return TaskChange(task_id, file, fate, before, before)
        header, old_body = split_body(
            rewrite_task(source, title=item.title, status=Status.OPEN, depends=depends, refs=refs)
        )
        kept: str | None = None
        if _digest(old_body) == self.exports.get(file):
            old_body = body.encode()
            self.digests[file] = _digest(old_body)
        elif old_body != body.encode():
            kept = body
        self._replace(task_id, source, header + old_body)
        return TaskChange(task_id, file, fate, before, Status.OPEN, kept)

    def drop(self, item_id: str) -> list[TaskChange]:
        task_id = name_task(self.prefix, self.stored.issue, item_id)
        file = find_task_file(self.config, task_id)
        source = self.writer.read(file)
        if source is None:
            return []
        before = _read_status(task_id, file, source)
        self._replace(task_id, source, rewrite_task(source, status=Status.DROPPED))
        return [TaskChange(task_id, file, ItemFate.REMOVED, before, Status.DROPPED)]

    def _replace(self, task_id: str, source: bytes, content: bytes) -> None:
        if content != source:
            write_task(self.root, task_id, content, expected=source, writer=self.writer)


def _write_goal(root: Path, config: Config, prefix: str, plan: Plan, writer: Writer) -> None:
    name = name_goal(prefix, plan.issue)
    file = find_goal_file(config, name)
    scope = [name_task(prefix, plan.issue, item.id) for item in plan.items]
    source = writer.read(file)
    if source is None:
        title = f"Issue {plan.issue}: {' '.join(plan.summary.split())}"
        content = render_goal(title=title, scope=scope, body=_GOAL_BODY.format(issue=plan.issue), stream=name)
        write_goal(root, name, content, expected=None, writer=writer)
        return
    _read_goal(name, file, source)
    content = rewrite_goal(source, state=GoalState.DRAFT, scope=scope)
    if content != source:
        write_goal(root, name, content, expected=source, writer=writer)


_GOAL_BODY = """
The work on issue {issue}, as its plan describes it. `codeboost plan show {issue}` prints the plan,
`codeboost plan approve {issue}` is how a person approves it.
"""


def _read_status(task_id: str, file: str, source: bytes) -> Status:
    task, errors = parse_task(source, task_id, file)
    if task is None:
        raise InputError(str(errors[0]), hint="mend the file; then import again")
    return task.status


def _read_goal(name: str, file: str, source: bytes) -> None:
    goal, errors, notes = parse_goal(source, name, file)
    legacy = [note for note in notes if note.kind == "legacy-goal"]
    if goal is None or legacy:
        raise InputError(str((errors or legacy)[0]), hint="mend the file; then import again")


def _load_config(root: Path) -> Config:
    config, errors = load_config(root)
    if errors:
        raise InputError(str(errors[0]))
    return config


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
