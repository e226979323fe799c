"""``codeboost init``: which repository a checkout is said to be."""

from __future__ import annotations

from typing import Any

from codeboost.operations.init_project import init_project
from codeboost.operations.project import open_project


def test_another_repository_is_taken_up_and_said(site: Any) -> None:
    again = init_project(site.store, site.top)
    assert again.warnings == ()
    moved = init_project(site.store, site.top, slug="example/elsewhere")
    assert moved.warnings == (
        "this checkout belonged to github.com/example/payments before; its plans and approvals stay there",
    )
    assert str(open_project(site.store, site.top).repository) == "github.com/example/elsewhere"
