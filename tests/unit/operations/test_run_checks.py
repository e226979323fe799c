"""Scheduling, verdicts, task states and exit codes of a run, over an engine that answers from a script."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from codeboost.errors import ApprovalNeededError, EngineError, UsageError
from codeboost.reporting.runs import render_run
from codeboost.sandbox.base import SetupOutcome
from codeboost.sandbox.fake import FakeExecutor, ScriptedRun
from codeboost.store.approval_log import digest_argv
from codeboost.store.attempts import list_attempts
from codeboost.store.runs import list_runs
from codeboost.verdict import Verdict

FAILS = ScriptedRun(Verdict.FAILED, 1, stderr=b"it broke\n", reason="exit 1")
BROKEN = ScriptedRun(Verdict.INFRASTRUCTURE, None, reason="the engine died")


def test_everything_passes_and_every_task_goes_to_review(site: Any, build: Any) -> None:
    site.adopt(
        build.make_plan(build.make_item("P1", "true 1"), build.make_item("P2", "true 2", after=["P1"]))
    )
    executor = FakeExecutor()
    result = site.run(executor)
    assert result.exit_code == 0
    assert result.complete
    assert [spec.argv for spec in executor.executed] == [("true", "1"), ("true", "2")]
    assert (site.status("P1"), site.status("P2")) == ("review", "review")
    assert executor.closed


def test_a_plan_that_nobody_approved_does_not_run(site: Any, build: Any) -> None:
    site.import_plan(build.make_plan(build.make_item("P1", "true")))
    with pytest.raises(ApprovalNeededError):
        site.run()


def test_an_unapproved_command_runs_nothing_and_needs_no_engine(site: Any, build: Any) -> None:
    site.adopt(
        build.make_plan(build.make_item("P1", "true", "false"), build.make_item("P2", "true", after=["P1"])),
        allow=["true"],
    )

    def refuse() -> FakeExecutor:
        raise AssertionError("the engine was asked")

    from codeboost.operations.run_checks import run_checks
    from codeboost.operations.run_model import RunRequest

    result = run_checks(site.project, RunRequest(412), refuse, build.Recorder(), threading.Event())
    assert result.exit_code == 3
    verdicts = {(a.item, a.position): a.verdict for a in result.attempts}
    assert verdicts == {
        ("P1", 1): Verdict.WAITING,
        ("P1", 2): Verdict.NOT_APPROVED,
        ("P2", 1): Verdict.WAITING,
    }
    assert (site.status("P1"), site.status("P2")) == ("decision", "open")


def test_a_failure_leaves_the_task_in_progress_and_dependants_waiting(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "false"), build.make_item("P2", "true", after=["P1"])))
    result = site.run(FakeExecutor({("false",): FAILS}))
    assert result.exit_code == 1
    assert [a.verdict for a in result.attempts] == [Verdict.FAILED, Verdict.WAITING]
    assert result.items[1].blockers == ("P1",)
    assert (site.status("P1"), site.status("P2")) == ("in-progress", "open")


def test_a_fault_of_the_engine_gives_the_task_its_status_back(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    result = site.run(FakeExecutor({("true",): BROKEN}))
    assert result.exit_code == 4
    assert site.status("P1") == "open"


def test_without_an_engine_no_task_moves_and_no_run_is_recorded(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true"), build.make_item("P2", "false")), allow=["true"])
    from codeboost.operations.run_checks import run_checks
    from codeboost.operations.run_model import RunRequest

    def fail() -> FakeExecutor:
        raise EngineError("no engine answers")

    with pytest.raises(EngineError):
        run_checks(site.project, RunRequest(412), fail, build.Recorder(), threading.Event())
    assert (site.status("P1"), site.status("P2")) == ("open", "open")
    assert list_runs(site.store, site.project.repository.id, 412) == []


@pytest.mark.parametrize("status", ["blocked", "done", "dropped", "decision"])
def test_what_a_person_said_stays(site: Any, build: Any, status: str) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    site.set_status("P1", status)
    executor = FakeExecutor()
    result = site.run(executor)
    assert result.exit_code == 0
    assert len(executor.executed) == 1, "the state of a task never decides what runs"
    assert site.status("P1") == status


def test_a_decision_that_a_run_set_is_taken_back_by_a_run(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")), allow=[])
    assert site.run().exit_code == 3
    assert site.status("P1") == "decision"
    site.approve("true")
    assert site.run().exit_code == 0
    assert site.status("P1") == "review"


def test_an_edit_while_the_run_goes_on_wins(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    listener = build.Recorder(on_start=lambda command: site.set_status("P1", "blocked"))
    assert site.run(listener=listener).exit_code == 0
    assert site.status("P1") == "blocked"


def test_a_partial_run_says_what_is_left_and_uses_the_passes_on_record(site: Any, build: Any) -> None:
    site.adopt(
        build.make_plan(build.make_item("P1", "true 1"), build.make_item("P2", "true 2", after=["P1"]))
    )
    alone = site.run(items=("P2",))
    assert alone.exit_code == 1
    assert not alone.complete
    assert alone.left == ("P1",)
    assert [a.verdict for a in alone.attempts] == [Verdict.WAITING]
    assert site.run(items=("P1",)).exit_code == 0
    assert site.run(items=("P2",)).exit_code == 0
    site.commit("Another tree")
    (site.top / "other.txt").write_text("x")
    site.commit("Another tree")
    assert site.run(items=("P2",)).exit_code == 1, "a pass for another tree proves nothing"


def test_an_item_may_be_named_as_its_task(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true 1"), build.make_item("P2", "true 2")))
    assert [item.id for item in site.run(items=("GH412-P2",)).items] == ["P2"]
    for other in ("GH413-P2", "XY412-P2", "GH412-"):
        with pytest.raises(UsageError, match=other):
            site.run(items=(other,))


def test_an_unknown_item_is_a_usage_error(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    with pytest.raises(UsageError, match="P9"):
        site.run(items=("P9",))


def test_fail_fast_stops_at_the_first_failure(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(*(build.make_item(f"P{n}", f"c {n}") for n in range(1, 6))))
    executor = FakeExecutor({("c", "1"): FAILS})
    result = site.run(executor, jobs=1, fail_fast=True)
    assert result.exit_code == 1
    assert len(executor.executed) == 1
    assert [a.verdict for a in result.attempts][1:] == [Verdict.CANCELLED] * 4
    assert render_run(result, color=False).endswith(
        "It was stopped early. Mend P1 first, commit, and run again."
    )


def test_commands_run_side_by_side_up_to_jobs(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", *(f"c {n}" for n in range(1, 7)))))
    slow = {("c", str(n)): ScriptedRun(seconds=0.2) for n in range(1, 7)}
    executor = FakeExecutor(slow)
    assert site.run(executor, jobs=3).exit_code == 0
    assert executor.most_at_once == 3


def test_cancelling_ends_soon_and_records_it(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "slow", "true")))
    cancelled = threading.Event()
    listener = build.Recorder(on_start=lambda command: cancelled.set())
    executor = FakeExecutor({("slow",): ScriptedRun(seconds=30)})
    result = site.run(executor, listener, cancelled, jobs=1)
    assert result.exit_code == 1
    assert {a.verdict for a in result.attempts} == {Verdict.CANCELLED}
    assert site.status("P1") == "open"


def test_a_plan_replaced_while_it_runs_cannot_pass(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    newer = build.make_plan(build.make_item("P1", "true", intent="Something else."))
    listener = build.Recorder(on_start=lambda command: site.import_plan(newer))
    result = site.run(listener=listener)
    assert result.exit_code == 1
    assert [a.verdict for a in result.attempts] == [Verdict.CANCELLED]
    assert site.status("P1") == "open", (
        "the newer revision opened it, and the older run says nothing about it"
    )


def test_a_failed_setup_is_the_verdict_of_every_command(site: Any, build: Any) -> None:
    policy = site.top / "codeboost.toml"
    policy.write_text(policy.read_text() + '\n[setup]\nrun = ["pip install x"]\n')
    site.commit("With a setup")
    site.adopt(build.make_plan(build.make_item("P1", "true 1", "true 2")))
    result = site.run(
        FakeExecutor(setup=SetupOutcome(None, reused=False, message="exit 1", output=b"no network\n"))
    )
    assert result.exit_code == 1
    assert [a.verdict for a in result.attempts] == [Verdict.SETUP_FAILED] * 2


def test_the_results_are_stored_as_they_come(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "b", "a")))
    seen: list[int] = []
    listener = build.Recorder(
        on_start=lambda command: seen.append(len(list_attempts(site.store, 1))),
    )
    site.run(FakeExecutor({("b",): ScriptedRun(stdout=b"hello\n")}), listener, jobs=1)
    assert seen == [0, 1]
    first, second = list_attempts(site.store, 1)
    assert (first.argv, second.argv) == (("b",), ("a",))
    assert first.approval == "store:1"
    assert first.argv_sha256 == digest_argv(("b",)), "the name that the approval has too"
    assert first.stdout is not None
    assert (first.stdout.total, first.stdout.kept) == (6, 6)
    assert (site.store.home / "output/run-1" / f"{first.id}.stdout").read_bytes() == b"hello\n"


def test_the_timeout_may_only_be_shortened(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    with pytest.raises(UsageError, match="shorten"):
        site.run(timeout_s=601.0)
    executor = FakeExecutor()
    site.run(executor, timeout_s=5.0)
    assert executor.executed[0].limits.timeout_s == 5.0


def test_the_policy_decides_the_image(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    with pytest.raises(UsageError, match="--image is refused"):
        site.run(image="other:1")


def test_without_a_policy_the_image_has_to_be_named(site: Any, build: Any) -> None:
    (site.top / "codeboost.toml").unlink()
    site.commit("No policy")
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    with pytest.raises(UsageError, match="no image is known"):
        site.run()
    executor = FakeExecutor()
    assert site.run(executor, image="other:1").exit_code == 0
    assert executor.pulls[0][0] == "other:1"


def test_what_is_not_committed_is_said_not_to_be_tested(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    listener = build.Recorder()
    site.run(listener=listener)
    assert not [text for text in listener.notes if "not tested" in text], "the task files alone are no reason"
    (site.top / "payments/client.py").write_text("changed\n")
    listener = build.Recorder()
    site.run(listener=listener)
    assert [text for text in listener.notes if "not tested" in text and "payments/client.py" in text]


def test_a_commit_beside_the_base_is_refused(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    site.git("checkout", "-q", "--orphan", "elsewhere")
    site.commit("No common history")
    with pytest.raises(UsageError, match="does not descend"):
        site.run()


def test_a_run_asks_one_gate_from_its_start_to_its_end(
    site: Any, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its report says of pinned files belongs to the approvals that it ran by, whatever was approved meanwhile."""
    from codeboost.store.approvals import list_approvals

    site.adopt(build.make_plan(build.make_item("P1", "true")))
    read = []

    def look(*arguments: Any) -> Any:
        read.append(arguments)
        return list_approvals(*arguments)

    monkeypatch.setattr("codeboost.operations.check_approval.list_approvals", look)
    assert site.run().exit_code == 0
    assert len(read) == 1
