"""A stored plan as YAML and as JSON that read back exactly (``plan show``)."""

from __future__ import annotations

import json
import re

from codeboost.plan.canonical import to_document
from codeboost.plan.model import Item, Plan
from codeboost.visible import is_invisible

__all__ = ["dump_json", "dump_yaml", "quote_yaml"]

# What may stand bare in YAML: nothing that any reader of it takes for a number, a word or a mark.
_BARE = re.compile(r"[A-Za-z_/](?:[A-Za-z0-9 _./,()'+=-]*[A-Za-z0-9_./,()'+=-])?")
_TYPED_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_SHORT_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def dump_json(plan: Plan) -> str:
    """Indented JSON, keys in the order of the schema; characters that nobody could see are written as escapes."""
    text = json.dumps(to_document(plan), ensure_ascii=False, indent=2)
    # What is invisible and no line break of the layout can only be inside a string.
    return (
        "".join(_escape_json(char) if char != "\n" and is_invisible(char) else char for char in text) + "\n"
    )


def _escape_json(char: str) -> str:
    return json.dumps(char)[1:-1] if ord(char) > 0x7F else f"\\u{ord(char):04x}"


def dump_yaml(plan: Plan) -> str:
    """Block style YAML; reading it with our own reader gives exactly this plan."""
    lines = [
        f"schema_version: {plan.schema_version}",
        f"issue: {plan.issue}",
        f"revision: {plan.revision}",
        f"summary: {quote_yaml(plan.summary, 2)}",
        "items:",
    ]
    for item in plan.items:
        lines += _dump_item(item)
    lines.append("questions:" if plan.questions else "questions: []")
    lines += [f"  - {quote_yaml(question, 4)}" for question in plan.questions]
    return "\n".join(lines) + "\n"


def _dump_item(item: Item) -> list[str]:
    lines = [
        f"  - id: {item.id}",
        f"    title: {quote_yaml(item.title, 6)}",
        f"    intent: {quote_yaml(item.intent, 6)}",
        "    files:",
    ]
    for file in item.files:
        lines += [
            f"      - path: {quote_yaml(file.path, 10)}",
            f"        kind: {file.kind}",
            f"        renamed_from: {'null' if file.renamed_from is None else quote_yaml(file.renamed_from, 10)}",
            f"        change: {quote_yaml(file.change, 10)}",
        ]
    lines.append("    acceptance:")
    for check in item.acceptance:
        lines += [f"      - type: {check.type}", f"        text: {quote_yaml(check.text, 10)}"]
    lines.append(f"    depends_on: [{', '.join(item.depends_on)}]")
    return lines


def quote_yaml(text: str, indent: int) -> str:
    """``text`` as a YAML scalar: bare, as a block of lines indented by ``indent``, or in double quotes."""
    if _BARE.fullmatch(text) and text.lower() not in _TYPED_WORDS:
        return text
    lines = text.split("\n")
    if len(lines) > 1 and all(_may_be_block_line(line) for line in lines) and lines[0] and lines[-1]:
        return "|-" + "".join(f"\n{' ' * indent}{line}" if line else "\n" for line in lines)
    return f'"{"".join(_SHORT_ESCAPES.get(char) or _escape_yaml(char) for char in text)}"'


def _may_be_block_line(line: str) -> bool:
    """Without blanks at either end: those could be taken for indentation, or be lost by an editor."""
    return line == line.strip() and not any(map(is_invisible, line))


def _escape_yaml(char: str) -> str:
    if not is_invisible(char):
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
