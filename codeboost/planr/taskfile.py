"""One task file: reading it, rewriting its state, and making a new one (planr-contract.md, "Task file")."""

from __future__ import annotations

from collections.abc import Sequence

from codeboost.parsing.frontmatter import (
    FrontmatterFault,
    Value,
    parse_frontmatter,
    render_value,
    rewrite_frontmatter,
)
from codeboost.planr.model import Finding, Status, Task, name_word, refuse_word

__all__ = ["STATUSES", "TASK_WORDS", "parse_status", "parse_task", "render_task", "rewrite_task"]

TASK_WORDS = frozenset({"id", "status", "depends"})
STATUSES: dict[object, Status] = {status.value: status for status in Status}
ALLOWED_STATUSES = "open, in-progress, review, blocked, decision, done, dropped"


def parse_task(data: bytes, task_id: str, file: str) -> tuple[Task | None, list[Finding]]:
    """The task in ``data``, whose file is named after ``task_id``; None when anything is wrong with it."""
    read = parse_frontmatter(data, TASK_WORDS)
    if isinstance(read, FrontmatterFault):
        return None, [Finding(read.kind, read.text, file, read.line)]
    values = read.values
    found, title, track = values.get("id"), values.get("title"), values.get("track")
    status = STATUSES.get(values.get("status"))
    depends, owner = values.get("depends", ()), values.get("owner")
    if (
        found == task_id
        and status is not None
        and isinstance(title, str)
        and isinstance(track, str)
        and isinstance(depends, tuple)
        and not isinstance(owner, tuple)
    ):
        if len(depends) > 1:
            depends = tuple(dict.fromkeys(depends))
        return Task(task_id, title, status, track, depends, owner, values.get("refs"), file), []
    return None, _explain(values, read.lines, task_id, file)


def parse_status(data: bytes) -> Status | None:
    """The status that an old version of a task file gives, or None when it is unreadable."""
    read = parse_frontmatter(data, TASK_WORDS)
    if isinstance(read, FrontmatterFault):
        return None
    return STATUSES.get(read.values.get("status"))


def rewrite_task(
    data: bytes,
    *,
    title: str | None = None,
    status: Status | None = None,
    owner: str | None = None,
    depends: Sequence[str] | None = None,
    refs: Sequence[str] | None = None,
) -> bytes:
    """``data`` with these fields changed and every other byte as it was. ``data`` must be a readable task."""
    changes: dict[str, str | Sequence[str]] = {}
    if title is not None:
        changes["title"] = title
    if depends is not None:
        changes["depends"] = depends
    if status is not None:
        changes["status"] = status.value
    if owner is not None:
        changes["owner"] = owner
    if refs is not None:
        changes["refs"] = refs
    return rewrite_frontmatter(data, changes, TASK_WORDS)


def render_task(
    task_id: str,
    *,
    title: str,
    track: str,
    body: str,
    status: Status = Status.OPEN,
    depends: Sequence[str] = (),
    owner: str | None = None,
    refs: Sequence[str] = (),
) -> bytes:
    """A whole new task file. ``body`` follows the frontmatter as it is."""
    rows = [
        "---",
        f"id: {render_value(task_id)}",
        f"title: {render_value(title)}",
        f"status: {status.value}",
        f"track: {render_value(track)}",
        f"depends: {render_value(depends)}",
    ]
    if owner:
        rows.append(f"owner: {render_value(owner)}")
    if refs:
        rows.append(f"refs: {render_value(refs)}")
    return ("\n".join([*rows, "---"]) + "\n" + body).encode()


def _explain(values: dict[str, Value], lines: dict[str, int], task_id: str, file: str) -> list[Finding]:
    findings: list[Finding] = []

    def add(kind: str, key: str, text: str) -> None:
        findings.append(Finding(kind, text, file, lines.get(key, 1)))

    found = values.get("id")
    if not isinstance(found, str):
        state = "undefined" if found is None else "a list"
        add(
            "missing-field",
            "id",
            f"id is {state}: it is required and must be {name_word(task_id)}, as the file name says",
        )
    elif found != task_id:
        add("id-mismatch", "id", f"id is {name_word(found)}, but the file name says {name_word(task_id)}")
    for key in ("title", "track"):
        if not isinstance(values.get(key), str):
            add("missing-field", key, f"{key} is required, and is text on one line")
    status = values.get("status")
    if status is None:
        add("missing-field", "status", f"status is required; allowed: {ALLOWED_STATUSES}")
    elif status not in STATUSES:
        add("unknown-status", "status", refuse_word("status", status, ALLOWED_STATUSES))
    if not isinstance(values.get("depends", ()), tuple):
        add("depends-type", "depends", "depends must be a list of task ids, such as [A-1, A-2] or []")
    if isinstance(values.get("owner"), tuple):
        add("owner-type", "owner", "owner must be text on one line, not a list")
    return findings
