"""``codeboost runs``: the runs of an issue."""

from __future__ import annotations

from typing import Any

import pytest

from codeboost.errors import UsageError
from codeboost.operations.find_log import list_run_rows


def test_an_issue_without_a_plan_has_no_list_of_runs(site: Any, build: Any) -> None:
    with pytest.raises(UsageError, match="no plan for issue 413"):
        list_run_rows(site.project, 413)
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    assert list_run_rows(site.project, 412) == []
