"""An issue for people (text) and programs (plain data). Whatever GitHub holds is escaped."""

from __future__ import annotations

from typing import Any

from codeboost.operations.select_issue import IssueView
from codeboost.visible import escape

__all__ = ["describe_issue", "render_issue"]


def describe_issue(view: IssueView) -> dict[str, Any]:
    issue = view.issue
    return {
        "repository": view.repository,
        "number": issue.number,
        "title": issue.title,
        "state": issue.state,
        "body": issue.body,
        "selected_at": issue.selected_at,
        "fetched_at": issue.fetched_at,
        "abandoned_at": issue.abandoned_at,
    }


def render_issue(view: IssueView, *, with_body: bool) -> str:
    """One line, or the whole issue with each line of its text behind a prefix of ours."""
    issue = view.issue
    name = f"{escape(view.repository)}#{issue.number}"
    if issue.fetched_at is None:
        return f"{name} (not fetched; --fetch asks GitHub for its title, state and text)"
    lines = [f"{name}: {escape(issue.title or '')} [{issue.state}]"]
    if with_body:
        body = (issue.body or "").replace("\r\n", "\n").rstrip("\n")
        lines += ["", *(f"  | {escape(line)}" for line in body.split("\n"))] if body else []
        lines += ["", f"fetched {issue.fetched_at}"]
    return "\n".join(lines)
