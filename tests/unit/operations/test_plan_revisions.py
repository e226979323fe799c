"""Revisions of a plan beside each other."""

from __future__ import annotations

from typing import Any

import pytest

from codeboost.errors import UsageError
from codeboost.operations.project import require_plan
from codeboost.plan.difference import compare_plans
from codeboost.reporting.plans import describe_difference, render_difference, render_import


def compare(site: Any, before: int, after: int) -> tuple[str, dict[str, Any]]:
    old, new = (require_plan(site.project, 412, revision) for revision in (before, after))
    difference = compare_plans(old.plan, new.plan)
    return render_difference(difference, old, new, color=False), describe_difference(difference, old, new)


def test_another_base_and_policy_are_a_difference(site: Any, build: Any) -> None:
    plan = build.make_plan(build.make_item("P1", "true"))
    assert site.import_plan(plan).repeats is None
    again = site.import_plan(plan)
    assert again.repeats == 1
    assert "It says what revision 1 says, on the same base and policy." in render_import(again)
    text, data = compare(site, 1, 2)
    assert text == "revision 1 → revision 2\nnothing changed"
    assert data["ground"] == {}

    before = site.git("rev-parse", "HEAD")
    policy = site.top / "codeboost.toml"
    policy.write_text(policy.read_text().replace("example:1", "example:2"))
    after = site.commit()
    assert site.import_plan(plan).repeats is None
    text, data = compare(site, 2, 3)
    assert f"base commit:\n    - {before}\n    + {after}\npolicy digest:\n" in text
    assert text.endswith("\nnothing else changed")
    assert data["ground"]["base_commit"] == {"before": before, "after": after}
    assert set(data["ground"]) == {"base_commit", "policy_digest"}


def test_a_revision_that_is_not_there_names_those_that_are(site: Any, build: Any) -> None:
    for count, has in ((1, "it has revision 1 alone"), (2, "it has revisions 1 to 2")):
        site.import_plan(build.make_plan(build.make_item("P1", *["true"] * count)))
        with pytest.raises(UsageError, match="no revision 9") as caught:
            require_plan(site.project, 412, 9)
        assert caught.value.hint == has
