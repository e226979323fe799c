"""Properties of the readers: what they give back, and that nothing else than PlanSourceError ever comes out."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from codeboost import Diagnostic, PlanSourceError, check_plan, parse_source
from codeboost.parsing.json import locate_json
from codeboost.parsing.nodes import find_place, join_pointer
from codeboost.parsing.source import read_source
from codeboost.plan.canonical import build_plan, decode_plan, digest_plan, encode_plan, to_document
from codeboost.plan.model import Plan
from codeboost.plan.rendering import dump_json, dump_yaml
from codeboost.plan.schema import check_shape, load_schema, make_validator
from codeboost.plan.shape import surely_fits

CHARS = st.characters(codec="utf-8")
TEXT = st.text(CHARS, min_size=1, max_size=30) | st.text(
    "ab \n\t:#-?&*!|>'\"%@`{}[],~<0.1_\\é\x85\u2028\ufeff\x7f", min_size=1, max_size=12
)
ITEM_ID = st.integers(1, 999).map(lambda number: f"P{number}")
FILE = st.fixed_dictionaries(
    {
        "path": TEXT,
        "kind": st.sampled_from(["edit", "add", "delete", "rename"]),
        "renamed_from": st.none() | TEXT,
        "change": TEXT,
    }
)
ITEM = st.fixed_dictionaries(
    {
        "id": ITEM_ID,
        "title": TEXT,
        "intent": TEXT,
        "files": st.lists(FILE, min_size=1, max_size=3),
        "acceptance": st.lists(
            st.fixed_dictionaries({"type": st.sampled_from(["cmd", "check"]), "text": TEXT}),
            min_size=1,
            max_size=3,
        ),
        "depends_on": st.lists(ITEM_ID, max_size=3),
    }
)
PLANS = st.fixed_dictionaries(
    {
        "schema_version": st.just(1),
        "issue": st.integers(1, 2**53 - 1),
        "revision": st.integers(1, 2**53 - 1),
        "summary": TEXT,
        "items": st.lists(ITEM, min_size=1, max_size=3),
        "questions": st.lists(TEXT, max_size=3),
    }
).map(build_plan)

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer())
    | st.text(CHARS, max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(CHARS, max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)
# Characters that mean something in either format, so that random text comes near to being a document.
NEAR_YAML = st.text("ab:-?#&*!|>'\"%@`{}[],~ \n\t\r10.\\_é\x85\u2028\ufeff<=", max_size=40)
NEAR_JSON = st.text('{}[]":,\\u0d8e1-+.tfn \n\t', max_size=40)


@settings(max_examples=60)
@given(PLANS)
def test_plans_survive_every_form(plan: Plan) -> None:
    for text, format_ in ((dump_yaml(plan), "yaml"), (dump_json(plan), "json")):
        assert build_plan(parse_source(text.encode(), format_)) == plan
    assert build_plan(parse_source(encode_plan(plan), "json")) == plan
    assert decode_plan(encode_plan(plan)) == plan
    assert digest_plan(decode_plan(encode_plan(plan))) == digest_plan(plan)


@settings(max_examples=60)
@given(PLANS)
def test_what_is_shown_holds_nothing_invisible(plan: Plan) -> None:
    for text in (dump_yaml(plan), dump_json(plan)):
        assert text.replace("\n", "").isprintable()


@settings(max_examples=60)
@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_json_values_are_read_as_python_reads_them(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert parse_source(text.encode(), "json") == value


@settings(max_examples=60)
@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_yaml_reads_what_json_writes(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert parse_source(text.encode(), "yaml") == parse_source(text.encode(), "json")


@given(VALUES)
def test_every_value_has_its_place(value: Any) -> None:
    text = json.dumps(value, indent=1)
    places = locate_json(text)
    decoder = json.JSONDecoder()
    for pointer, part in walk(value):
        offset = find_place(places, pointer)
        assert offset is not None
        assert decoder.raw_decode(text, offset)[0] == part


@settings(max_examples=60)
@given(NEAR_JSON)
def test_the_two_json_readers_agree(text: str) -> None:
    """Whatever the quick one accepts, the careful one does too; else it says what is wrong."""
    try:
        source = read_source(text.encode(), "json")
    except PlanSourceError:
        return
    assert source.locate("") is not None


@settings(max_examples=60)
@given(
    st.binary(max_size=60) | NEAR_YAML.map(str.encode) | NEAR_JSON.map(str.encode),
    st.sampled_from(["json", "yaml"]),
)
def test_bytes_are_read_or_refused(data: bytes, format_: str) -> None:
    value, faults = read(data, format_)
    if faults:
        assert all(found.code == "parse" and found.reason and found.position for found in faults)
    else:
        assert json.loads(json.dumps(value, allow_nan=False)) == value


def read(data: bytes, format_: str) -> tuple[Any, tuple[Diagnostic, ...]]:
    try:
        return parse_source(data, format_), ()
    except PlanSourceError as error:
        return None, error.diagnostics


@settings(max_examples=60)
@given(PLANS, st.data())
def test_a_damaged_plan_is_only_ever_diagnosed(plan: Plan, data: st.DataObject) -> None:
    text = dump_yaml(plan)
    at = data.draw(st.integers(0, len(text) - 1))
    damage = data.draw(
        st.sampled_from(["", "\t", ":", "- ", "[", "{", '"', "'", "#", "\n", "&a ", "*a", "!", "|", "~"])
    )
    checked = check_plan((text[:at] + damage + text[at + 1 :]).encode(), "yaml")
    assert (checked.plan is None) == any(found.is_error for found in checked.diagnostics)
    for found in checked.diagnostics:
        assert found.position is not None


@pytest.mark.parametrize("format_", ["json", "yaml"])
@settings(max_examples=60)
@given(value=VALUES)
def test_json_text_is_yaml_too(format_: str, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=True)
    if "\\ud" in text:
        text = json.dumps(value, ensure_ascii=False)
    assert parse_source(text.encode(), format_) == value


def walk(value: Any, *tokens: str | int) -> list[tuple[str, Any]]:
    found = [(join_pointer(*tokens), value)]
    if isinstance(value, dict):
        for key, part in value.items():
            found += walk(part, *tokens, key)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            found += walk(part, *tokens, index)
    return found


# Around every limit of the schema, and what Python and JSON see differently.
ODD: list[Any] = [
    *(
        "P1",
        "P1\n",
        "P0",
        "P999",
        "P1000",
        "P\u0661",
        "p1",
        "add",
        "Add",
        "cmd",
        "/a",
        "a\\b",
        "a\n/b",
        "",
    ),
    *("\U0001f600" * length for length in (120, 121, 300, 301, 400, 401, 600, 601, 1200, 1201)),
    *(True, False, None, 0, 1, -1, 1.5, 2**53 - 1, [], {}, [None], [[]], {"": 1}),
]
ODD_VALUES = st.sampled_from(ODD)


def damage(document: Any, data: st.DataObject) -> None:
    places = [place for _, place in walk(document) if isinstance(place, (dict, list))]
    place = data.draw(st.sampled_from(places))
    how = data.draw(st.sampled_from(["change", "remove", "add", "repeat"]))
    value = copy.deepcopy(data.draw(ODD_VALUES | VALUES))
    if how in ("change", "remove") and place:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if how == "remove":
            del place[key]
        else:
            place[key] = value
    elif isinstance(place, dict):
        place[data.draw(st.sampled_from(["id", "kind", "extra", "Id", ""]))] = value
    elif how == "repeat" and place:
        place.extend(copy.deepcopy(place[:1] * data.draw(st.sampled_from([9, 10, 29, 30]))))
    else:
        place.append(value)


@settings(max_examples=150)
@given(PLANS.map(to_document), st.integers(0, 2), st.data())
def test_the_quick_shape_agrees_with_the_validator(document: Any, times: int, data: st.DataObject) -> None:
    """A quick yes is one of the validator's, and to a good plan it is always yes; after any damage, too."""
    for _ in range(times):
        damage(document, data)
    schema = load_schema(1)
    errors = list(make_validator(1).iter_errors(document))
    assert surely_fits(document, schema, schema) == (not errors)
    assert bool(check_shape(document)) == bool(errors) or document.get("schema_version") != 1
    # Its own words for "pattern" and "items" change no verdict but that of "$".
    plain = list(Draft202012Validator(schema).iter_errors(document))
    assert errors or not plain
    assert plain or all(error.validator == "pattern" for error in errors)


def list_odd_plans(plan: Any) -> Iterator[Any]:
    """``plan`` with each odd value in each place, and with each list as long as a limit and one longer."""
    for pointer, value in walk(plan)[1:]:
        *above, last = pointer.split("/")[1:]
        lengths = (*range(9, 12), *range(28, 32), 40, 41) if isinstance(value, list) else ()
        lengthened = [value[:1] * length for length in lengths]
        for odd in [*ODD, *lengthened]:
            copied = copy.deepcopy(plan)
            place = copied
            for token in above:
                place = place[int(token) if isinstance(place, list) else token]
            place[int(last) if isinstance(place, list) else last] = odd
            yield copied


def test_the_quick_shape_agrees_at_every_limit() -> None:
    file = {"path": "a", "kind": "edit", "renamed_from": None, "change": "c"}
    check = {"type": "cmd", "text": "true"}
    item = {
        "id": "P1",
        "title": "t",
        "intent": "i",
        "files": [file],
        "acceptance": [check],
        "depends_on": ["P1"],
    }
    plan = {
        "schema_version": 1,
        "issue": 1,
        "revision": 1,
        "summary": "s",
        "items": [item],
        "questions": ["q"],
    }
    schema, validator = load_schema(1), make_validator(1)
    assert surely_fits(plan, schema, schema)
    verdicts = set()
    for odd in list_odd_plans(plan):
        verdict = validator.is_valid(odd)
        assert surely_fits(odd, schema, schema) == verdict, odd
        verdicts.add(verdict)
    assert verdicts == {True, False}
