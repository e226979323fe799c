"""Plans as GitHub Markdown, for people. Text of a plan stays text: nothing in it becomes a heading, a link or HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable

from codeboost.plan.model import ChangeKind, CheckType, FileChange, Item, Plan
from codeboost.visible import escape

__all__ = ["render_item", "render_plan", "render_span"]

# Marks that mean something anywhere in a line. An underscore inside a word does not, and stays readable.
_MARKS = re.compile(r"[\\`*\[\]<>&~|$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|(?:^|(?<= ))#")
# What begins a block at the start of a line: a list, a rule, a heading's underline.
_BLOCK_START = re.compile(r"([-+=])|([0-9]+)([.)])")


def render_plan(plan: Plan) -> str:
    """The whole plan; ends with a newline."""
    parts = [f"# Plan for issue {plan.issue}, revision {plan.revision}", _escape(plan.summary)]
    for item in plan.items:
        parts.append(f"## {item.id}: {_escape(item.title)}")
        if item.depends_on:
            parts.append(f"Depends on {', '.join(item.depends_on)}.")
        parts += _describe(item, "###")
    if plan.questions:
        parts += ["## Open questions", _list(_escape(question) for question in plan.questions)]
    return "\n\n".join(parts) + "\n"


def render_item(item: Item) -> str:
    """Intent, files and acceptance of one item, as the body of its task (design §6); ends with a newline."""
    return "\n\n".join(_describe(item, "##")) + "\n"


def _describe(item: Item, heading: str) -> list[str]:
    files = (f"{_name_change(file)}: {_escape(file.change)}" for file in item.files)
    checks = (
        render_span(check.text) if check.type is CheckType.CMD else _escape(check.text)
        for check in item.acceptance
    )
    return [_escape(item.intent), f"{heading} Files", _list(files), f"{heading} Acceptance", _number(checks)]


def _name_change(file: FileChange) -> str:
    if file.kind is ChangeKind.RENAME and file.renamed_from is not None:
        return f"rename {render_span(file.renamed_from)} to {render_span(file.path)}"
    return f"{file.kind} {render_span(file.path)}"


def _list(entries: Iterable[str]) -> str:
    return "\n".join(f"- {entry}" for entry in entries)


def _number(entries: Iterable[str]) -> str:
    """Numbered, because a verdict on an entry names its number."""
    return "\n".join(f"{number}. {entry}" for number, entry in enumerate(entries, start=1))


def _escape(text: str) -> str:
    """Prose as one line of Markdown that shows exactly this prose; its line breaks become ``<br>``."""
    return "<br>".join(map(_escape_line, escape(text, keep="\n").split("\n")))


def _escape_line(line: str) -> str:
    marked = _MARKS.sub(r"\\\g<0>", line.strip(" "))
    start = _BLOCK_START.match(marked)
    if start is None:
        return marked
    rest = marked[start.end() :]
    return f"\\{start[1]}{rest}" if start[1] else f"{start[2]}\\{start[3]}{rest}"


def render_span(text: str) -> str:
    """``text`` as a code span: one line, and fenced by more backticks than it holds in a row."""
    shown = escape(text)
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    pad = " " if not shown.strip(" ") or shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"
