"""Colons right after a plain text in a flow collection: before a bracket they end a key, before ? they are text."""

from __future__ import annotations

import pytest

from codeboost import PlanSourceError, parse_source


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a:[1]}", {"a": [1]}),
        ("{a:{b: 1}, c:[2]}", {"a": {"b": 1}, "c": [2]}),
        ("[a:[1], b]", [{"a": [1]}, "b"]),
        ("{a:b:[1]}", {"a:b": [1]}),
        ("{a\n:[1]}", {"a": [1]}),
        ("{? a:[1]}", {"a": [1]}),
        ("k: {a:[1], b:{c:[2]}}\nz: 1\n", {"k": {"a": [1], "b": {"c": [2]}}, "z": 1}),
        ("{x:[1], y: \"q:[\", z: 'r:{'}", {"x": [1], "y": "q:[", "z": "r:{"}),
        ("[a:?b]", ["a:?b"]),
        ("{a:?b: c}", {"a:?b": "c"}),
        ("[a:?\U00100000, b:?c]", ["a:?\U00100000", "b:?c"]),
        # Blocks know nothing of this.
        ("a: b:[1]\n", {"a": "b:[1]"}),
    ],
)
def test_what_the_colon_means(text: str, value: object) -> None:
    assert parse_source(text.encode(), "yaml") == value


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [
        ("{a:[1], b:[2], a: 3}", "duplicate-key", 1, 16),
        ("k: {a:[1],\n  b:[~]}", "non-json-scalar", 2, 6),
        ("k: {a:[1],\n  b: [&x 1]}", "anchor", 2, 7),
        ("{a:[1]", "syntax", 1, 7),
        ("- {\n a:[\n1]}", "syntax", 3, 1),
        ("{a:}", "empty-value", 1, 4),
        ("[a:, b]", "empty-value", 1, 4),
        ("{a:[1]}: b", "non-string-key", 1, 1),
        ("{a:[1], @b: c}", "syntax", 1, 9),
    ],
)
def test_places_are_those_of_the_file(text: str, reason: str, line: int, column: int) -> None:
    with pytest.raises(PlanSourceError) as caught:
        parse_source(text.encode(), "yaml")
    found = caught.value.diagnostics[0]
    assert (found.reason, found.line, found.column) == (reason, line, column)


@pytest.mark.parametrize("count", [1, 30])
def test_each_of_many_is_understood(count: int) -> None:
    text = "{" + ", ".join(f"k{number}:[{number}]" for number in range(count)) + "}"
    assert parse_source(text.encode(), "yaml") == {f"k{number}": [number] for number in range(count)}
