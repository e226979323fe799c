"""The keys of the JSON that programs read: reports, scope, issues, attestations. Names may be added, never taken away."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from codeboost.cli.app import build_app
from codeboost.cli.console import run_app
from codeboost.store.attempts import Attempt

PROJECT = Path(__file__).parents[2] / "examples/payments"


@pytest.fixture
def read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., dict[str, Any]]:
    """The example with its approved plan; each command line answers with the JSON on stdout."""
    top = tmp_path / "payments"
    shutil.copytree(PROJECT / "project", top)
    monkeypatch.chdir(top)
    monkeypatch.setenv("CODEBOOST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "ada@example.org")

    def run(*arguments: object) -> dict[str, Any]:
        capsys.readouterr()
        run_app(build_app(), "codeboost", [str(word) for word in arguments])
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("remote", "add", "origin", "https://github.com/example/payments.git")
    run("init", "--image", "codeboost/example:1", "--json")
    git("add", "-A")
    git("commit", "-q", "--no-verify", "-m", "Base")
    run("plan", "import", PROJECT / "plan.yaml", "--issue", 412, "--json")
    run("plan", "approve", 412, "--yes", "--json")
    return run


@pytest.fixture
def call(read: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The same for commands that answer with the envelope."""

    def run(*arguments: object) -> dict[str, Any]:
        document = read(*arguments)
        assert document.keys() >= {"format", "command", "ok", "exit_code", "data", "diagnostics"}
        assert document["format"] == 1
        return document

    return run


def test_report(call: Callable[..., dict[str, Any]]) -> None:
    document = call("report", 412, "--json")
    data = document["data"]
    assert document["command"] == "report"
    assert data.keys() >= {
        *("issue", "repository", "revision", "plan_sha256", "base_commit", "policy_digest", "approved_by"),
        *("commit", "tree", "result", "reasons", "complete", "items", "runs", "scope"),
    }
    item = data["items"][0]
    assert item.keys() >= {"id", "title", "task", "commands", "checks"}
    assert item["commands"][0].keys() >= {"position", "text", "argv", "verdict", "attempt"}
    assert item["checks"][0].keys() >= {"item", "position", "text", "verdict", "note", "by", "at"}
    assert (item["commands"][0]["verdict"], item["commands"][0]["attempt"]) == ("not-run", None)


def test_attempt() -> None:
    assert {field.name for field in fields(Attempt)} >= {
        *("id", "run_id", "item", "position", "argv", "argv_sha256", "approval", "verdict", "reason"),
        *("exit_code", "signal", "timed_out", "out_of_memory", "started_at", "ended_at", "duration_s"),
        *("limits", "limits_in_force", "container_id", "image_id", "stdout", "stderr", "warnings"),
        *("spec_digest", "reused_from", "reused_run"),
    }


def test_scope(call: Callable[..., dict[str, Any]]) -> None:
    document = call("scope", 412, "--json")
    data = document["data"]
    assert data.keys() >= {
        *("issue", "revision", "base_commit", "commit", "changed", "planning_files", "findings")
    }
    assert data["findings"][0].keys() >= {
        *("kind", "path", "renamed_from", "declared", "actual", "items", "message")
    }
    assert document["diagnostics"][0]["code"] == "scope-missing"


def test_issue(call: Callable[..., dict[str, Any]]) -> None:
    keys = {"repository", "number", "title", "state", "body", "selected_at", "fetched_at", "abandoned_at"}
    assert call("issue", "select", 412, "--json")["data"].keys() >= keys
    assert call("issue", "show", "--json")["data"].keys() >= keys


def test_attestation(
    read: Callable[..., dict[str, Any]], call: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    statement = read("report", 412, "--format", "attestation")
    assert statement.keys() == {"_type", "subject", "predicateType", "predicate"}
    assert statement["predicate"].keys() == {
        *("result", "configuration", "passedTests", "warnedTests", "failedTests")
    }
    path = tmp_path / "attestation.json"
    path.write_text(json.dumps(statement))
    data = call("attest", "verify", path, "--json")["data"]
    assert data.keys() >= {"subject", "commit", "result", "signed", "signer", "holds", "checks"}
    assert data["checks"][0].keys() >= {"name", "answer", "text"}
