"""Reports of a real run on a real engine, by the command line, in every format."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest
from junitparser import Failure, JUnitXml

pytestmark = pytest.mark.engine

PASSES = "python3 -c pass"
# Prints what a terminal, a workflow log, XML and Markdown would take amiss, and fails.
EVIL = "python3 new/evil.py"
EVIL_CODE = """
import sys
sys.stdout.write("::error::fake\\n\\x1b[31mred\\x00 ]]>\\n``` </details> @all\\n# PASSED\\n")
sys.stderr.buffer.write(b"\\xff\\xfe\\n")
raise SystemExit(3)
"""


@pytest.fixture
def reported(checkout: Any) -> Any:
    """A checkout with a plan of two items: one passes and has a pending check, one fails with odd output."""
    checkout.adopt(
        {"id": "P1", "cmds": [PASSES], "checks": ["It is right."]},
        {"id": "P2", "cmds": [EVIL]},
    )
    checkout.write({"new/P1.txt": "1\n", "new/P2.txt": "2\n", "new/evil.py": EVIL_CODE})
    checkout.commit()
    assert checkout.call("run", 412, "--quiet").code == 1
    return checkout


def test_every_format_tells_the_same(reported: Any, tmp_path: Path) -> None:
    text = reported.call("report", 412)
    assert text.code == 0
    assert "\x1b" not in text.out
    assert "\nFAILED\n  no pass on this tree: P2.1\n  not judged yet: P1.2\n" in text.out
    assert "new/evil.py: no item declares it" in text.out

    document = reported.call("report", 412, "--json").document
    assert document == reported.call("report", 412, "--format", "json").document
    data = document["data"]
    assert (document["ok"], data["result"], data["complete"]) == (True, "FAILED", False)
    assert [command["verdict"] for item in data["items"] for command in item["commands"]] == [
        "passed",
        "failed",
    ]
    assert [check["verdict"] for item in data["items"] for check in item["checks"]] == [None]
    assert [found["code"] for found in document["diagnostics"]] == ["scope-undeclared"]

    junit = tmp_path / "junit.xml"
    assert reported.call("report", 412, "--format", "junit", "--out", junit).out == ""
    suites = list(JUnitXml.fromfile(str(junit)))
    assert [(suite.tests, suite.failures, suite.errors) for suite in suites] == [(1, 0, 0), (1, 1, 0)]
    (case,) = suites[1]
    assert isinstance(case.result[0], Failure)
    assert "stdout | \\x1b[31mred\\x00 ]]>" in case.system_out

    markdown = reported.call("report", 412, "--format", "markdown").out
    assert markdown.startswith("### ❌ codeboost: FAILED\n")
    assert "\nstdout | # PASSED\n" in markdown

    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    done = reported.call("report", 412, "--format", "github", env={"GITHUB_STEP_SUMMARY": str(summary)})
    assert [line.split(" ")[0] for line in done.out.splitlines()] == [
        "::error",
        "::warning",
        "::warning",
        "::error",
    ]
    assert summary.read_text().startswith("before\n### ❌ codeboost: FAILED\n")
    assert "| `python3 -c pass` | ✅ passed |" in summary.read_text()


def test_a_full_summary_is_left_alone(reported: Any, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_bytes(b"x" * ((1 << 20) - 100))
    reported.call("report", 412, "--format", "github", env={"GITHUB_STEP_SUMMARY": str(summary)})
    assert summary.stat().st_size <= 1 << 20
    done = reported.call("report", 412, "--format", "github", env={"GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert done.code == 0
    assert "cannot be written" in done.err


def test_out_is_whole_or_not_at_all(reported: Any, tmp_path: Path) -> None:
    target = tmp_path / "real.json"
    target.write_text("old")
    target.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(target)
    assert reported.call("report", 412, "--format", "json", "--out", link).code == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["command"] == "report"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.glob(".*json*")) == []
    for odd in (tmp_path / "absent/x.json", tmp_path):
        done = reported.call("report", 412, "--out", odd)
        assert done.code == 2
        assert "cannot be written" in done.err
    assert reported.call("report", 412, "--format", "json", "--out", "/dev/null").code == 0
    assert reported.call("report", 412, "--format", "json", "--out", "-").document["command"] == "report"


def test_an_attestation_goes_round(reported: Any, tmp_path: Path) -> None:
    key, public, signed = tmp_path / "key.pem", tmp_path / "key.pub", tmp_path / "signed.json"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True)
    reported.write({"new/evil.py": "print('better')\n"})
    reported.commit()
    assert reported.call("run", 412, "--quiet").code == 0
    assert reported.call("verdict", "GH412-P1", 2, "pass", "--note", "read it").code == 0
    made = reported.call("report", 412, "--format", "attestation", "--sign", key, "--out", signed)
    assert (made.code, made.out) == (0, "")
    envelope = json.loads(signed.read_text())
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    statement = json.loads(b64decode(envelope["payload"]))
    assert statement == reported.call("report", 412, "--format", "attestation").document
    assert statement["subject"][0]["digest"] == {"gitCommit": reported.git("rev-parse", "HEAD")}
    assert statement["predicate"]["result"] == "PASSED"

    done = reported.call("attest", "verify", signed)
    assert done.code == 0
    assert "signature not verified" in done.out
    document = reported.call("attest", "verify", signed, "--key", public, "--json").document
    assert (document["ok"], document["data"]["holds"], document["data"]["result"]) == (True, True, "PASSED")
    assert {check["answer"] for check in document["data"]["checks"]} == {"holds"}

    piped = reported.call("attest", "verify", "-", "--key", public, stdin=signed.read_text())
    assert (piped.code, piped.err) == (0, "")

    forged = json.loads(signed.read_text())
    statement["predicate"]["passedTests"].pop()
    forged["payload"] = b64encode(json.dumps(statement).encode()).decode()
    signed.write_text(json.dumps(forged))
    assert reported.call("attest", "verify", signed).code == 1
    done = reported.call("attest", "verify", signed, "--key", public)
    assert done.code == 1
    assert "no trusted key signed it" in done.out


def test_scope_warns_and_strict_fails(reported: Any) -> None:
    done = reported.call("scope", 412)
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        "warning[scope-undeclared] new/evil.py: no item declares it: added",
    )
    strict = reported.call("scope", 412, "--strict", "--json")
    assert strict.code == 1
    assert [found["severity"] for found in strict.document["diagnostics"]] == ["error"]
    assert reported.call("scope", 412, "--rev", "HEAD~1").code == 0
    assert reported.call("scope", 412, "--rev", "nothing").code == 2


def test_calls_that_make_no_sense_are_one_line(checkout: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": [PASSES]})
    for arguments in (
        ("report", "412", "--format", "pdf"),
        ("report", "412", "--format", "junit", "--json"),
        ("report", "412", "--sign", "key.pem"),
        ("report", "7"),
        ("report", "412", "--rev", "nothing"),
        ("report", "412", "--format", "attestation", "--sign", "absent.pem"),
        ("attest", "verify", "absent.json"),
        ("attest", "verify", "codeboost.toml", "--key", "absent.pub"),
    ):
        done = checkout.call(*arguments)
        assert done.code == 2, arguments
        assert done.err.startswith("codeboost: ")
        assert len(done.err.splitlines()) <= 2
    done = checkout.call("attest", "verify", "codeboost.toml")
    assert (done.code, len(done.err.splitlines())) == (1, 1)


def test_without_cryptography_signing_is_one_line(checkout: Any, tmp_path: Path) -> None:
    checkout.adopt({"id": "P1", "cmds": [PASSES]})
    hidden = tmp_path / "hidden"
    (hidden / "cryptography").mkdir(parents=True)
    (hidden / "cryptography/__init__.py").write_text(
        "raise ModuleNotFoundError('No module named cryptography')\n"
    )
    key = tmp_path / "key.pem"
    key.write_text("x")
    path = f"{hidden}{os.pathsep}{checkout.environment['PYTHONPATH']}"
    done = checkout.call("report", 412, "--format", "attestation", "--sign", key, env={"PYTHONPATH": path})
    assert done.code == 2
    assert "pip install cryptography" in done.err
    done = checkout.call("report", 412, "--format", "attestation", env={"PYTHONPATH": path})
    assert done.code == 0, "only signing needs it"
