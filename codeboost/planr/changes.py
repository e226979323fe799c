"""Every change of a planning file, as a library: what ``planr set`` and ``planr goal`` do, and what codeboost does.

Each function takes the lock of the planning root, reads the file anew, and writes it durably (``storage.py``). To change several
files at once, hold ``lock_root`` yourself and hand its writer in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from codeboost.errors import ConflictError, InputError, UsageError
from codeboost.planr.config import Config, load_config
from codeboost.planr.goalfile import parse_goal, rewrite_goal
from codeboost.planr.model import Goal, GoalState, Status, Task, name_word
from codeboost.planr.storage import Writer, lock_root
from codeboost.planr.taskfile import parse_task, rewrite_task

__all__ = [
    "GoalChange",
    "TaskChange",
    "check_name",
    "find_goal_file",
    "find_task_file",
    "read_goal_source",
    "read_task_source",
    "set_goal",
    "set_task",
    "write_goal",
    "write_task",
]


class TaskChange(NamedTuple):
    """A task before and after; equal when there was nothing to change."""

    before: Task
    after: Task


class GoalChange(NamedTuple):
    """A goal before and after; equal when there was nothing to change."""

    before: Goal
    after: Goal


def check_name(name: str, what: str) -> str:
    """``name`` if it can be the name of a task or goal file. An id is never a path: UsageError."""
    if not name or "/" in name or "\\" in name or "\0" in name or name.startswith("."):
        raise UsageError(f"{name_word(name)} is no {what}")
    return name


def find_task_file(config: Config, task_id: str) -> str:
    """Where the file of a task is or would be, relative to the planning root."""
    return f"{config.tasks_dir}/{_name_file(task_id, 'task id', '.md')}"


def find_goal_file(config: Config, name: str) -> str:
    """Where the file of a goal is or would be, relative to the planning root."""
    return f"{config.goals_dir}/{_name_file(name, 'goal name', config.goal_suffix)}"


def _name_file(name: str, what: str, suffix: str) -> str:
    file = check_name(name, what) + suffix
    if file == "README.md":
        raise UsageError(f"{name_word(name)} is no {what}: {file} is read by people alone")
    return file


def read_task_source(root: Path, task_id: str) -> bytes | None:
    """The bytes of a task file, or None when there is none."""
    return Writer(root).read(find_task_file(_load_config(root), task_id))


def read_goal_source(root: Path, name: str) -> bytes | None:
    """The bytes of a goal file, or None when there is none."""
    return Writer(root).read(find_goal_file(_load_config(root), name))


def write_task(
    root: Path, task_id: str, content: bytes, *, expected: bytes | None, writer: Writer | None = None
) -> None:
    """Put a whole task file in place of ``expected`` (None: it must be new). ConflictError when it is neither."""
    file = find_task_file(_load_config(root), task_id)
    task, errors = parse_task(content, task_id, file)
    if task is None:
        raise InputError(f"not written: {errors[0]}")
    with _writing(root, writer) as writing:
        writing.write(file, content, expected=expected)


def write_goal(
    root: Path, name: str, content: bytes, *, expected: bytes | None, writer: Writer | None = None
) -> None:
    """Put a whole goal file in place of ``expected`` (None: it must be new). ConflictError when it is neither."""
    file = find_goal_file(_load_config(root), name)
    goal, errors, _ = parse_goal(content, name, file)
    if goal is None:
        raise InputError(f"not written: {errors[0]}")
    with _writing(root, writer) as writing:
        writing.write(file, content, expected=expected)


def set_task(
    root: Path,
    task_id: str,
    *,
    status: Status | None = None,
    owner: str | None = None,
    refs: Sequence[str] | None = None,
    expected_status: Status | None = None,
    writer: Writer | None = None,
) -> TaskChange:
    """Change only these lines of a task's frontmatter.

    UsageError when there is no such task, InputError when its file is broken, ConflictError when its status is not
    ``expected_status`` (then nothing is written).
    """
    file = find_task_file(_load_config(root), task_id)
    with _writing(root, writer) as writing:
        data = writing.read(file)
        if data is None:
            raise UsageError(f"there is no task {name_word(task_id)}")
        before, errors = parse_task(data, task_id, file)
        if before is None:
            raise InputError(str(errors[0]))
        if expected_status is not None and before.status is not expected_status:
            raise ConflictError(f"{name_word(task_id)} is {before.status} by now, not {expected_status}")
        if owner == "" and before.owner is None:
            # There is none to take away, so no line needs to say so.
            owner = None
        changed = rewrite_task(data, status=status, owner=owner, refs=refs)
        after, errors = parse_task(changed, task_id, file)
        if after is None:
            raise InputError(f"not written: {errors[0]}")
        if changed != data:
            writing.write(file, changed, expected=data)
    return TaskChange(before, after)


def set_goal(
    root: Path,
    name: str,
    *,
    state: GoalState | None = None,
    thread: str | None = None,
    scope: Sequence[str] | None = None,
    title: str | None = None,
    expected_state: GoalState | None = None,
    writer: Writer | None = None,
) -> GoalChange:
    """Change only these lines of a goal's frontmatter.

    UsageError when there is no such goal, InputError when its file is broken or has no frontmatter, ConflictError when
    its state is not ``expected_state`` (then nothing is written).
    """
    file = find_goal_file(_load_config(root), name)
    with _writing(root, writer) as writing:
        data = writing.read(file)
        if data is None:
            raise UsageError(f"there is no goal {name_word(name)}")
        before, errors, warnings = parse_goal(data, name, file)
        if before is None:
            raise InputError(str(errors[0]))
        if any(finding.kind == "legacy-goal" for finding in warnings):
            raise InputError(
                f"{file} has no frontmatter to write a state into", hint="give it one, with state and scope"
            )
        if expected_state is not None and before.state is not expected_state:
            raise ConflictError(f"the goal {name_word(name)} is {before.state} by now, not {expected_state}")
        if thread == "" and before.thread is None:
            # As an owner: there is none to take away.
            thread = None
        changed = rewrite_goal(data, state=state, thread=thread, scope=scope, title=title)
        after, errors, _ = parse_goal(changed, name, file)
        if after is None:
            raise InputError(f"not written: {errors[0]}")
        if changed != data:
            writing.write(file, changed, expected=data)
    return GoalChange(before, after)


def _load_config(root: Path) -> Config:
    config, errors = load_config(root)
    if errors:
        raise InputError(str(errors[0]))
    return config


@contextmanager
def _writing(root: Path, writer: Writer | None) -> Iterator[Writer]:
    if writer is not None:
        yield writer
    else:
        with lock_root(root) as own:
            yield own
