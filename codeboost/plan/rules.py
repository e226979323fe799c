"""The stable codes of diagnostics and what each stands for, in one line (plan-rules.md)."""

from __future__ import annotations

from typing import NamedTuple

from codeboost.diagnostics import Severity

__all__ = ["PARSE_REASONS", "RULES", "Rule"]


class Rule(NamedTuple):
    severity: Severity
    summary: str


RULES = {
    "parse": Rule(Severity.ERROR, "The file cannot be read as strict JSON or YAML."),
    "version": Rule(Severity.ERROR, "schema_version is missing or not supported."),
    "schema": Rule(Severity.ERROR, "The plan does not have the shape that the schema asks for."),
    "issue": Rule(Severity.ERROR, "The plan is for another issue than the selected one."),
    "context": Rule(Severity.ERROR, "What the plan is checked against is not known, or contradicts itself."),
    "duplicate-id": Rule(Severity.ERROR, "Item ids are unique."),
    "dependency": Rule(
        Severity.ERROR,
        "Items depend on earlier items only, each once, and on those whose changed paths they use.",
    ),
    "path": Rule(Severity.ERROR, "Paths are canonical and relative to the repository root."),
    "duplicate-path": Rule(Severity.ERROR, "Within one item a path takes part in one operation only."),
    "path-parent": Rule(
        Severity.ERROR, "No path lies beneath a file, link, submodule or another path of its item."
    ),
    "missing-file": Rule(Severity.ERROR, "What is edited, deleted or renamed exists."),
    "existing-file": Rule(Severity.ERROR, "What is added, and the new name of a rename, does not exist yet."),
    "rename-source": Rule(Severity.ERROR, "renamed_from is set for a rename and for nothing else."),
    "gitlink": Rule(Severity.ERROR, "A submodule is never declared."),
    "symlink-target": Rule(
        Severity.ERROR, "Declared symbolic links are safe, and not beside what they point to."
    ),
    "command-syntax": Rule(Severity.ERROR, "Every cmd can be read by the command grammar."),
    "no-test-command": Rule(Severity.WARNING, "An item without any cmd proves nothing by itself."),
    "command-not-allowed": Rule(Severity.WARNING, "The exact command has not been approved yet."),
    "suspicious-command": Rule(Severity.WARNING, "The command is valid, and probably not what was meant."),
    "open-questions": Rule(Severity.WARNING, "The plan asks questions."),
    "policy-file": Rule(Severity.WARNING, "An item declares a file that codeboost itself reads."),
}

# Why a file cannot be read (plan-rules.md §1).
PARSE_REASONS = (
    "encoding",
    "too-large",
    "too-deep",
    "syntax",
    "duplicate-key",
    "non-string-key",
    "anchor",
    "alias",
    "tag",
    "merge-key",
    "directive",
    "multiple-documents",
    "empty-value",
    "non-json-scalar",
    "number-range",
)
