"""Histories of planning repositories, and the runs, changes and warnings that the board must tell of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "planr" / "runs.jsonl").read_text("utf-8").splitlines()
]


def write(root: Path, files: dict[str, str], removed: list[str]) -> None:
    for name in removed:
        (root / name).unlink()
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())


def build(root: Path, commits: list[dict[str, Any]], git: Callable[..., str]) -> list[str]:
    git(root, "init", "-q")
    made = []
    for commit in commits:
        if commit.get("start"):
            git(root, "checkout", "-q", "-b", commit["branch"], commit["start"])
        elif commit.get("branch"):
            git(root, "checkout", "-q", commit["branch"])
        dated = {"GIT_AUTHOR_DATE": commit["date"], "GIT_COMMITTER_DATE": commit["date"]}
        if commit.get("merge"):
            git(root, "merge", "-q", "--no-ff", "-m", commit["subject"], commit["merge"], env=dated)
        else:
            write(root, commit["write"], commit["delete"])
            git(root, "add", "-A")
            git(
                root,
                "commit",
                "-q",
                "--allow-empty",
                "--allow-empty-message",
                "-m",
                commit["subject"],
                env=dated,
            )
        made.append(git(root, "rev-parse", "HEAD").strip())
    return made


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_runs(
    case: dict[str, Any], tmp_path: Path, planr: Callable[..., Any], git: Callable[..., str]
) -> None:
    commits = build(tmp_path, case["commits"], git)
    write(tmp_path, case["work"], case["work_delete"])
    said = planr("board", "--json", "--root", tmp_path / case["root"])
    assert said.code == 0, said
    data, expected = said.data, case["expect"]
    runs = []
    for run in data["runs"]:
        index = None if run["commit"] is None else commits.index(run["commit"])
        runs.append({key: value for key, value in run.items() if key != "commit"} | {"commit_index": index})
    assert len(runs) == len(expected["runs"])
    for run, wanted in zip(runs, expected["runs"], strict=True):
        assert {key: run[key] for key in wanted} == wanted
    tasks = [
        {key: task[key] for key in ("id", "status", "goal", "history", "lastRun")} for task in data["tasks"]
    ]
    assert tasks == expected["tasks"]
    assert [goal["name"] for goal in data["goals"]] == expected["goal_order"]
    assert data["dirty"] is expected["dirty"]
    warnings = list(data["warnings"])
    for wanted in expected["warnings"]:
        found = next(text for text in warnings if all(word in text for word in wanted["mentions"]))
        warnings.remove(found)
    assert not warnings
