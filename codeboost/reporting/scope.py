"""What a commit changed against what the plan declared, for people (text) and programs (plain data, diagnostics)."""

from __future__ import annotations

from typing import Any

from codeboost.diagnostics import Diagnostic, Severity
from codeboost.operations.find_scope import Scope, ScopeFinding
from codeboost.visible import escape

__all__ = ["describe_scope", "list_scope_diagnostics", "render_scope", "render_scope_finding"]


def describe_scope(scope: Scope) -> dict[str, Any]:
    return {
        "issue": scope.issue,
        "revision": scope.revision,
        "base_commit": scope.base_commit,
        "commit": scope.commit,
        "changed": scope.changed,
        "planning_files": scope.planning_files,
        "findings": [
            {
                "kind": finding.kind.value,
                "path": finding.path,
                "renamed_from": finding.renamed_from,
                "declared": finding.declared.value if finding.declared else None,
                "actual": finding.actual.value if finding.actual else None,
                "items": list(finding.items),
                "message": finding.message,
            }
            for finding in scope.findings
        ],
    }


def list_scope_diagnostics(scope: Scope, severity: Severity) -> list[Diagnostic]:
    """One diagnostic a finding, of code ``scope-`` and its kind."""
    return [
        Diagnostic(
            f"scope-{finding.kind}",
            severity,
            f"{finding.path}: {finding.message}",
            item=finding.items[0] if finding.items else None,
        )
        for finding in scope.findings
    ]


def render_scope_finding(finding: ScopeFinding) -> str:
    """One line, without its severity."""
    items = f" ({', '.join(finding.items)})" if finding.items else ""
    return f"{escape(finding.path)}: {escape(finding.message)}{items}"


def render_scope(scope: Scope, severity: Severity) -> str:
    """One line a finding, and a sentence that counts them."""
    lines = [
        f"{severity}[scope-{finding.kind}] {render_scope_finding(finding)}" for finding in scope.findings
    ]
    files = f"{scope.changed} changed {'file' if scope.changed == 1 else 'files'}"
    planning = f", {scope.planning_files} of planr" if scope.planning_files else ""
    where = f"{scope.base_commit[:12]}..{scope.commit[:12]}: {files}{planning}"
    if not scope.findings:
        return f"{where}; all as revision {scope.revision} of the plan declares."
    count = len(scope.findings)
    other = "is" if count == 1 else "are"
    return "\n".join(
        [*lines, f"{where}; {count} {other} not as revision {scope.revision} of the plan declares."]
    )
