"""The action as a workflow would run it: its own scripts, an empty store, a base commit, a real engine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
pytestmark = pytest.mark.engine


class Job(NamedTuple):
    code: int
    log: str
    summary: str
    reports: Path
    outputs: dict[str, str]


def find_image_id() -> str:
    """The example's image by its immutable id."""
    done = subprocess.run(
        ["docker", "image", "inspect", "--format", "{{.Id}}", "codeboost/example:1"],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def branch(bare_checkout: Any) -> Any:
    """A reviewed base with policy and image by digest, and a branch that brings the work and its plan."""
    policy = f'[sandbox]\nimage = "{find_image_id()}"\n[allow]\ncommands = ["python3 -c pass"]\n'
    bare_checkout.write({"codeboost.toml": policy})
    bare_checkout.commit("Policy")
    bare_checkout.git("checkout", "-q", "-b", "work")
    return bare_checkout


def bring(checkout: Any, *commands: str, **files: str) -> None:
    plan = checkout.write_plan({"id": "P1", "cmds": commands})
    checkout.write({"plan.json": plan.read_text(), "new/P1.txt": "1\n"} | files)
    checkout.commit("Work")


def fill(value: str, context: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ ([a-z._-]+) \}\}", lambda found: context[found[1]], value)


def run_job(checkout: Any, tmp_path: Path, **inputs: str) -> Job:
    """Run the steps that are scripts, as the runner does; the program itself is installed already."""
    temp = tmp_path / "runner"
    (temp / "codeboost/venv/bin").mkdir(parents=True)
    for name in ("codeboost", "python"):
        # A venv finds itself by the place of its python: a script in front keeps that.
        script = f'#!/bin/sh\nPYTHONPATH= exec "{Path(sys.executable).parent}/{name}" "$@"\n'
        (temp / "codeboost/venv/bin" / name).write_text(script)
        (temp / "codeboost/venv/bin" / name).chmod(0o755)
    given = {name: str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()} | inputs
    output, summary = temp / "output", temp / "summary"
    output.write_text("")
    summary.write_text("")
    log, code = "", 0
    for step in ACTION["runs"]["steps"]:
        if "uses" in step or step["name"] == "Install codeboost":
            continue
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        if step["name"] == "Report" and not outputs["issue"]:
            continue
        context = {
            "runner.temp": str(temp),
            "github.action_path": str(ROOT),
            **{f"inputs.{name}": value for name, value in given.items()},
            **{f"steps.run.outputs.{name}": value for name, value in outputs.items()},
        }
        environment = {name: fill(value, context) for name, value in step["env"].items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=checkout.top,
            env={k: v for k, v in checkout.environment.items() if k not in ("CODEBOOST_HOME", "PYTHONPATH")}
            | {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
            | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        log += done.stdout + done.stderr
        code = code or done.returncode
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    return Job(code, log, summary.read_text(), Path(outputs["reports"]), outputs)


def test_no_script_of_the_action_holds_an_expression() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_a_branch_that_keeps_its_plan_passes(branch: Any, tmp_path: Path) -> None:
    bring(branch, "python3 -c pass")
    job = run_job(branch, tmp_path, plan="plan.json", base="main")
    assert job.code == 0, job.log
    assert job.outputs["exit-code"] == "0"
    assert sorted(path.name for path in job.reports.iterdir()) == [
        "attestation.json",
        "junit.xml",
        "report.json",
        "report.md",
        "run.json",
    ]
    report = json.loads((job.reports / "report.json").read_text())["data"]
    assert (report["result"], report["approved_by"], report["scope"]["findings"]) == ("PASSED", "base", [])
    assert "::notice title=codeboost%3A issue 412::PASSED" in job.log
    assert "codeboost: PASSED" in job.summary
    statement = json.loads((job.reports / "attestation.json").read_text())
    assert statement["predicate"]["result"] == "PASSED"


def test_the_branch_approves_nothing_for_itself(branch: Any, tmp_path: Path) -> None:
    policy = (branch.top / "codeboost.toml").read_text().replace('["python3 -c pass"]', '["python3 -c x"]')
    bring(branch, "python3 -c x", **{"codeboost.toml": policy})
    job = run_job(branch, tmp_path, plan="plan.json", base="main")
    assert job.code == 3
    assert "::error title=codeboost%3A P1.1 not-approved::" in job.log
    assert "::warning title=codeboost%3A scope-policy::" in job.log


def test_a_failure_still_leaves_its_reports(branch: Any, tmp_path: Path) -> None:
    policy = (branch.top / "codeboost.toml").read_text().replace("python3 -c pass", "python3 new/check.py")
    branch.git("checkout", "-q", "main")
    branch.write({"codeboost.toml": policy})
    branch.commit("Another policy")
    branch.git("checkout", "-q", "-B", "work")
    bring(branch, "python3 new/check.py", **{"new/check.py": "print('::error::fake')\nraise SystemExit(1)\n"})
    key = tmp_path / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
    job = run_job(branch, tmp_path, plan="plan.json", base="main", **{"sign-key": key.read_text()})
    assert job.code == 1
    assert "<failure " in (job.reports / "junit.xml").read_text()
    assert "payloadType" in json.loads((job.reports / "attestation.json").read_text())
    assert not list(tmp_path.glob("runner/**/key.pem"))
    assert not [line for line in job.log.splitlines() if line.startswith("::") and "fake" in line]


def test_strict_turns_undeclared_changes_into_a_failure(branch: Any, tmp_path: Path) -> None:
    bring(branch, "python3 -c pass", **{"sneaky.txt": "x\n"})
    job = run_job(branch, tmp_path, plan="plan.json", base="main", strict="true")
    assert job.code == 1
    assert "scope-undeclared::sneaky.txt" in job.log


def test_what_cannot_begin_says_so_and_makes_no_report(branch: Any, tmp_path: Path) -> None:
    bring(branch, "python3 -c pass")
    job = run_job(branch, tmp_path, plan="plan.json", base="main", issue="7")
    assert (job.code, job.outputs["issue"]) == (1, "")
    assert [path.name for path in job.reports.iterdir()] == ["run.json"]


def test_inputs_are_words_never_scripts(branch: Any, tmp_path: Path) -> None:
    bring(branch, "python3 -c pass")
    evil = '$(touch ../evil) `touch ../evil`; touch ../evil "'
    job = run_job(branch, tmp_path, plan=evil, base=evil, rev=evil, issue=evil)
    assert job.code == 2
    assert not (branch.top.parent / "evil").exists()


def test_the_checkout_is_never_imported(branch: Any, tmp_path: Path) -> None:
    trap = "import os, pathlib\npathlib.Path('../imported').touch()\n"
    modules = ("codeboost/__init__", "json", "typer", "sitecustomize", "usercustomize")
    bring(branch, "python3 -c pass", **{f"{name}.py": trap for name in modules})
    job = run_job(branch, tmp_path, plan="plan.json", base="main")
    assert job.code == 0, job.log
    assert not os.path.lexists(branch.top.parent / "imported")
