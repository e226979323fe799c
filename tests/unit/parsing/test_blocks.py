"""Block scalars whose lines begin with tabs, and tabs before the whole document."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeboost import PlanSourceError, parse_source
from codeboost.parsing.blocks import fold


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # The first line's spaces indent, and the tab is text.
        ("a: |\n \tx\n", "\tx\n"),
        ("a: |-\n \tx", "\tx"),
        ("a: |\n \t\n", "\t\n"),
        ("a: |\n\n  \tx\n   y\n", "\n\tx\n y\n"),
        ("a: |\r\n \tx\r\n", "\tx\n"),
        ("a: |2\n   \tx\n  y\n", " \tx\ny\n"),
        ("a: | # why\n \tx\n", "\tx\n"),
        # Folded: a line that begins with a blank keeps the breaks around it.
        ("a: >\n \tx\n y\n z\n", "\tx\ny z\n"),
        ("a: >\n\n \tx\n\n y\n\n z\n", "\n\tx\n\ny\nz\n"),
        ("a: >-\n \t\n y\n", "\t\ny"),
        ("a: >+\n \tx\n\n\n", "\tx\n\n\n"),
        # After everything else, less indented: an empty line or a comment.
        ("a: |+\n  x\n\t\n", "x\n"),
        ("a: |+\n  x\n \t# why\n\t\n\n", "x\n"),
        ("a: |\n\t\n", ""),
        ("a: |\n  x\n\t\n...\n", "x\n"),
        ("a: |\n  x\n# why\n\t\n", "x\n"),
        # What stands for a tab is no character that the text holds itself.
        ("a: |\n \t\U00100000\n", "\t\U00100000\n"),
    ],
)
def test_a_tab_in_a_block_scalar(text: str, value: str) -> None:
    assert parse_source(text.encode(), "yaml") == {"a": value}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: |\n\t\nb: 1\n", 2),
        ("a: |\n\tx\n", 2),
        ("a: |\n  x\n\t\nb: 1\n", 3),
        ("a: |\n  x\n \t\n  y\n", 3),
        ("a: |\n  x\n\ty\n", 3),
        ("a: |2\n \tx\n", 2),
        ("a:\n  b: |\n  \tx\n", 3),
        ("- |\n \n\t\n- x\n", 3),
    ],
)
def test_a_tab_that_ends_a_block_scalar_too_early(text: str, line: int) -> None:
    with pytest.raises(PlanSourceError) as caught:
        parse_source(text.encode(), "yaml")
    (found,) = caught.value.diagnostics
    assert (found.reason, found.message, found.line) == ("syntax", "a tab cannot indent; use spaces", line)


def test_several_of_them_in_one_document() -> None:
    text = 'a: |\n \tx\nb: >\n \ty\n z\nc: "\\U00100001"\nd: >\n  e\n  f\n'
    assert parse_source(text.encode(), "yaml") == {
        "a": "\tx\n",
        "b": "\ty\nz\n",
        "c": "\U00100001",
        "d": "e f\n",
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [("\t{}\n", {}), ("\t[\n\t]\n", []), ("# why\n\t\t {a: b}\n", {"a": "b"}), ("\t'x'", "x")],
)
def test_a_tab_before_the_document(text: str, value: object) -> None:
    assert parse_source(text.encode(), "yaml") == value


@pytest.mark.parametrize(
    "text", ["\ta: b\n", "\t- a\n", "\t? a\n", "a:\n\t{}\n", "- a\n\t{}\n", "a: b\n\tc: d\n"]
)
def test_a_tab_never_indents_a_block(text: str) -> None:
    with pytest.raises(PlanSourceError, match="a tab cannot indent"):
        parse_source(text.encode(), "yaml")


@given(
    st.lists(st.text(alphabet=" \tab", max_size=4)).filter(
        # The first line that is not empty says where the text begins, so it begins with none of these.
        lambda lines: next((line[0] not in " \t" for line in lines if line), True)
    ),
    st.sampled_from(["", "-", "+"]),
)
def test_folding_is_what_libyaml_does(lines: list[str], chomping: str) -> None:
    body = "".join(f"  {line}\n" if line else "\n" for line in lines)
    literal, folded = (
        parse_source(f"a: {style}2{chomping}\n{body}".encode(), "yaml")["a"]  # type: ignore[index]
        for style in "|>"
    )
    assert fold(literal) == folded
