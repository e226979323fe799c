"""A run whose plan is replaced, and moves that did not reach their file: no task is left with a word nobody stands for."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from codeboost.operations.move_tasks import TaskMover
from codeboost.planr.model import Status
from codeboost.sandbox.fake import FakeExecutor, ScriptedRun
from codeboost.store.task_moves import list_pending_moves
from codeboost.verdict import Verdict

SLOW = ScriptedRun(seconds=0.3)


def test_what_a_replaced_plan_had_begun_gets_its_status_back(site: Any, build: Any) -> None:
    plan = build.make_plan(build.make_item("P1", "a"), build.make_item("P2", "b"))
    site.adopt(plan)
    listener = build.Recorder(on_start=lambda command: site.import_plan(plan))
    result = site.run(FakeExecutor({("a",): SLOW, ("b",): SLOW}), listener, jobs=1)
    assert [attempt.verdict for attempt in result.attempts] == [Verdict.CANCELLED] * 2
    assert (site.status("P1"), site.status("P2")) == ("open", "open"), (
        "nothing runs, so nothing is in progress"
    )


def test_nothing_begins_once_the_plan_was_replaced(site: Any, build: Any) -> None:
    plan = build.make_plan(build.make_item("P1", "a"), build.make_item("P2", "b"))
    site.adopt(plan)

    def replace(command: Any) -> None:
        if command.item == "P1":
            site.import_plan(plan)

    executor = FakeExecutor({("a",): SLOW, ("b",): SLOW})
    result = site.run(executor, build.Recorder(on_start=replace), jobs=2)
    assert [spec.argv for spec in executor.executed] == [("a",)]
    assert [attempt.verdict for attempt in result.attempts] == [Verdict.CANCELLED] * 2
    assert "was replaced meanwhile" in result.attempts[1].reason
    assert (site.status("P1"), site.status("P2")) == ("open", "open")


def test_a_person_s_word_outlives_a_replaced_plan(site: Any, build: Any) -> None:
    plan = build.make_plan(build.make_item("P1", "a"))
    site.adopt(plan)

    def replace(command: Any) -> None:
        site.import_plan(plan)
        site.set_status("P1", "blocked")

    site.run(FakeExecutor({("a",): SLOW}), build.Recorder(on_start=replace))
    assert site.status("P1") == "blocked"


def test_a_result_is_not_lost_because_the_first_move_could_not_be_written(
    site: Any, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk was full when the item began, and is not any more when it ends."""
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    tasks = site.task("P1").parent
    real = Path.replace
    full = threading.Event()
    full.set()

    def replace(self: Path, target: Any) -> Any:
        if full.is_set() and self.parent == tasks:
            raise OSError(28, "No space left on device")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    listener = build.Recorder(on_start=lambda command: full.clear())
    result = site.run(listener=listener)
    assert any("could not be set to in-progress yet" in text for text in result.warnings)
    assert site.status("P1") == "review"
    assert list_pending_moves(site.store, site.project.repository.id) == []


def test_of_two_moves_that_could_not_be_written_the_last_is_written(
    site: Any, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    tasks = site.task("P1").parent
    real = Path.replace

    def replace(self: Path, target: Any) -> Any:
        if self.parent == tasks:
            raise OSError(28, "No space left on device")
        return real(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        assert site.run().exit_code == 0
    assert site.status("P1") == "open"
    assert TaskMover.open(site.project, 412, "GH").replay() == []
    assert site.status("P1") == "review"


def test_a_move_that_somebody_else_wrote_meanwhile_is_not_written_again(site: Any, build: Any) -> None:
    """Two processes find it pending; by the time the second writes, a person has put the file back as it was."""
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    before = site.task("P1").read_bytes()
    mover = TaskMover.open(site.project, 412, "GH")
    with site.store.transaction():
        move = mover.plan_move("P1", Status.REVIEW, None)
    assert move is not None
    assert TaskMover.open(site.project, 412, "GH").replay() == []
    assert site.status("P1") == "review"
    site.task("P1").write_bytes(before)
    assert mover.write(move) == []
    assert site.task("P1").read_bytes() == before


def test_a_fault_of_the_engine_takes_back_a_move_that_was_never_written(
    site: Any, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    assert site.run().exit_code == 0
    tasks = site.task("P1").parent
    real = Path.replace

    def replace(self: Path, target: Any) -> Any:
        if self.parent == tasks:
            raise OSError(28, "No space left on device")
        return real(self, target)

    broken = ScriptedRun(Verdict.INFRASTRUCTURE, None, reason="the engine died")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        assert site.run(FakeExecutor({("true",): broken}), fresh=True).exit_code == 4
    assert TaskMover.open(site.project, 412, "GH").replay() == []
    assert site.status("P1") == "review"
