"""What a run does to the status of tasks (design §6).

A move is stored in one transaction with the result that it follows from; the file is written after it. If that was cut
short, the next command writes it: never twice, and never over somebody's edit, because each move names the exact bytes
that it may replace.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from codeboost.errors import CodeboostError, InputError, StoreError
from codeboost.operations.project import Project
from codeboost.planr.changes import find_task_file, read_task_source, set_task
from codeboost.planr.config import find_root, load_config
from codeboost.planr.model import Status
from codeboost.planr.storage import lock_root
from codeboost.planr.taskfile import parse_status
from codeboost.store.task_moves import (
    TaskMove,
    add_task_move,
    find_last_move,
    is_pending,
    list_pending_moves,
    list_run_moves,
    settle_move,
    supersede_unwritten_moves,
)
from codeboost.visible import cut

__all__ = ["TaskMover", "name_task"]

# A person's words: a run never changes them.
_PERSONS_WORDS = frozenset({Status.BLOCKED, Status.DONE, Status.DROPPED})


def name_task(prefix: str, issue: int, item_id: str) -> str:
    """The task of an item: ``GH412-P1``."""
    return f"{prefix}{issue}-{item_id}"


@dataclass(slots=True)
class TaskMover:
    """Moves the tasks of one issue. Without a planning root it moves nothing."""

    project: Project
    issue: int
    prefix: str
    root: Path | None
    _before: dict[str, Status] = field(default_factory=dict)
    _given: dict[str, TaskMove] = field(default_factory=dict)
    """The last move of this run, by item."""

    @classmethod
    def open(cls, project: Project, issue: int, prefix: str) -> TaskMover:
        return cls(project, issue, prefix, find_root(project.git.top))

    def recall(self, run_id: int) -> None:
        """Take up where a run was cut short: what it found and what it gave is known from its own moves."""
        for move in list_run_moves(self.project.store, run_id):
            item_id = move.task.rpartition("-")[2]
            self._before.setdefault(item_id, Status(move.from_status))
            self._given[item_id] = move

    def name_task(self, item_id: str) -> str:
        return name_task(self.prefix, self.issue, item_id)

    def find_status(self, item_id: str) -> str | None:
        """The status of an item's task as its file says it now; None when there is no readable one."""
        source = self._read(self.name_task(item_id))
        return parse_status(source) if source is not None else None

    def is_planning_file(self, path: str) -> bool:
        """Whether a changed file (relative to the repository) is one that planr keeps: those change all the time."""
        if self.root is None:
            return False
        config, _ = load_config(self.root)
        full = self.project.git.top / path
        return any(
            full.is_relative_to(self.root / folder)
            for folder in (config.tasks_dir, config.goals_dir, ".planr")
        )

    def plan_move(self, item_id: str, to: Status, run_id: int | None) -> TaskMove | None:
        """Store the wish to move an item's task; call it inside the transaction of the result. None: nothing to do."""
        task = self.name_task(item_id)
        source = self._read(task)
        status = parse_status(source) if source is not None else None
        if self.root is None or source is None or status is None:
            return None
        store, repository, root, digest = (
            self.project.store,
            self.project.repository.id,
            str(self.root),
            _digest(source),
        )
        if supersede_unwritten_moves(store, repository, root, task, digest):
            # What was given last never reached the file, so nobody took it back either.
            self._given.pop(item_id, None)
        self._before.setdefault(item_id, status)
        if status is to or not self._may_leave(item_id, task, status):
            return None
        move = add_task_move(
            store,
            repository_id=repository,
            run_id=run_id,
            root=root,
            task=task,
            from_status=status.value,
            to_status=to.value,
            expected_sha256=digest,
        )
        self._given[item_id] = move
        return move

    def plan_return(self, item_id: str, run_id: int) -> TaskMove | None:
        """Give an item's task the status back that it had before this run, if this run was the last to move it."""
        before, given = self._before.get(item_id), self._given.get(item_id)
        if before is None or given is None:
            return None
        last = find_last_move(self.project.store, self.project.repository.id, given.root, given.task)
        if last is not None and last.id > given.id:
            return None
        return self.plan_move(item_id, before, run_id)

    def _may_leave(self, item_id: str, task: str, status: Status) -> bool:
        given = self._given.get(item_id)
        if given is not None:
            # Somebody who edited it while the run went on has the last word.
            return status == given.to_status
        if status in _PERSONS_WORDS:
            return False
        if status is Status.DECISION:
            last = find_last_move(self.project.store, self.project.repository.id, str(self.root), task)
            return last is not None and last.to_status == Status.DECISION.value
        return True

    def write(self, move: TaskMove) -> list[str]:
        """Write a stored move into its file. What could not be done is said, and never stops a run."""
        root = Path(move.root)
        try:
            with lock_root(root) as writer:
                if not is_pending(self.project.store, move):
                    # Another process was here first, and what the file says since then is not ours to judge.
                    return []
                config, _ = load_config(root)
                source = writer.read(find_task_file(config, move.task))
                if source is None or _digest(source) != move.expected_sha256:
                    return self._supersede(move, source)
                set_task(root, move.task, status=Status(move.to_status), writer=writer)
                settle_move(self.project.store, move, "written")
        except InputError as error:
            settle_move(self.project.store, move, "superseded")
            return [f"{move.task} stays {move.from_status}: {error}"]
        except StoreError:
            raise
        except (CodeboostError, OSError) as error:
            # Still pending: the next command tries again.
            return [f"{move.task} could not be set to {move.to_status} yet: {cut(str(error), 200)}"]
        return []

    def _supersede(self, move: TaskMove, source: bytes | None) -> list[str]:
        if source is not None and parse_status(source) == move.to_status:
            # Cut short between the file and the store: it has been written.
            settle_move(self.project.store, move, "written")
            return []
        settle_move(self.project.store, move, "superseded")
        return [
            f"{move.task} was edited meanwhile and keeps what it says (the run had {move.to_status} for it)"
        ]

    def replay(self) -> list[str]:
        """Write what an earlier process stored and could not write any more."""
        return [
            text
            for move in list_pending_moves(self.project.store, self.project.repository.id)
            for text in self.write(move)
        ]

    def _read(self, task: str) -> bytes | None:
        if self.root is None:
            return None
        try:
            return read_task_source(self.root, task)
        except CodeboostError:
            # A planning root in disorder gates nothing; planr check says what is wrong with it.
            return None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
