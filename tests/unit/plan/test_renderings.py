"""Markdown that no text breaks out of, skeletons that are valid plans, and what differs between two revisions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from codeboost import check_plan
from codeboost.plan.difference import ItemFate, compare_plans
from codeboost.plan.markdown import render_item, render_plan
from codeboost.plan.model import ChangeKind, Check, CheckType, FileChange, Item, Plan
from codeboost.plan.rendering import quote_yaml
from codeboost.plan.skeleton import make_skeleton
from codeboost.resources import read_resource

MARKUP = st.text("#*_-+=>`~[](){}<>!|&;:/\\\"'$@ \n\t1.ab\x1b\u202e", min_size=1, max_size=30)


def make_plan(text: str = "text", command: str = "true", path: str = "a.txt") -> Plan:
    files = (
        FileChange(path, ChangeKind.EDIT, None, text),
        FileChange(path, ChangeKind.RENAME, path, text),
    )
    acceptance = (Check(CheckType.CMD, command), Check(CheckType.CHECK, text))
    return Plan(1, 7, 1, text, (Item("P1", text, text, files, acceptance, ()),), (text,))


def list_blocks(markdown: str) -> list[str]:
    """The skeleton of a page: its block tokens, and within lines what is neither text nor a break nor code."""
    tokens = MarkdownIt("commonmark").enable("table").enable("strikethrough").parse(markdown)
    inline = [child.type for token in tokens for child in token.children or ()]
    plain = {"text", "text_special", "softbreak", "code_inline"}
    # The only HTML of a page is the line break that we write ourselves.
    html = [
        child.content for token in tokens for child in token.children or () if child.type == "html_inline"
    ]
    assert set(html) <= {"<br>"}
    return [token.type for token in tokens] + [name for name in inline if name not in plain | {"html_inline"}]


SHAPE = list_blocks(render_plan(make_plan()))


class TestMarkdown:
    @settings(max_examples=200)
    @given(MARKUP.filter(lambda text: text.strip(" \n")))
    def test_no_text_becomes_markup(self, text: str) -> None:
        page = render_plan(make_plan(text, command=text, path=text))
        assert list_blocks(page) == SHAPE
        assert page.replace("\n", "").isprintable()

    @pytest.mark.parametrize(
        "text",
        [
            "# a",
            "- a",
            "1. a",
            "a\n\n# b",
            "<script>",
            "```",
            "---",
            "===",
            "> a",
            "[a](b)",
            "![a](b)",
            "a\n---",
            "    a",
            "&lt;",
            "~~~",
            "| a |\n|---|",
        ],
    )
    def test_known_tricks(self, text: str) -> None:
        assert list_blocks(render_plan(make_plan(text, command=text, path=text))) == SHAPE

    def test_ordinary_text_stays_readable(self) -> None:
        text = "Keep the key in snake_case, as send() does (see RFC 9110)."
        assert text in render_item(make_plan(text).items[0])

    def test_text_is_shown_as_it_is(self) -> None:
        text = "a_b *c* #1 <b> `d` \\ 2. & | $x$"
        html = MarkdownIt("commonmark").render(render_plan(make_plan(text)))
        assert "a_b *c* #1 &lt;b&gt; `d` \\ 2. &amp; | $x$" in html


class TestSkeleton:
    @settings(max_examples=50)
    @given(st.none() | MARKUP | st.text(min_size=590, max_size=610, alphabet="ab \n"))
    def test_it_passes_every_rule_that_needs_no_repository(self, title: str | None) -> None:
        checked = check_plan(make_skeleton(412, title=title).encode(), "yaml")
        assert checked.diagnostics == ()
        assert checked.plan is not None
        assert checked.plan.issue == 412

    def test_it_tells_editors_the_schema(self) -> None:
        """The schema that ships, as a file: the address in its ``$id`` is a name that nobody serves."""
        modeline = make_skeleton(1).partition("\n")[0]
        url = modeline.removeprefix("# yaml-language-server: $schema=")
        assert url.startswith("file:///")
        assert Path(unquote(urlsplit(url).path)).read_bytes() == read_resource("schema/plan.schema.json")
        assert make_skeleton(1, schema="schema/plan.json").startswith(
            "# yaml-language-server: $schema=schema/plan.json\n"
        )


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("src/a_b.py", "src/a_b.py"),
        ("Two words.", "Two words."),
        ("no", '"no"'),
        ("Null", '"Null"'),
        ("1", '"1"'),
        ("a: b", '"a: b"'),
        ("a ", '"a "'),
        ("", '""'),
        ("a\nb", "|-\n  a\n  b"),
        ("a\n\nb", "|-\n  a\n\n  b"),
        ("a\n", '"a\\n"'),
        (" a\nb", '" a\\nb"'),
        ("a\u202eb\x1b", '"a\\u202eb\\x1b"'),
    ],
)
def test_yaml_scalars(text: str, quoted: str) -> None:
    assert quote_yaml(text, 2) == quoted


class TestDifference:
    def test_equal_plans_do_not_differ(self) -> None:
        assert compare_plans(make_plan(), replace(make_plan(), revision=2)).is_empty

    def test_items_are_compared_by_id(self) -> None:
        (item,) = make_plan().items
        before = replace(make_plan(), items=(item, replace(item, id="P2"), replace(item, id="P3")))
        after = replace(
            make_plan(),
            summary="another",
            items=(
                replace(item, id="P2", title="another"),
                replace(item, intent="another", depends_on=("P2",)),
                replace(item, id="P4"),
            ),
        )
        difference = compare_plans(before, after)
        assert difference.fields == ("summary", "order")
        assert [(entry.id, entry.fate, entry.fields) for entry in difference.items] == [
            ("P2", ItemFate.RETITLED, ("title",)),
            ("P1", ItemFate.CHANGED, ("intent", "depends_on")),
            ("P4", ItemFate.ADDED, ()),
            ("P3", ItemFate.REMOVED, ()),
        ]
