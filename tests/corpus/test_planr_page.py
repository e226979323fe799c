"""``docs/planr.md``: its files are read as files, and every command on the page says what the page says."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from codeboost.planr.config import Config

Planr = Callable[..., Any]
PAGE = (Path(__file__).parents[2] / "docs" / "planr.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
FILES = [text for _, text in BLOCKS if text.startswith("---\n")]
# What the page's commands speak of and does not print as files.
OTHERS = {
    "AUTH-01": "title: Store sessions on the server\nstatus: done\ntrack: release\n",
    "AUTH-03": "title: Sign out everywhere\nstatus: open\ntrack: release\ndepends: [AUTH-02]\n",
    "MAIL-01": "title: Choose who sends our mail\nstatus: decision\ntrack: release\n",
}


class Session(NamedTuple):
    """One command of the page and what it says, on stdout or stderr."""

    arguments: list[str]
    said: str


SESSIONS = [
    Session(shlex.split(text.partition("\n")[0].removeprefix("$ planr ")), text.partition("\n")[2])
    for _, text in BLOCKS
    if text.startswith("$ planr ")
]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: Callable[..., str]) -> Path:
    """The planning root that the page speaks of."""
    task, goal = FILES
    (tmp_path / "tasks").mkdir()
    (tmp_path / "plans").mkdir()
    (tmp_path / "tasks/AUTH-02.md").write_text(task)
    (tmp_path / "plans/login-goal.md").write_text(goal)
    for task_id, rest in OTHERS.items():
        (tmp_path / f"tasks/{task_id}.md").write_text(f"---\nid: {task_id}\n{rest}---\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "Start")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_files_are_what_they_say(root: Path, planr: Planr) -> None:
    assert planr("check", "--strict", "--json").data == {"ok": True, "errors": [], "warnings": []}
    (task,) = [task for task in planr("list", "--json").data if task["id"] == "AUTH-02"]
    assert (task["title"], task["owner"], task["refs"]) == (
        "Login: remember the device",
        "S1",
        ["acme/shop#31"],
    )


def test_the_commands_say_what_the_page_says(root: Path, planr: Planr) -> None:
    """In the page's order, in one root: a change shows in what comes after it."""
    assert [session.arguments[0] for session in SESSIONS] == ["list", "next", "set", "goal", "check"]
    for arguments, expected in SESSIONS:
        if arguments == ["check"]:
            path = root / "tasks/AUTH-03.md"
            path.write_text(path.read_text().replace("[AUTH-02]", "[AUTH-3]"))
        said = planr(*arguments)
        assert said.out + said.err == expected, arguments


def test_the_table_of_settings_is_the_default(root: Path, planr: Planr) -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", PAGE, re.MULTILINE))
    config = Config()
    assert rows == {
        "tasksDir": config.tasks_dir,
        "goalsDir": config.goals_dir,
        "goalSuffix": config.goal_suffix,
        "boardOut": config.board_out,
    }
    (root / "planr.config.json").write_text(json.dumps(rows))
    assert planr("list", "--json").code == 0


def test_the_python_example_runs(root: Path, planr: Planr, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = [text for language, text in BLOCKS if language == "python"]
    (root / "example.py").write_text(code)
    assert planr("set", "AUTH-02", "in-progress", "--owner", "S1").code == 0
    capsys.readouterr()
    runpy.run_path(str(root / "example.py"))
    assert "status: review\n" in (root / "tasks/AUTH-02.md").read_text()
    assert capsys.readouterr().out == ""
