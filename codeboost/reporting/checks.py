"""What ``plan check`` found, for people and programs. Light on imports: this command is run all the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from codeboost.errors import UsageError
from codeboost.operations.check_plan_files import FileCheck
from codeboost.reporting.diagnostics import render_github, render_sarif, render_text, to_json
from codeboost.visible import escape

__all__ = ["describe_check", "render_check"]


def describe_check(results: Sequence[FileCheck]) -> list[dict[str, Any]]:
    return [
        {
            "file": result.file.name,
            "ok": not result.has_errors,
            "base_commit": result.base_commit,
            "diagnostics": [to_json(found) for found in result.diagnostics],
        }
        for result in results
    ]


def render_check(results: Sequence[FileCheck], format_: str, *, color: bool) -> str:
    """UsageError when ``format_`` is none that there is."""
    if format_ == "sarif":
        return render_sarif([(result.file.name, result.diagnostics) for result in results])
    if format_ == "github":
        return "".join(render_github(result.file.name, result.diagnostics) for result in results)
    if format_ != "text":
        raise UsageError(f"there is no format '{escape(format_)}': text, json, github or sarif")
    parts = []
    for result in results:
        if result.diagnostics:
            parts.append(render_text(result.file.name, result.file.data, result.diagnostics, color=color))
        if not result.has_errors:
            base = result.base_commit
            against = f" against {base[:12]}" if base else ", its paths compared with no files"
            parts.append(f"{escape(result.file.name)}: the plan is valid{against}\n")
    return "".join(parts)
