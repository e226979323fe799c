"""The board as a file: what is in it, and that nothing in the data can get out of its place."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeboost.planr.graph import Graph
from codeboost.planr.model import Goal, GoalState, Status, Task, natural_key
from codeboost.planr.page import render_page

ROOT = Path(__file__).parents[3]
ASSETS = ROOT / "codeboost" / "planr" / "assets" / "board"
EMPTY: dict[str, Any] = {
    "project": "p",
    "commit": "",
    "dirty": False,
    "generatedAt": "2026-01-01T00:00:00+00:00",
    "tasks": [],
    "goals": [],
    "runs": [],
    "warnings": [],
}
HOSTILE = (
    "</script><svg onload=document.title=1>",
    "<!--<script>",
    "]]>",
    "$& $1 $` $' \\1 \\g<0>",
    "/*DATA*/null /*LIVE*/ /*CSP*/ /*FONT:board-sans-latin.woff2*/ /*INCLUDE:app.js*/",
    "a\u2028b\u2029c",
    "\u202egnp.exe\u2066",
    "nul \0 and \x1b[31m",
    "folder \udcff\ud800",
    '"\\',
    "x" * 1_000_000,
)


@pytest.fixture(scope="module")
def sample() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((ROOT / "fixtures" / "board-data.json").read_text(encoding="utf-8"))
    return data


class Elements(HTMLParser):
    """Every element with its attributes, and the text of the data block."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.data = ""
        self.inside = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.inside = dict(attrs).get("id") == "data"

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.data += data

    @property
    def names(self) -> list[str]:
        return [tag for tag, _ in self.found]


def find_policy(page: str) -> dict[str, str]:
    for tag, attributes in Elements(page).found:
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy":
            parts = (attributes["content"] or "").split("; ")
            return {part.split(" ", 1)[0]: part.split(" ", 1)[1] for part in parts}
    raise AssertionError("no policy")


def test_data_is_in_the_page_as_it_was(sample: dict[str, Any]) -> None:
    assert json.loads(Elements(render_page(sample)).data) == sample


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:20]))
def test_hostile_text_changes_nothing_around_it(text: str) -> None:
    calm = Elements(render_page(EMPTY))
    page = render_page(EMPTY | {"project": text, "warnings": [text], "commit": text})
    found = Elements(page)
    assert found.names == calm.names
    assert json.loads(found.data)["warnings"] == [text]
    page.encode()
    assert page.count("\u2028") == page.count("\u2029") == 0


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=60))
def test_any_text_survives(text: str) -> None:
    page = render_page(EMPTY | {"project": text})
    page.encode()
    assert json.loads(re.findall(r'id="data">([^<]*)</script>', page)[0])["project"] == text


def test_no_placeholder_is_left(sample: dict[str, Any]) -> None:
    assert not re.search(r"/\*[A-Z]+(:[^*]*)?\*/", render_page(sample))


def test_policy_admits_exactly_what_is_there() -> None:
    page = render_page(EMPTY)
    policy = find_policy(page)
    assert policy["default-src"] == policy["connect-src"] == "'none'"
    for directive, pattern in (
        ("script-src", r"<script>(.*?)</script>"),
        ("style-src", r"<style>(.*?)</style>"),
    ):
        expected = [
            f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
            for text in re.findall(pattern, page, re.DOTALL)
        ]
        assert policy[directive].split() == expected
    assert "unsafe" not in " ".join(policy.values())


def test_only_a_served_page_may_connect() -> None:
    page = render_page(EMPTY, live="v-1")
    assert find_policy(page)["connect-src"] == "'self'"
    assert ("html", {"lang": "en", "data-live": "v-1"}) in Elements(page).found
    assert ("html", {"lang": "en", "data-live": ""}) in Elements(render_page(EMPTY)).found


def test_page_refers_to_nothing_outside(sample: dict[str, Any]) -> None:
    page = render_page(sample)
    for _, attributes in Elements(page).found:
        for name in ("src", "href", "action", "srcset"):
            value = attributes.get(name)
            assert value is None or value.startswith(("data:", "#"))
    addresses = re.findall(r"url\(([^)]*)", page)
    assert addresses
    assert all(address.startswith("data:font/woff2;base64,") for address in addresses)
    assert "@import" not in page


def test_page_says_what_it_is_near_its_beginning() -> None:
    # Only a file with this mark is ever replaced by a newer board.
    assert b'<meta name="generator" content="planr board">' in render_page(EMPTY).encode()[:4096]


def test_fonts_are_woff2_and_carry_their_licence() -> None:
    fonts = sorted((ASSETS / "fonts").glob("*.woff2"))
    assert len(fonts) == 2
    assert all(font.read_bytes().startswith(b"wOF2") for font in fonts)
    assert "SIL Open Font License" in (ASSETS / "fonts" / "OFL.txt").read_text(encoding="utf-8")
    page = render_page(EMPTY)
    for font in fonts:
        assert base64.b64encode(font.read_bytes()).decode() in page


def test_sample_says_what_the_graph_says(sample: dict[str, Any]) -> None:
    """The sample is written by hand and must not contradict the rules that the program follows."""
    tasks = [
        Task(
            task["id"],
            task["title"],
            Status(task["status"]),
            task["track"],
            tuple(task["depends"]),
            task["owner"],
            tuple(task["refs"]),
            task["file"],
        )
        for task in sample["tasks"]
    ]
    goals = [
        Goal(
            *(goal[key] for key in ("name", "file", "title")),
            GoalState(goal["state"]),
            *(goal[key] for key in ("stream", "budget", "thread")),
            tuple(goal["scope"]),
        )
        for goal in sample["goals"]
    ]
    graph = Graph(tasks, goals)
    assert not graph.find_errors()
    assert [task["id"] for task in sample["tasks"]] == sorted((task.id for task in tasks), key=natural_key)
    for task, described in zip(tasks, sample["tasks"], strict=True):
        expected = json.loads(json.dumps(graph.describe_task(task)))
        assert {key: described[key] for key in expected} == expected
        assert described["goal"] == graph.list_goals_of(task)
    assert [goal["name"] for goal in sample["goals"]] == [goal.name for goal in graph.sort_goals()]
    for goal, described in zip(graph.sort_goals(), sample["goals"], strict=True):
        assert json.loads(json.dumps(graph.describe_goal(goal))) == described


def test_sample_runs_add_up(sample: dict[str, Any]) -> None:
    state: dict[str, str] = {}
    histories: dict[str, list[dict[str, Any]]] = {}
    for number, run in enumerate(sample["runs"]):
        assert run["total"] == sum(run["counts"].values())
        for change in run["changes"]:
            assert state.get(change["id"], "open" if change["from"] else None) == change["from"]
            state[change["id"]] = change["to"]
            histories.setdefault(change["id"], []).append(
                {"run": number, "from": change["from"], "to": change["to"]}
            )
    for task in sample["tasks"]:
        assert task["history"] == histories.get(task["id"], [])
        assert task["lastRun"] == (task["history"][-1]["run"] if task["history"] else None)
        assert task["status"] == state.get(task["id"], "open")
