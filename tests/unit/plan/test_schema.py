from __future__ import annotations

import copy
import hashlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeboost import Diagnostic, check_plan
from codeboost.plan.schema import list_versions, load_schema, read_schema
from codeboost.plan.skeleton import make_skeleton

ROOT = Path(__file__).parents[3]
SHA256 = "bb19544bddc6af9bf61eb6f5d567e3009d333be842aefc9ea02d2a27a289d0c8"


def make_plan() -> dict[str, Any]:
    item = {
        "id": "P1",
        "title": "T",
        "intent": "I",
        "files": [{"path": "a.txt", "kind": "edit", "renamed_from": None, "change": "C"}],
        "acceptance": [{"type": "check", "text": "X"}],
        "depends_on": [],
    }
    return {"schema_version": 1, "issue": 7, "revision": 1, "summary": "S", "items": [item], "questions": []}


def check(plan: object) -> tuple[Diagnostic, ...]:
    return check_plan(json.dumps(plan, indent=1).encode(), "json").diagnostics


def change(pointer: str, value: object) -> dict[str, Any]:
    plan: Any = make_plan()
    *tokens, last = pointer.split("/")[1:]
    place = plan
    for token in tokens:
        place = place[int(token) if isinstance(place, list) else token]
    place[int(last) if isinstance(place, list) else last] = value
    return plan  # type: ignore[no-any-return]


def walk_objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from walk_objects(part)


class TestShippedSchema:
    def test_it_is_byte_for_byte_the_specified_one(self) -> None:
        assert list_versions()
        for version in list_versions():
            assert hashlib.sha256(read_schema(version)).hexdigest() == SHA256
        assert hashlib.sha256((ROOT / "schema" / "plan.schema.json").read_bytes()).hexdigest() == SHA256

    def test_every_object_is_closed_and_asks_for_all_its_properties(self) -> None:
        objects = list(walk_objects(load_schema(1)))
        assert len(objects) == 4
        for entry in objects:
            assert entry["additionalProperties"] is False
            assert sorted(entry["required"]) == sorted(entry["properties"])

    def test_it_names_no_dialect(self) -> None:
        assert "$schema" not in load_schema(1)

    def test_the_registry_names_files_that_ship(self) -> None:
        registry = json.loads((ROOT / "schema" / "versions.json").read_bytes())
        assert registry
        assert all((ROOT / "schema" / name).is_file() for name in registry.values())


def test_no_socket_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise AssertionError("validation opened a socket")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    assert check(make_plan())[0].code == "no-test-command"
    assert check(change("/issue", "7"))[0].code == "schema"


@pytest.mark.parametrize(
    ("pointer", "value", "keyword", "message"),
    [
        ("/summary", "x" * 612, "maxLength", "summary is 612 characters long; at most 600 are allowed"),
        ("/summary", "", "minLength", "summary is empty; it must not be"),
        ("/issue", True, "type", "issue is a boolean, true; it must be a whole number"),
        ("/issue", 0, "minimum", "issue is 0; it must be at least 1"),
        ("/issue", 7.5, "type", "issue is a number, 7.5; it must be a whole number"),
        (
            "/items/0/title",
            "\U0001f600" * 121,
            "maxLength",
            "items[0].title is 121 characters long; at most 120 are",
        ),
        ("/items/0/id", "P1\n", "pattern", 'items[0].id is "P1\\n"; it must be P and a number from 1 to 999'),
        ("/items/0/files/0/renamed_from", 1, "type", "it must be a string or null"),
        (
            "/items/0/files/0/kind",
            "EDIT",
            "enum",
            'is "EDIT"; it must be "edit", "add", "delete" or "rename"',
        ),
        ("/items", [], "minItems", "items is empty; it must not be"),
        ("/questions", ["x"] * 11, "maxItems", "questions is 11 entries long; at most 10 are allowed"),
        ("/items/0/depends_on/0", "P01", "pattern", "items[0].depends_on[0]"),
        ("/questions", {}, "type", "questions is an object, {}; it must be a list"),
    ],
)
def test_sentence(pointer: str, value: object, keyword: str, message: str) -> None:
    if pointer == "/items/0/depends_on/0":
        plan = change("/items/0/depends_on", [value])
    else:
        plan = change(pointer, value)
    (found,) = check(plan)
    assert (found.code, found.keyword, found.pointer) == ("schema", keyword, pointer)
    assert message in found.message
    assert found.position is not None


def test_astral_characters_count_once() -> None:
    assert check(change("/items/0/title", "\U0001f600" * 120))[0].code == "no-test-command"


def test_long_values_are_cut() -> None:
    (found,) = check(change("/items", "x" * 50_000))
    assert len(found.message) < 300
    assert found.message.startswith("items is a string")


def test_hostile_values_are_escaped() -> None:
    (found,) = check(change("/items/0/files/0/kind", "\x1b[2J\u202e"))
    assert found.message.isprintable()


class TestKeys:
    def test_each_missing_one_is_told(self) -> None:
        plan = make_plan()
        del plan["summary"], plan["items"][0]["title"], plan["items"][0]["intent"]
        found = check(plan)
        assert [(entry.pointer, entry.keyword) for entry in found] == [
            ("", "required"),
            ("/items/0", "required"),
            ("/items/0", "required"),
        ]
        assert "summary" in found[0].message
        assert {"title" in found[1].message, "intent" in found[2].message} == {True}
        assert [entry.item for entry in found] == [None, "P1", "P1"]

    def test_an_unknown_one_gets_a_suggestion(self) -> None:
        plan = make_plan()
        plan["items"][0]["dependson"] = plan["items"][0].pop("depends_on")
        unknown = next(entry for entry in check(plan) if entry.keyword == "additionalProperties")
        assert unknown.pointer == "/items/0/dependson"
        assert unknown.hint == "did you mean depends_on?"
        assert unknown.line is not None

    def test_it_is_placed_at_the_key(self) -> None:
        data = make_skeleton(7).replace("questions: []", "questions: []\nnotes: none").encode()
        (found,) = check_plan(data, "yaml").diagnostics
        lines = data.decode().splitlines()
        assert found.line is not None
        assert (lines[found.line - 1], found.column) == ("notes: none", 1)

    def test_very_many_are_told_in_short(self) -> None:
        plan = make_plan() | {f"k{number}": 1 for number in range(1000)}
        found = check(plan)
        assert len(found) == 21
        assert any("980 more unknown keys" in entry.message for entry in found)


class TestVersion:
    @pytest.mark.parametrize("version", [0, 2, -1, "1", True, None, 1.5, [1], {}])
    def test_another_one_is_a_single_error(self, version: object) -> None:
        plan = make_plan() | {"schema_version": version, "issue": "wrong too", "unknown": 1}
        (found,) = check(plan)
        assert (found.code, found.pointer) == ("version", "/schema_version")

    def test_a_missing_one_is_a_single_error(self) -> None:
        plan = make_plan() | {"issue": "wrong too"}
        del plan["schema_version"]
        (found,) = check(plan)
        assert (found.code, found.pointer) == ("version", "")

    def test_one_point_zero_is_one(self) -> None:
        checked = check_plan(json.dumps(make_plan() | {"schema_version": 1.0, "issue": 7.0}).encode(), "json")
        assert checked.plan is not None
        assert (type(checked.plan.schema_version), type(checked.plan.issue)) == (int, int)

    @pytest.mark.parametrize("document", [[], "x", 1, None, True, {}])
    def test_what_is_no_plan_at_all_is_one_schema_error(self, document: object) -> None:
        (found,) = check(document)
        assert found.code == "schema"


def test_all_errors_come_in_the_order_of_the_file() -> None:
    plan = copy.deepcopy(make_plan())
    plan["issue"] = 0
    plan["summary"] = ""
    plan["items"][0]["files"][0]["kind"] = "x"
    plan["questions"] = [1]
    found = check(plan)
    assert [entry.pointer for entry in found] == [
        "/issue",
        "/summary",
        "/items/0/files/0/kind",
        "/questions/0",
    ]


def test_entries_beyond_what_a_list_may_have_are_looked_at_too() -> None:
    found = check(change("/items", [{}] * 35))
    assert [diagnostic.pointer for diagnostic in found if diagnostic.keyword == "maxItems"] == ["/items"]
    assert {diagnostic.pointer for diagnostic in found if diagnostic.keyword == "required"} == {
        f"/items/{index}" for index in range(35)
    }


@pytest.mark.parametrize("entry", [1, {}, {"x": 1}])
def test_a_flood_of_faults_ends(entry: object) -> None:
    found = check(change("/items", [entry] * 50_000))
    assert len(found) == 10_001
    assert found[0].message == "the plan has more than 10,000 faults; the others are not listed"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "schema_version is null; this"),
        (True, "schema_version is a boolean, true; this"),
        ({"a": 1}, "schema_version is an object, 1 key; this"),
        ([1], "schema_version is a list, 1 entry; this"),
        ([1, 2], "schema_version is a list, 2 entries; this"),
    ],
)
def test_a_version_of_another_type_is_named_once(value: object, words: str) -> None:
    (found,) = check(change("/schema_version", value))
    assert (found.code, found.pointer) == ("version", "/schema_version")
    assert found.message.startswith(words)


def test_one_more_unknown_key_is_one_key() -> None:
    found = check(make_plan() | {f"extra{number}": 1 for number in range(21)})
    assert found[0].message == "the plan has 1 more unknown key"
