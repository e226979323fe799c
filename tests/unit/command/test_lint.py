"""Reasons to look twice: there for what deserves them, absent for what does not."""

from __future__ import annotations

import pytest

from codeboost.command.grammar import parse_command
from codeboost.command.lint import find_suspicions


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("FOO=1 make", "nothing is assigned"),
        ("RUBYOPT=-r./x rake test", "nothing is assigned"),
        ("cd src", "builtin"),
        ("exit 0", "builtin"),
        ("source env.sh", "builtin"),
        ("export A=b", "builtin"),
        ("pytest -k \u201ca b\u201d", "no quote"),
        ("pytest -k \u2018a\u2019", "no quote"),
        ("pytest \u2014quiet", "no hyphen"),
        ("pytest \u2013q", "no hyphen"),
        ("npm\u200b test", "nobody can see"),
        ("npm\u00a0test", "nobody can see"),
        ("cmd \u202egpj.exe", "changes the order"),
        ("\u0440ytest -q", "another script"),
        ("c\u0430t x", "another script"),
        ("cmd \uff1b", "looks like ;"),
        ("cmd e\u0301", "exactly the same"),
        ("sh -c 'x; y'", "runs it in a shell"),
        ("/bin/bash -lc 'x'", "runs it in a shell"),
        ("python -c 'import os'", "takes code as text"),
        ("python3.12 -Ic 'import os'", "takes code as text"),
        ("node -e x", "takes code as text"),
        ("env FOO=1 make", "runs what its arguments say"),
        ("xargs rm", "runs what its arguments say"),
        ("sudo make", "runs what its arguments say"),
        ("timeout 5 pytest", "runs what its arguments say"),
        ("timeout 5 sh -c x", "runs it in a shell"),
        ("busybox sh -c x", "runs it in a shell"),
        ("find . -exec rm", "find runs a command"),
        ("npm test '&&' x", "no shell to act on it"),
        ("'npm test'", "one name, not a program"),
        ("/proc/self/cwd/x", "cannot be pinned"),
        ("a" + " " * 30, "padded with spaces"),
    ],
)
def test_it_is_noticed(text: str, words: str) -> None:
    sentences = find_suspicions(text, parse_command(text))
    assert any(words in sentence for sentence in sentences), sentences


@pytest.mark.parametrize(
    "text",
    [
        "python3 -m pytest -q",
        "python3 -m unittest -c",
        "./gradlew test --info",
        "go test ./... -run 'A|B'",
        "npm test -- --coverage",
        "make VAR='a b'",
        "pytest -k 'a and b'",
        "cmd --opt='x > 1 && y < 2'",
        "grep -n '$(x) && y' a.py",
        "echo schön Ärger",
        "echo привет мир",
        "echo 漢字",
        "node --test",
        "sh scripts/test.sh",
        "cargo test --release",
    ],
)
def test_it_is_ordinary(text: str) -> None:
    assert find_suspicions(text, parse_command(text)) == ()


def test_what_is_warned_of_is_not_shown_raw() -> None:
    sentences = find_suspicions("", parse_command("\u202ex=\u200b 1"))
    assert sentences
    assert all(sentence.isprintable() for sentence in sentences)
