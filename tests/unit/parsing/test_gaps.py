"""Colons right after a plain text in a flow collection: what follows says whether they end a key or are text."""

from __future__ import annotations

import pytest

from codeboost import PlanSourceError, parse_source


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[a:?b]", ["a:?b"]),
        ("{a:?b: c}", {"a:?b": "c"}),
        ("[a:?\U00100000, b:?c]", ["a:?\U00100000", "b:?c"]),
        ("{\"a\":[1], 'b':{c: 2}}", {"a": [1], "b": {"c": 2}}),
        # Blocks know nothing of this.
        ("a: b:[1]\n", {"a": "b:[1]"}),
    ],
)
def test_what_the_colon_means(text: str, value: object) -> None:
    assert parse_source(text.encode(), "yaml") == value


@pytest.mark.parametrize("text", ["{a:[1]}", "{a:{b: 1}}", "[a:[1]]", "{a:b:[1]}", "{a\n:[1]}", "{? a:[1]}"])
def test_a_value_right_behind_the_colon_of_a_plain_key_is_refused(text: str) -> None:
    with pytest.raises(PlanSourceError, match="a colon needs a space between it and the value") as caught:
        parse_source(text.encode(), "yaml")
    (found,) = caught.value.diagnostics
    assert found.reason == "syntax"


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [
        ("{a:}", "empty-value", 1, 4),
        ("[a:, b]", "empty-value", 1, 4),
        ("k: {a:, b: 1,\n  b: 2}", "empty-value", 1, 7),
        ("[x:?y, {a:, c: ~}]", "empty-value", 1, 11),
        ("{a:, @b: c}", "syntax", 1, 6),
    ],
)
def test_places_are_those_of_the_file(text: str, reason: str, line: int, column: int) -> None:
    with pytest.raises(PlanSourceError) as caught:
        parse_source(text.encode(), "yaml")
    found = caught.value.diagnostics[0]
    assert (found.reason, found.line, found.column) == (reason, line, column)


def test_each_of_many_is_understood() -> None:
    text = "[" + ", ".join(f"k{number}:?v" for number in range(30)) + "]"
    assert parse_source(text.encode(), "yaml") == [f"k{number}:?v" for number in range(30)]
