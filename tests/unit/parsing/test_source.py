"""What the corpus does not show: several faults at once, places, layouts, limits."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from codeboost import PlanSourceError, parse_source
from codeboost.diagnostics import Diagnostic, Position
from codeboost.errors import UsageError
from codeboost.parsing.source import read_source


def find_faults(text: str | bytes, format_: str) -> tuple[Diagnostic, ...]:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(PlanSourceError) as caught:
        parse_source(data, format_)
    return caught.value.diagnostics


def find_reasons(text: str | bytes, format_: str) -> list[str | None]:
    return [diagnostic.reason for diagnostic in find_faults(text, format_)]


class TestYamlIsVersion12:
    """What libyaml, which knows 1.1, would read otherwise."""

    @pytest.mark.parametrize("char", ["\x85", "\u2028", "\u2029"])
    @pytest.mark.parametrize("form", ["a: x{}y", "a: 'x{}y'", 'a: "x{}y"', "a: |-\n  x{}y", "a: x{}y # z{}"])
    def test_other_line_breaks_are_ordinary_characters(self, char: str, form: str) -> None:
        assert parse_source(form.replace("{}", char).encode(), "yaml") == {"a": f"x{char}y"}

    def test_they_never_split_a_key(self) -> None:
        assert find_reasons("a: b\u2028c: d\n", "yaml") == ["syntax"]

    def test_stand_ins_never_show(self) -> None:
        text = 'a: "\x85\\U00100000\U00100001\\U00100002"\n'
        assert parse_source(text.encode(), "yaml") == {"a": "\x85\U00100000\U00100001\U00100002"}

    @pytest.mark.parametrize("char", ["\x7f", "\x80", "\x9f", "\ufeff", "\ufffe", "\uffff"])
    def test_unprintable_characters_stand_in_quotes_only(self, char: str) -> None:
        assert parse_source(f"a: '{char}'".encode(), "yaml") == {"a": char}
        assert parse_source(f'a: "{char}"'.encode(), "yaml") == {"a": char}
        for text in (f"a: x{char}y", f"a: |\n  x{char}", f"a: 1 # {char}", f"a{char}: 1"):
            assert find_reasons(text, "yaml") == ["syntax"]

    @pytest.mark.parametrize("char", ["\0", "\x01", "\x08", "\x0b", "\x0c", "\x1b", "\x1f"])
    def test_other_control_characters_stand_nowhere(self, char: str) -> None:
        for text in (f"abcd: x{char}", f"abcd: '{char}'", f"abcd: 1 # {char}"):
            assert find_reasons(text, "yaml") == ["syntax"]

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ('{"a"\n: 1}', {"a": 1}),
            ("{a\n\n  : 1, b \r\n\t:\n2, 'c'\n:3}", {"a": 1, "b": 2, "c": 3}),
            ("x:\n  - {a\n     : {b\n     : 1}}\n", {"x": [{"a": {"b": 1}}]}),
        ],
    )
    def test_a_colon_may_come_in_the_line_after_its_key(self, text: str, value: object) -> None:
        assert parse_source(text.encode(), "yaml") == value

    @pytest.mark.parametrize("text", ["x: {a\n: 1}", '["a"\n: 1]', "a\n: 1", "{a: 1\n: 2}"])
    def test_but_not_everywhere(self, text: str) -> None:
        assert find_reasons(text, "yaml") == ["syntax"]

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("[:a]", [":a"]),
            ("[?a]", ["?a"]),
            ("[:a, ?b, ::c]", [":a", "?b", "::c"]),
            ("{a: :b, c: ?d}", {"a": ":b", "c": "?d"}),
            ("{'a':b}", {"a": "b"}),
            ("{?a: b}", {"?a": "b"}),
            ("- :a\n- ?b\n- -c\n", [":a", "?b", "-c"]),
            ("[a?b, a :b]", ["a?b", "a :b"]),
        ],
    )
    def test_indicators_that_begin_a_plain_scalar(self, text: str, value: object) -> None:
        assert parse_source(text.encode(), "yaml") == value

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("-\ta\n", ["a"]),
            ("- a\n-\tb\n", ["a", "b"]),
            ("a: 1\n\t\nb: 2\n", {"a": 1, "b": 2}),
            ("a: 1\n\t# c\nb: 2\n", {"a": 1, "b": 2}),
            ("a:\n  b: 1\n  \t\n  c: 2\n", {"a": {"b": 1, "c": 2}}),
            ("? \ta\n: b\n", {"a": "b"}),
            ("a:\t\n  b\n", {"a": "b"}),
            ("a: |\n  x\ty\n\tz\n", None),
            ("-\t- a\n", None),
            ("-\ta: b\n", None),
            ("a:\n\tb: 1\n", None),
            ("a:\n\t- b\n", None),
            ("a: [1,\n\t2]\n", None),
            ("\t\n", None),
        ],
    )
    def test_tabs_separate_and_never_indent(self, text: str, value: object) -> None:
        if value is None:
            assert find_reasons(text, "yaml")
        else:
            assert parse_source(text.encode(), "yaml") == value

    @pytest.mark.parametrize(
        ("text", "accepted"),
        [
            ("a: [1,\n  2]\n", True),
            ("a: [1,\n2]\n", False),
            # The last bracket may stand below what it belongs to; no other line may.
            ("a: [\n  1\n]\n", True),
            ("- k: {\n    a: 1\n  }\n", True),
            ("a:\n  b: [\n    1\n ]\n", False),
            ("a: [\n [\n 1\n]]\n", False),
            ("a: [\n 1\n,2]\n", False),
            ("a: {\n b: [\n 1\n],\n c: 2\n}\n", False),
            ("[1,\n2\n]\n", True),
            ("a:\n- [1,\n 2]\n", True),
            ("a:\n  - [1,\n  2]\n", False),
            ("a: [1,\n\n# c\n  2]\n", True),
            ('a: "x\ny"\n', False),
            ('a: "x\n\n y"\n', True),
            ('"x\ny"\n', True),
            ("a: {b: 'x\n y'}\n", True),
            ("a: {b: 'x\ny'}\n", False),
            ("a:\n|\n x\n", False),
            ("-\n >\n  x\n", True),
            ("-\n>\n x\n", False),
        ],
    )
    def test_what_goes_on_must_be_indented(self, text: str, *, accepted: bool) -> None:
        if accepted:
            parse_source(text.encode(), "yaml")
        else:
            assert set(find_reasons(text, "yaml")) == {"syntax"}

    @pytest.mark.parametrize(
        "text", ["a: 'b'#c", "[a,#c\nb]", "a: |#c\n  x\n", "[a]#c", "[-]", "[-, a]", "{a: -}", "[a: -]"]
    )
    def test_what_libyaml_lets_pass(self, text: str) -> None:
        assert find_reasons(text, "yaml") == ["syntax"]

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("a: |\n     \n  # no comment\nb: 1\n", None),
            ("a: >-\r\n\r\n    \r\n   #x\r\n", None),
            ("- |+ # c\n    \n  x\n", None),
            ("|\n \n#x\n", None),
            ("a: |\n  \n  # text\nb: 1\n", {"a": "\n# text\n", "b": 1}),
            ("a: |\n     \n# a comment\nb: 1\n", {"a": "", "b": 1}),
            ("a: |2\n     \n  # text\n", {"a": "   \n# text\n"}),
        ],
    )
    def test_no_line_is_lost_behind_empty_ones_that_are_indented_more(self, text: str, value: object) -> None:
        if value is None:
            assert set(find_reasons(text, "yaml")) == {"syntax"}
        else:
            assert parse_source(text.encode(), "yaml") == value

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("a: b#c", {"a": "b#c"}),
            ("# x#y\na: 1", {"a": 1}),
            ("a: 1 # x#y", {"a": 1}),
            ("'a#b': \"c#d\" #e", {"a#b": "c#d"}),
            ("a: |\n  x#y", {"a": "x#y"}),
        ],
    )
    def test_a_hash_inside_text_is_text(self, text: str, value: object) -> None:
        assert parse_source(text.encode(), "yaml") == value


class TestReasons:
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("a: 1\n...\nb: 2\n", "multiple-documents"),
            ("a: 1\n---\n", "multiple-documents"),
            ("%YAML 1.2\n%YAML 1.2\n---\na\n", "directive"),
            ("%YAML 2.0\n---\na\n", "directive"),
            ("%FOO bar\n---\na\n", "directive"),
            ("# c\n\n%TAG ! x:\n---\na\n", "directive"),
            ("a: &é b", "anchor"),
            ("a: *x", "alias"),
            ("? *x\n: b\n", "alias"),
            ("a: !e!x b", "tag"),
            ('"<<": 1\n<<: 2\n', "merge-key"),
            ("? [a]\n: b\n", "non-string-key"),
            ("true: a\n", "non-string-key"),
            ("1: a\n", "non-string-key"),
            ("", "empty-value"),
            ("---\n", "empty-value"),
            ("# nothing\n", "empty-value"),
            ("[" * 60, "too-deep"),
            ("- " * 60, "too-deep"),
            ("[" * 5000, "too-deep"),
            ('"\\ud83d"', "encoding"),
            ("a\0b", "encoding"),
        ],
    )
    def test_yaml(self, text: str, reason: str) -> None:
        assert find_reasons(text, "yaml")[0] == reason

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ('"' + "[" * 60, "syntax"),
            ("}" + "[" * 60, "syntax"),
            ("[" * 51, "too-deep"),
            ('"' + "[" * 60 + '"x', "syntax"),
            ('{"a": "\\ud800"}', "encoding"),
            ('{"\\udc00": 1}', "encoding"),
            ('{"a": 1, "a": 1}', "duplicate-key"),
            ('{"a": {"a": 1, "\\u0061": 1}}', "duplicate-key"),
            ("1" * 5000, "number-range"),
            ("[1, 2", "syntax"),
            ("", "syntax"),
            ("'a'", "syntax"),
        ],
    )
    def test_json(self, text: str, reason: str) -> None:
        assert find_reasons(text, "json") == [reason]

    def test_brackets_in_strings_are_no_depth(self) -> None:
        text = json.dumps(["[" * 100, '"[' * 100, "\\["] * 30)
        assert parse_source(text.encode(), "json") == json.loads(text)

    @pytest.mark.parametrize("format_", ["json", "yaml"])
    def test_surrogate_pairs_are_characters(self, format_: str) -> None:
        assert parse_source(b'"\\ud83d\\ude00"', format_) == "\U0001f600"
        assert parse_source(b'{"\\uD83D\\uDE00\\\\": "\\\\\\ud83d\\ude00"}', format_) == {
            "\U0001f600\\": "\\\U0001f600"
        }
        assert parse_source(b'"\\\\ud83d\\\\ude00"', format_) == "\\ud83d\\ude00"
        assert find_reasons('"\\ude00\\ud83d\\ude00"', format_) == ["encoding"]

    @pytest.mark.parametrize("form", ["{}", "'{}'", "|-\n  {}"])
    def test_a_backslash_escapes_in_double_quotes_only(self, form: str) -> None:
        text = "\\ud83d\\ude00 \\ud83d"
        document = "a: " + form.replace("{}", text) + '\nb: "\\ud83d\\ude00" # ' + text
        assert parse_source(document.encode(), "yaml") == {"a": text, "b": "\U0001f600"}

    def test_all_faults_of_a_yaml_file_are_told(self) -> None:
        text = "a: ~\nb:\nc: 0x1\na: 1e400\nd: &x 1\n"
        assert find_reasons(text, "yaml") == [
            "non-json-scalar",
            "empty-value",
            "non-json-scalar",
            "duplicate-key",
            "number-range",
            "anchor",
        ]

    def test_a_fault_on_every_line_is_not_told_without_end(self) -> None:
        assert len(find_faults("- ~\n" * 10_000, "yaml")) == 50

    def test_both_lines_of_a_duplicate_are_named(self) -> None:
        (fault,) = find_faults("issue: 7\nb: 1\nissue: 8\n", "yaml")
        assert (
            fault.message == "the key 'issue' stands twice in one mapping: first in line 1, again in line 3"
        )
        assert fault.position == Position(3, 1)

    def test_an_unknown_format_is_a_wrong_call(self) -> None:
        with pytest.raises(UsageError, match="json, yaml"):
            parse_source(b"", "toml")


class TestPlaces:
    @pytest.mark.parametrize(
        ("text", "format_", "pointer", "position"),
        [
            ('{"a": [1,\n  {"b/~c": 2}]}', "json", "/a/1/b~1~0c", Position(2, 12)),
            ('{"a": [1,\r\n  {"b": 2}]}', "json", "/a/1", Position(2, 3)),
            ('{"a": 1,\r"b": 2}', "json", "/b", Position(2, 6)),
            ('{"\U0001f600": 1}', "json", "/\U0001f600", Position(1, 7)),
            ("a:\n  - 1\n  - b: 2\n", "yaml", "/a/1/b", Position(3, 8)),
            ("a: {b: 1,\r\n  c: 2}\r\n", "yaml", "/a/c", Position(2, 6)),
            ("\ufeffa: 1\n", "yaml", "/a", Position(1, 4)),
            ("x: '\u2028'\na: 1\n", "yaml", "/a", Position(2, 4)),
            ("a: 1\n", "yaml", "", Position(1, 1)),
            ("a: 1\n", "yaml", "/b", None),
            ("[1]", "yaml", "/1", None),
            ("[1]", "json", "/0/0", None),
            ("[1]", "json", "/x", None),
        ],
    )
    def test_value(self, text: str, format_: str, pointer: str, position: Position | None) -> None:
        assert read_source(text.encode(), format_).locate(pointer) == position

    def test_key(self) -> None:
        for text in ('{"a": 1,\n "b": 2}', "a: 1\nb: 2\n"):
            source = read_source(text.encode(), "json" if text[0] == "{" else "yaml")
            assert source.locate("/b", key=True) == Position(2, 2 if text[0] == "{" else 1)

    def test_an_encoding_fault_is_placed_by_characters(self) -> None:
        (fault,) = find_faults(b"a: \xc3\xa9\r\nb: \xc3\xa9\xff", "yaml")
        assert fault.position == Position(2, 5)


LIMIT = 1_048_576


@pytest.mark.parametrize("format_", ["json", "yaml"])
def test_size_is_decided_before_reading(format_: str) -> None:
    fits = b'"' + b"x" * (LIMIT - 2) + b'"'
    assert parse_source(fits, format_) == "x" * (LIMIT - 2)
    assert find_reasons(fits + b"\n", format_) == ["too-large"]
    assert find_reasons(b"\xff" * (LIMIT + 1), format_) == ["too-large"]


def test_a_tab_on_every_line_costs_no_square() -> None:
    assert parse_source(b"-\ta\n" * 100, "yaml") == ["a"] * 100
    start = time.process_time()
    find_faults("-\ta\n" * 200_000, "yaml")
    assert time.process_time() - start < 2


def test_depth_needs_no_stack() -> None:
    """With hardly any stack left the answer is the same: no reader of ours calls itself."""
    program = """
import sys
from codeboost import PlanSourceError, parse_source
def ask(text, format_):
    try:
        parse_source(text.encode(), format_)
    except PlanSourceError as error:
        return error.diagnostics[0].reason
texts = ["[" * 50 + "]" * 50, "[" * 50_000 + "]" * 50_000, "{" + '"a":{' * 50_000]
for format_ in ("json", "yaml"):
    for text in texts: ask(text, format_)
sys.setrecursionlimit(90)
print([ask(text, format_) for format_ in ("json", "yaml") for text in texts])
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[None, 'too-deep', 'too-deep', None, 'too-deep', 'too-deep']"
