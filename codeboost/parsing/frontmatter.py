"""The frontmatter subset of planr-contract.md, read from bytes and rewritten byte for byte.

A file starts with ``---``, has ``key: value`` lines and a closing ``---``; the rest is a free body that nobody parses. A
value is a scalar, an inline list ``[a, "b, c"]`` or a block list of ``- item`` lines; every scalar is text. Double quotes
hold JSON escapes, single quotes double themselves. ``null``, ``~`` and nothing at all are None.

A comment is a ``#`` after a blank. In free text it also needs a blank behind it, so that ``title: Step #4 later`` is read
whole, as its author meant it; a value that can only be a word (``words``) needs no such care.

Only the header is decoded. LF, CRLF and a mixture of both are line ends; a byte order mark may come first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import NamedTuple

from codeboost.visible import cut

__all__ = [
    "Frontmatter",
    "FrontmatterFault",
    "Value",
    "parse_frontmatter",
    "quote_scalar",
    "render_value",
    "rewrite_frontmatter",
    "split_body",
]

Value = str | tuple[str, ...] | None

_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?(?:\n|\Z)")
_CLOSING = re.compile(rb"\n---[ \t]*\r?(?=\n|\Z)")
# What nearly every line is: a plain value, list or quoted text in which nothing can start a comment or hide a quote.
_SIMPLE = re.compile(
    r"""^(\w[\w.-]*)[ \t]*:[ \t]*
    (   [^\s\#"'\[] [^\#\r\n]* (?: (?<![ \t]) \# [^\#\r\n]* )*
    |   \[ [^\[\]"'\#\r\n]* (?: (?<![ \t]) \# [^\[\]"'\#\r\n]* )* \] [ \t]*
    |   "[^"\\\r\n]*" [ \t]*
    )\r?$""",
    re.MULTILINE | re.VERBOSE,
)
_KEY = re.compile(r"(\w[\w.-]*)[ \t]*:[ \t]*")
_ITEM = re.compile(r"[ \t]*-(?:[ \t]+|$)")
_DOUBLE = re.compile(r'"(?:[^"\\]|\\.)*"')
_SINGLE = re.compile(r"'(?:[^']|'')*'(?!')")
_PLAIN_ITEM = re.compile(r"[^,\[\]]*")
_BLANKS = re.compile(r"[ \t]*")
_REST = re.compile(r"[ \t]*(?:[ \t]#.*)?")
_WORD_COMMENT = re.compile(r"(?:^|[ \t])#")
_TEXT_COMMENT = re.compile(r"(?:^|[ \t])#(?=[ \t]|$)")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})

# Strings, not patterns: few files need them, and compiling them all would cost every command a few milliseconds.
# What we write bare is nothing that any YAML reader takes for a number, a date, a word of its own or a mark.
_BARE = r"[^\W\d_][\w./+\\-]*(?: [\w./+\\-]+)*"
_BARE_INLINE = r"[^\W\d_][\w./+-]*(?:[:#][\w./+-]+)*"
_TYPED_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_NOT_AS_IT_IS = "[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]"
_SURROGATE = "[\ud800-\udfff]"
_CONFLICT = r"(?:<{7}|>{7}|\|{7})(?: .*)?|={7}"


class Frontmatter(NamedTuple):
    """The header of one file. ``lines`` says where each key stands, counted from 1 in the file."""

    values: dict[str, Value]
    lines: dict[str, int]


class FrontmatterFault(NamedTuple):
    """Why a header cannot be read: a stable ``kind``, one sentence, and the line in the file."""

    kind: str
    text: str
    line: int


class _FaultError(Exception):
    def __init__(self, kind: str, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.line = line


def parse_frontmatter(data: bytes, words: frozenset[str] = frozenset()) -> Frontmatter | FrontmatterFault:
    """The header of ``data``, or the first thing that is wrong with it.

    ``words`` names the keys whose values are single words (ids, states) or lists of them.
    """
    try:
        start, close = _find_header(data)
    except _FaultError as error:
        return FrontmatterFault(error.kind, str(error), 1)
    try:
        header = data[start:close].decode()
    except UnicodeDecodeError as error:
        line = 2 + data.count(b"\n", start, start + error.start)
        return FrontmatterFault("not-utf-8", "the frontmatter is not UTF-8", line)
    return _read_simple(header) or _read_any(header, words)


def _read_simple(header: str) -> Frontmatter | None:
    """The header when each of its lines is simple and no key stands twice: a few times quicker than line by line."""
    found = _SIMPLE.findall(header)
    values: dict[str, Value] = {}
    for key, text in found:
        text = text.rstrip(" \t")  # noqa: PLW2901 - quicker than a second name
        if text[0] == "[":
            items = [item.strip(" \t") for item in text[1:-1].split(",")]
            if not items[-1]:
                del items[-1]
            if "" in items:
                return None
            values[key] = tuple(items)
        elif text[0] == '"':
            values[key] = text[1:-1] or None
        else:
            values[key] = None if text in _NULLS else text
    if not found or len(values) != header.count("\n") + 1:
        return None
    return Frontmatter(values, dict(zip(values, count(2), strict=False)))


def _read_any(header: str, words: frozenset[str]) -> Frontmatter | FrontmatterFault:
    rows = header.split("\n")
    values: dict[str, Value] = {}
    lines: dict[str, int] = {}
    index = 0
    while index < len(rows):
        line = index + 2
        if _says_nothing(_clean(rows[index])):
            index += 1
            continue
        try:
            key, value, index = _read_entry(rows, index, words)
            if key in values:
                raise _FaultError("duplicate-key", f"the key {cut(key)} is already on line {lines[key]}")
        except _FaultError as error:
            return FrontmatterFault(error.kind, str(error), error.line or line)
        values[key] = value
        lines[key] = line
    return Frontmatter(values, lines)


def rewrite_frontmatter(
    data: bytes, changes: Mapping[str, str | Sequence[str]], words: frozenset[str] = frozenset()
) -> bytes:
    """``data`` with new values for some keys; every other byte stays, and so does a comment on a changed line.

    A key whose value is already the wanted one is left alone; a missing one becomes the last line of the frontmatter.
    ``data`` must be what ``parse_frontmatter`` can read.
    """
    start, close = _find_header(data)
    rows = data[start:close].decode().split("\n") if close > start else []
    for key, wanted in changes.items():
        found = _find_key(rows, key)
        if found is None:
            ending = "\r" if (rows[-1].endswith("\r") if rows else data[:start].endswith(b"\r\n")) else ""
            rows.append(f"{key}: {render_value(wanted)}{ending}")
            continue
        _, value, after = _read_entry(rows, found, words)
        if (value or "") == (wanted if isinstance(wanted, str) else tuple(wanted)):
            continue
        rows[found : _skip_back(rows, found, after)] = [_rewrite_row(rows[found], wanted, key in words)]
    return data[:start] + "\n".join(rows).encode() + data[max(close, start - 1) :]


def split_body(data: bytes) -> tuple[bytes, bytes]:
    """The header with its closing line and the line end of that, and the body after it. ``data`` must be what ``parse_frontmatter`` can read."""
    _, close = _find_header(data)
    closing = _CLOSING.search(data, close)
    end = closing.end() if closing else len(data)
    end += data.startswith(b"\n", end)
    return data[:end], data[end:]


def render_value(value: str | Sequence[str]) -> str:
    """A value as it is written: quoted when it must be, a list inline."""
    if isinstance(value, str):
        return quote_scalar(value)
    return "[" + ", ".join(quote_scalar(item, inline=True) for item in value) + "]"


def quote_scalar(text: str, *, inline: bool = False) -> str:
    """``text`` bare when every reader takes it for that text, else in double quotes with JSON escapes.

    ``inline`` says that it stands in a list, where a few more texts are safe bare: ids and references.
    """
    is_word = text.lower() in _TYPED_WORDS
    if not is_word and (re.fullmatch(_BARE, text) or (inline and re.fullmatch(_BARE_INLINE, text))):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return re.sub(_NOT_AS_IT_IS, lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _find_header(data: bytes) -> tuple[int, int]:
    """Where the header starts, and where the line end before its closing ``---`` is."""
    opening = _OPENING.match(data)
    if opening is None:
        if data.removeprefix(b"\xef\xbb\xbf").startswith(b"<<<<<<< "):
            raise _FaultError("merge-conflict", "unresolved merge: the file starts with a conflict marker")
        raise _FaultError("missing-frontmatter", "there is no frontmatter: the first line must be ---")
    closing = _CLOSING.search(data, max(opening.end() - 1, 0))
    if closing is None:
        raise _FaultError("bad-frontmatter", "the frontmatter is never closed: a line --- must end it")
    return opening.end(), closing.start()


def _clean(row: str) -> str:
    return row.removesuffix("\r")


def _says_nothing(row: str) -> bool:
    stripped = row.strip(" \t")
    return not stripped or stripped.startswith("#")


def _read_entry(rows: list[str], index: int, words: frozenset[str]) -> tuple[str, Value, int]:
    """Key and value that start at ``rows[index]``, and the index of the first row after them."""
    row = _clean(rows[index])
    if re.fullmatch(_CONFLICT, row):
        raise _FaultError("merge-conflict", f"unresolved merge: {cut(row, 40)} is a conflict marker")
    match = _KEY.match(row)
    if match is None:
        raise _FaultError("bad-frontmatter", _explain_row(row))
    key = match[1]
    is_word = key in words
    text = row[match.end() :]
    if text and not _comment(is_word).match(text):
        value, end = _scan_value(text, is_word=is_word)
        if not _REST.fullmatch(text, end):
            raise _FaultError(
                "bad-frontmatter", f"{cut(key)}: nothing may follow the closing {text[end - 1]}"
            )
        return key, value, index + 1
    items: list[str] = []
    index += 1
    after = index
    while index < len(rows):
        row = _clean(rows[index])
        item = _ITEM.match(row)
        if item is None and not _says_nothing(row):
            break
        index += 1
        if item is not None:
            items.append(_read_item(row[item.end() :], index + 1, is_word=is_word))
            after = index
    return key, tuple(items) if items else None, after


def _explain_row(row: str) -> str:
    if row[0] in " \t":
        return f"the line '{cut(row.strip(), 40)}' is indented: keys start at the beginning of a line, and values do not nest"
    return f"the line '{cut(row, 40)}' is no `key: value` line"


def _read_item(text: str, line: int, *, is_word: bool) -> str:
    if not text or _comment(is_word).match(text):
        raise _FaultError("bad-frontmatter", "the list item is empty", line)
    if text[0] == "[":
        raise _FaultError("bad-frontmatter", "lists do not nest", line)
    try:
        value, end = _scan_scalar(text, is_word=is_word)
    except _FaultError as error:
        error.line = line
        raise
    if not _REST.fullmatch(text, end):
        raise _FaultError("bad-frontmatter", f"nothing may follow the closing {text[end - 1]}", line)
    return value


def _comment(is_word: bool) -> re.Pattern[str]:  # noqa: FBT001 - private, and its name says it all
    return _WORD_COMMENT if is_word else _TEXT_COMMENT


def _scan_value(text: str, *, is_word: bool) -> tuple[Value, int]:
    """The value at the start of ``text``, and where it ends."""
    if text[0] == "[":
        return _scan_list(text)
    value, end = _scan_scalar(text, is_word=is_word)
    bare = text[0] not in "\"'"
    return (None if not value or (bare and value in _NULLS) else value), end


def _scan_scalar(text: str, *, is_word: bool) -> tuple[str, int]:
    if text[0] in "\"'":
        return _scan_quoted(text, 0)
    comment = _comment(is_word).search(text)
    value = text[: comment.start() if comment else len(text)].rstrip(" \t")
    return value, len(value)


def _scan_quoted(text: str, start: int) -> tuple[str, int]:
    match = (_DOUBLE if text[start] == '"' else _SINGLE).match(text, start)
    if match is None:
        raise _FaultError("unclosed-quote", f"the quote {cut(text[start:], 40)} is never closed")
    if text[start] == "'":
        return match[0][1:-1].replace("''", "'"), match.end()
    try:
        value = json.loads(match[0], strict=False)
    except ValueError:
        raise _FaultError(
            "bad-frontmatter",
            f'in {cut(match[0], 40)} stands an unknown escape; JSON escapes such as \\" \\\\ \\u00e4 are known',
        ) from None
    if re.search(_SURROGATE, value):
        raise _FaultError("bad-frontmatter", f"{cut(match[0], 40)} names half a character")
    return str(value), match.end()


def _scan_list(text: str) -> tuple[tuple[str, ...], int]:
    items: list[str] = []
    at = 1
    while True:
        at = _skip_blanks(text, at)
        if text[at : at + 1] == "]":
            return tuple(items), at + 1
        if text[at : at + 1] in ("'", '"') and at < len(text):
            item, at = _scan_quoted(text, at)
        else:
            match = _PLAIN_ITEM.match(text, at)
            item = match[0].rstrip(" \t") if match else ""
            at += len(item)
            if text[at : at + 1] == "[":
                raise _FaultError("bad-frontmatter", "lists do not nest")
            if not item and text[at : at + 1] == ",":
                raise _FaultError("bad-frontmatter", "the list has an empty item")
        items.append(item)
        at = _skip_blanks(text, at)
        if text[at : at + 1] == ",":
            at += 1
        elif text[at : at + 1] != "]":
            raise _FaultError(
                "bad-frontmatter", f"the list {cut(text, 40)} is never closed with ] on its line"
            )


def _skip_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def _find_key(rows: list[str], key: str) -> int | None:
    for index, row in enumerate(rows):
        match = _KEY.match(row)
        if match is not None and match[1] == key:
            return index
    return None


def _skip_back(rows: list[str], found: int, after: int) -> int:
    """The end of an entry's rows without the comments and empty lines that only follow it."""
    while after > found + 1 and _says_nothing(_clean(rows[after - 1])):
        after -= 1
    return after


def _rewrite_row(row: str, wanted: str | Sequence[str], is_word: bool) -> str:  # noqa: FBT001
    match = _KEY.match(row)
    assert match is not None  # noqa: S101 - the caller found the key with the same pattern
    head, text = match[0], row[match.end() :]
    body = _clean(text)
    end = 0 if not body or _comment(is_word).match(body) else _scan_value(body, is_word=is_word)[1]
    tail = text[end:]
    if not head.endswith((" ", "\t")):
        head += " "
    if tail.startswith("#"):
        tail = " " + tail
    return head + render_value(wanted) + tail
