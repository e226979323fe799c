"""Markdown that no content can break out of, looked at with a Markdown parser."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from codeboost.operations.make_report import Result
from codeboost.reporting.markdown import COMMENT_LIMIT, render_markdown, render_summary
from codeboost.store.verdicts import Answer
from codeboost.verdict import Verdict

EVIL = [
    "[link](https://evil.example)",
    "![pixel](https://evil.example/x.png)",
    "<img src=x onerror=alert(1)>",
    "</details><h1>PASSED</h1>",
    "` </code> **bold** `",
    "``` \n```\n# PASSED\n",
    "a | b | c |\n|---|",
    "\\| x \\",
    "`|`|`",
    "@everyone #1 https://evil.example www.evil.example",
    "<!-- -->",
    "\u202egnp.exe\x1b[2J",
    "-->\n\n# PASSED",
    "~~~\n~~~",
    "&lt;b&gt;",
    " ",
    "",
]
# Ours: headings, lists, tables, bold, code and the folded output.
OURS = {
    "heading_open",
    "heading_close",
    "inline",
    "paragraph_open",
    "paragraph_close",
    "bullet_list_open",
    "bullet_list_close",
    "list_item_open",
    "list_item_close",
    "table_open",
    "table_close",
    "thead_open",
    "thead_close",
    "tbody_open",
    "tbody_close",
    "tr_open",
    "tr_close",
    "th_open",
    "th_close",
    "td_open",
    "td_close",
    "text",
    "softbreak",
    "strong_open",
    "strong_close",
    "code_inline",
    "fence",
    "html_block",
    "em_open",
    "em_close",
}
OUR_HTML = re.compile(r"<details><summary>P\d+\.\d+: the last lines</summary>\n?|</details>\n?")


def parse(text: str) -> list[Token]:
    parser = MarkdownIt("commonmark", {"linkify": False}).enable("table").enable("strikethrough")
    tokens = parser.parse(text)
    return [one for token in tokens for one in (token, *(token.children or ()))]


def look(text: str) -> list[Token]:
    """The tokens of a report, all of them of our own making; text outside of code is ours as well."""
    tokens = parse(text)
    assert {token.type for token in tokens} <= OURS
    for token in tokens:
        if token.type == "html_block":
            assert OUR_HTML.fullmatch(token.content), token.content
        if token.type == "text":
            assert "evil" not in token.content
            assert "@" not in token.content
    return tokens


def make(build: Any, told: Any, text: str, **options: Any) -> Any:
    return build(
        [told(Verdict.FAILED, text, text, text.encode(), text.encode("utf-8", "replace"))],
        title=text,
        checks=[(text, None), (text, Answer.PASS)],
        note=text,
        findings=[(text, text)],
        reasons=[text],
        **options,
    )


@pytest.mark.parametrize("text", EVIL)
def test_nothing_breaks_out(build: Any, told: Any, text: str) -> None:
    report = make(build, told, text)
    for rendered in (render_markdown(report), render_summary(report, room=1 << 20)):
        tokens = look(rendered)
        assert next(t.content for t in tokens if t.type == "inline").startswith("❌ codeboost: FAILED")
        assert sum(token.type == "heading_open" for token in tokens) == 1
        assert sum(token.type == "tr_open" for token in tokens) == 4
        assert sum(token.type == "td_open" for token in tokens) == 3 * 4


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(text=st.text(alphabet=st.sampled_from("`|\\<>[]()!*_#@&;~-=+ \n\tab1:/\x1b\u202e"), max_size=24))
def test_nothing_made_of_marks_breaks_out(build: Any, told: Any, text: str) -> None:
    tokens = look(render_markdown(make(build, told, text)))
    assert sum(token.type == "td_open" for token in tokens) == 3 * 4
    assert sum(token.type == "heading_open" for token in tokens) == 1


def test_a_cell_shows_what_was_written(build: Any, told: Any) -> None:
    # The parser shows what is between the bars; GitHub's way with \| is the same.
    tokens = parse(render_markdown(build([told(Verdict.FAILED, r"grep 'a|b\|c' x")])))
    shown = [token.content for token in tokens if token.type == "code_inline"]
    assert r"grep 'a|b\|c' x" in shown


@pytest.mark.parametrize(
    ("result", "sign"), [(Result.PASSED, "✅"), (Result.WARNED, "⚠️"), (Result.FAILED, "❌")]
)
def test_the_result_comes_first(build: Any, result: Result, sign: str) -> None:
    assert render_markdown(build(result=result)).startswith(f"### {sign} codeboost: {result}\n")


def test_a_comment_never_gets_too_long(build: Any, told: Any) -> None:
    noisy = [told(Verdict.FAILED, "x " * 400, "y" * 500, b"z" * 399 + b"\n" + b"line\n" * 30)] * 20
    text = render_markdown(build(noisy, items=60))
    assert len(text) <= COMMENT_LIMIT
    look(text)
    assert text.endswith("shows it all._\n")


@pytest.mark.parametrize("room", [0, 10, 100, 1000, 5000, 100_000])
def test_a_summary_keeps_to_its_room(build: Any, told: Any, room: int) -> None:
    text = render_summary(build([told(Verdict.FAILED, "é" * 200)] * 10, items=40), room=room)
    assert len(text.encode()) <= room
    look(text)
