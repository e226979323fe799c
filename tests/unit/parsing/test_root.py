"""A block scalar that is the whole document, at the very left; tabs before a document and on blank lines."""

from __future__ import annotations

import time

import pytest

from codeboost import PlanSourceError, parse_source
from codeboost.diagnostics import Position
from codeboost.parsing.source import read_source


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("|\ntext\n", "text\n"),
        (">\na\nb\n\nc\n", "a b\nc\n"),
        ("--- |\n%!PS-Adobe-2.0\n", "%!PS-Adobe-2.0\n"),
        ("%YAML 1.2\n--- # c\n# d\n|-\n# no comment\n", "# no comment"),
        ("---\n>-\n  a\n", "a"),
        ("|+\n\nx\n\n  y\n\n", "\nx\n\n  y\n\n"),
        ("|\n\tx\n", "\tx\n"),
        (">\n\tx\n\ty\nz\n", "\tx\n\ty\nz\n"),
        ("| # c\r\nx\r\n- y: [\r\n", "x\n- y: [\n"),
        ("|\n```\n...\n", "```\n"),
        ("|\n---x\n...\n# c\n", "---x\n"),
        ("|\nx", "x"),
        ("|-\n   \n...\n", ""),
        ("|\n...\n", ""),
        ("|\u2028\nx", None),
        ("|\n \nx\n", None),
        ("|\nx\n---\ny\n", None),
        ("|\nx\n...\ny\n", None),
        ("|x\ny\n", None),
        ("|\nx\x7f\n", None),
    ],
)
def test_a_block_scalar_at_the_left(text: str, value: str | None) -> None:
    if value is None:
        with pytest.raises(PlanSourceError):
            parse_source(text.encode(), "yaml")
    else:
        assert parse_source(text.encode(), "yaml") == value


def test_its_faults_stand_where_they_are() -> None:
    with pytest.raises(PlanSourceError) as caught:
        parse_source(b"|\n\nx\n\ny\x7f\n", "yaml")
    assert [fault.position for fault in caught.value.diagnostics] == [Position(5, 2)]
    assert read_source(b"--- |\nx\n", "yaml").locate("") == Position(1, 5)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("---\n\ta\n", "a"),
        ("%YAML 1.2\n---\n\n\t{}\n", {}),
        ("--- # c\n\t[\n\t]\n", []),
        ("---\n\ta: 1\n", None),
        ("---\n\t- a\n", None),
        ("a: 1\n\tb: 2\n", None),
        ("a:\n\tb\n", None),
    ],
)
def test_a_tab_before_the_whole_document_separates(text: str, value: object) -> None:
    if value is None:
        with pytest.raises(PlanSourceError):
            parse_source(text.encode(), "yaml")
    else:
        assert parse_source(text.encode(), "yaml") == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("- 'a\n\t\n  b'\n", None),
        ('a: "x\n\t\n\n  y"\n', None),
        ("- a\n\t\n  b\n", None),
        ("- 'a\n \t\n  b'\n", ["a\nb"]),
        ("- a\n \t\n  b\n", ["a\nb"]),
        ("'a\n\t\nb'\n", "a\nb"),
        ("- [a,\n\t\n  b]\n", [["a", "b"]]),
        ("- a\n\t\n- b\n", ["a", "b"]),
    ],
)
def test_a_tab_is_no_indentation_of_an_empty_line_within_a_scalar(text: str, value: object) -> None:
    if value is None:
        with pytest.raises(PlanSourceError) as caught:
            parse_source(text.encode(), "yaml")
        assert [(fault.reason, fault.position) for fault in caught.value.diagnostics] == [
            ("syntax", Position(2, 1))
        ]
    else:
        assert parse_source(text.encode(), "yaml") == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{ # c\n  :x: 1}", {":x": 1}),
        ("[ # c\n  ?: 1]", [{"?": 1}]),
        ("a: [b,\n # c\n # d\n :e]", {"a": ["b", ":e"]}),
    ],
)
def test_a_comment_may_stand_before_what_begins_with_an_indicator(text: str, value: object) -> None:
    assert parse_source(text.encode(), "yaml") == value


@pytest.mark.parametrize("between", ["\t", " \t", "\t# c\tx", "\t\n\t"])
def test_tabs_on_very_many_lines_between_others_are_read(between: str) -> None:
    text = f"\n{between}\n".join(f"a{number}: 'b\tc'" for number in range(20_000)) + "\nt: |\n  x\n  \ty\n"
    start = time.process_time()
    value = parse_source(text.encode(), "yaml")
    assert time.process_time() - start < 2
    assert value == {f"a{number}": "b\tc" for number in range(20_000)} | {"t": "x\n\ty\n"}


def test_very_many_tabs_after_an_indicator() -> None:
    start = time.process_time()
    assert parse_source(b"- " + b"\t" * 100_000 + b"a\n", "yaml") == ["a"]
    assert time.process_time() - start < 1
