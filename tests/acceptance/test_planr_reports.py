"""Faults that people reported of other tools of this kind, tried on planr with real processes, files and repositories."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
Planr = Callable[..., Any]
Process = Callable[..., subprocess.CompletedProcess[bytes]]
Git = Callable[..., str]


def put(root: Path, task_id: str, more: str = "", *, status: str = "open", title: str = "t") -> Path:
    path = root / f"tasks/{task_id}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nid: {task_id}\ntitle: {title}\nstatus: {status}\ntrack: c\n{more}---\nBody\n")
    return path


def start(root: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "codeboost.cli.planr", *arguments, "--root", str(root)],
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_forty_processes_on_forty_tasks_lose_nothing(tmp_path: Path, planr: Planr) -> None:
    files = [put(tmp_path, f"T-{number}") for number in range(40)]
    before = [path.read_bytes() for path in files]
    processes = [start(tmp_path, "set", path.stem, "in-progress", "--owner", "s") for path in files]
    assert [process.communicate()[1] for process in processes] == [b""] * 40
    assert [process.returncode for process in processes] == [0] * 40
    assert [path.read_bytes() for path in files] == [
        data.replace(b"open\ntrack: c\n", b"in-progress\ntrack: c\nowner: s\n") for data in before
    ]
    assert planr("check", "--root", tmp_path).code == 0
    assert sorted((tmp_path / "tasks").iterdir()) == sorted(files)


def test_two_on_one_task_leave_one_of_the_two(tmp_path: Path) -> None:
    path = put(tmp_path, "T-1")
    processes = [
        start(tmp_path, "set", "T-1", "in-progress", "--owner", f"owner-{number}") for number in range(8)
    ]
    assert [process.communicate()[1] for process in processes] == [b""] * 8
    assert [process.returncode for process in processes] == [0] * 8
    assert path.read_text() in [
        f"---\nid: T-1\ntitle: t\nstatus: in-progress\ntrack: c\nowner: owner-{number}\n---\nBody\n"
        for number in range(8)
    ]


def test_a_header_is_not_rewritten(tmp_path: Path, planr: Planr) -> None:
    path = put(
        tmp_path,
        "X",
        "# a comment\ndue: 2026-01-02\nunknown: [a,  \"b\" ]   \nquoted: 'it''s'  # c  \n",
        title='"A: b"',
    )
    before = path.read_bytes()
    assert planr("set", "X", "done", "--root", tmp_path).code == 0
    assert path.read_bytes() == before.replace(b"status: open", b"status: done")


def test_special_titles_are_read_whole(tmp_path: Path, planr: Planr) -> None:
    titles = {"A-1": "Re: fix login", "A-2": "Step #4 later", "A-3": "C# port"}
    for task_id, title in titles.items():
        put(tmp_path, task_id, title=title)
    assert {task["id"]: task["title"] for task in planr("list", "--json", "--root", tmp_path).data} == titles


def test_line_ends(tmp_path: Path, planr: Planr) -> None:
    for number, data in enumerate(
        [
            b"---\r\nid: A-0\r\ntitle: t\r\nstatus: open\r\ntrack: c\r\n---\r\nBody\r\n",
            b"---\r\nid: A-1\ntitle: t\r\nstatus: open\ntrack: c\r\ndepends:\r\n  - A-0\n---\n",
            b"---\nid: A-2\r\ntitle: t\nstatus: open\r\ntrack: c\n---\r\n",
        ]
    ):
        put(tmp_path, f"A-{number}").write_bytes(data)
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans/g-goal.md").write_bytes(b"---\r\ntitle: g\nstate: draft\r\nscope: [A-1]\r\n---\n")
    assert [task["id"] for task in planr("list", "--json", "--root", tmp_path).data] == ["A-0", "A-1", "A-2"]
    assert planr("goal", "g", "--json", "--root", tmp_path).data["scope"] == ["A-1"]


def test_rule_lines_in_the_body(tmp_path: Path, planr: Planr) -> None:
    path = put(tmp_path, "A-1")
    body = "---\nstatus: blocked\n---\n```yaml\n---\nstatus: done\n---\n```\n***\n---\n"
    path.write_text(path.read_text() + body)
    assert planr("set", "A-1", "review", "--root", tmp_path).code == 0
    assert path.read_text() == f"---\nid: A-1\ntitle: t\nstatus: review\ntrack: c\n---\nBody\n{body}"


def test_commas_inside_quotes(tmp_path: Path, planr: Planr) -> None:
    put(tmp_path, "A-1")
    put(tmp_path, "B-2", "depends: []\n")
    put(tmp_path, "C-1", "depends: [\"A-1\", 'B-2']\nrefs: [\"x, y\", 'p,q', z]\n")
    put(tmp_path, "C-2", "depends: [A-1,]\n")
    tasks = {task["id"]: task for task in planr("list", "--json", "--root", tmp_path).data}
    assert tasks["C-1"]["depends"] == ["A-1", "B-2"]
    assert tasks["C-1"]["refs"] == ["x, y", "p,q", "z"]
    assert tasks["B-2"]["depends"] == []
    assert tasks["C-2"]["depends"] == ["A-1"]


def test_merge_markers_are_called_that(tmp_path: Path, planr: Planr) -> None:
    put(tmp_path, "A-1", "<<<<<<< HEAD\nowner: a\n=======\nowner: b\n>>>>>>> x\n")
    put(tmp_path, "A-2")
    for command in ("check", "list"):
        said = planr(command, "--json", "--root", tmp_path)
        assert said.code == 1
        assert len(said.data["errors"]) == 1
        assert "unresolved merge" in said.data["errors"][0]
        assert "tasks/A-1.md:6" in said.data["errors"][0]


def test_rings_of_every_length(tmp_path: Path, planr: Planr) -> None:
    edges = {"S": "S", "A": "B", "B": "A", "C-1": "C-2", "C-2": "C-10", "C-10": "C-1", "U": "absent"}
    for task_id, dep in edges.items():
        put(tmp_path, task_id, f"depends: [{dep}]\n")
    said = planr("check", "--json", "--root", tmp_path)
    assert said.code == 1
    texts = [text.partition(": ")[2] for text in said.data["errors"]]
    assert texts == [
        'depends on "absent", and there is no such task',
        "dependency cycle: A -> B -> A",
        "dependency cycle: C-1 -> C-2 -> C-10 -> C-1",
        "dependency cycle: S -> S",
    ]


def test_one_order_of_ids_everywhere(tmp_path: Path, planr: Planr) -> None:
    ids = ["T-1", "T-1.2", "T-1.10", "T-2", "T-10"]
    for task_id in reversed(ids):
        put(tmp_path, task_id)
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans/g-goal.md").write_text(
        f"---\ntitle: g\nstate: draft\nscope: [{', '.join(ids[::-1])}]\n---\n"
    )
    assert [task["id"] for task in planr("list", "--json", "--root", tmp_path).data] == ids
    assert [
        task["id"] for task in planr("next", "--goal", "g", "--json", "--root", tmp_path).data["ready"]
    ] == ids
    assert [task["id"] for task in planr("board", "--json", "--root", tmp_path).data["tasks"]] == ids
    assert [line.split()[0] for line in planr("list", "--root", tmp_path).out.splitlines()] == ids


def test_an_id_is_no_path(tmp_path: Path, planr: Planr) -> None:
    root = tmp_path / "a" / "b"
    put(root, "A-1")
    outside = tmp_path / "x.md"
    outside.write_bytes((root / "tasks/A-1.md").read_bytes())
    assert planr("set", "../../x", "done", "--root", root).code == 2
    assert planr("goal", "../../etc/passwd", "running", "--root", root).code == 2
    assert "status: open" in outside.read_text()


def test_mode_and_link_survive(tmp_path: Path, planr: Planr) -> None:
    path = put(tmp_path, "A-1")
    path.chmod(0o640)
    real = tmp_path / "elsewhere.md"
    put(tmp_path, "A-2").rename(real)
    (tmp_path / "tasks/A-2.md").symlink_to("../elsewhere.md")
    assert planr("set", "A-1", "done", "--root", tmp_path).code == 0
    assert planr("set", "A-2", "done", "--root", tmp_path).code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert (tmp_path / "tasks/A-2.md").is_symlink()
    assert "status: done" in real.read_text()


@pytest.mark.timing
def test_branches_and_commits_do_not_slow_it_down(tmp_path: Path, git: Git, planr_process: Process) -> None:
    """200 tasks, 500 branches, 2,000 commits. ``list`` reads no history, ``check`` does; both within a second."""
    stream = [b"reset refs/heads/main\n"]
    for number in range(2_000):
        stream.append(
            b"commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 1\nx\n" % (1_700_000_000 + number)
        )
        for task in range(200) if number == 0 else [number % 200]:
            status = (b"open", b"in-progress", b"done")[number % 3]
            text = b"---\nid: T-%d\ntitle: t\nstatus: %s\ntrack: c\nowner: s\n---\n" % (task, status)
            stream.append(b"M 644 inline tasks/T-%d.md\ndata %d\n%s\n" % (task, len(text), text))
    stream += [b"reset refs/heads/b%d\nfrom refs/heads/main\n\n" % number for number in range(500)]
    git(tmp_path, "init", "-q")
    subprocess.run(["git", "fast-import", "--quiet"], cwd=tmp_path, input=b"".join(stream), check=True)
    git(tmp_path, "reset", "-q", "--hard", "main")

    def measure(*words: str) -> float:
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            done = planr_process(*words, "--root", tmp_path)
            times.append(time.perf_counter() - begin)
            assert done.returncode == 0, done.stderr
        return min(times)

    assert measure("list") < 1
    assert measure("check") < 1
    assert measure("board", "--json") < 10
    runs = json.loads(planr_process("board", "--json", "--root", tmp_path).stdout)["runs"]
    assert len(runs) > 1_300


def test_stdout_is_one_document(tmp_path: Path, planr_process: Process) -> None:
    for number in range(3):
        put(tmp_path, f"A-{number}", status="in-progress")
    done = planr_process("list", "--json", "--root", tmp_path)
    assert len(json.loads(done.stdout)) == 3
    assert done.stderr.count(b"planr: warning: ") == 3


@pytest.mark.parametrize("reader", [["head", "-1"], ["true"]])
def test_a_reader_that_leaves_is_no_failure(tmp_path: Path, reader: list[str]) -> None:
    for number in range(5_000):
        put(tmp_path, f"T-{number}", status="in-progress")
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "codeboost.cli.planr", "list", "--root", str(tmp_path)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    subprocess.run(reader, stdin=process.stdout, stdout=subprocess.DEVNULL, check=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0
    assert all(line.startswith(b"planr: warning: ") for line in said.splitlines())
