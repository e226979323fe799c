"""``codeboost init``: which repository a checkout is said to be."""

from __future__ import annotations

from typing import Any

import pytest

from codeboost.errors import UsageError
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


def test_an_image_that_is_no_name_of_one_is_refused_before_anything_is_written(site: Any) -> None:
    (site.top / "codeboost.toml").unlink()
    with pytest.raises(UsageError, match=r"--image: .*'foo bar' is not the name of an image"):
        init_project(site.store, site.top, image="foo bar")
    assert not (site.top / "codeboost.toml").exists()
    assert init_project(site.store, site.top, image="foo:1").image == "foo:1"
