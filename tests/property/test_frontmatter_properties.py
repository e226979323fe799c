"""What must hold of the frontmatter reader and writer for every file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codeboost.parsing.frontmatter import (
    Frontmatter,
    FrontmatterFault,
    _read_any,
    _read_simple,
    parse_frontmatter,
    quote_scalar,
    render_value,
    rewrite_frontmatter,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
# Alphabets rich in what matters to the grammar find far more than arbitrary text does.
MARKS = st.text(st.sampled_from(list(" \t#:'\"[],-\\ab1~\r\u00a0\u2028<=>|")), max_size=12)
KEYS = st.sampled_from(["id", "title", "status", "owner", "depends"])
ROWS = st.one_of(
    st.builds("{}: {}".format, KEYS, MARKS),
    st.builds("{}:{}".format, KEYS, MARKS),
    st.builds("  - {}".format, MARKS),
    st.builds("# {}".format, MARKS),
    MARKS,
)
HEADERS = st.lists(ROWS, max_size=6).map("\n".join)
WORDS = frozenset({"id", "status", "depends"})


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    assert isinstance(parse_frontmatter(data, WORDS), Frontmatter | FrontmatterFault)
    found = parse_frontmatter(b"---\n" + data + b"\n---\n", WORDS)
    assert isinstance(found, Frontmatter) or 1 <= found.line <= data.count(b"\n") + 3


@given(HEADERS)
def test_the_quick_way_gives_what_the_slow_way_gives(header: str) -> None:
    quick = _read_simple(header)
    assert quick is None or quick == _read_any(header, frozenset())
    assert quick is None or quick == _read_any(header, WORDS)


@given(TEXTS)
def test_what_is_written_is_read_back(text: str) -> None:
    found = parse_frontmatter(f"---\nk: {quote_scalar(text)}\n---\n".encode())
    assert isinstance(found, Frontmatter)
    assert found.values == {"k": text or None}


@given(st.lists(TEXTS, max_size=4))
def test_lists_are_read_back(items: list[str]) -> None:
    found = parse_frontmatter(f"---\nk: {render_value(items)}\n---\n".encode())
    assert isinstance(found, Frontmatter)
    assert found.values == {"k": tuple(items)}


@given(HEADERS, KEYS, TEXTS, st.sampled_from(["\n", "\r\n"]), st.binary(max_size=20))
def test_a_rewrite_changes_one_value_and_no_other_line(
    header: str, key: str, text: str, ending: str, body: bytes
) -> None:
    data = f"---{ending}{header.replace(chr(10), ending)}{ending}---{ending}".encode() + body
    before = parse_frontmatter(data, WORDS)
    if isinstance(before, FrontmatterFault):
        return
    changed = rewrite_frontmatter(data, {key: text}, WORDS)
    after = parse_frontmatter(changed, WORDS)
    assert isinstance(after, Frontmatter)
    assert after.values == before.values | {key: text or None}
    if isinstance(before.values.get(key), tuple):
        return
    old, new = data.split(b"\n"), changed.split(b"\n")
    if key in before.lines:
        at = before.lines[key] - 1
        assert (old[:at], old[at + 1 :]) == (new[:at], new[at + 1 :])
    elif len(new) == len(old) + 1:
        differing = next(index for index, line in enumerate(new) if index >= len(old) or line != old[index])
        assert new[:differing] + new[differing + 1 :] == old
