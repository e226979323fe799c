"""The grammar against a second tokenizer, written here from plan-rules.md §4 alone and sharing nothing with it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codeboost.command.allowlist import is_approved
from codeboost.command.grammar import draw_error, format_command, parse_command
from codeboost.command.lint import find_suspicions
from codeboost.errors import CommandSyntaxError

REFUSED_OUTSIDE = set(";&|<>$`()*?[]{}!#~")

spicy = st.text(
    alphabet=st.one_of(
        st.sampled_from("ab ' \" ' \" -=/.;&|<>$`()*?[]{}!#~\\"),
        st.sampled_from("\t\n\r\0\x1b\x7f\x85\x9f\u00a0\u2028\u200b\u202eé\u0301😀“—"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=60,
)
# Mostly accepted: quotes that close, and few characters that are refused.
tame = st.lists(
    st.one_of(
        st.sampled_from(["a", "b-", " ", "  ", "=", "é", "\u00a0"]),
        st.text(st.sampled_from('ab ";|$é'), max_size=5).map(lambda text: f"'{text}'"),
        st.text(st.sampled_from("ab ';|$é"), max_size=5).map(lambda text: f'"{text}"'),
    ),
    max_size=20,
).map("".join)


def tokenize(text: str) -> tuple[str, ...] | None:
    """Character by character; None when the text is refused."""
    done: list[str] = []
    current: str | None = None
    quote = ""
    for char in text:
        if char == "\\" or unicodedata.category(char) == "Cc":
            return None
        if quote:
            if char == quote:
                quote = ""
            else:
                current = (current or "") + char
        elif char in "'\"":
            quote = char
            current = current or ""
        elif char == " ":
            if current is not None:
                done.append(current)
            current = None
        elif char in REFUSED_OUTSIDE:
            return None
        else:
            current = (current or "") + char
    if current is not None:
        done.append(current)
    return None if quote or not done or not done[0] else tuple(done)


def parse(text: str) -> tuple[str, ...] | None:
    try:
        return parse_command(text)
    except CommandSyntaxError:
        return None


@given(st.one_of(spicy, tame))
@example("''npm test")
@example("'' npm")
@example(" '' ''x")
@example("a''")
def test_two_tokenizers_agree(text: str) -> None:
    argv = parse(text)
    assert argv == tokenize(text)
    assert argv is None or all(type(argument) is str for argument in argv)


@given(spicy)
def test_the_fault_is_where_the_error_says(text: str) -> None:
    try:
        parse_command(text)
    except CommandSyntaxError as error:
        at = error.column - 1
        # Up to the fault nothing has to be refused: what stands before it can be completed to a command.
        head = text[:at]
        completions = (head + tail for tail in ("", "x", "'", '"', "'x", '"x', "x'", 'x"'))
        assert any(tokenize(whole) for whole in completions)
        command, caret = draw_error(error)
        assert "\n" not in command
        assert caret.endswith("^")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=6))
def test_what_can_be_written_is_read_back(argv: list[str]) -> None:
    try:
        text = format_command(argv)
    except ValueError:
        unwritable = any(char == "\\" or unicodedata.category(char) == "Cc" for char in "".join(argv))
        assert unwritable or not argv or not argv[0]
    else:
        assert parse_command(text) == tuple(argv)


argvs = st.lists(st.text(st.sampled_from("ab -'\u00a0é"), max_size=3), max_size=4).map(tuple)


@given(argvs, st.lists(argvs, max_size=5))
def test_nothing_but_an_exact_entry_is_approved(
    argv: tuple[str, ...], approved: list[tuple[str, ...]]
) -> None:
    expected = bool(argv and argv[0]) and argv in approved
    assert is_approved(argv, approved) is expected
    assert is_approved(argv, set(approved)) is expected


@given(st.one_of(spicy, tame), st.lists(tame, max_size=4))
def test_no_text_outside_an_entry_ever_runs(text: str, approved_texts: list[str]) -> None:
    """Whatever is written: it may run only if it is, element by element, one of the approved commands."""
    approved = [argv for argv in map(tokenize, approved_texts) if argv is not None]
    argv = parse(text)
    if argv is not None and is_approved(argv, approved):
        assert tokenize(text) in approved


@given(tame)
def test_suspicions_never_show_what_they_warn_of(text: str) -> None:
    argv = parse(text)
    if argv is not None:
        for sentence in find_suspicions(text, argv):
            assert sentence.isprintable()


def test_a_text_is_not_an_argv() -> None:
    with pytest.raises(TypeError, match="parse the text"):
        is_approved("npm test", [("npm", "test")])
