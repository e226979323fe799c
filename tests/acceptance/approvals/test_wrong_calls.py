"""Calls that make no sense: one line that says why and exit code 2; with ``--json`` one document, whatever happens."""

from __future__ import annotations

import json
from typing import Any

import pytest

HUGE = "9" * 30
ODD = "\udcff"


@pytest.mark.parametrize(
    "call",
    [
        [],
        ["plan"],
        ["allow"],
        ["nothing"],
        ["plan", "show", HUGE],
        ["plan", "show", "412", "--revision", HUGE],
        ["plan", "list", "--issue", HUGE],
        ["plan", "import", "-", "--issue", HUGE],
        ["plan", "diff", "412", "1", HUGE],
        ["plan", "check", "-", "-"],
        ["plan", "check", "-", "--format", "xml"],
        ["plan", "show", "412", "--format", "xml"],
        ["issue", "select", HUGE],
        ["status", HUGE],
        ["runs", "412", "--limit", HUGE],
        ["run", HUGE],
        ["verdict", f"GH{HUGE}-P1", "1", "pass"],
        ["prune", "--run-days", "3000000"],
        ["allow", "revoke", "--id", HUGE],
        ["allow", "add", "x", "--reason", ODD],
        ["command", "parse", ODD],
        ["init", "--repo", "../.."],
    ],
)
def test_a_wrong_call_is_one_line(desk: Any, call: list[str]) -> None:
    desk.import_plan("make")
    plain, document = desk.run(*call), desk.run(*call, "--json")
    assert plain.code == document.code == 2
    assert plain.out == ""
    assert plain.err.startswith("codeboost: ")
    lines = plain.err.splitlines()
    assert len(lines) <= 2
    assert "\\n" not in lines[0]
    said = json.loads(document.out)
    assert said["exit_code"] == 2
    assert [found["severity"] for found in said["diagnostics"]] == ["error"]


@pytest.mark.parametrize("call", [["plan", "check", "-"], ["plan", "show", "412"]])
def test_two_formats_are_one_too_many(desk: Any, call: list[str]) -> None:
    desk.import_plan("make")
    said = desk.run(*call, "--format", "markdown", "--json")
    assert said.code == 2
    assert "two formats" in said.err


def test_a_file_that_is_not_there_is_a_wrong_call(desk: Any) -> None:
    assert desk.run("allow", "import", "nowhere.json").code == 2


def test_approving_without_a_terminal_is_one_document(desk: Any) -> None:
    desk.import_plan("make")
    said = desk.run("plan", "approve", "412", "--json")
    assert said.code == 3
    assert json.loads(said.out)["exit_code"] == 3
    assert "make" in said.err


def test_what_nobody_foresaw_is_one_document_too(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("codeboost.operations.project.open_project", fail)
    said = desk.run("plan", "list", "--json")
    assert said.code == 70
    assert json.loads(said.out)["exit_code"] == 70
    assert desk.run("plan", "list").out == ""
