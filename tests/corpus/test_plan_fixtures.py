"""``fixtures/plans``: one fault a file, beside exactly what is found and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codeboost import BaseEntry, Diagnostic, PlanContext, check_plan
from codeboost.plan.rules import PARSE_REASONS, RULES

FOLDER = Path(__file__).parents[2] / "fixtures" / "plans"
FILES = sorted(path for path in FOLDER.glob("*/*") if path.suffix in {".yaml", ".json"})
FILES = [path for path in FILES if not path.name.endswith(".expected.json")]
USUAL_CONTEXT = json.loads((FOLDER / "context.json").read_text("utf-8"))


def load_expected(path: Path) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads(path.with_name(path.name + ".expected.json").read_text("utf-8"))
    return expected


def make_context(context: dict[str, Any]) -> PlanContext:
    entries = context["base_entries"]
    return PlanContext(
        issue=context["issue"],
        base_entries=None if entries is None else [BaseEntry(**entry) for entry in entries],
        approved=[tuple(argv) for argv in context["approved"]],
        path_key=context["path_key"],
    )


def describe(diagnostic: Diagnostic) -> dict[str, Any]:
    fields = ("code", "severity", "item", "pointer", "line", "column", "reason", "keyword")
    values = {name: getattr(diagnostic, name) for name in fields}
    return {name: value for name, value in values.items() if value is not None}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_fixture_is_judged_as_written_beside_it(path: Path) -> None:
    expected = load_expected(path)
    data = path.read_bytes().ljust(expected.get("pad_to", 0))
    context = make_context(expected.get("context", USUAL_CONTEXT))
    checked = check_plan(data, path.suffix.removeprefix("."), context)
    assert [describe(diagnostic) for diagnostic in checked.diagnostics] == expected["diagnostics"]
    if path.parent.name == "valid":
        assert checked.plan is not None
        assert checked.diagnostics == ()
    else:
        # One fault: whatever is found, it is one code.
        assert len({diagnostic.code for diagnostic in checked.diagnostics}) == 1


def test_fixtures_cover_every_code_and_every_reason() -> None:
    found = [entry for path in FILES for entry in load_expected(path)["diagnostics"]]
    assert {entry["code"] for entry in found} == set(RULES)
    assert {entry["reason"] for entry in found if "reason" in entry} == set(PARSE_REASONS)
    assert all(entry["severity"] == RULES[entry["code"]].severity for entry in found)


def test_every_expectation_has_its_plan() -> None:
    expectations = {path.name.removesuffix(".expected.json") for path in FOLDER.glob("*/*.expected.json")}
    assert expectations == {path.name for path in FILES}
