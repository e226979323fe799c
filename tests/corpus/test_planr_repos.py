"""Whole planning roots with the exact answers, exit codes and bytes that are expected of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "planr" / "repos.jsonl").read_text("utf-8").splitlines()
]
REWRITTEN = re.compile(rb"^(owner|thread):.*$", re.MULTILINE)


def snapshot(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


def normalise(value: Any) -> Any:
    """``refs`` absent, null and [] are equal."""
    if isinstance(value, list):
        return [normalise(item) for item in value]
    if isinstance(value, dict):
        return {key: normalise(item) for key, item in value.items() if key != "refs" or item}
    return value


def covers(messages: list[str], expected: list[dict[str, Any]]) -> bool:
    """Every expected message is there, and every message is expected. One may stand for two kinds of one fault."""

    def fits(message: str, one: dict[str, Any]) -> bool:
        return all(word in message for word in one["mentions"])

    return all(any(fits(message, one) for message in messages) for one in expected) and all(
        any(fits(message, one) for one in expected) for message in messages
    )


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_repository(
    case: dict[str, Any], tmp_path: Path, planr: Callable[..., Any], git: Callable[..., str]
) -> None:
    tags = case.get("tags") or []
    for name, content in case["files"].items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
    if case["git"]:
        git(tmp_path, "init", "-q")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", "Start")
    for step in case["steps"]:
        before = snapshot(tmp_path)
        said = planr(*step["args"], "--root", tmp_path, "--json")
        assert said.code == step["exit"], (step["args"], said)
        expected = step.get("expect")
        if step["args"][0] == "check":
            assert said.data["ok"] is expected["ok"]
            assert covers(said.data["errors"], expected["errors"]), said.data
            assert covers(said.data["warnings"], expected["warnings"]), said.data
        elif expected is not None and "order-open" in tags:
            assert sorted(normalise(said.data), key=str) == sorted(normalise(expected), key=str)
        elif expected is not None:
            assert normalise(said.data) == normalise(expected), step["args"]
        else:
            assert said.data["ok"] is False
            assert said.data["errors"]
        after = snapshot(tmp_path)
        changed = {name: content for name, content in after.items() if before.get(name) != content}
        wanted = {name: content.encode() for name, content in step["changed"].items()}
        if "quoting-open" in tags:
            changed, wanted = (
                {name: REWRITTEN.sub(rb"\1: ?", content) for name, content in files.items()}
                for files in (changed, wanted)
            )
        assert changed == wanted
        assert after.keys() == before.keys() | wanted.keys()
