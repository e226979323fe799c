"""The data of the board, exactly as planr-contract.md types it. ``page.py`` makes a page of it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

from codeboost.errors import InfrastructureError, InputError
from codeboost.planr.history import History, HistoryReader
from codeboost.planr.plainfile import open_plain
from codeboost.planr.storage import replace_file
from codeboost.planr.workspace import Workspace
from codeboost.visible import cut

__all__ = ["BoardData", "build_board_data", "write_board"]

# What every board says about itself; a file without it is somebody else's and never replaced.
_MARK = b'<meta name="generator" content="planr board">'
_MARK_WITHIN = 4096


class BoardData(TypedDict):
    """See planr-contract.md, "Board data"."""

    project: str
    commit: str
    dirty: bool
    generatedAt: str
    tasks: list[dict[str, Any]]
    goals: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    warnings: list[str]


def build_board_data(
    workspace: Workspace, reader: HistoryReader, *, now: datetime | None = None
) -> BoardData:
    """Everything that the board shows. The workspace must have no errors and must hold its sources.

    ``commit`` is empty where there is none yet.
    """
    moment = (now or datetime.now(UTC)).isoformat(timespec="seconds")
    history = reader.read(workspace, now=moment)
    graph = workspace.graph
    return {
        "project": os.path.basename(os.path.realpath(workspace.root)),  # noqa: PTH119 - of the real folder
        "commit": f"{history.head.short} · {history.head.date}" if history.head else "",
        "dirty": history.dirty,
        "generatedAt": moment,
        "tasks": _describe_tasks(workspace, history),
        "goals": [graph.describe_goal(goal) for goal in graph.sort_goals()],
        "runs": [
            {
                "commit": run.commit,
                "date": run.date,
                "subject": run.subject,
                "counts": run.counts,
                "total": sum(run.counts.values()),
                "initial": run.initial,
                "changes": [
                    {"id": change.id, "from": change.before, "to": change.after} for change in run.changes
                ],
            }
            for run in history.runs
        ],
        "warnings": [str(finding) for finding in (*workspace.warnings, *history.warnings)],
    }


def write_board(file: Path, page: str) -> None:
    """Put the page at ``file``, where nothing or an earlier board must be; InputError when something else is."""

    def refuse_others() -> None:
        if not _may_replace(file):
            raise InputError(
                f"{cut(str(file), 300)} exists and is no board: it is not replaced",
                hint="name another file with --out",
            )

    refuse_others()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        # No lock: a board is no planning file, and may lie anywhere.
        name = f".planr-board-{os.getpid()}.tmp"
        replace_file(file, page.encode("utf-8", "replace"), refuse_others, temporary=name)
    except OSError as error:
        raise InfrastructureError(f"{cut(str(file), 300)} cannot be written: {error.strerror}") from error


def _may_replace(file: Path) -> bool:
    if file.is_symlink():
        return False
    try:
        with open(file, "rb", opener=open_plain) as old:
            return _MARK in old.read(_MARK_WITHIN)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _describe_tasks(workspace: Workspace, history: History) -> list[dict[str, Any]]:
    moves: dict[str, list[dict[str, Any]]] = {}
    for number, run in enumerate(history.runs):
        for change in run.changes:
            moves.setdefault(change.id, []).append({"run": number, "from": change.before, "to": change.after})
    described = []
    for task in workspace.tasks.values():
        past = moves.get(task.id, [])
        described.append(
            workspace.graph.describe_task(task)
            | {
                "goal": workspace.graph.list_goals_of(task),
                "history": past,
                "lastRun": past[-1]["run"] if past else None,
            }
        )
    return described
