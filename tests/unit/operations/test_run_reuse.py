"""Passes that are used again, runs that go on where they were cut short, and who has the last word."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from codeboost.errors import ApprovalNeededError, StoreError, UsageError
from codeboost.operations.evidence import collect_evidence
from codeboost.operations.move_tasks import TaskMover
from codeboost.operations.run_checks import run_checks
from codeboost.operations.run_model import ResumeRequest, RunResult
from codeboost.planr.model import Status
from codeboost.sandbox.base import PullPolicy
from codeboost.sandbox.fake import FakeExecutor, ScriptedRun
from codeboost.store.attempts import list_attempts
from codeboost.store.locks import hold_issue
from codeboost.store.runs import list_runs
from codeboost.store.task_moves import list_pending_moves
from codeboost.verdict import Verdict

FAILS = ScriptedRun(Verdict.FAILED, 1, stderr=b"it broke\n", reason="exit 1")


class PowerCutError(BaseException):
    """Nothing of the process runs after this: what a kill leaves is what the store holds."""


def resume(site: Any, executor: FakeExecutor, listener: Any, **options: Any) -> RunResult:
    return run_checks(
        site.project, ResumeRequest(412, **options), lambda: executor, listener, threading.Event()
    )


def cut_short(site: Any, build: Any, at: str, script: Any = None) -> None:
    """A run that ends without a word when ``at`` is about to start."""

    def cut(command: Any) -> None:
        if command.text == at:
            raise PowerCutError

    with pytest.raises(PowerCutError):
        site.run(FakeExecutor(script or {}), build.Recorder(on_start=cut), jobs=1)
    assert list_runs(site.store, site.project.repository.id, 412)[0].ended_at is None


def list_verdicts(result: RunResult) -> list[str]:
    return [attempt.verdict.value for attempt in result.attempts]


# Reuse


def test_a_pass_counts_again_while_nothing_that_decides_it_changed(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true 1", "true 2")))
    first = site.run(FakeExecutor({("true", "1"): ScriptedRun(stdout=b"hello\n")}))
    executor = FakeExecutor()
    second = site.run(executor)
    assert executor.executed == []
    assert second.exit_code == 0
    assert [attempt.reused_run for attempt in second.attempts] == [first.id, first.id]
    assert [attempt.reused_from for attempt in second.attempts] == [a.id for a in first.attempts]
    third = site.run(FakeExecutor())
    assert [attempt.reused_run for attempt in third.attempts] == [first.id] * 2, "always the one that ran"


@pytest.mark.parametrize("change", ["fresh", "tree", "timeout", "revoked"])
def test_it_does_not_count_when_something_changed(site: Any, build: Any, change: str) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true 1")))
    assert site.run().exit_code == 0
    executor = FakeExecutor()
    options: dict[str, Any] = {}
    if change == "fresh":
        options = {"fresh": True}
    elif change == "tree":
        (site.top / "other.txt").write_text("x")
        site.commit()
    elif change == "timeout":
        options = {"timeout_s": 9.0}
    else:
        from codeboost.operations.revoke_approval import revoke_by_argv

        revoke_by_argv(site.project, ("true", "1"), reason="no")
    result = site.run(executor, **options)
    if change == "revoked":
        assert list_verdicts(result) == ["not-approved"], "approvals come first"
        assert executor.executed == []
    else:
        assert len(executor.executed) == 1
        assert result.attempts[0].reused_run is None


def test_a_failure_is_never_used_again(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "false", "true")))
    assert site.run(FakeExecutor({("false",): FAILS})).exit_code == 1
    executor = FakeExecutor({("false",): FAILS})
    assert site.run(executor).exit_code == 1
    assert [spec.argv for spec in executor.executed] == [("false",)]


def test_equal_commands_of_one_run_all_run(site: Any, build: Any) -> None:
    """Which of them came first would be a matter of timing."""
    site.adopt(build.make_plan(build.make_item("P1", "true", "true"), build.make_item("P2", "true")))
    executor = FakeExecutor()
    assert site.run(executor, jobs=1).exit_code == 0
    assert len(executor.executed) == 3


# Only what failed


def test_only_failed_runs_what_did_not_pass_and_says_it_is_partial(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true"), build.make_item("P2", "false")))
    assert site.run(FakeExecutor({("false",): FAILS})).exit_code == 1
    executor = FakeExecutor()
    result = site.run(executor, only_failed=True)
    assert [spec.argv for spec in executor.executed] == [("false",)]
    assert result.exit_code == 0
    assert not result.complete
    assert result.left == (), "P1 has a pass for this very tree"


def test_only_failed_on_another_tree_takes_along_what_the_failed_one_needs(site: Any, build: Any) -> None:
    site.adopt(
        build.make_plan(
            build.make_item("P1", "true 1"),
            build.make_item("P2", "false", after=["P1"]),
            build.make_item("P3", "true 3"),
        )
    )
    site.run(FakeExecutor({("false",): FAILS}))
    (site.top / "fix.txt").write_text("x")
    site.commit()
    result = site.run(only_failed=True)
    assert [item.id for item in result.items] == ["P1", "P2"]
    assert result.exit_code == 0
    assert result.left == ("P3",)


def test_only_failed_without_any_run_is_a_usage_error(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    with pytest.raises(UsageError, match="has run yet"):
        site.run(only_failed=True)


# Going on


def test_a_run_that_was_cut_short_goes_on(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "a", "b"), build.make_item("P2", "c", after=["P1"])))
    commit = site.git("rev-parse", "HEAD")
    cut_short(site, build, "b")
    assert site.status("P1") == "in-progress"
    (site.top / "later.txt").write_text("x")
    site.commit("Not what the run is of")
    executor = FakeExecutor()
    result = resume(site, executor, build.Recorder())
    assert [spec.argv for spec in executor.executed] == [("b",), ("c",)]
    assert (result.exit_code, result.complete, result.commit) == (0, True, commit)
    assert result.id == 1
    assert list_verdicts(result) == ["passed"] * 3
    assert (site.status("P1"), site.status("P2")) == ("review", "review")
    assert executor.pulls[0][1] is PullPolicy.NEVER
    assert executor.pulls[0][0] == list_runs(site.store, site.project.repository.id, 412)[0].image_id


def test_what_was_stopped_is_asked_again_and_what_failed_stands(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "false"), build.make_item("P2", "slow", "true")))
    cancelled = threading.Event()
    listener = build.Recorder(on_start=lambda command: cancelled.set() if command.text == "slow" else None)
    script = {("false",): FAILS, ("slow",): ScriptedRun(seconds=30)}
    stopped = site.run(FakeExecutor(script), listener, cancelled, jobs=1)
    assert list_verdicts(stopped) == ["failed", "cancelled", "cancelled"]
    executor = FakeExecutor()
    result = resume(site, executor, build.Recorder())
    assert [spec.argv for spec in executor.executed] == [("slow",), ("true",)]
    assert list_verdicts(result) == ["failed", "passed", "passed"]
    assert result.exit_code == 1
    assert (site.status("P1"), site.status("P2")) == ("in-progress", "review")


def test_limits_and_items_are_those_of_the_run(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "a", "b"), build.make_item("P2", "c")))

    def cut(command: Any) -> None:
        if command.text == "b":
            raise PowerCutError

    with pytest.raises(PowerCutError):
        site.run(None, build.Recorder(on_start=cut), jobs=1, items=("P1",), timeout_s=7.0)
    executor = FakeExecutor()
    result = resume(site, executor, build.Recorder())
    assert [spec.limits.timeout_s for spec in executor.executed] == [7.0]
    assert not result.complete
    assert result.left == ("P2",)


def test_approvals_are_read_anew(site: Any, build: Any) -> None:
    from codeboost.operations.revoke_approval import revoke_by_argv

    site.adopt(build.make_plan(build.make_item("P1", "a"), build.make_item("P2", "b")))
    cut_short(site, build, "b")
    revoke_by_argv(site.project, ("b",), reason="no")
    result = resume(site, FakeExecutor(), build.Recorder())
    assert list_verdicts(result) == ["passed", "not-approved"]
    assert result.exit_code == 3
    revoke_by_argv(site.project, ("a",), reason="no")
    with pytest.raises(ApprovalNeededError, match=r"P1\.1"):
        resume(site, FakeExecutor(), build.Recorder())


def test_there_has_to_be_something_to_go_on_with(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "a")))
    with pytest.raises(UsageError, match="nothing has run"):
        resume(site, FakeExecutor(), build.Recorder())
    site.run()
    with pytest.raises(UsageError, match="nothing left"):
        resume(site, FakeExecutor(), build.Recorder())


def test_a_run_of_a_replaced_revision_is_not_taken_up(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "a", "b")))
    cut_short(site, build, "b")
    site.adopt(build.make_plan(build.make_item("P1", "a", "b", intent="Other.")))
    with pytest.raises(UsageError, match="older revision"):
        resume(site, FakeExecutor(), build.Recorder())


@pytest.mark.parametrize("at", range(1, 4))
def test_wherever_it_is_cut_the_rest_is_all_that_is_left(site: Any, build: Any, at: int) -> None:
    site.adopt(build.make_plan(*(build.make_item(f"P{n}", f"c {n}") for n in range(1, 5))))
    cut_short(site, build, f"c {at + 1}")
    assert len(list_attempts(site.store, 1)) == at
    executor = FakeExecutor()
    assert resume(site, executor, build.Recorder()).exit_code == 0
    assert len(executor.executed) == 4 - at


# Who has the last word


def test_a_run_that_another_one_followed_says_nothing_any_more(site: Any, build: Any) -> None:
    """The lock keeps this from happening; should it fail, the store does."""
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    first = site.run()

    def follow(command: Any) -> None:
        with site.store.transaction() as connection:
            connection.execute(
                "INSERT INTO run (repository_id, issue, plan_id, commit_id, tree_id, image, image_chosen,"
                " policy_digest, log_head, items, complete, options, started_at) SELECT repository_id, issue,"
                " plan_id, commit_id, tree_id, image, image_chosen, policy_digest, log_head, items, complete,"
                " options, started_at FROM run WHERE id = ?",
                (first.id,),
            )

    result = site.run(listener=build.Recorder(on_start=follow), fresh=True)
    assert list_verdicts(result) == ["cancelled"]
    assert "was started meanwhile" in result.attempts[0].reason
    evidence = collect_evidence(site.project, 412)
    assert [one.attempt.id for one in evidence.commands if one.attempt] == [first.attempts[0].id]


def test_a_run_of_an_earlier_commit_leaves_the_tasks_alone(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    (site.top / "work.txt").write_text("x")
    site.commit()
    assert site.run().exit_code == 0
    listener = build.Recorder()
    old = site.run(FakeExecutor({("true",): FAILS}), listener, rev="HEAD~1")
    assert old.exit_code == 1
    assert site.status("P1") == "review"
    assert [text for text in listener.notes if "tested a later commit" in text]
    assert collect_evidence(site.project, 412).commands_passed, "HEAD is as proven as before"


def test_going_back_to_an_earlier_commit_is_no_older_result(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    (site.top / "work.txt").write_text("x")
    site.commit()
    assert site.run().exit_code == 0
    site.git("reset", "-q", "--soft", "HEAD~1")
    assert site.run(FakeExecutor({("true",): FAILS})).exit_code == 1
    assert site.status("P1") == "in-progress"


def test_an_abandoned_plan_does_not_run(site: Any, build: Any) -> None:
    from codeboost.operations.abandon_plan import abandon_plan

    plan = build.make_plan(build.make_item("P1", "true"), build.make_item("P2", "true 2"))
    site.adopt(plan)
    site.set_status("P2", "done")
    assert abandon_plan(site.project, 412).dropped == ("GH412-P1",)
    with pytest.raises(UsageError, match="abandoned"):
        site.run()
    site.adopt(plan)
    assert site.status("P1") == "open"
    assert site.run().exit_code == 0


# Passes of nothing


@pytest.mark.parametrize(
    ("printed", "warned"),
    [
        (b"testing: warning: no tests to run\nPASS\nok  \tx\t0.001s [no tests to run]\n", True),
        (b"ok  \tx/a\t0.01s [no tests to run]\nok  \tx/b\t0.02s\n", False),
        (b"?   \tx/a\t[no test files]\n", True),
        (b"[no tests to run]\n", True),
        (b"\nrunning 0 tests\n\ntest result: ok. 0 passed\n", True),
        (b"running 3 tests\n...\n\nrunning 0 tests\n", False),
        (b"===== no tests ran in 0.01s =====\n", True),
        (b"Ran 0 tests in 0.000s\n\nOK\n", True),
        (b"Ran 10 tests in 0.000s\n\nOK\n", False),
        (b"No tests found, exiting with code 0\n", True),
        (b"  0 passing (1ms)\n", True),
        (b"  10 passing (1ms)\n", False),
        (b"0 examples, 0 failures\n", True),
        (b"10 examples, 0 failures\n", False),
        (b"# tests 0\n", True),
        (b"all good\n", False),
    ],
)
def test_a_runner_that_ran_nothing_is_said_so(site: Any, build: Any, printed: bytes, warned: bool) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "go test")))
    result = site.run(FakeExecutor({("go", "test"): ScriptedRun(stdout=printed)}))
    assert result.exit_code == 0
    assert ("no tests ran" in result.attempts[0].warnings) is warned


# Timing and files


def test_results_are_listed_in_plan_order_whatever_comes_first(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "c 1", "c 2", "c 3"), build.make_item("P2", "c 4")))
    listener = build.Recorder()
    result = site.run(FakeExecutor({("c", "1"): ScriptedRun(seconds=2.0)}), listener, jobs=4)
    ended = [(item, position) for what, item, position in listener.events if what == "passed"]
    assert ended[-1] == ("P1", 1), "they did come in another order"
    wanted = [("P1", 1), ("P1", 2), ("P1", 3), ("P2", 1)]
    assert [(a.item, a.position) for a in result.attempts] == wanted
    assert [(a.item, a.position) for a in list_attempts(site.store, result.id)] == wanted


def test_one_run_an_issue_and_two_issues_side_by_side(site: Any) -> None:
    repository = site.project.repository.id
    with hold_issue(site.store, repository, 412):
        with hold_issue(site.store, repository, 413):
            pass
        with (
            pytest.raises(StoreError, match="another process"),
            hold_issue(site.store, repository, 412),
        ):
            pass
    with hold_issue(site.store, repository, 412):
        pass


@pytest.mark.parametrize("edited", [False, True])
def test_a_move_that_was_stored_and_not_written_is_written_once(site: Any, build: Any, edited: bool) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    mover = TaskMover.open(site.project, 412, "GH")
    with site.store.transaction():
        assert mover.plan_move("P1", Status.REVIEW, None) is not None
    # Here the process was killed.
    if edited:
        site.task("P1").write_text(site.task("P1").read_text() + "\nA person's word.\n")
    notes = TaskMover.open(site.project, 412, "GH").replay()
    assert site.status("P1") == ("open" if edited else "review")
    assert bool(notes) is edited
    site.set_status("P1", "blocked")
    assert TaskMover.open(site.project, 412, "GH").replay() == []
    assert site.status("P1") == "blocked"


def test_a_move_that_was_written_and_not_noted_is_no_edit(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    mover = TaskMover.open(site.project, 412, "GH")
    with site.store.transaction():
        mover.plan_move("P1", Status.REVIEW, None)
    site.set_status("P1", "review")
    assert TaskMover.open(site.project, 412, "GH").replay() == []
    assert list_pending_moves(site.store, site.project.repository.id) == []


def test_going_on_asks_whom_the_run_asked(site: Any, build: Any) -> None:
    """A plan that came by --ci and that a person approved later: her runs go by her approvals, also when they go on."""
    from codeboost.operations.approve_plan import record_approval
    from codeboost.operations.ci_plan import take_ci_plan
    from codeboost.operations.plan_file import PlanFile
    from codeboost.operations.project import require_plan
    from codeboost.plan.canonical import encode_plan

    policy = site.top / "codeboost.toml"
    policy.write_text(policy.read_text().replace("codeboost/example:1", "example@sha256:" + "0" * 64))
    base = site.commit("An exact image")
    plan = build.make_plan(build.make_item("P1", "a", "b"))
    take_ci_plan(site.store, site.top, PlanFile("plan.json", encode_plan(plan), "json"), base=base)
    record_approval(site.project, require_plan(site.project, 412), "--yes")
    for text in ("a", "b"):
        site.approve(text)
    cut_short(site, build, "b")
    assert list_verdicts(resume(site, FakeExecutor(), build.Recorder())) == ["passed", "passed"]


def test_a_run_that_went_on_on_another_engine_says_so(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "a", "b")))
    cut_short(site, build, "b")

    class Newer(FakeExecutor):
        def describe(self) -> Any:
            return replace(FakeExecutor.describe(self), version="2")

    resume(site, Newer(), build.Recorder())
    (run,) = list_runs(site.store, site.project.repository.id, 412)
    assert run.engine is not None
    assert run.engine["version"] == "1"
    assert [note["engine"]["version"] for note in run.options["resumed"]] == ["2"]
