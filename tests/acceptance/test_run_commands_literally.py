"""Reported faults of tools that let a person approve commands, tried on a whole run: what runs is what was approved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.engine

ARGUMENTS = "import json, sys; print(json.dumps(sys.argv[1:]))"


def _read_stdout(checkout: Any, item: str = "P1") -> str:
    return str(checkout.call("log", f"GH412-{item}").out)


def test_quoted_operators_reach_the_program_as_they_are(checkout: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": [f"python3 -c '{ARGUMENTS}' -n '$(x) && y' \"a  b\" '*' '' a.py"]})
    done = checkout.call("run", 412, "--json")
    assert done.code == 0, done.err
    [attempt] = done.document["data"]["items"][0]["attempts"]
    assert attempt["argv"][3:] == ["-n", "$(x) && y", "a  b", "*", "", "a.py"]
    assert '["-n", "$(x) && y", "a  b", "*", "", "a.py"]' in _read_stdout(checkout)


@pytest.mark.parametrize(
    "text",
    [
        "git status && touch pwn",
        "git status; touch pwn",
        "git status | tee pwn",
        "git status > pwn",
        "echo $(id)",
    ],
)
def test_shell_syntax_never_gets_as_far_as_the_store(checkout: Any, text: str) -> None:
    assert checkout.call("allow", "add", "--reason", "test", "git status").code == 0
    path = checkout.write_plan({"id": "P1", "cmds": [text]})
    done = checkout.call("plan", "import", path, "--issue", 412)
    assert done.code == 1
    assert "command-syntax" in done.err
    assert checkout.call("plan", "list", "--json").document["data"] == []


@pytest.mark.parametrize(
    "text", ["git diff --output=victim.txt", "git diff --outpu=victim.txt", "git -C . diff"]
)
def test_an_option_more_is_another_command(checkout: Any, text: str) -> None:
    (checkout.top / "victim.txt").write_text("before")
    checkout.commit()
    checkout.adopt({"id": "P1", "cmds": [text]}, allow=False)
    assert checkout.call("allow", "add", "--reason", "test", "git diff").code == 0
    done = checkout.call("run", 412)
    assert done.code == 3
    assert "not-approved" in done.out
    assert (checkout.top / "victim.txt").read_text() == "before"


def test_code_that_the_change_brings_runs_only_in_the_container(checkout: Any, tmp_path: Path) -> None:
    """The approved command loads a module that the change wrote: it may try what it likes."""
    checkout.adopt({"id": "P1", "cmds": ["python3 -m unittest -v tests.test_client"]})
    home = tmp_path / "person"
    home.mkdir()
    checkout.write(
        {
            "tests/__init__.py": """
import os, socket, sys
for place in ("/pwn", "/workspace/../pwn", os.path.expanduser("~/pwn"), "/workspace/pwn", "/tmp/pwn"):
    try:
        open(place, "w").write("x")
        print("wrote", place, file=sys.stderr)
    except OSError as error:
        print("refused", place, error.strerror, file=sys.stderr)
for address in (("192.0.2.1", 80), ("169.254.169.254", 80)):
    try:
        socket.create_connection(address, 2)
        print("connected", address, file=sys.stderr)
    except OSError as error:
        print("no network", error.strerror, file=sys.stderr)
"""
        }
    )
    checkout.commit("Work that brings its own code")
    before = {path for path in checkout.top.rglob("*") if ".git/" not in str(path)}
    done = checkout.call("run", 412, env={"HOME": str(home)})
    assert done.code == 0, done.err
    said = checkout.call("log", "GH412-P1", "--stream", "stderr").out
    assert "refused /pwn" in said
    assert said.count("no network") == 2
    assert "connected" not in said
    assert {path for path in checkout.top.rglob("*") if ".git/" not in str(path)} == before
    assert not Path("/pwn").exists()
    assert list(home.iterdir()) == []
