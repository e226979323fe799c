"""What people say of statements, where an issue stands, and what is forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from codeboost.errors import ApprovalNeededError, UsageError
from codeboost.operations.check_setup import approve_setup, ask_about_setup, list_differences
from codeboost.operations.evidence import collect_evidence
from codeboost.operations.find_log import find_logged_attempts, read_kept_output
from codeboost.operations.give_verdict import give_verdict
from codeboost.operations.prune import prune
from codeboost.operations.show_status import show_status
from codeboost.plan.model import Check, CheckType
from codeboost.sandbox.fake import FakeExecutor, ScriptedRun
from codeboost.store.runs import list_runs
from codeboost.store.verdicts import Answer
from codeboost.verdict import Verdict

FAILS = ScriptedRun(Verdict.FAILED, 1, stdout=b"out\n", stderr=b"it broke\n", reason="exit 1")


def make_item(build: Any, item_id: str, *commands: str, statements: int = 1, **options: Any) -> Any:
    from dataclasses import replace

    item = build.make_item(item_id, *commands, **options)
    kept = item.acceptance if commands else ()
    checks = tuple(Check(CheckType.CHECK, f"Statement {number}.") for number in range(1, statements + 1))
    return replace(item, acceptance=(*kept, *checks))


# Verdicts


def test_statements_alone_move_an_item_without_commands(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(make_item(build, "P1", statements=2)))
    first = give_verdict(site.project, "GH412-P1", 1, Answer.PASS, note="seen", by="Grace")
    assert (first.verdict.by, first.verdict.note) == ("Grace", "seen")
    assert site.status("P1") == "open"
    assert [statement.position for statement in first.pending] == [2]
    give_verdict(site.project, "GH412-P1", 2, Answer.PASS)
    assert site.status("P1") == "review"
    give_verdict(site.project, "GH412-P1", 2, Answer.FAIL, note="no, it does not")
    assert site.status("P1") == "in-progress"
    give_verdict(site.project, "GH412-P1", 2, Answer.PASS)
    assert site.status("P1") == "review"


@pytest.mark.parametrize("status", ["done", "blocked", "dropped", "decision"])
def test_a_verdict_never_overrules_a_person(site: Any, build: Any, status: str) -> None:
    site.adopt(build.make_plan(make_item(build, "P1")))
    site.set_status("P1", status)
    give_verdict(site.project, "GH412-P1", 1, Answer.PASS)
    assert site.status("P1") == status


def test_a_review_that_a_person_set_stays_when_a_statement_fails(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(make_item(build, "P1")))
    site.set_status("P1", "review")
    give_verdict(site.project, "GH412-P1", 1, Answer.FAIL)
    assert site.status("P1") == "review"


def test_a_verdict_neither_moves_nor_blocks_an_item_with_commands(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(make_item(build, "P1", "true")))
    give_verdict(site.project, "GH412-P1", 2, Answer.FAIL)
    assert site.status("P1") == "open"
    result = site.run()
    assert result.exit_code == 0
    assert site.status("P1") == "review"
    assert [s.verdict.answer for item in result.items for s in item.statements if s.verdict] == [Answer.FAIL]


def test_another_tree_and_another_revision_make_it_pending_again(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(make_item(build, "P1", "true")))
    give_verdict(site.project, "GH412-P1", 2, Answer.PASS)
    assert not collect_evidence(site.project, 412).pending
    (site.top / "other.txt").write_text("x")
    site.commit()
    assert collect_evidence(site.project, 412).pending
    assert not collect_evidence(site.project, 412, "HEAD~1").pending
    site.adopt(build.make_plan(make_item(build, "P1", "true", intent="Other.")))
    assert collect_evidence(site.project, 412, "HEAD~1").pending


@pytest.mark.parametrize(
    ("task", "position", "word"),
    [
        ("GH412-P9", 1, "no task"),
        ("XX412-P1", 2, "no task"),
        ("GH412-P1", 1, "no check"),
        ("P1", 2, "no task"),
    ],
)
def test_what_is_no_statement_is_a_usage_error(
    site: Any, build: Any, task: str, position: int, word: str
) -> None:
    site.adopt(build.make_plan(make_item(build, "P1", "true")))
    with pytest.raises(UsageError, match=word):
        give_verdict(site.project, task, position, Answer.PASS)


# Evidence


def test_what_learned_nothing_takes_no_pass_away(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    first = site.run()
    broken = ScriptedRun(Verdict.INFRASTRUCTURE, None, reason="the engine died")
    assert site.run(FakeExecutor({("true",): broken}), fresh=True).exit_code == 4
    [one] = collect_evidence(site.project, 412).commands
    assert one.attempt is not None
    assert one.attempt.id == first.attempts[0].id
    assert site.run(FakeExecutor({("true",): FAILS}), fresh=True).exit_code == 1
    assert not collect_evidence(site.project, 412).commands_passed


def test_evidence_is_complete_when_commands_and_statements_have_a_pass(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(make_item(build, "P1", "true"), build.make_item("P2", "true 2")))
    site.run(items=("P1",))
    give_verdict(site.project, "GH412-P1", 2, Answer.PASS)
    assert not collect_evidence(site.project, 412).is_complete
    site.run(items=("P2",))
    evidence = collect_evidence(site.project, 412)
    assert evidence.is_complete
    assert sorted(evidence.runs) == [1, 2]


# Status


def test_the_status_says_what_waits_for_whom(site: Any, build: Any) -> None:
    plan = build.make_plan(make_item(build, "P1", "true"), build.make_item("P2", "false", after=["P1"]))
    site.import_plan(plan)
    waits = [(wait.who, wait.command) for wait in show_status(site.project, 412).waits]
    assert waits == [
        ("a person", "codeboost plan approve 412"),
        ("a person", "codeboost allow approve 412"),
    ]
    site.adopt(plan)
    site.run(FakeExecutor({("false",): FAILS}))
    status = show_status(site.project, 412)
    assert [(wait.who, wait.what) for wait in status.waits] == [
        ("a person or a review agent", "1 statement to judge"),
        ("a person", "to review: GH412-P1"),
        ("whoever does the work", "to mend: P2.1"),
    ]
    assert [(task.task, task.status, task.proven) for task in status.tasks] == [
        ("GH412-P1", "review", True),
        ("GH412-P2", "in-progress", False),
    ]


def test_a_run_of_an_older_revision_is_not_to_be_resumed(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "false")))
    result = site.run(FakeExecutor({("false",): FAILS}))
    # As a process that was killed leaves it.
    site.store.connection.execute("UPDATE run SET ended_at = NULL WHERE id = ?", (result.id,))
    assert show_status(site.project, 412).waits[-1].command == "codeboost run 412 --resume"
    site.adopt(build.make_plan(build.make_item("P1", "false", intent="Something else.")))
    assert show_status(site.project, 412).waits[-1].command == "codeboost run 412"


def test_nothing_is_proven_before_a_person_approves_the_plan(site: Any, build: Any) -> None:
    site.import_plan(build.make_plan(build.make_item("P1", "true")))
    with pytest.raises(ApprovalNeededError, match="no revision"):
        collect_evidence(site.project, 412)


# Output


def test_the_log_of_a_task_and_of_an_attempt(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "false", "true")))
    result = site.run(FakeExecutor({("false",): FAILS}))
    assert [a.id for a in find_logged_attempts(site.project, "GH412-P1")] == [a.id for a in result.attempts]
    assert [a.position for a in find_logged_attempts(site.project, "GH412-P1.2")] == [2]
    [found] = find_logged_attempts(site.project, result.attempts[0].id[:8])
    output = read_kept_output(site.project, found, "stderr")
    assert output is not None
    assert (output.head, output.dropped, output.tail) == (b"it broke\n", 0, b"")
    for name in ("GH412-P9", "0000", "zz", "../../etc"):
        with pytest.raises(UsageError):
            find_logged_attempts(site.project, name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("GH412-P1", "nothing of P1 has run"),
        ("GH412-P1.2", "P1.2 has no command"),
        ("GH412-P1.3", "P1 has 2 acceptance entries, and no number 3"),
        ("GH412-P2", "P2 has no command"),
        ("GH412-P3", "has no item P3"),
    ],
)
def test_the_log_says_why_there_is_none(site: Any, build: Any, name: str, why: str) -> None:
    site.adopt(build.make_plan(make_item(build, "P1", "true"), make_item(build, "P2")))
    with pytest.raises(UsageError, match=why):
        find_logged_attempts(site.project, name)


def test_a_pass_used_again_shows_what_it_printed_then(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    site.run(FakeExecutor({("true",): ScriptedRun(stdout=b"hello\n")}))
    again = site.run()
    output = read_kept_output(site.project, again.attempts[0], "stdout")
    assert output is not None
    assert output.head == b"hello\n"


def test_pruning_takes_output_by_age_and_size_and_never_the_state(site: Any, build: Any) -> None:
    plan = build.make_plan(build.make_item("P1", "true"))
    site.adopt(plan)
    for _ in range(3):
        site.run(FakeExecutor({("true",): ScriptedRun(stdout=b"x" * 100)}), fresh=True)
    plain = {"output_days": 30, "output_bytes": 1 << 30, "run_days": 365}
    assert prune(site.store, **plain).output == ()
    assert [one.run for one in prune(site.store, **plain | {"output_bytes": 150}, dry_run=True).output] == [
        1,
        2,
    ]
    assert [one.run for one in prune(site.store, **plain | {"output_bytes": 150}).output] == [1, 2]
    assert prune(site.store, **plain | {"run_days": 0}).runs == (), "the revision in force rests on them"
    site.adopt(build.make_plan(build.make_item("P1", "true", intent="Other.")))
    site.run()
    result = prune(site.store, **plain | {"run_days": 0})
    assert result.runs == (1, 2), "run 4 rests on the pass of run 3"
    assert [run.id for run in list_runs(site.store, site.project.repository.id, 412)] == [4, 3]
    assert collect_evidence(site.project, 412).commands_passed


# [setup]


def test_changed_inputs_of_setup_need_a_person(site: Any, build: Any) -> None:
    policy = site.top / "codeboost.toml"
    policy.write_text(
        policy.read_text()
        + '\n[setup]\ninputs = ["requirements.txt"]\nrun = ["pip install -r requirements.txt"]\n'
    )
    (site.top / "requirements.txt").write_text("one==1\n")
    site.commit("With a setup")
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    assert site.run().exit_code == 0

    (site.top / "requirements.txt").write_text("two==2\n")
    site.commit("Other dependencies")
    executor = FakeExecutor()
    with pytest.raises(ApprovalNeededError, match=r"requirements\.txt"):
        site.run(executor)
    assert executor.setups == []
    question = ask_about_setup(site.project, 412)
    [difference] = list_differences(site.project, question)
    assert (difference.before, difference.after) == (b"one==1\n", b"two==2\n")
    approve_setup(site.project, question, "key")
    assert site.run(executor).exit_code == 0

    (site.top / "requirements.txt").chmod(0o755)
    site.commit("Another mode is another content")
    with pytest.raises(ApprovalNeededError):
        site.run()
    (site.top / "requirements.txt").chmod(0o644)
    site.commit("Back to what was approved")
    assert site.run().exit_code == 0
