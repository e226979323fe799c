"""The plan that ``plan new`` begins: commented, and already of the right shape."""

from __future__ import annotations

from codeboost.plan.rendering import quote_yaml
from codeboost.resources import find_resource

__all__ = ["make_skeleton"]

_TEXT = """\
# yaml-language-server: $schema={schema}
# By the line above an editor checks and completes while you type. It names the schema on this machine; to share the
# plan with others, write one beside it (codeboost plan schema > plan.schema.json) and name ./plan.schema.json there.
#
# A plan for issue {issue}. Replace what stands in quotes, then check it:
#   codeboost plan check FILE
# What each part means, with examples: docs/plan-format.md

schema_version: 1
issue: {issue}
# codeboost sets the final number on import.
revision: 1
# What the plan does, in one or two plain sentences (600 characters at most).
summary: {summary}

# 1 to 30 items, in the order they should run.
items:
  - id: P1
    # Like a good commit subject (120 characters at most).
    title: "Say what this item does"
    # Why this item exists; the code is later checked against it (600 characters at most).
    intent: "Say why this item exists."
    # Every file the item touches; no other may change.
    files:
      # From the repository root, with forward slashes.
      - path: "path/to/file"
        # edit, add, delete or rename.
        kind: edit
        # The old path of a rename; null for everything else.
        renamed_from: null
        # What changes, in plain words: functions and behaviour, not line numbers.
        change: "Say what changes in this file."
    # How to prove the item. A cmd is one program and its arguments: no shell, no pipes, no variables.
    acceptance:
      - type: cmd
        text: "python3 -m pytest -q"
      # A check is a statement that a reviewer judges.
      - type: check
        text: "Say what must be true of the code."
    # Ids of earlier items that must be done first, such as [P1].
    depends_on: []

# What the issue leaves undecided. Ask instead of guessing; [] when there is nothing.
questions: []
"""


def make_skeleton(issue: int, *, title: str | None = None, schema: str | None = None) -> str:
    """YAML with a comment for every key; it passes every rule that needs no repository.

    ``title`` is that of the issue, if known. ``schema`` is what the modeline tells editors to check against: by
    default the file that ships with the program. The schema's ``$id`` is a name, and nobody serves it.
    """
    if schema is None:
        schema = find_resource("schema/plan.schema.json").resolve().as_uri()
    summary = quote_yaml(title.strip()[:600], 2) if title and title.strip() else '"Say what the plan does."'
    if summary.startswith("|"):
        summary = quote_yaml(" ".join(str(title).split())[:600], 2)
    return _TEXT.format(issue=issue, summary=summary, schema=schema)
