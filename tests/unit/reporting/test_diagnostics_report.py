from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from codeboost import Diagnostic
from codeboost.diagnostics import Position, Severity
from codeboost.plan.rules import RULES
from codeboost.reporting.diagnostics import render_github, render_sarif, render_text, to_json

HOSTILE = st.text("ab\x1b[2J\r\n\t\u202e\u2028::error%,\\", max_size=20)


def make(message: str = "it is wrong", **fields: object) -> Diagnostic:
    return Diagnostic("path", Severity.ERROR, message, **{"position": Position(2, 3), **fields})  # type: ignore[arg-type]


class TestText:
    def test_line_and_caret(self) -> None:
        text = render_text("plan.yaml", b"one\ntwo words\n", [make(item="P1", hint="do this")])
        assert text.splitlines() == [
            "plan.yaml:2:3: error[path] it is wrong (P1)",
            "     2 | two words",
            "       |   ^",
            "    hint: do this",
        ]

    def test_the_caret_stands_under_the_character_that_is_seen(self) -> None:
        for line in ("\u4f60\u597dx", "\x1b\tx", "e\u0301x"):
            shown, caret = render_text("p", f"a\n{line}".encode(), [make()]).splitlines()[1:]
            before = shown[: shown.rindex("x")]
            width = sum(
                2 if "\u4e00" <= char <= "\u9fff" else 0 if char == "\u0301" else 1 for char in before
            )
            assert caret.index("^") == width

    def test_lines_break_where_positions_count(self) -> None:
        for text in ("a\rbxc", "a\r\nbxc", "a\u2028\nbxc"):
            assert "2 | bxc" in render_text("p", text.encode(), [make()])

    def test_a_byte_order_mark_takes_no_column(self) -> None:
        shown = render_text("p", "\ufeffab".encode(), [make(position=Position(1, 2))])
        assert shown.splitlines()[1:] == ["     1 | ab", "       |  ^"]

    def test_a_long_line_is_cut_around_the_caret(self) -> None:
        shown = render_text("p", b"x" * 100_000, [make(position=Position(1, 50_000))])
        assert max(map(len, shown.splitlines())) < 150
        assert shown.splitlines()[1].count("\u2026") == 2

    def test_a_drawn_message_is_not_drawn_twice(self) -> None:
        shown = render_text("p", b"a\nb", [make("no\n  a | b\n    ^", reason="x")])
        assert shown.splitlines() == ["p:2:3: error[path] no (x)", "      a | b", "        ^"]

    def test_without_a_place_only_the_file_is_named(self) -> None:
        assert render_text("p", b"", [make(position=None)]) == "p: error[path] it is wrong\n"

    def test_bytes_that_are_not_utf_8_are_shown_all_the_same(self) -> None:
        assert "b\ufffd" in render_text("p", b"a\nb\xff", [make()])

    def test_color_only_when_asked_for(self) -> None:
        assert "\x1b" not in render_text("p", b"a\nb", [make()])
        colored = render_text("p", b"a\nb", [make()], color=True)
        assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render_text("p", b"a\nb", [make()])
        assert "\x1b[1;31merror[path]\x1b[0m" in colored

    @given(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    def test_nothing_hostile_comes_through(self, path: str, line: str, message: str, hint: str) -> None:
        data = f"a\n{line}".encode()
        shown = render_text(path, data, [make(message, hint=hint, item=message)])
        assert all(char == "\n" or char.isprintable() for char in shown)


class TestGitHub:
    def test_marks_of_the_format_are_escaped(self) -> None:
        (line,) = render_github("a,b:c%.yaml", [make("one\ntwo % ::set-output", hint="so")]).splitlines()
        assert line == (
            "::error file=a%2Cb%3Ac%25.yaml,line=2,col=3,title=codeboost%3A path"
            "::one%0Atwo %25 ::set-output%0Ahint: so"
        )

    @given(HOSTILE, HOSTILE)
    def test_one_finding_is_one_line(self, path: str, message: str) -> None:
        shown = render_github(path, [make(message, hint=message, item=message)])
        assert shown.count("\n") == 1
        assert shown.isprintable() or shown[:-1].isprintable()


class TestSarif:
    def test_it_names_file_place_and_rule(self) -> None:
        log = json.loads(
            render_sarif([("dir/a plan.yaml", [make(pointer="/items/0", item="P1")]), ("b", [])])
        )
        (run,) = log["runs"]
        (result,) = run["results"]
        place = result["locations"][0]["physicalLocation"]
        assert log["version"] == "2.1.0"
        assert result["ruleId"] in {rule["id"] for rule in run["tool"]["driver"]["rules"]}
        assert result["level"] == "error"
        assert place["artifactLocation"]["uri"] == "dir/a%20plan.yaml"
        assert place["region"] == {"startLine": 2, "startColumn": 3}
        assert result["properties"] == {"item": "P1", "pointer": "/items/0"}

    def test_a_name_that_is_not_utf_8_keeps_its_bytes(self) -> None:
        (run,) = json.loads(render_sarif([("bad\udcff:.yaml", [make()])]))["runs"]
        place = run["results"][0]["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "bad%FF%3A.yaml"

    def test_every_rule_has_a_sentence(self) -> None:
        (run,) = json.loads(render_sarif([]))["runs"]
        assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(RULES)
        assert all(rule["shortDescription"]["text"].endswith(".") for rule in run["tool"]["driver"]["rules"])


def test_json_has_every_field() -> None:
    assert to_json(make(pointer="/a", reason="r", keyword="k", hint="h", item="P1")) == {
        "code": "path",
        "severity": "error",
        "message": "it is wrong",
        "item": "P1",
        "pointer": "/a",
        "line": 2,
        "column": 3,
        "reason": "r",
        "keyword": "k",
        "hint": "h",
    }
