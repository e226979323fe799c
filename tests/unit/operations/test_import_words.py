"""What an import says comes next."""

from __future__ import annotations

from typing import Any

from codeboost.reporting.plans import render_import


def test_only_what_is_left_to_do_is_named(site: Any, build: Any) -> None:
    plan = build.make_plan(build.make_item("P1", "true"))
    said = render_import(site.import_plan(plan))
    assert "codeboost allow approve 412" in said
    assert "codeboost plan approve 412" in said
    assert "no codeboost.toml" not in said
    site.approve("true")
    said = render_import(site.import_plan(build.make_plan(build.make_item("P1", "true", intent="Else."))))
    assert "allow approve" not in said
    assert "Next: codeboost plan approve 412" in said


def test_a_base_without_a_policy_is_told_before_the_first_run(site: Any, build: Any) -> None:
    site.git("rm", "-q", "codeboost.toml")
    site.commit()
    said = render_import(site.import_plan(build.make_plan(build.make_item("P1", "true"))))
    assert "has no codeboost.toml" in said
    assert "--image REF" in said
