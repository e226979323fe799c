"""Whatever the planning files hold, planr answers: with what they say, or with what is wrong with them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from codeboost.planr.goalfile import parse_goal, rewrite_goal
from codeboost.planr.graph import Graph
from codeboost.planr.model import GoalState, Status
from codeboost.planr.taskfile import parse_status, parse_task, render_task, rewrite_task

VALUES = st.sampled_from(
    [
        "open",
        "Open",
        "A-1",
        "[A-1]",
        "[]",
        "",
        "null",
        '"x',
        "'y'",
        "[a, 'b', \"c\"]",
        "# c",
        "\n - A-1\n - B",
        "t # c",
        "draft",
    ]
)
KEYS = st.sampled_from(
    ["id", "title", "status", "track", "depends", "owner", "refs", "state", "scope", "stream", "thread"]
)
FILES = st.one_of(
    st.binary(max_size=80),
    st.lists(st.builds("{}: {}".format, KEYS, VALUES), max_size=7).map(
        lambda rows: ("---\n" + "\n".join(rows) + "\n---\nbody").encode()
    ),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(FILES)
def test_a_task_file_gives_a_task_or_errors(data: bytes) -> None:
    task, errors = parse_task(data, "A-1", "tasks/A-1.md")
    assert (task is None) == bool(errors)
    assert all(str(error).startswith("tasks/A-1.md:") and "\n" not in str(error) for error in errors)
    if task is not None:
        assert parse_status(data) is task.status
        graph = Graph([task], [])
        assert json.loads(json.dumps(graph.describe_task(task)))["id"] == "A-1"
        changed, errors = parse_task(
            rewrite_task(data, status=Status.DONE, owner="S: 1"), "A-1", "tasks/A-1.md"
        )
        assert changed == task._replace(status=Status.DONE, owner="S: 1"), errors


@given(FILES)
def test_a_goal_file_gives_a_goal_or_errors(data: bytes) -> None:
    goal, errors, warnings = parse_goal(data, "g", "plans/g-goal.md")
    assert (goal is None) == bool(errors)
    assert not (errors and any(warning.kind == "legacy-goal" for warning in warnings))
    if goal is not None and goal.state is not GoalState.LEGACY:
        changed, _, _ = parse_goal(
            rewrite_goal(data, state=GoalState.RUNNING, thread="#1"), "g", "plans/g-goal.md"
        )
        assert changed == goal._replace(state=GoalState.RUNNING, thread="#1")


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=3, unique=True), st.text(max_size=20))
def test_a_rendered_task_says_what_it_was_given(title: str, track: str, refs: list[str], body: str) -> None:
    data = render_task("A-1", title=title, track=track, depends=["B-1", "1"], refs=refs, body=body)
    task, errors = parse_task(data, "A-1", "tasks/A-1.md")
    assert task is not None, errors
    assert (task.title, task.track, task.depends, task.refs) == (
        title,
        track,
        ("B-1", "1"),
        tuple(refs) or None,
    )
