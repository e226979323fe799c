"""``docs/plan-format.md``: every example on the page is what the page says it is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from codeboost import BaseEntry, PlanContext, check_plan, parse_command, parse_source
from codeboost.plan.rules import PARSE_REASONS, RULES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "plan-format.md").read_text("utf-8")
FENCE = re.compile(
    r"^```(?:yaml|text) (plan|source|files|item|cmd)(?: expect=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
CONTEXT = json.loads((ROOT / "fixtures" / "plans" / "context.json").read_text("utf-8"))


class Example(NamedTuple):
    kind: str
    expected: str | None
    text: str


EXAMPLES = [
    Example(match[1], match[2], text)
    for match in FENCE.finditer(PAGE)
    for text in (match[3].splitlines() if match[1] == "cmd" else [match[3]])
]
WHOLE = next(example.text for example in EXAMPLES if example.kind == "plan")


def make_plan(example: Example) -> bytes:
    if example.kind in {"plan", "source"}:
        return example.text.encode()
    plan: Any = parse_source(WHOLE.encode(), "yaml")
    item = plan["items"][0]
    plan["items"] = [item]
    if example.kind == "cmd":
        item["acceptance"] = [{"type": "cmd", "text": example.text}]
    else:
        value = parse_source(example.text.encode(), "yaml")
        if example.kind == "files":
            item["files"] = value
        else:
            plan["items"] = value
    return json.dumps(plan).encode()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.kind}-{example.expected}")
def test_example(example: Example) -> None:
    approved = [
        ("python3", "-m", "pytest", "-q"),
        ("python3", "-m", "pytest", "-q", "-k", "retry and not slow"),
    ]
    if example.kind == "cmd" and example.expected in {None, "suspicious-command"}:
        approved.append(parse_command(example.text))
    context = PlanContext(
        412, [BaseEntry(**entry) for entry in CONTEXT["base_entries"]], approved, "identity"
    )
    checked = check_plan(make_plan(example), "yaml", context)
    found = {f"{found.code}/{found.reason}" if found.reason else found.code for found in checked.diagnostics}
    assert found == ({example.expected} if example.expected else set())


def test_the_page_names_every_code_and_every_reason() -> None:
    missing = [
        name for name in (*RULES, *PARSE_REASONS) if f"`{name}`" not in PAGE and f"/{name}" not in PAGE
    ]
    assert missing == []


def test_the_page_names_every_key_of_the_schema() -> None:
    schema = json.loads((ROOT / "schema" / "plan.schema.json").read_bytes())
    objects = [schema, *schema["$defs"].values()]
    keys = [key for entry in objects for key in entry["properties"]]
    rows = re.findall(r"^\| `(?:\w+\[\]\.)?(\w+)` \|", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(keys)
