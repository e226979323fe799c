"""Plans against contexts, with the codes and items that must be found, no more and no fewer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codeboost import BaseEntry, Diagnostic, PlanContext, check_plan
from codeboost.diagnostics import Severity

CASES = [
    json.loads(line)
    for name in ("cases.jsonl", "more.jsonl")
    for line in (Path(__file__).parent / "plans" / name).read_text("utf-8").splitlines()
]
# Warnings that codeboost adds to those of the rules.
OUR_WARNINGS = {"policy-file", "suspicious-command"}
# The case names one place of these; all are reported.
WITHOUT_ITEM = {"path", "schema", "parse", "version"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_codes_and_items(case: dict[str, Any]) -> None:
    checked = check_plan(case["source"].encode(), case["format"], make_context(case["context"]))
    assert collect(checked.diagnostics, Severity.ERROR) == expect(case["errors"])
    assert collect(checked.diagnostics, Severity.WARNING) == expect(case["warnings"])
    assert (checked.plan is None) == bool(case["errors"])
    assert all(diagnostic.position for diagnostic in checked.diagnostics)
    for pointer in case.get("schema_paths", ()):
        found = [diagnostic.pointer for diagnostic in checked.diagnostics]
        assert any(
            other == pointer.rstrip("/") or other.startswith(pointer.rstrip("/") + "/") for other in found
        )


def make_context(context: dict[str, Any]) -> PlanContext:
    entries = context["baseEntries"]
    return PlanContext(
        issue=context["issue"],
        base_entries=None
        if entries is None
        else [BaseEntry(entry["path"], entry["kind"], entry.get("target")) for entry in entries],
        approved=[tuple(argv) for argv in context["allowedCommands"]],
        path_key=context["pathKey"],
    )


def collect(diagnostics: tuple[Diagnostic, ...], severity: Severity) -> set[tuple[str, str | None]]:
    return {
        (found.code, None if found.code in WITHOUT_ITEM else found.item)
        for found in diagnostics
        if found.severity is severity and found.code not in OUR_WARNINGS
    }


def expect(pairs: list[list[str]]) -> set[tuple[str, str | None]]:
    return {(code, None if code in WITHOUT_ITEM else item) for code, item in pairs}
