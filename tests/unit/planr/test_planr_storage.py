"""Writing a planning file: whole or not at all, by one writer at a time, with its mode and its link kept."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from codeboost.errors import ConflictError, InfrastructureError, InputError, UsageError
from codeboost.planr.changes import read_task_source, set_goal, set_task, write_goal, write_task
from codeboost.planr.model import GoalState, Status
from codeboost.planr.storage import lock_root
from codeboost.planr.taskfile import parse_task, render_task

TASK = b"---\nid: A-1\ntitle: t\nstatus: open\ntrack: c\n---\nBody\n"
REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/A-1.md").write_bytes(TASK)
    return tmp_path


def test_mode_is_kept(root: Path) -> None:
    path = root / "tasks/A-1.md"
    path.chmod(0o640)
    set_task(root, "A-1", status=Status.DONE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.read_bytes() == TASK.replace(b"open", b"done")


def test_a_link_inside_the_root_stays_a_link(root: Path) -> None:
    target = root / "elsewhere" / "real.md"
    target.parent.mkdir()
    (root / "tasks/A-1.md").rename(target)
    (root / "tasks/A-1.md").symlink_to("../elsewhere/real.md")
    set_task(root, "A-1", status=Status.DONE)
    assert (root / "tasks/A-1.md").is_symlink()
    assert target.read_bytes() == TASK.replace(b"open", b"done")


def test_a_link_out_of_the_root_is_refused(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "A-1.md"
    outside.write_bytes(TASK)
    (root / "tasks/A-1.md").unlink()
    (root / "tasks/A-1.md").symlink_to(outside)
    with pytest.raises(InputError, match="leads out"):
        set_task(root, "A-1", status=Status.DONE)
    assert outside.read_bytes() == TASK


def test_nothing_is_left_beside_the_file(root: Path) -> None:
    (root / "tasks/.planr-write.tmp").write_text("of a writer that was killed")
    set_task(root, "A-1", status=Status.DONE)
    assert [path.name for path in (root / "tasks").iterdir()] == ["A-1.md"]
    assert [path.name for path in root.iterdir()] == ["tasks"]


def test_a_trap_at_the_temporary_name_is_not_followed(root: Path) -> None:
    victim = root / "victim"
    victim.write_text("precious")
    (root / "tasks/.planr-write.tmp").symlink_to(victim)
    set_task(root, "A-1", status=Status.DONE)
    assert victim.read_text() == "precious"


def test_an_unchanged_task_is_not_written(root: Path) -> None:
    before = (root / "tasks/A-1.md").stat().st_ino
    change = set_task(root, "A-1", status=Status.OPEN)
    assert change.before == change.after
    assert (root / "tasks/A-1.md").stat().st_ino == before


def test_what_changed_meanwhile_is_not_overwritten(root: Path) -> None:
    with lock_root(root) as writer:
        read = writer.read("tasks/A-1.md")
        (root / "tasks/A-1.md").write_bytes(b"an editor was here")
        with pytest.raises(ConflictError):
            writer.write("tasks/A-1.md", b"new", expected=read)
    assert (root / "tasks/A-1.md").read_bytes() == b"an editor was here"


def test_expected_status(root: Path) -> None:
    with pytest.raises(ConflictError, match="by now"):
        set_task(root, "A-1", status=Status.DONE, expected_status=Status.REVIEW)
    assert (root / "tasks/A-1.md").read_bytes() == TASK
    set_task(root, "A-1", status=Status.DONE, expected_status=Status.OPEN)


def test_a_new_file_must_be_new_and_a_task(root: Path) -> None:
    content = render_task(
        "B-1", title="Re: a # b", track="c", depends=["A-1"], refs=["o/n#4", "plan:r3"], body="Body\n"
    )
    write_task(root, "B-1", content, expected=None)
    assert read_task_source(root, "B-1") == content
    task, errors = parse_task(content, "B-1", "tasks/B-1.md")
    assert task is not None, errors
    assert (task.title, task.depends, task.refs) == ("Re: a # b", ("A-1",), ("o/n#4", "plan:r3"))
    with pytest.raises(ConflictError):
        write_task(root, "B-1", content, expected=None)
    with pytest.raises(InputError, match="not written"):
        write_task(root, "B-2", b"no task", expected=None)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".x", "a\\b", "README", "a\0b", ".."])
def test_an_id_is_never_a_path(root: Path, name: str) -> None:
    with pytest.raises(UsageError):
        set_task(root, name, status=Status.DONE)
    with pytest.raises(UsageError):
        write_task(root, name, TASK, expected=None)
    if name != "README":
        with pytest.raises(UsageError):
            write_goal(root, name, b"", expected=None)


def test_a_goal_may_be_called_readme_but_its_file_may_not(root: Path) -> None:
    """As the folder is read: ``README.md`` is no goal, ``README-goal.md`` is one."""
    text = b"---\ntitle: g\nstate: draft\n---\n"
    write_goal(root, "README", text, expected=None)
    assert set_goal(root, "README", state=GoalState.DONE).after.state == "done"
    assert (root / "plans/README-goal.md").read_bytes() == text.replace(b"draft", b"done")
    (root / "planr.config.json").write_text('{"goalSuffix": ".md"}')
    with pytest.raises(UsageError):
        write_goal(root, "README", text, expected=None)


def test_nothing_is_taken_away_where_nothing_is(root: Path) -> None:
    text = b"---\ntitle: g\nstate: draft\n---\n"
    write_goal(root, "g", text, expected=None)
    assert set_goal(root, "g", thread="").after.thread is None
    assert (root / "plans/g-goal.md").read_bytes() == text
    set_goal(root, "g", thread="t")
    assert set_goal(root, "g", thread="").after.thread is None
    assert (root / "plans/g-goal.md").read_bytes() == text.replace(b"draft\n", b'draft\nthread: ""\n')


def test_goal_lines(root: Path) -> None:
    text = b"---\ntitle: g # why\nstate: draft # s\nscope: [A-1]\n---\n"
    write_goal(root, "g", text, expected=None)
    change = set_goal(root, "g", state=GoalState.RUNNING, thread="thr: 1")
    assert (change.before.state, change.after.state, change.after.thread) == ("draft", "running", "thr: 1")
    assert (root / "plans/g-goal.md").read_bytes() == (
        b'---\ntitle: g # why\nstate: running # s\nscope: [A-1]\nthread: "thr: 1"\n---\n'
    )


def test_the_lock_keeps_others_waiting(root: Path) -> None:
    order = []

    def other() -> None:
        with lock_root(root):
            order.append("other")

    with lock_root(root):
        thread = threading.Thread(target=other)
        thread.start()
        time.sleep(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "other"]


def test_a_full_disk_leaves_the_old_file(root: Path) -> None:
    """The kernel refuses to let any file grow past 4 KiB, as a full disk would."""
    path = root / "tasks/A-1.md"
    path.write_bytes(TASK + b"x" * 8000)
    before = path.read_bytes()
    script = (
        "import resource, sys; from codeboost.cli.planr import run;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        f"sys.exit(run(['set', 'A-1', 'done', '--root', {str(root)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, check=False, env=os.environ
    )
    assert done.returncode == 1
    assert b"cannot be written" in done.stderr
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["A-1.md"]


def test_a_folder_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="cannot be opened"), lock_root(tmp_path / "absent"):
        pass


def test_writers_that_come_by_two_roots_lose_nothing(tmp_path: Path) -> None:
    """A code repository and its ``.planr`` are two roots over the same files."""
    (tmp_path / ".planr/tasks").mkdir(parents=True)
    (tmp_path / "planr.config.json").write_text('{"tasksDir": ".planr/tasks", "goalsDir": ".planr/plans"}')
    names = [f"A-{number}" for number in range(12)]
    for name in names:
        text = f"---\nid: {name}\ntitle: T\nstatus: open\ntrack: x\ndepends: []\n---\n{name}\n"
        (tmp_path / f".planr/tasks/{name}.md").write_text(text)
    script = (
        "import sys; from codeboost.planr.changes import set_task; from codeboost.planr.model import Status\n"
        "from pathlib import Path\n"
        "for name in sys.argv[2:]:\n"
        "    for status in (Status.REVIEW, Status.OPEN, Status.DONE):\n"
        "        set_task(Path(sys.argv[1]), name, status=status)\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script, root, *part], cwd=REPOSITORY)
        for root, part in ((tmp_path, names[::2]), (tmp_path / ".planr", names[1::2]))
    ]
    assert [process.wait(60) for process in running] == [0, 0]
    for name in names:
        text = (tmp_path / f".planr/tasks/{name}.md").read_text()
        assert f"id: {name}\n" in text
        assert "status: done" in text
