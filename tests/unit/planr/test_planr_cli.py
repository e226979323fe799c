"""The planr command line: usage errors, one document on stdout, and what people read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Planr = Callable[..., Any]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three tasks, one of them with a warning, and two goals."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "plans").mkdir()
    for task_id, status, more in (
        ("A-1", "open", ""),
        ("A-2", "open", "depends: [A-1]\nowner: S1\n"),
        ("A-10", "in-progress", ""),
    ):
        text = f"---\nid: {task_id}\ntitle: Task {task_id}\nstatus: {status}\ntrack: core\n{more}---\n"
        (tmp_path / f"tasks/{task_id}.md").write_text(text)
    (tmp_path / "plans/g-goal.md").write_text(
        "---\ntitle: Goal\nstate: draft\nstream: S1\nscope: [A-1, A-2]\n---\n"
    )
    (tmp_path / "plans/old-goal.md").write_text("# Old\n")
    return tmp_path


USAGE = [
    [],
    ["nonsense"],
    ["check", "extra"],
    ["check", "--nonsense"],
    ["check", "--strict", "--strict"],
    ["--json", "--json", "check"],
    ["list", "--json", "--json"],
    ["list", "--status", "nonsense"],
    ["list", "--status", "open,"],
    ["list", "--status", "open", "--status", "done"],
    ["list", "--goal", "absent"],
    ["list", "--goal"],
    ["list", "--root", ""],
    ["--root", "", "check"],
    ["board", "--out", ""],
    ["next"],
    ["next", "--goal", "g", "--stream", "S1"],
    ["next", "--goal", "absent"],
    ["next", "--goal", "g", "--goal", "g"],
    ["set"],
    ["set", "A-1"],
    ["set", "A-1", "nonsense"],
    ["set", "A-1", "Open"],
    ["set", "absent", "open"],
    ["set", "../../x", "done"],
    ["set", "tasks/A-1", "done"],
    ["set", "A-1.md", "done"],
    ["set", "a-1", "done"],
    ["set", "A-1", "open", "extra"],
    ["set", "A-1", "open", "--owner", "a", "--owner", "b"],
    ["goal"],
    ["goal", "absent"],
    ["goal", "g", "nonsense"],
    ["goal", "g", "legacy"],
    ["goal", "../../etc/passwd", "running"],
    ["goal", "g", "draft", "extra"],
    ["board", "--port", "80"],
    ["board", "--serve", "--port", "65536"],
    ["board", "--serve", "--port", "x"],
    ["board", "--serve", "--out", "x.html"],
    ["init", "extra"],
]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_usage_errors(
    arguments: list[str], root: Path, planr: Planr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    before = {path: path.read_bytes() for path in root.rglob("*.*") if path.is_file()}
    said = planr(*arguments)
    assert said.code == 2, said
    if "--json" not in arguments:
        assert said.out == ""
        assert said.err.startswith("planr: ")
        assert said.err.count("\n") == 1
        said = planr(*arguments, "--json")
        assert said.code == 2
    assert said.data["ok"] is False
    assert len(said.data["errors"]) == 1
    assert before == {path: path.read_bytes() for path in root.rglob("*.*") if path.is_file()}


def test_a_list_where_a_word_belongs_is_called_that(root: Path, planr: Planr) -> None:
    (root / "tasks/B-1.md").write_text("---\nid: B-1\ntitle: t\nstatus: [open]\ntrack: c\n---\n")
    (root / "plans/bad-goal.md").write_text("---\nstate:\n  - done\n---\n")
    errors = planr("check", "--json", "--root", root).data["errors"]
    assert [error.partition(" must be one word, not a list")[1] != "" for error in errors] == [True, True], (
        errors
    )


def test_a_goal_called_readme(root: Path, planr: Planr) -> None:
    (root / "plans/README-goal.md").write_text("---\ntitle: t\nstate: draft\nscope: []\n---\n")
    assert planr("goal", "README", "running", "--json", "--root", root).data["state"] == "running"


def test_no_root_and_root_twice(
    tmp_path: Path, root: Path, planr: Planr, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert planr("list", "--root", tmp_path / "absent").code == 2
    assert planr("--root", root, "list", "--root", root).code == 2
    assert planr("--root", root, "list", "--json").code == 0
    assert planr("--json", "list", "--root", root).data
    monkeypatch.chdir(root / "plans")
    assert [task["id"] for task in planr("list", "--json").data] == ["A-10", "A-1", "A-2"]
    monkeypatch.chdir("/")
    said = planr("list")
    assert said.code == 2
    assert "planr init" in said.err


def test_warnings_go_to_stderr(root: Path, planr: Planr) -> None:
    said = planr("list", "--json", "--root", root)
    assert len(said.data) == 3
    assert said.err.count("planr: warning: ") == 2


def test_errors_stand_in_the_way_of_every_command_but_check(root: Path, planr: Planr) -> None:
    (root / "tasks/B-1.md").write_text("<<<<<<< HEAD\n")
    (root / "tasks/B-2.md").write_text(
        "---\nid: B-2\n<<<<<<< HEAD\ntitle: a\n=======\ntitle: b\n>>>>>>> x\n---\n"
    )
    (root / "tasks/B-3.md").write_text(
        "---\nid: B-3\ntitle: t\nstatus: open\ntrack: c\ndepends: [B-1, Z-1]\n---\n"
    )
    (root / "plans/bad-goal.md").write_text("---\nstate: Draft\nscope: A-1\n---\n")
    wanted = [
        ("tasks/B-1.md:1", "unresolved merge"),
        ("tasks/B-2.md:3", "unresolved merge"),
        ("plans/bad-goal.md:2", "Draft"),
        ("plans/bad-goal.md:3", "scope"),
        ("tasks/B-3.md", "Z-1"),
    ]
    for words in (
        ["check"],
        ["list"],
        ["next", "--goal", "g"],
        ["set", "A-1", "done"],
        ["goal", "g"],
        ["board"],
    ):
        said = planr(*words, "--json", "--root", root)
        assert said.code == 1
        assert len(said.data["errors"]) == len(wanted), said.data
        assert all(
            place in text and word in text
            for (place, word), text in zip(wanted, said.data["errors"], strict=True)
        )
        plain = planr(*words, "--root", root)
        assert (plain.code, plain.out) == (1, "")
        assert plain.err.count("planr: error: ") == len(wanted)
    assert b"status: open" in (root / "tasks/A-1.md").read_bytes()


def test_subfolders_readmes_and_hidden_files_are_no_tasks(root: Path, planr: Planr) -> None:
    (root / "tasks/README.md").write_text("# r")
    (root / "tasks/.hidden.md").write_text("# r")
    (root / "tasks/notes.txt").write_text("# r")
    (root / "tasks/sub.md").mkdir()
    (root / "tasks/sub.md/Z-1.md").write_text("# r")
    assert len(planr("list", "--json", "--root", root).data) == 3


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda path: path.symlink_to("/etc/passwd"), "leads out"),
        (lambda path: path.symlink_to("absent"), "absent.md"),
        (lambda path: path.symlink_to("absent.md"), "absent.md"),
        (lambda path: path.write_bytes(b"---\n" + b"x" * (4 << 20)), "4 MiB"),
    ],
    ids=["link outside", "broken link", "link to itself", "large"],
)
def test_files_that_cannot_be_read(root: Path, planr: Planr, make: Callable[[Path], None], word: str) -> None:
    make(root / "tasks/absent.md")
    said = planr("check", "--json", "--root", root)
    assert said.code == 1
    assert len(said.data["errors"]) == 1
    assert word in said.data["errors"][0]


def test_a_pipe_does_not_hold_everything_up(root: Path, planr: Planr) -> None:
    import os

    os.mkfifo(root / "tasks/P-1.md")
    said = planr("check", "--json", "--root", root)
    assert said.code == 1
    assert "P-1.md" in said.data["errors"][0]


CONFIGS = [
    ('{"tasksDir": 5}', "tasksDir"),
    ('{"tasksDir": ""}', "tasksDir"),
    ('{"goalsDir": "/tmp"}', "goalsDir"),
    ('{"boardOut": "../board.html"}', "boardOut"),
    ('{"goalSuffix": ""}', "goalSuffix"),
    ('{"goalSuffix": "a/b"}', "goalSuffix"),
    ('{"tasksDir": "link"}', "tasksDir"),
    ('{"tasksDir": "plans"}', "tasksDir"),
    ('{"tasksDir": "\\ud800"}', "tasksDir"),
    ('{"goalSuffix": "\\ud800.md"}', "goalSuffix"),
    ("[]", "object"),
    ("[" * 100_000, "JSON"),
    ('{"x": ' + "9" * 5000 + "}", "JSON"),
    ("\udcff", "JSON"),
]


@pytest.mark.parametrize(("config", "word"), CONFIGS, ids=[config[:30] for config, _ in CONFIGS])
def test_bad_configuration(root: Path, planr: Planr, config: str, word: str) -> None:
    (root / "link").symlink_to("/tmp")
    (root / "planr.config.json").write_bytes(config.encode("utf-8", "surrogateescape"))
    for words in (["check"], ["list"], ["set", "A-1", "done"]):
        said = planr(*words, "--json", "--root", root)
        assert said.code == 1
        assert word in said.data["errors"][0]


def test_good_configuration(root: Path, planr: Planr) -> None:
    (root / "tasks").rename(root / "real")
    (root / "work").symlink_to("real")
    (root / "planr.config.json").write_text(
        '\ufeff{"tasksDir": "./work/", "goalSuffix": ".goal.md", "staleHours": 4, "other": []}', "utf-8"
    )
    (root / "plans/g-goal.md").rename(root / "plans/g.goal.md")
    assert planr("list", "--json", "--root", root).data[0]["file"] == "work/A-10.md"
    assert planr("goal", "g", "--json", "--root", root).data["file"] == "plans/g.goal.md"
    assert planr("goal", "old-goal", "--root", root).code == 2


def test_a_board_replaces_only_a_board(root: Path, planr: Planr, tmp_path: Path) -> None:
    out = tmp_path / "out" / "board.html"
    assert planr("board", "--root", root, "--out", out).code == 0
    assert planr("board", "--root", root, "--out", out).code == 0
    out.write_text("<html>mine</html>")
    said = planr("board", "--root", root, "--out", out)
    assert said.code == 1
    assert "is no board" in said.err
    assert out.read_text() == "<html>mine</html>"
    said = planr("board", "--root", root, "--out", out, "--json")
    assert (said.code, said.data["ok"]) == (1, False)
    out.unlink()
    assert planr("board", "--root", root, "--json").data["tasks"]
    assert not (root / ".planr/board.html").exists()
    assert planr("board", "--root", root, "--out", out, "--json").data["tasks"]
    assert out.read_text().startswith("<!doctype html>")
    assert planr("board", "--root", root).code == 0
    assert (root / ".planr/board.html").is_file()


def test_owner_and_thread(root: Path, planr: Planr) -> None:
    assert planr("set", "A-1", "open", "--owner", "a: b", "--root", root, "--json").data["from"] == "open"
    assert 'owner: "a: b"' in (root / "tasks/A-1.md").read_text()
    planr("set", "A-1", "open", "--owner", "", "--root", root)
    assert [
        task["owner"] for task in planr("list", "--json", "--root", root).data if task["id"] == "A-1"
    ] == [None]
    said = planr("goal", "g", "running", "--thread", "thr_1", "--root", root, "--json")
    assert (said.data["state"], said.data["thread"]) == ("running", "thr_1")
    assert planr("next", "--stream", "S1", "--root", root, "--json").data["ready"][0]["id"] == "A-1"


def test_a_goal_without_a_state(root: Path, planr: Planr) -> None:
    (root / "plans/n-goal.md").write_text("---\ntitle: N\nscope: [A-1]\n---\n")
    shown = planr("goal", "n", "--json", "--root", root)
    assert (shown.data["state"], shown.data["scope"], shown.data["total"]) == ("legacy", [], 0)
    assert planr("goal", "n", "draft", "--json", "--root", root).data["scope"] == ["A-1"]
    assert (root / "plans/n-goal.md").read_text() == "---\ntitle: N\nscope: [A-1]\nstate: draft\n---\n"


def test_hostile_text_is_shown_harmless(root: Path, planr: Planr) -> None:
    (root / "tasks/A-1.md").write_text(
        '---\nid: A-1\ntitle: "\\u001b[2J\\u202egood"\nstatus: open\ntrack: c\nowner: "a\\nplanr: ok"\n---\n'
    )
    (root / "tasks/\x1b[31m.md").write_text("bad \x1b[32m")
    for words in (["check"], ["list"], ["list", "--json"]):
        said = planr(*words, "--root", root)
        assert "\x1b" not in said.out + said.err
        assert "\u202e" not in said.out + said.err
    (root / "tasks/\x1b[31m.md").unlink()
    said = planr("list", "--root", root)
    assert said.code == 0
    assert said.out.count("\n") == 3
    assert not {"\x1b", "\u202e"} & set(said.out + said.err)


def test_what_people_read(root: Path, planr: Planr) -> None:
    assert planr("list", "--root", root).out.splitlines()[1].split() == [
        "A-1",
        "open",
        "-",
        "ready",
        "Task",
        "A-1",
    ]
    assert "waits for A-1" in planr("list", "--root", root).out
    assert planr("list", "--track", "none", "--root", root).out == "planr: no task fits\n"
    assert planr("set", "A-1", "review", "--root", root).out == "planr: A-1: open -> review\n"
    assert "done 0 of 2" in planr("goal", "g", "--root", root).out
    assert "ready:" in planr("next", "--goal", "g", "--root", root).out
    said = planr("check", "--root", root)
    assert said.out == "planr: 3 tasks and 2 goals, all in order\n"
    assert planr("check", "--strict", "--root", root).out == ""
    assert "deprecated" in planr("index", "--root", root).err


def test_taking_away_an_owner_that_is_not_there_writes_nothing(root: Path, planr: Planr) -> None:
    path = root / "tasks/A-1.md"
    path.write_text("---\nid: A-1\ntitle: t\nstatus: open\ntrack: x\n---\n")
    before = path.read_bytes()
    assert planr("set", "A-1", "open", "--owner", "", "--root", root).code == 0
    assert path.read_bytes() == before


def test_a_number_of_a_million_digits_is_a_name_like_any_other(root: Path, planr: Planr) -> None:
    for goal, scope in (("x", "9" * 1_200_000), ("y", "8" * 1_200_000)):
        (root / f"plans/{goal}-goal.md").write_text(f"---\ntitle: X\nstate: running\nscope: [{scope}]\n---\n")
    said = planr("check", "--json", "--root", root)
    assert said.code == 1
    assert all("plans/" in error for error in said.data["errors"])
