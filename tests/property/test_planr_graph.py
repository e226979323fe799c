"""The derived rules of planr, against a plain reading of the contract, on graphs of every shape."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from codeboost.planr.graph import Graph
from codeboost.planr.model import Goal, GoalState, Status, Task, natural_key

IDS = [f"A-{number}" for number in range(1, 13)]
STREAMS = st.sampled_from([None, "S1", "S2"])


@st.composite
def plans(draw: st.DrawFn) -> tuple[list[Task], list[Goal]]:
    ids = draw(st.lists(st.sampled_from(IDS), unique=True, max_size=10))
    tasks = [
        Task(
            id=task_id,
            title="t",
            status=draw(st.sampled_from(Status)),
            track="c",
            depends=tuple(draw(st.lists(st.sampled_from(ids), unique=True, max_size=4))),
            owner=draw(STREAMS),
            refs=None,
            file=f"tasks/{task_id}.md",
        )
        for task_id in ids
    ]
    goals = [
        Goal(
            name=name,
            file=f"plans/{name}-goal.md",
            title=name,
            state=draw(st.sampled_from(GoalState)),
            stream=draw(STREAMS),
            budget=None,
            thread=None,
            scope=tuple(draw(st.lists(st.sampled_from(ids), unique=True, max_size=6))) if ids else (),
        )
        for name in draw(st.lists(st.sampled_from(["g2", "g10", "G1", "h"]), unique=True))
    ]
    return tasks, goals


@given(plans())
def test_rules_of_one_task(plan: tuple[list[Task], list[Goal]]) -> None:
    tasks, goals = plan
    graph = Graph(tasks, goals)
    satisfied = {task.id for task in tasks if task.status in ("review", "done")}
    open_deps = {task.id: [dep for dep in task.depends if dep not in satisfied] for task in tasks}
    active = sorted(
        (goal for goal in goals if goal.state in ("running", "approved")),
        key=lambda goal: natural_key(goal.name),
    )
    for task in tasks:
        assert list(graph.open_deps(task)) == open_deps[task.id]
        assert graph.is_ready(task) == (task.status == "open" and not open_deps[task.id])
        waiting = [
            one.id for one in tasks if one.status not in ("done", "dropped") and task.id in one.depends
        ]
        assert graph.waiting_on(task) == sorted(waiting, key=natural_key)
        unlocked = [one for one in tasks if one.status == "open" and open_deps[one.id] == [task.id]]
        assert graph.unlocks(task) == (0 if task.status in ("review", "done", "dropped") else len(unlocked))
        covering = [goal for goal in active if task.id in goal.scope]
        derived = covering[0].stream if covering else None
        assert graph.stream(task) == (task.owner or derived)


def closes_a_ring(tasks: dict[str, Task], start: str) -> bool:
    seen: set[str] = set()
    todo = list(tasks[start].depends)
    while todo:
        task_id = todo.pop()
        if task_id == start:
            return True
        if task_id not in seen:
            seen.add(task_id)
            todo += tasks[task_id].depends
    return False


@given(plans())
def test_cycles_are_found_and_are_rings(plan: tuple[list[Task], list[Goal]]) -> None:
    tasks, goals = plan
    graph = Graph(tasks, goals)
    by_id = {task.id: task for task in tasks}
    errors = [finding for finding in graph.find_errors() if finding.kind == "cycle"]
    assert bool(errors) == any(closes_a_ring(by_id, task_id) for task_id in by_id)
    for error in errors:
        ring = error.text.removeprefix("dependency cycle: ").split(" -> ")
        assert ring[0] == ring[-1]
        assert all(after in by_id[before].depends for before, after in pairwise(ring))
        assert len(set(ring)) == len(ring) - 1


@given(plans(), STREAMS)
def test_next_is_what_is_ready_and_not_somebody_elses(
    plan: tuple[list[Task], list[Goal]], stream: str | None
) -> None:
    tasks, goals = plan
    graph = Graph(tasks, goals)
    ready, waiting = graph.find_next(goals, stream)
    scope = {task_id for goal in goals for task_id in goal.scope}
    for chosen in (ready, waiting):
        assert all(task.id in scope and task.owner in (None, stream) for task in chosen)
    assert [graph.unlocks(task) for task in ready] == sorted(
        (graph.unlocks(task) for task in ready), reverse=True
    )
    assert {task.id for task in ready} == {
        task.id
        for task in tasks
        if graph.is_ready(task) and task.id in scope and task.owner in (None, stream)
    }


@given(st.lists(st.text(max_size=8)))
def test_the_order_of_ids_is_total(names: list[str]) -> None:
    ordered = sorted(names, key=natural_key)
    assert sorted(sorted(names), key=natural_key) == ordered


def test_the_order_of_ids_is_natural() -> None:
    names = ["T-10", "t-2", "T-1.10", "T-1.2", "T-1", "T-2", "T-01", "A-2", "a-10"]
    assert sorted(names, key=natural_key) == [
        "A-2",
        "a-10",
        "T-01",
        "T-1",
        "T-1.2",
        "T-1.10",
        "t-2",
        "T-2",
        "T-10",
    ]
