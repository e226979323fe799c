"""Command texts with the argv that they stand for, and commands with the lists that let them run or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codeboost import CommandSyntaxError, is_approved, parse_command

FOLDER = Path(__file__).parent / "commands"


def load(name: str) -> list[Any]:
    lines = (FOLDER / name).read_text("utf-8").splitlines()
    return [pytest.param(json.loads(line), id=f"{number}") for number, line in enumerate(lines, 1)]


def parse(text: str) -> list[str] | None:
    try:
        return list(parse_command(text))
    except CommandSyntaxError:
        return None


@pytest.mark.parametrize("case", load("argv.jsonl"))
def test_text_becomes_argv(case: dict[str, Any]) -> None:
    assert parse(case["text"]) == case["argv"]


@pytest.mark.parametrize("case", [case for case in load("argv.jsonl") if case.values[0]["argv"] is None])
def test_a_refusal_says_where_why_and_what_to_do(case: dict[str, Any]) -> None:
    with pytest.raises(CommandSyntaxError) as caught:
        parse_command(case["text"])
    assert 1 <= caught.value.column <= len(case["text"]) + 1
    assert caught.value.reason
    assert caught.value.hint


@pytest.mark.parametrize("case", load("allow.jsonl"))
def test_only_the_exact_argv_may_run(case: dict[str, Any]) -> None:
    argv = parse(case["text"])
    assert argv == case["argv"]
    assert (argv is not None and is_approved(argv, case["allowed"])) is case["may_run"]


@pytest.mark.parametrize("case", load("allow.jsonl"))
def test_a_set_answers_like_a_list(case: dict[str, Any]) -> None:
    argv = parse(case["text"])
    approved = frozenset(map(tuple, case["allowed"]))
    assert (argv is not None and is_approved(argv, approved)) is case["may_run"]
