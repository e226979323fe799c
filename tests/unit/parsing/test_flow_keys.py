"""Keys of flow mappings that have several lines, more than 1,024 characters, or a comment before their colon."""

from __future__ import annotations

import time

import pytest

from codeboost import PlanSourceError, parse_source
from codeboost.diagnostics import Position
from codeboost.parsing.source import read_source


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a\n b: 1, c: 2}", {"a b": 1, "c": 2}),
        ("{'a\n\n b': {\"c\\\n d\": 1}}", {"a\nb": {"cd": 1}}),
        ('{"a" # why\n # and\n : 1, b: 2}', {"a": 1, "b": 2}),
        ("x:\n  - {b: 1, a\n     c: [2]}\n", {"x": [{"b": 1, "a c": [2]}]}),
        ("{" + "k" * 2000 + ": 1}", {"k" * 2000: 1}),
        ("{a\n b: [1]}", {"a b": [1]}),
        ("{a: 1\n : 2}", None),
        ("{a\n b: 1, a b: 2}", None),
        ("[a\n b: 1]", None),
        ("['a\n b': 1]", None),
        ("x: {a\nb: 1}", None),
        ("a\n b: 1", None),
        ("k" * 2000 + ": 1", None),
    ],
)
def test_a_key_of_a_flow_mapping_may_be_long(text: str, value: object) -> None:
    if value is None:
        with pytest.raises(PlanSourceError):
            parse_source(text.encode(), "yaml")
    else:
        assert parse_source(text.encode(), "yaml") == value


def test_values_after_a_long_key_have_their_places() -> None:
    source = read_source(b"{a\n b: 1,\n c: 2, 'd\n e': 3}", "yaml")
    places = [source.locate(pointer) for pointer in ("/a b", "/c", "/d e")]
    assert places == [Position(2, 5), Position(3, 5), Position(4, 6)]
    assert source.locate("/a b", key=True) == Position(1, 2)


def test_very_many_are_no_endless_work() -> None:
    start = time.process_time()
    with pytest.raises(PlanSourceError):
        parse_source(b"[" + b"{a\n b: 1}," * 900 + b"1]", "yaml")
    assert time.process_time() - start < 3
