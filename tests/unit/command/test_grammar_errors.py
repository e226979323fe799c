"""What a person is told when a command is refused, and how long the grammar takes."""

from __future__ import annotations

import time

import pytest

from codeboost.command.grammar import draw_error, format_command, parse_command
from codeboost.errors import CommandSyntaxError


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("git status && touch pwn", 12, "operator &&"),
        ("git status ; touch pwn", 12, "operator ;"),
        ("git status || touch pwn", 12, "operator ||"),
        ("git status | touch pwn", 12, "operator |"),
        ("git status |& touch pwn", 12, "operator |&"),
        ("git status & touch pwn", 12, "operator &"),
        ("pytest -q > out.txt", 11, "redirection, which is not supported"),
        ("pytest 2>&1", 9, "redirection, which is not supported"),
        ("sort < names.txt", 6, "redirection, which is not supported"),
        ("echo $(touch pwn)", 6, "command substitution"),
        ("echo `touch pwn`", 6, "command substitution"),
        ("cat <(id)", 5, "process substitution"),
        ("ls *.py", 4, "file pattern"),
        ("ls ~", 4, "home folder"),
        ("ls {a,b}", 4, "brace expansion"),
        ("cat$IFS/etc/hosts", 4, "variable"),
        ("git${IFS}status", 4, "variable"),
        ("git status\ntouch pwn", 11, "U+000A"),
        ("git status\n", 11, "U+000A"),
        ("npm\ttest", 4, "U+0009 (tab)"),
        ("cmd a\x85b", 6, "U+0085"),
        ("cmd '\x1b[2J'", 6, "U+001B"),
        ("pytest -k 'abc", 11, "never closed"),
        ('pytest "', 8, "never closed"),
        ("a'b'c'", 6, "never closed"),
        ("pytest \\", 8, "backslash"),
        ("cmd 'a\\b'", 7, "backslash"),
        ("pytest -q # fast", 11, "comments are not supported"),
        ("# run tests", 1, "comments are not supported"),
        ("", 1, "empty"),
        ("   ", 1, "empty"),
        ("  '' x", 3, "first argument is empty"),
        ("é😀 ;", 4, "operator ;"),
    ],
)
def test_an_error_says_what_where_and_why(text: str, column: int, words: str) -> None:
    with pytest.raises(CommandSyntaxError) as caught:
        parse_command(text)
    assert caught.value.column == column
    assert words in caught.value.reason
    assert caught.value.hint
    assert "\n" not in str(caught.value)


def test_a_pipeline_is_answered_with_what_to_do() -> None:
    with pytest.raises(CommandSyntaxError) as caught:
        parse_command("a | b")
    assert caught.value.hint is not None
    assert "a pipeline cannot run; put it in a script in the repository" in caught.value.hint


def test_the_caret_stands_under_the_fault_whatever_is_before_it() -> None:
    with pytest.raises(CommandSyntaxError) as caught:
        parse_command("echo '\u200b' 漢 ; x")
    command, caret = draw_error(caught.value)
    assert command == r"echo '\u{200b}' 漢 ; x"
    # The Chinese letter takes two columns of a terminal.
    assert caret == " " * (command.index(";") + 1) + "^"


def test_a_long_command_is_shown_around_the_fault() -> None:
    with pytest.raises(CommandSyntaxError) as caught:
        parse_command("x" * 5000 + ";" + "y" * 5000)
    command, caret = draw_error(caught.value)
    assert len(command) < 200
    assert command[len(caret) - 1] == ";"


@pytest.mark.parametrize("argv", [[], [""], ["", "x"], ["a\nb"], ["a", "\\"], ["a\x9f"]])
def test_what_no_text_can_say_is_refused(argv: list[str]) -> None:
    with pytest.raises(ValueError, match="command"):
        format_command(argv)


@pytest.mark.timing
@pytest.mark.parametrize("text", ["a " * 200, "cmd " + "'' " * 132, "c" + "'" * 398, "a'b'" * 100, "x" * 400])
def test_400_characters_parse_within_5_ms(text: str) -> None:
    parse_command(text)
    best = 1.0
    for _ in range(20):
        start = time.perf_counter()
        parse_command(text)
        best = min(best, time.perf_counter() - start)
    assert best < 0.005
