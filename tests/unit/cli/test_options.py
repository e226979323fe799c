"""Options that mean the same everywhere."""

from __future__ import annotations

import subprocess
import sys

import pytest

from codeboost.cli.options import read_pull
from codeboost.errors import UsageError


@pytest.mark.parametrize(
    "words",
    [
        ["run", "412", "--rev", ""],
        ["run", "412", "--pull", ""],
        ["run", "412", "--ci", "--plan", "x", "--base", ""],
        ["report", "412", "--rev", ""],
        ["status", "412", "--rev", ""],
        ["scope", "412", "--rev", ""],
        ["allow", "test", "--rev", "", "true"],
        ["verdict", "GH412-P1", "1", "pass", "--by", ""],
        ["plan", "check", "--base", "", "x.yaml"],
        ["plan", "new", "7", "--out", ""],
        ["doctor", "--image", ""],
        ["init", "--repo", ""],
    ],
)
def test_an_empty_value_is_never_the_default(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "codeboost", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "it is empty" in done.stderr


def test_what_pull_may_be_is_told() -> None:
    assert read_pull("never") == "never"
    with pytest.raises(UsageError, match="never, missing or always, not 'x\\\\x1b'"):
        read_pull("x\x1b")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--json run 412", "write it after: codeboost run … --json"),
        ("plan --json list", "write it after: codeboost plan list … --json"),
        ("plan schema --json", "see `codeboost plan schema --help`"),
        ("--json", "see `codeboost --help`"),
        ("--json nonsense", "see `codeboost --help`"),
    ],
)
def test_json_before_the_command_is_told_its_place(words: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "codeboost", *words.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr
