"""Tasks and goals for people. Light on imports: ``planr list`` is run all the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from codeboost.visible import cut, escape

if TYPE_CHECKING:
    from codeboost.planr.model import Task
    from codeboost.planr.workspace import Workspace

__all__ = ["render_goal", "render_tasks"]


def render_tasks(workspace: Workspace, tasks: Sequence[Task]) -> str:
    """One line a task, in columns; empty when there is none."""
    graph = workspace.graph
    rows = []
    for task in tasks:
        waits = graph.open_deps(task) if task.status.value == "open" else ()
        note = "ready" if graph.is_ready(task) else f"waits for {cut(', '.join(waits), 30)}" if waits else ""
        rows.append(
            (
                cut(task.id, 40),
                task.status.value,
                cut(graph.stream(task) or "-", 20),
                note,
                cut(task.title, 100),
            )
        )
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False) if width), row[4]])
        for row in rows
    )


def render_goal(described: dict[str, Any]) -> str:
    """A goal as the graph describes it, one fact a line."""
    lines = [f"{described['name']}: {described['title']}", f"state {described['state']}"]
    lines += [f"{key} {described[key]}" for key in ("stream", "budget", "thread") if described[key]]
    lines.append(f"done {described['done']} of {described['total']}")
    lines += [f"{key} {', '.join(described[key])}" for key in ("scope", "ready", "waiting") if described[key]]
    return "\n".join(escape(line) for line in lines)
