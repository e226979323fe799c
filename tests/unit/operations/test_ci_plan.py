"""``run --ci``: the base commit is all that is trusted, and the store only keeps what was observed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from codeboost.errors import InputError, UsageError
from codeboost.operations.ci_plan import take_ci_plan
from codeboost.operations.evidence import collect_evidence
from codeboost.operations.plan_file import PlanFile
from codeboost.operations.project import open_project
from codeboost.operations.run_checks import run_checks
from codeboost.operations.run_model import RunRequest, RunResult
from codeboost.plan.canonical import encode_plan
from codeboost.reporting.runs import render_run
from codeboost.sandbox.fake import FakeExecutor
from codeboost.store.database import Store
from codeboost.store.plans import list_plans
from codeboost.verdict import Verdict

DIGEST = "sha256:" + "0" * 64


@pytest.fixture
def store(site: Any) -> Any:
    """An empty store, beside the one that the checkout was set up with."""
    with Store.open(site.store.home.parent / "ci") as store:
        yield store


@pytest.fixture
def base(site: Any) -> str:
    policy = site.top / "codeboost.toml"
    text = policy.read_text().replace("codeboost/example:1", f"example@{DIGEST}")
    policy.write_text(text + '\n[allow]\ncommands = ["true 1"]\n')
    commit: str = site.commit("A policy for CI")
    return commit


def take(site: Any, store: Store, plan: Any, base: str, **options: Any) -> Any:
    return take_ci_plan(
        store, site.top, PlanFile("plan.json", encode_plan(plan), "json"), base=base, **options
    )


@pytest.fixture
def run(build: Any) -> Callable[..., RunResult]:
    def run(project: Any, stored: Any, executor: FakeExecutor) -> RunResult:
        request = RunRequest(stored.issue, ci_plan=stored)
        return run_checks(project, request, lambda: executor, build.Recorder(), threading.Event())

    return run


def test_only_what_review_allowed_runs(site: Any, build: Any, store: Store, base: str, run: Any) -> None:
    plan = build.make_plan(build.make_item("P1", "true 1"), build.make_item("P2", "true 2"))
    (site.top / "codeboost.toml").write_text('[allow]\ncommands = ["true 1", "true 2"]\n')
    site.commit("The change allows itself more")
    project, stored = take(site, store, plan, base)
    executor = FakeExecutor()
    result = run(project, stored, executor)
    assert [spec.argv for spec in executor.executed] == [("true", "1")]
    assert [attempt.verdict for attempt in result.attempts] == [Verdict.PASSED, Verdict.NOT_APPROVED]
    assert result.exit_code == 3
    shown = render_run(result, color=False, width=None)
    assert f"[allow] of codeboost.toml at {stored.base_commit[:12]}" in shown
    assert "allow approve" not in shown, "nobody's approval would count"
    assert executor.pulls[0][0] == f"example@{DIGEST}"
    assert not (site.top / ".planr/tasks/GH412-P1.md").exists(), "no task of a workflow's checkout is moved"


def test_what_the_store_approves_has_no_say(site: Any, build: Any, store: Store, base: str, run: Any) -> None:
    from codeboost.command.grammar import parse_command
    from codeboost.operations.add_approval import add_approval

    project, stored = take(site, store, build.make_plan(build.make_item("P1", "true 2")), base)
    add_approval(project, parse_command("true 2"), reason="smuggled in")
    assert run(project, stored, FakeExecutor()).exit_code == 3


def test_the_evidence_is_of_the_base_s_word_and_no_person_s(
    site: Any, build: Any, store: Store, base: str, run: Any
) -> None:
    plan = build.make_plan(build.make_item("P1", "true 1"))
    project, stored = take(site, store, plan, base)
    result = run(project, stored, FakeExecutor())
    assert result.exit_code == 0
    assert stored.approval is None
    shown = render_run(result, color=False, width=None)
    assert "Every command passed." in shown
    assert "GH412" not in shown, "there are no tasks in a workflow"
    evidence = collect_evidence(open_project(store, site.top), 412)
    assert evidence.approved_by == "base"
    assert evidence.is_complete
    again = take(site, store, plan, base)[1]
    assert again.id == stored.id, "the same plan on the same base is the same revision"


def test_no_pass_of_the_store_counts(site: Any, build: Any, store: Store, base: str, run: Any) -> None:
    """A store that a workflow keeps in a cache may be written by whoever can fill that cache."""
    project, stored = take(site, store, build.make_plan(build.make_item("P1", "true 1")), base)
    assert run(project, stored, FakeExecutor()).exit_code == 0
    again = FakeExecutor()
    assert run(project, stored, again).exit_code == 0
    assert len(again.executed) == 1


def test_a_person_s_store_is_left_alone(site: Any, build: Any, base: str) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true 1")))
    with pytest.raises(UsageError, match="store"):
        take(site, site.store, build.make_plan(build.make_item("P1", "true 1")), base)
    assert len(list_plans(site.store, site.project.repository.id)) == 1


def test_the_image_has_to_be_exact(site: Any, build: Any, store: Store) -> None:
    with pytest.raises(UsageError, match="digest"):
        take(site, store, build.make_plan(build.make_item("P1", "true 1")), "HEAD")


def test_a_plan_with_errors_is_refused_with_all_of_them(
    site: Any, build: Any, store: Store, base: str
) -> None:
    plan = build.make_plan(build.make_item("P1", "true 1", path="../out"))
    with pytest.raises(InputError) as refused:
        take(site, store, plan, base)
    assert {found.code for found in refused.value.diagnostics if found.is_error} == {"path"}


def test_another_issue_and_an_unknown_base_are_refused(
    site: Any, build: Any, store: Store, base: str
) -> None:
    plan = build.make_plan(build.make_item("P1", "true 1"))
    with pytest.raises(InputError, match="412"):
        take(site, store, plan, base, issue=7)
    with pytest.raises(UsageError, match="base commit"):
        take(site, store, plan, "f" * 40)


def test_without_an_origin_the_repository_has_to_be_named(
    site: Any, build: Any, store: Store, base: str
) -> None:
    site.git("remote", "remove", "origin")
    plan = build.make_plan(build.make_item("P1", "true 1"))
    with pytest.raises(UsageError, match="which repository"):
        take(site, store, plan, base)
    project, _ = take(site, store, plan, base, slug="example/payments")
    assert project.repository.slug == "example/payments"
