"""The JSON documents of what runs and of what is known about it: names may be added, none may change or go."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codeboost.sandbox.fake import FakeExecutor, ScriptedRun

ROOT = Path(__file__).parents[2]
ENVELOPE = {"format", "command", "ok", "exit_code", "data", "diagnostics"}
RUN = {
    "run",
    "issue",
    "repository",
    "revision",
    "plan_sha256",
    "base_commit",
    "commit",
    "tree",
    "image",
    "image_id",
    "complete",
    "left",
    "duration_s",
    "warnings",
    "scope",
    "items",
}
RUN_ITEM = {"id", "title", "verdict", "waits_for", "task", "task_status", "attempts", "statements"}
ATTEMPT = {
    "id",
    "run_id",
    "item",
    "position",
    "argv",
    "argv_sha256",
    "approval",
    "verdict",
    "reason",
    "exit_code",
    "signal",
    "timed_out",
    "out_of_memory",
    "started_at",
    "ended_at",
    "duration_s",
    "limits",
    "limits_in_force",
    "container_id",
    "image_id",
    "stdout",
    "stderr",
    "warnings",
    "spec_digest",
    "reused_from",
    "reused_run",
}
LIMITS = {"timeout_s", "memory_bytes", "cpus", "pids", "disk_bytes"}
STREAM = {"total", "kept", "head", "sha256"}
STATEMENT = {"item", "position", "text", "verdict", "note", "by", "at"}
RUN_ROW = {
    "run",
    "revision",
    "commit",
    "tree",
    "image",
    "image_id",
    "items",
    "complete",
    "ci",
    "started_at",
    "ended_at",
    "exit_code",
    "verdicts",
}
STATUS = {
    "issue",
    "repository",
    "abandoned",
    "plan",
    "plan_in_force",
    "commit",
    "commands",
    "changed_setup_inputs",
    "evidence",
    "tasks",
    "last_run",
    "waits",
}
VERDICT = {
    "task",
    "item",
    "position",
    "text",
    "verdict",
    "note",
    "by",
    "at",
    "commit",
    "tree",
    "task_status",
    "pending",
}


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command line of the example in this process, over an engine that answers from a script."""
    from codeboost.cli.app import build_app
    from codeboost.cli.console import run_app

    monkeypatch.setenv("CODEBOOST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "ada@example.org")
    top = tmp_path / "payments"
    shutil.copytree(ROOT / "examples/payments/project", top)
    monkeypatch.chdir(top)
    script = {("python3", "-m", "unittest", "discover", "-s", "tests"): ScriptedRun(stdout=b"hello\n")}
    monkeypatch.setattr("codeboost.cli.run._open_executor", lambda _: FakeExecutor(script))

    def call(*arguments: object, code: int = 0) -> Any:
        capsys.readouterr()
        assert run_app(build_app(), "codeboost", [*map(str, arguments), "--json"]) == code
        document = json.loads(capsys.readouterr().out)
        assert set(document) >= ENVELOPE
        assert (document["format"], document["exit_code"], document["ok"]) == (1, code, code == 0)
        return document["data"]

    for words in (
        ("git", "init", "-q", "-b", "main"),
        ("git", "remote", "add", "origin", "https://github.com/example/payments.git"),
    ):
        subprocess.run(words, check=True)
    call("init", "--image", "codeboost/example:1")
    subprocess.run(["git", "add", "-A"], check=True)
    subprocess.run(["git", "commit", "-q", "--no-verify", "-m", "Base"], check=True)
    call("plan", "import", ROOT / "examples/payments/plan.yaml", "--issue", 412)
    return call


@pytest.fixture
def approved(call: Callable[..., Any]) -> Callable[..., Any]:
    for text in (
        "python3 -m unittest -v tests.test_idempotency",
        "python3 -m unittest -v tests.test_retry",
        "python3 -m unittest discover -s tests",
    ):
        call("allow", "add", text)
    call("plan", "approve", 412, "--yes")
    return call


def test_run(approved: Callable[..., Any]) -> None:
    data = approved("run", 412)
    assert set(data) >= RUN
    for item in data["items"]:
        assert set(item) >= RUN_ITEM
        assert item["attempts"]
        for attempt in item["attempts"]:
            assert set(attempt) >= ATTEMPT
            assert set(attempt["limits"]) >= LIMITS
            assert set(attempt["stdout"]) >= STREAM
    [statement] = data["items"][0]["statements"]
    assert set(statement) >= STATEMENT
    assert statement["verdict"] is None
    again = approved("run", 412)["items"][0]["attempts"][0]
    assert (again["verdict"], again["reused_run"]) == ("passed", data["run"])


def test_a_run_that_may_not_start_is_a_diagnostic(call: Callable[..., Any]) -> None:
    assert call("run", 412, code=3) is None
    assert call("run", 413, code=2) is None


def test_runs_and_log(approved: Callable[..., Any]) -> None:
    approved("run", 412)
    [row] = approved("runs", 412)
    assert set(row) >= RUN_ROW
    assert row["verdicts"] == {"passed": 3}
    first, second = approved("log", "GH412-P2")
    assert set(first["attempt"]) >= ATTEMPT
    assert second["output"][0] == {"stream": "stdout", "head": "hello\n", "dropped": 0, "tail": ""}


def test_status(approved: Callable[..., Any]) -> None:
    approved("run", 412)
    data = approved("status", 412)
    assert set(data) >= STATUS
    assert set(data["commands"]) >= {"approved", "pending"}
    assert set(data["evidence"]) >= {"complete", "commands", "statements"}
    assert set(data["evidence"]["commands"][0]) >= {"item", "position", "verdict", "attempt", "run"}
    assert set(data["tasks"][0]) >= {"id", "item", "title", "status", "proven", "waits_for"}
    assert set(data["last_run"]) >= RUN_ROW
    assert set(data["waits"][0]) >= {"who", "what", "command"}


def test_verdict(approved: Callable[..., Any]) -> None:
    data = approved("verdict", "GH412-P1", 2, "pass", "--by", "Grace")
    assert set(data) >= VERDICT
    assert (data["by"], data["pending"]) == ("Grace", [])


def test_abandon_prune_and_setup(approved: Callable[..., Any]) -> None:
    approved("run", 412)
    data = approved("allow", "setup", 412)
    assert set(data) >= {"issue", "commit", "changed", "inputs", "sha256", "approved_at", "how"}
    data = approved("prune", "--days", 0)
    assert set(data) >= {"output", "runs", "left_bytes"}
    assert set(data["output"][0]) >= {"run", "bytes", "reason"}
    data = approved("plan", "abandon", 412, "--yes")
    assert set(data) >= {"issue", "revision", "goal", "dropped"}
