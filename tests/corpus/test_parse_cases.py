"""Files that a strict reader accepts or rejects, with the value of those that it accepts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codeboost import PlanSourceError, parse_source
from codeboost.plan.rules import PARSE_REASONS

FOLDER = Path(__file__).parent / "parse"
CASES = [json.loads(line) for line in (FOLDER / "index.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_verdict_and_value(case: dict[str, Any]) -> None:
    data = (FOLDER / case["file"]).read_bytes()
    if case["verdict"] == "accept":
        value = parse_source(data, case["format"])
        if "value" in case:
            assert value == case["value"]
        return
    with pytest.raises(PlanSourceError) as caught:
        parse_source(data, case["format"])
    for diagnostic in caught.value.diagnostics:
        assert diagnostic.code == "parse"
        assert diagnostic.reason in PARSE_REASONS
        assert diagnostic.position is not None
        assert len(diagnostic.message) < 300


def test_every_case_file_is_listed() -> None:
    present = {path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*")}
    assert present == {case["file"] for case in CASES}
