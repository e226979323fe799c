"""When a report is PASSED, WARNED or FAILED, from stored runs over an engine that answers from a script."""

from __future__ import annotations

from typing import Any

import pytest

from codeboost.errors import ApprovalNeededError
from codeboost.operations.attestation import build_statement
from codeboost.operations.give_verdict import give_verdict
from codeboost.operations.make_report import Result, make_report, name_verdict
from codeboost.sandbox.fake import FakeExecutor, ScriptedRun
from codeboost.store.verdicts import Answer
from codeboost.verdict import Verdict

FAILS = ScriptedRun(Verdict.FAILED, 1, stderr=b"it broke\n", reason="exit 1")


@pytest.fixture
def plan(build: Any) -> Any:
    """Two items of one command each, the second after the first."""
    return build.make_plan(build.make_item("P1", "true 1"), build.make_item("P2", "true 2", after=["P1"]))


def with_check(build: Any, *commands: str) -> Any:
    from dataclasses import replace

    from codeboost.plan.model import Check, CheckType

    item = build.make_item("P1", *(commands or ["true 1"]))
    return build.make_plan(
        replace(item, acceptance=(*item.acceptance, Check(CheckType.CHECK, "It is right.")))
    )


def judge(site: Any) -> Result:
    return make_report(site.project, 412).result


def test_everything_passed(site: Any, plan: Any) -> None:
    site.adopt(plan)
    site.run()
    report = make_report(site.project, 412)
    assert (report.result, report.reasons) == (Result.PASSED, ())


def test_nothing_ran(site: Any, plan: Any) -> None:
    site.adopt(plan)
    report = make_report(site.project, 412)
    assert report.result is Result.FAILED
    assert report.reasons == ("no pass on this tree: P1.1, P2.1",)
    assert [name_verdict(command) for command in report.evidence.commands] == ["not-run", "not-run"]


def test_one_failed_and_its_last_words_are_there(site: Any, plan: Any) -> None:
    site.adopt(plan)
    site.run(FakeExecutor({("true", "1"): FAILS}))
    report = make_report(site.project, 412)
    assert report.result is Result.FAILED
    first = report.evidence.commands[0].attempt
    assert first is not None
    assert report.tails[first.id] == {"stderr": b"it broke\n"}


def test_an_old_pass_counts_for_nothing_on_another_tree(site: Any, plan: Any) -> None:
    site.adopt(plan)
    site.run()
    (site.top / "more.txt").write_text("more\n")
    site.commit()
    assert judge(site) is Result.FAILED
    assert make_report(site.project, 412, "HEAD~1").result is Result.PASSED


def test_pending_checks_are_a_warning_and_a_no_is_a_failure(site: Any, build: Any) -> None:
    site.adopt(with_check(build))
    site.run()
    report = make_report(site.project, 412)
    assert (report.result, report.reasons) == (Result.WARNED, ("not judged yet: P1.2",))
    give_verdict(site.project, "GH412-P1", 2, Answer.FAIL)
    assert judge(site) is Result.FAILED
    give_verdict(site.project, "GH412-P1", 2, Answer.PASS)
    assert judge(site) is Result.PASSED


def test_a_pending_check_beside_a_failure_is_no_mere_warning(site: Any, build: Any) -> None:
    site.adopt(with_check(build))
    site.run(FakeExecutor({("true", "1"): FAILS}))
    assert judge(site) is Result.FAILED


def test_partial_runs_never_add_up_to_a_pass(site: Any, plan: Any) -> None:
    site.adopt(plan)
    site.run(items=("P1",))
    site.run(items=("P2",))
    report = make_report(site.project, 412)
    assert report.evidence.commands_passed
    assert report.result is Result.FAILED
    assert "no single run of every item" in report.reasons[0]
    site.run()
    assert judge(site) is Result.PASSED


def test_a_failure_after_a_whole_run_counts(site: Any, plan: Any) -> None:
    site.adopt(plan)
    site.run()
    site.run(FakeExecutor({("true", "2"): FAILS}), items=("P2",), fresh=True)
    assert judge(site) is Result.FAILED


def test_an_image_that_nobody_reviewed_never_passes(site: Any, plan: Any) -> None:
    (site.top / "codeboost.toml").unlink()
    site.commit("No policy")
    site.adopt(plan)
    assert site.run(image="other:1").exit_code == 0
    report = make_report(site.project, 412)
    assert report.result is Result.FAILED
    assert any("--image" in reason for reason in report.reasons)


def test_an_unapproved_plan_has_no_report(site: Any, plan: Any) -> None:
    site.import_plan(plan)
    with pytest.raises(ApprovalNeededError, match="approved"):
        make_report(site.project, 412)


def test_the_scope_comes_along(site: Any, plan: Any) -> None:
    site.adopt(plan)
    assert {finding.kind.value for finding in make_report(site.project, 412).scope.findings} == {"missing"}


def test_the_statement_is_in_toto_and_the_same_each_time(site: Any, build: Any) -> None:
    site.adopt(with_check(build, "true 1", "false"))
    site.run(FakeExecutor({("false",): FAILS}))
    report = make_report(site.project, 412)
    statement = build_statement(report, str(site.project.repository))
    assert statement == build_statement(make_report(site.project, 412), str(site.project.repository))
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    commit = site.git("rev-parse", "HEAD")
    assert statement["subject"] == [{"name": "github.com/example/payments", "digest": {"gitCommit": commit}}]
    predicate = statement["predicate"]
    assert predicate["result"] == "FAILED"
    assert predicate["passedTests"] == ["P1.1 true 1"]
    assert predicate["failedTests"] == ["P1.2 false"]
    assert predicate["warnedTests"] == ["P1.3 It is right."]
    resources = predicate["configuration"]
    assert all(resource["name"] and resource["digest"] for resource in resources)
    digests = {resource["name"]: resource["digest"] for resource in resources}
    assert digests["plan"] == {"sha256": report.evidence.plan.sha256}
    assert digests["policy"] == {"sha256": report.evidence.plan.policy_digest}
    assert digests["tree"] == {"gitTree": site.git("rev-parse", "HEAD^{tree}")}
    assert len(digests["image"]["sha256"]) == len(digests["approvals"]["sha256"]) == 64
    assert {"run:1", "output:P1.2:stderr", "reasons"} <= digests.keys()
