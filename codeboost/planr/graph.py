"""Every derived rule of planr-contract.md, "Derived rules", and nothing else has one.

A graph is built once from the tasks and goals and answers in constant time; building it is linear in tasks, edges and scopes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from codeboost.planr.model import Finding, Goal, GoalState, Status, Task, name_word, natural_key
from codeboost.visible import cut

__all__ = ["Graph"]

_SATISFIED = frozenset({Status.REVIEW, Status.DONE})
_CLOSED = frozenset({Status.DONE, Status.DROPPED})
_NEVER_UNLOCKS = frozenset({Status.REVIEW, Status.DONE, Status.DROPPED})
_ACTIVE = frozenset({GoalState.RUNNING, GoalState.APPROVED})
_WAITING = frozenset({Status.BLOCKED, Status.DECISION})
_RANK = {status: rank for rank, status in enumerate(Status)}


class Graph:
    """Tasks, goals and what follows from them.

    ``known`` are the ids of all task files, the unreadable ones included: a reference to one of those is no second error.
    """

    def __init__(self, tasks: Iterable[Task], goals: Iterable[Goal], known: Collection[str] = ()) -> None:
        self.tasks: dict[str, Task] = {
            task.id: task for task in sorted(tasks, key=lambda task: natural_key(task.id))
        }
        self.goals: dict[str, Goal] = {
            goal.name: goal for goal in sorted(goals, key=lambda goal: natural_key(goal.name))
        }
        self._known = known
        self._open_deps: dict[str, tuple[str, ...]] = {}
        self._waiting_on: dict[str, list[str]] = {task_id: [] for task_id in self.tasks}
        self._unlocks: dict[str, int] = {}
        self._streams: dict[str, str | None] = {}
        self._covered: set[str] = set()
        self._goals_of: dict[str, list[str]] = {}
        self._derive_edges()
        self._derive_streams()

    def _derive_edges(self) -> None:
        satisfied = {task.id for task in self.tasks.values() if task.status in _SATISFIED}
        # Tasks come in the order of their ids, so each list of dependants does too.
        for task in self.tasks.values():
            open_deps = tuple(dep for dep in task.depends if dep not in satisfied) if task.depends else ()
            self._open_deps[task.id] = open_deps
            if task.status not in _CLOSED:
                for dep in task.depends:
                    if dep in self._waiting_on:
                        self._waiting_on[dep].append(task.id)
            if task.status is Status.OPEN and len(open_deps) == 1:
                self._unlocks[open_deps[0]] = self._unlocks.get(open_deps[0], 0) + 1

    def _derive_streams(self) -> None:
        for goal in self.goals.values():
            if goal.state is not GoalState.DONE:
                for task_id in goal.scope:
                    self._goals_of.setdefault(task_id, []).append(goal.name)
            if goal.state in _ACTIVE:
                for task_id in goal.scope:
                    self._streams.setdefault(task_id, goal.stream)
                if goal.stream is not None:
                    self._covered.update(goal.scope)

    # Rules about one task

    def open_deps(self, task: Task) -> tuple[str, ...]:
        """The dependencies that are not satisfied; only ``review`` and ``done`` satisfy."""
        return self._open_deps[task.id]

    def is_ready(self, task: Task) -> bool:
        return task.status is Status.OPEN and not self._open_deps[task.id]

    def waiting_on(self, task: Task) -> list[str]:
        """Ids of the tasks, neither done nor dropped, that depend on this one."""
        return self._waiting_on[task.id]

    def unlocks(self, task: Task) -> int:
        """How many open tasks have this one as their only open dependency."""
        return 0 if task.status in _NEVER_UNLOCKS else self._unlocks.get(task.id, 0)

    def stream(self, task: Task) -> str | None:
        """The owner, else the stream of the first active goal that has the task in its scope."""
        return task.owner if task.owner is not None else self._streams.get(task.id)

    def list_goals_of(self, task: Task) -> list[str]:
        """Names of the goals, not done, whose scope contains the task."""
        return self._goals_of.get(task.id, [])

    # Selections and orders

    def sort_for_board(self, tasks: Iterable[Task]) -> list[Task]:
        """In the order of the states, then by how many tasks wait, then by id."""
        position = {task_id: index for index, task_id in enumerate(self.tasks)}
        return sorted(
            tasks, key=lambda task: (_RANK[task.status], -len(self._waiting_on[task.id]), position[task.id])
        )

    def sort_goals(self) -> list[Goal]:
        """In the order of the states, then by name."""
        rank = {state: index for index, state in enumerate(GoalState)}
        return sorted(self.goals.values(), key=lambda goal: rank[goal.state])

    def find_active_goals(self, stream: str) -> list[Goal]:
        """The approved or running goals of a stream."""
        return [goal for goal in self.goals.values() if goal.state in _ACTIVE and goal.stream == stream]

    def find_next(self, goals: Sequence[Goal], stream: str | None) -> tuple[list[Task], list[Task]]:
        """What can be worked on in these goals' scopes, most unlocks first, and what waits for a person.

        A task whose owner is not ``stream`` is somebody else's and left out.
        """
        scope = {task_id for goal in goals for task_id in goal.scope}
        mine = [task for task in self.tasks.values() if task.id in scope and task.owner in (None, stream)]
        ready = sorted((task for task in mine if self.is_ready(task)), key=lambda task: -self.unlocks(task))
        return ready, self.sort_for_board(task for task in mine if task.status in _WAITING)

    def scope_tasks(self, goal: Goal) -> list[Task]:
        """The tasks in a goal's scope, in the scope's order."""
        return [self.tasks[task_id] for task_id in goal.scope if task_id in self.tasks]

    # The contract's JSON shapes

    def describe_task(self, task: Task) -> dict[str, Any]:
        described: dict[str, Any] = {
            "id": task.id,
            "title": task.title,
            "status": task.status.value,
            "track": task.track,
            "depends": task.depends,
            "owner": task.owner,
        }
        if task.refs is not None:
            described["refs"] = task.refs
        described["file"] = task.file
        described["ready"] = self.is_ready(task)
        described["openDeps"] = self._open_deps[task.id]
        described["waitingOn"] = self._waiting_on[task.id]
        described["unlocks"] = self.unlocks(task)
        described["stream"] = self.stream(task)
        return described

    def describe_goal(self, goal: Goal) -> dict[str, Any]:
        tasks = self.scope_tasks(goal)
        return {
            "name": goal.name,
            "file": goal.file,
            "title": goal.title,
            "state": goal.state.value,
            "stream": goal.stream,
            "budget": goal.budget,
            "thread": goal.thread,
            "scope": goal.scope,
            "done": sum(task.status is Status.DONE for task in tasks),
            "total": len(goal.scope),
            "ready": [task.id for task in tasks if self.is_ready(task)],
            "waiting": [task.id for task in tasks if task.status in _WAITING],
        }

    # Validation

    def find_errors(self) -> list[Finding]:
        """References to tasks that do not exist, and dependency cycles."""
        findings = []
        known = self.tasks.keys() | set(self._known)
        for task in self.tasks.values():
            findings += [
                Finding(
                    "unknown-dependency", f"depends on {name_word(dep)}, and there is no such task", task.file
                )
                for dep in task.depends
                if dep not in known
            ]
        for goal in self.goals.values():
            findings += [
                Finding(
                    "unknown-scope-task",
                    f"scope names {name_word(task_id)}, and there is no such task",
                    goal.file,
                )
                for task_id in goal.scope
                if task_id not in known
            ]
        for ring in self._find_cycles():
            path = " -> ".join(cut(task_id, 60) for task_id in ring)
            findings.append(Finding("cycle", f"dependency cycle: {path}", self.tasks[ring[0]].file))
        return findings

    def find_warnings(self) -> list[Finding]:
        findings = []
        dropped = {task.id for task in self.tasks.values() if task.status is Status.DROPPED}
        for task in self.tasks.values():
            if task.status is Status.IN_PROGRESS and task.owner is None and task.id not in self._covered:
                findings.append(
                    Finding(
                        "in-progress-no-stream",
                        f"{name_word(task.id)} is in-progress without an owner, and no approved or running goal "
                        "with a stream covers it",
                        task.file,
                    )
                )
            if dropped:
                findings += [
                    Finding(
                        "dropped-dependency",
                        f"{name_word(task.id)} depends on {name_word(dep)}, which is dropped: remove the edge",
                        task.file,
                    )
                    for dep in task.depends
                    if dep in dropped
                ]
        return findings + self._find_shared_tasks()

    def _find_shared_tasks(self) -> list[Finding]:
        holders: dict[str, list[str]] = {}
        for goal in self.goals.values():
            if goal.state is GoalState.RUNNING:
                for task_id in goal.scope:
                    holders.setdefault(task_id, []).append(goal.name)
        return [
            Finding(
                "two-running-goals",
                f"{name_word(task_id)} is in the scope of {len(names)} running goals: "
                + ", ".join(name_word(name) for name in names),
                self.tasks[task_id].file if task_id in self.tasks else None,
            )
            for task_id, names in sorted(holders.items(), key=lambda item: natural_key(item[0]))
            if len(names) > 1
        ]

    def _find_cycles(self) -> list[list[str]]:
        """One ring per back edge of a depth-first walk in the order of the ids. No recursion: chains get long."""
        rings: list[list[str]] = []
        finished: set[str] = set()
        for root in self.tasks:
            if root in finished:
                continue
            path: dict[str, int] = {root: 0}
            walk: list[tuple[str, Iterator[str]]] = [(root, iter(self.tasks[root].depends))]
            while walk:
                task_id, rest = walk[-1]
                for dep in rest:
                    if dep in path:
                        rings.append([*list(path)[path[dep] :], dep])
                    elif dep in self.tasks and dep not in finished:
                        path[dep] = len(walk)
                        walk.append((dep, iter(self.tasks[dep].depends)))
                        break
                else:
                    walk.pop()
                    del path[task_id]
                    finished.add(task_id)
        return rings
