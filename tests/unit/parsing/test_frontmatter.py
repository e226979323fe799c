"""The frontmatter subset: what is read, what is refused and where, and what a rewrite leaves alone."""

from __future__ import annotations

import pytest

from codeboost.parsing.frontmatter import (
    Frontmatter,
    FrontmatterFault,
    parse_frontmatter,
    quote_scalar,
    render_value,
    rewrite_frontmatter,
    split_body,
)

WORDS = frozenset({"id", "status", "depends"})


def read(header: str) -> Frontmatter | FrontmatterFault:
    return parse_frontmatter(f"---\n{header}\n---\nbody\n".encode(), WORDS)


VALUES = [
    ("k: plain text", "plain text"),
    ("k:nospace", "nospace"),
    ("k :  spaced  ", "spaced"),
    ("k: Re: fix login", "Re: fix login"),
    ("k: Step #4 later", "Step #4 later"),
    ("k: Step # later", "Step"),
    ("k: #4 later", "#4 later"),
    ("k: C# port", "C# port"),
    ("k: it's", "it's"),
    ('k: a "b" c', 'a "b" c'),
    ('k: "a: b # c"', "a: b # c"),
    ('k: "a" # why', "a"),
    ('k: "\\u00e4\\n\\"\\\\"', 'ä\n"\\'),
    ("k: 'it''s' #x", "it's"),
    ("k: 'a \\n b'", "a \\n b"),
    ("k: null", None),
    ("k: ~ # none", None),
    ("k:", None),
    ("k: # none", None),
    ("k: ''", None),
    ('k: "null"', "null"),
    ("k: nullish", "nullish"),
    ("k: 0x10", "0x10"),
    ("k: [a, b]", ("a", "b")),
    ("k: []", ()),
    ("k: [ ]", ()),
    ("k: [a,]", ("a",)),
    ("k: [\"x, y\", 'p,q', z]", ("x, y", "p,q", "z")),
    ("k: ['', \"\"]", ("", "")),
    ("k: [o/n#4, plan:r3] # refs", ("o/n#4", "plan:r3")),
    ("k: [a]   ", ("a",)),
    ("k:\n- a\n- b", ("a", "b")),
    ("k: # list\n  - a # first\n\n  # between\n  - 'b #'", ("a", "b #")),
    ("k:\n  - plan:r3\n  - o/n#4", ("plan:r3", "o/n#4")),
    ("k: a\r", "a"),
    ("k: [a, b]\r", ("a", "b")),
    ("k:\r\n  - a\r\n  - b\r", ("a", "b")),
    ("k: MÜLL", "MÜLL"),
]


@pytest.mark.parametrize(("header", "value"), VALUES, ids=[header for header, _ in VALUES])
def test_values(header: str, value: object) -> None:
    found = read(header)
    assert isinstance(found, Frontmatter), found
    assert found.values == {"k": value}


def test_single_words_end_at_any_comment() -> None:
    found = read("status: open #c\nid: A-1\ndepends:\n - A-1 #first\ntitle: open #c")
    assert isinstance(found, Frontmatter)
    assert found.values == {"status": "open", "id": "A-1", "depends": ("A-1",), "title": "open #c"}


FAULTS = [
    ("a: b\n  c: d", "bad-frontmatter", 3),
    ("just text", "bad-frontmatter", 2),
    ("- a", "bad-frontmatter", 2),
    ("k: a\n- b", "bad-frontmatter", 3),
    ('k: "a', "unclosed-quote", 2),
    ("k: 'a''", "unclosed-quote", 2),
    ('k: "\\q"', "bad-frontmatter", 2),
    ('k: "\\ud800"', "bad-frontmatter", 2),
    ('k: "a" b', "bad-frontmatter", 2),
    ("k: 'a'b", "bad-frontmatter", 2),
    ('k: "a"#b', "bad-frontmatter", 2),
    ("k: [a", "bad-frontmatter", 2),
    ("k: [a] b", "bad-frontmatter", 2),
    ("k: [a,,b]", "bad-frontmatter", 2),
    ("k: [,]", "bad-frontmatter", 2),
    ("k: [a, [b]]", "bad-frontmatter", 2),
    ("k: [a [b]]", "bad-frontmatter", 2),
    ('k: ["a" b]', "bad-frontmatter", 2),
    ("k: ['a]", "unclosed-quote", 2),
    ("k:\n  - a\n  - ", "bad-frontmatter", 4),
    ("k:\n  - a\n  - [b]", "bad-frontmatter", 4),
    ('k:\n  - a\n  - "b', "unclosed-quote", 4),
    ("k: a\nj: b\nk: c", "duplicate-key", 4),
    ("k: a\n<<<<<<< HEAD\nk: b", "merge-conflict", 3),
    ("k: a\n=======\nk: b", "merge-conflict", 3),
    ("k: a\n>>>>>>> b", "merge-conflict", 3),
    ("k: a\n||||||| base", "merge-conflict", 3),
]


@pytest.mark.parametrize(("header", "kind", "line"), FAULTS, ids=[header for header, *_ in FAULTS])
def test_faults(header: str, kind: str, line: int) -> None:
    found = read(header)
    assert isinstance(found, FrontmatterFault), found
    assert (found.kind, found.line) == (kind, line)


FILES = [
    (b"", "missing-frontmatter"),
    (b"# text\n---\na: b\n---\n", "missing-frontmatter"),
    (b"\n---\na: b\n---\n", "missing-frontmatter"),
    (b"----\na: b\n---\n", "missing-frontmatter"),
    (b"---", "bad-frontmatter"),
    (b"---\na: b\n", "bad-frontmatter"),
    (b"---\na: b\n----\n", "bad-frontmatter"),
    (b"---\na: b\n ---\n", "bad-frontmatter"),
    (b"<<<<<<< HEAD\n---\na: b\n=======\n", "merge-conflict"),
    (b"---\na: b\nc: \xff\n---\n", "not-utf-8"),
]


@pytest.mark.parametrize(("data", "kind"), FILES)
def test_files_without_a_readable_header(data: bytes, kind: str) -> None:
    found = parse_frontmatter(data)
    assert isinstance(found, FrontmatterFault)
    assert found.kind == kind


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf---\na: b\n---\n",
        b"---  \r\na: b\r\n---\t\r\n",
        b"---\na: b\n---",
        b"---\na: b\n---\n---\nstatus: x\n---\n",
        b"---\na: b\n---\n\xff\xfe body that is no text",
    ],
)
def test_only_the_first_header_counts(data: bytes) -> None:
    found = parse_frontmatter(data)
    assert isinstance(found, Frontmatter)
    assert found.values == {"a": "b"}


def test_an_empty_header_is_a_header() -> None:
    assert parse_frontmatter(b"---\n---\n") == Frontmatter({}, {})


def test_lines_are_those_of_the_file() -> None:
    found = read("# c\na: b\n\nlist:\n  - x\n  - y\nz: 'q'")
    assert isinstance(found, Frontmatter)
    assert found.lines == {"a": 3, "list": 5, "z": 8}


REWRITES = [
    (b"---\nstatus: open\n---\n", b"---\nstatus: done\n---\n"),
    (b"---\nstatus:open\n---\n", b"---\nstatus: done\n---\n"),
    (b"---\nstatus:   open   # why\n---\n", b"---\nstatus:   done   # why\n---\n"),
    (b"---\nstatus: open #why\n---\n", b"---\nstatus: done #why\n---\n"),
    (b"---\nstatus : 'open' \n---\n", b"---\nstatus : done \n---\n"),
    (b"---\nstatus:#c\n---\n", b"---\nstatus: done #c\n---\n"),
    (b"---\nstatus:\n  - a\n  # c\n  - b\n\nx: y\n---\n", b"---\nstatus: done\n\nx: y\n---\n"),
    (b"---\r\na: b\r\n---\r\n", b"---\r\na: b\r\nstatus: done\r\n---\r\n"),
    (b"---\r\na: b\n---\n", b"---\r\na: b\nstatus: done\n---\n"),
    (b"---\n---\nbody", b"---\nstatus: done\n---\nbody"),
    (b"---\r\n---\r\n", b"---\r\nstatus: done\r\n---\r\n"),
    (b'---\nstatus: "done" # c\n---\n', b'---\nstatus: "done" # c\n---\n'),
    (
        b"\xef\xbb\xbf---\nstatus: open\n---\nstatus: body\n",
        b"\xef\xbb\xbf---\nstatus: done\n---\nstatus: body\n",
    ),
]


@pytest.mark.parametrize(("data", "wanted"), REWRITES)
def test_rewrite_touches_one_line(data: bytes, wanted: bytes) -> None:
    assert rewrite_frontmatter(data, {"status": "done"}, WORDS) == wanted


def test_a_list_is_written_inline() -> None:
    data = b"---\nrefs:\n  - a\n  - b\nz: 1\n---\n"
    assert rewrite_frontmatter(data, {"refs": ["o/n#4", "plan:r3", "x, y"]}) == (
        b'---\nrefs: [o/n#4, plan:r3, "x, y"]\nz: 1\n---\n'
    )


BARE = ["S1", "two words", "a\\b", "thr_abc123", "A-1", "v1.2", "ä", "owner/name"]
QUOTED = [
    "",
    " a",
    "a ",
    "a # b",
    "x:",
    "a: b",
    "@me",
    "*",
    "yes",
    "No",
    "null",
    "~",
    "0x1F",
    "12",
    "2026-01-02",
    "a\nb",
    "[a]",
    "- a",
    "#x",
    "é\x1b",
    "'",
    '"',
    "a\u2028b",
]


def test_quoting() -> None:
    assert [quote_scalar(text) for text in BARE] == BARE
    assert all(quote_scalar(text).startswith('"') for text in QUOTED)
    assert render_value(["A-1", "o/n#4", "plan:r3", "1", "a,b"]) == '[A-1, o/n#4, plan:r3, "1", "a,b"]'
    assert "\u2028" not in quote_scalar("a\u2028b")


def test_split_body() -> None:
    assert split_body(b"---\na: b\n---\nbody\n---\n") == (b"---\na: b\n---\n", b"body\n---\n")
