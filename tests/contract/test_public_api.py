"""What ``import codeboost`` offers, as other programs rely on it."""

from __future__ import annotations

import inspect

import pytest

import codeboost

PLAN = (
    b'{"schema_version": 1, "issue": 7, "revision": 1, "summary": "S", "questions": [], "items": [{"id": "P1",'
    b' "title": "T", "intent": "I", "depends_on": [], "files": [{"path": "a.txt", "kind": "edit",'
    b' "renamed_from": null, "change": "c"}], "acceptance": [{"type": "cmd", "text": "npm test"}]}]}'
)


def test_every_name_is_there_and_listed() -> None:
    assert set(codeboost.__all__) == {
        "BaseEntry",
        "Check",
        "CheckedPlan",
        "CommandSyntaxError",
        "Diagnostic",
        "FileChange",
        "Item",
        "Plan",
        "PlanContext",
        "PlanSourceError",
        "check_plan",
        "is_approved",
        "parse_command",
        "parse_source",
    }
    for name in codeboost.__all__:
        assert getattr(codeboost, name) is not None
        assert name in dir(codeboost)
    with pytest.raises(AttributeError):
        codeboost.nothing_of_that_name  # noqa: B018


def test_the_shape_of_the_calls() -> None:
    assert codeboost.parse_command("a 'b c'") == ("a", "b c")
    with pytest.raises(codeboost.CommandSyntaxError) as refused:
        codeboost.parse_command("a | b")
    assert refused.value.column == 3
    assert refused.value.reason
    assert codeboost.parse_source(b"a: [1, 1.0]", "yaml") == {"a": [1, 1]}
    with pytest.raises(codeboost.PlanSourceError) as unread:
        codeboost.parse_source(b'{"a": 1, "a": 2}', "json")
    assert unread.value.diagnostics[0].reason == "duplicate-key"
    assert codeboost.is_approved(("a", "b"), [("a",), ("a", "b")])
    assert not codeboost.is_approved(("a", "b"), [("a",)])


def test_checking_with_and_without_a_context() -> None:
    alone = codeboost.check_plan(PLAN, "json")
    assert alone.plan is not None
    assert alone.plan.items[0].files[0] == codeboost.FileChange("a.txt", "edit", None, "c")  # type: ignore[arg-type]
    context = codeboost.PlanContext(
        issue=7, base_entries=[codeboost.BaseEntry("a.txt", "file")], approved=[], path_key="identity"
    )
    checked = codeboost.check_plan(PLAN, "json", context)
    assert checked.plan is not None
    assert [found.code for found in checked.diagnostics] == ["command-not-allowed"]
    wrong = codeboost.PlanContext(issue=8, base_entries=[], approved=[("npm", "test")], path_key="identity")
    refused = codeboost.check_plan(PLAN, "json", wrong)
    assert refused.plan is None
    assert {found.code for found in refused.diagnostics} == {"issue", "missing-file"}
    unknown = codeboost.check_plan(PLAN, "json", codeboost.PlanContext(7, None, ()))
    assert "context" in {found.code for found in unknown.diagnostics}


def test_the_parameters_keep_their_names() -> None:
    assert list(inspect.signature(codeboost.check_plan).parameters) == ["data", "format", "context"]
    assert list(inspect.signature(codeboost.parse_source).parameters) == ["data", "format"]
    assert list(inspect.signature(codeboost.PlanContext).parameters) == [
        "issue",
        "base_entries",
        "approved",
        "path_key",
        "repository",
        "any_issue",
    ]
