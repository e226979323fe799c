"""Faults that users of other tools reported in public, as far as they are about which command may run.

What a command does once it runs (a hostile conftest.py, say) is tried where there is an engine: tests/engine.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from codeboost import parse_command


def refused(desk: Any, text: str) -> str:
    """The grammar refuses it, in words, and nothing was approved by it."""
    said = (
        desk.run("command", "parse", "--", text)
        if text.startswith("-")
        else desk.run("command", "parse", text)
    )
    assert said.code == 1
    assert said.out == ""
    assert desk.run("allow", "add", text).code == 1
    message: str = said.err
    return message


def not_approved(desk: Any, text: str) -> str:
    said = desk.run("allow", "test", text)
    assert said.code == 3
    assert said.out.startswith("no: ")
    answer: str = said.out
    return answer


@pytest.mark.parametrize("operator", ["&&", ";", "||", "|", "|&"])
def test_an_operator_lets_nothing_follow(desk: Any, operator: str) -> None:
    desk.run("allow", "add", "git status")
    message = refused(desk, f"git status {operator} touch pwn")
    assert f"column 12: the operator {operator} " in message


@pytest.mark.parametrize(
    "text", ["pytest -q > out.txt", "pytest 2>&1", "sort < names.txt", "a >> b", "a &> b"]
)
def test_a_redirection_writes_no_file(desk: Any, text: str) -> None:
    assert "a redirection, which is not supported" in refused(desk, text)


@pytest.mark.parametrize(
    "text",
    ["echo $(touch pwn)", "echo `touch pwn`", "cat <(id)", "ls *.py", "ls ~", "ls {a,b}", "ls a?", "ls [ab]"],
)
def test_nothing_is_expanded(desk: Any, text: str) -> None:
    assert "there is no shell" in refused(desk, text)


@pytest.mark.parametrize(
    "text", ["git status\ntouch pwn", "git status\n", "git status\r\ntouch pwn", "a\u2028"]
)
def test_a_line_break_is_no_space(desk: Any, text: str) -> None:
    desk.run("allow", "add", "git status")
    if "\u2028" in text:
        # An ordinary character to the grammar; and another command than the approved one.
        assert parse_command(text) == ("a\u2028",)
        return
    assert "U+000A" in refused(desk, text) or "U+000D" in refused(desk, text)


@pytest.mark.parametrize("text", ["cat$IFS/etc/hosts", "git${IFS}status"])
def test_tricks_with_variables_are_refused(desk: Any, text: str) -> None:
    assert "variable of a shell" in refused(desk, text)


def test_operators_inside_quotes_are_text(desk: Any) -> None:
    text = "grep -n '$(x) && y' a.py"
    argv = ["grep", "-n", "$(x) && y", "a.py"]
    assert json.loads(desk.run("command", "parse", text).out) == argv
    desk.run("allow", "add", text)
    assert desk.run("allow", "test", "--", *argv).code == 0


@pytest.mark.parametrize(("text", "column"), [("pytest -k 'abc", 11), ('pytest "', 8), ("pytest \\", 8)])
def test_bad_quoting_is_one_line_and_no_traceback(desk: Any, text: str, column: int) -> None:
    said = desk.run("command", "parse", text)
    assert said.code == 1
    lines = said.err.splitlines()
    assert lines[1] == " " * (column - 1) + "^"
    assert lines[2].startswith(f"line 1, column {column}: ")
    assert len(lines) == 3


@pytest.mark.parametrize("text", ["pytest -q # fast", "# run tests"])
def test_a_comment_is_no_argument(desk: Any, text: str) -> None:
    assert "comments are not supported" in refused(desk, text)


@pytest.mark.parametrize(
    "text", ["git diff --output=victim.txt", "git diff --outpu=victim.txt", "git -C . diff", "git diff --"]
)
def test_an_option_makes_another_command(desk: Any, text: str) -> None:
    desk.run("allow", "add", "git diff")
    answer = not_approved(desk, text)
    assert json.dumps(list(parse_command(text))) in answer


@pytest.mark.parametrize(
    "text",
    ["make -C out/ install", "make -C out", "make -C ./out/", "make -C out/ --", "make", "make -C out/ ''"],
)
def test_a_prefix_approves_nothing_longer_or_shorter(desk: Any, text: str) -> None:
    desk.run("allow", "add", "make -C out/")
    not_approved(desk, text)


def test_another_path_to_the_same_tool_shows_both(desk: Any) -> None:
    desk.run("allow", "add", "git status")
    answer = not_approved(desk, "/usr/bin/git status")
    assert '["/usr/bin/git", "status"]' in answer
    assert '["git", "status"]' in answer
    assert "  - git\n  + /usr/bin/git\n    status" in answer


@pytest.mark.parametrize("text", ["RUBYOPT=-r./x rake test", "A=1 rake test"])
def test_an_assignment_is_the_program_and_warned_of(desk: Any, text: str) -> None:
    desk.run("allow", "add", "rake test")
    assert parse_command(text)[0] == text.split(" ", maxsplit=1)[0]
    answer = not_approved(desk, text)
    assert "look twice" in answer
    assert "without a shell nothing is assigned" in answer


@pytest.mark.parametrize(
    "text",
    ["busybox sh -c 'touch pwn'", "busybox sh -c 'echo  ok'", "timeout 5 touch pwn", "timeout 50 pytest"],
)
def test_approving_a_wrapper_approves_one_payload(desk: Any, text: str) -> None:
    desk.run("allow", "add", "busybox sh -c 'echo ok'")
    desk.run("allow", "add", "timeout 5 pytest")
    assert desk.run("allow", "test", "timeout 5 pytest").code == 0
    not_approved(desk, text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("pytest -k \u201ca b\u201d", 'type "'),
        ("pytest \u2014quiet", "type - or --"),
        ("pytest -k \u2019a\u2019", "type '"),
    ],
)
def test_look_alike_quotes_and_dashes_are_pointed_out(desk: Any, text: str, hint: str) -> None:
    said = desk.run("allow", "test", text)
    assert said.code == 3
    assert hint in said.out
    found = desk.import_plan(text)
    assert "look twice at the command" in found.err
    assert hint in found.err


def test_the_end_of_a_long_command_is_seen(desk: Any) -> None:
    text = "pytest -k '" + " " * 374 + "' --rootdir=/"
    assert len(text) == 398
    desk.import_plan(text)
    shown = desk.run("allow", "approve", "412").out
    assert "␣" * 374 in shown
    assert "--rootdir=/" in shown
    assert "…" not in shown
    assert "374 chars" in shown


def test_a_plan_that_edits_the_list_is_pointed_out_and_changes_nothing(desk: Any) -> None:
    desk.run("allow", "add", "npm test")
    found = desk.import_plan("npm test", files=("codeboost.toml",))
    assert "codeboost.toml" in found.err
    before = desk.run("allow", "list").out
    desk.git(desk.top, "checkout", "-qb", "work")
    desk.write("codeboost.toml", '[allow]\ncommands = ["touch pwn"]\n')
    desk.commit()
    assert desk.run("allow", "list").out == before
    not_approved(desk, "touch pwn")
    assert desk.run("allow", "test", "npm test").code == 0


def test_no_size_makes_the_gate_give_up(desk: Any) -> None:
    longest = " ".join("a" * 200)
    assert len(longest) == 399
    start = time.perf_counter()
    assert len(parse_command(longest)) == 200
    assert time.perf_counter() - start < 1.0
    desk.run("allow", "add", longest)
    assert desk.run("allow", "test", longest).code == 0
    not_approved(desk, longest[:-2])
    not_approved(desk, longest + " b")


def make_plan(checks: list[list[str]]) -> str:
    items = [
        {
            "id": f"P{number}",
            "title": "Do it",
            "intent": "Because.",
            "depends_on": [],
            "files": [{"path": f"new-{number}", "kind": "add", "renamed_from": None, "change": "Add it."}],
            "acceptance": [{"type": "cmd", "text": text} for text in texts],
        }
        for number, texts in enumerate(checks, 1)
    ]
    head = {"schema_version": 1, "issue": 412, "revision": 1, "summary": "A plan.", "questions": []}
    return json.dumps(head | {"items": items})


def test_a_command_that_is_too_long_is_a_schema_error(desk: Any) -> None:
    said = desk.run("plan", "import", "-", "--issue", "412", "--json", stdin=make_plan([["a" * 401]]))
    assert said.code == 1
    assert [found["code"] for found in json.loads(said.out)["diagnostics"]] == ["schema"]


def test_three_hundred_checks_are_all_gated(desk: Any) -> None:
    checks = [[f"make {item}-{position}" for position in range(10)] for item in range(30)]
    assert desk.run("plan", "import", "-", "--issue", "412", stdin=make_plan(checks)).code == 0
    desk.run("allow", "add", "make 7-7")
    pending = desk.run("allow", "approve", "412", "--json").data
    assert pending["approved"] == 1
    asked = {tuple(command["argv"]) for command in pending["pending"]}
    assert asked == {parse_command(text) for texts in checks for text in texts} - {("make", "7-7")}


def test_nobody_is_asked_by_a_pipe(desk: Any, sit_down: Callable[..., Any]) -> None:
    desk.import_plan("npm test")
    assert desk.run("allow", "approve", "412", stdin="a\n" * 10).code == 3
    not_approved(desk, "npm test")
    person = sit_down("allow", "approve", "412")
    person.wait_for("[q]uit?")
    person.press("a")
    assert person.leave() == 0
    assert desk.run("allow", "test", "npm test").code == 0
