"""Plans and imports for people (text) and programs (plain data). Everything from a plan is escaped."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from codeboost.errors import UsageError
from codeboost.operations.export_tasks import TaskChange
from codeboost.operations.import_plan import ImportResult
from codeboost.plan.canonical import to_document
from codeboost.plan.difference import ItemFate, PlanDifference
from codeboost.plan.markdown import render_plan as render_markdown
from codeboost.plan.model import CheckType, Plan
from codeboost.plan.rendering import dump_json, dump_yaml
from codeboost.store.plans import StoredPlan
from codeboost.visible import escape

__all__ = [
    "describe_difference",
    "describe_import",
    "describe_plan",
    "describe_plan_row",
    "render_difference",
    "render_import",
    "render_plan",
    "render_plan_list",
    "render_plan_row",
]

_FATES = {
    ItemFate.ADDED: "new",
    ItemFate.CHANGED: "changed",
    ItemFate.RETITLED: "same work, new title",
    ItemFate.UNCHANGED: "unchanged",
    ItemFate.REMOVED: "no longer in the plan",
}


# import


def describe_import(result: ImportResult) -> dict[str, Any]:
    stored = result.stored
    return {
        "stored": stored is not None,
        "plan": describe_plan_row(stored) if stored else None,
        "base_commit": result.base_commit,
        "repeats": result.repeats,
        "goal": result.goal,
        "planning_root": str(result.root) if result.root else None,
        "tasks": [
            {
                "id": task.task,
                "file": task.file,
                "change": task.fate.value,
                "from": task.before.value if task.before else None,
                "to": task.after.value,
                "text_not_written": task.kept_body,
            }
            for task in result.tasks
        ],
    }


def render_import(result: ImportResult) -> str:
    stored = result.stored
    assert stored is not None  # noqa: S101 - only a stored plan is rendered
    stored_as = f"base {stored.base_commit[:12]}, sha256 {stored.sha256[:12]}"
    lines = [f"Stored revision {stored.revision} of the plan for issue {stored.issue} ({stored_as})."]
    if result.repeats is not None:
        lines.append(f"It says what revision {result.repeats} says, on the same base and policy.")
    lines.append("")
    width = max((len(task.task) for task in result.tasks), default=0)
    titles = {item.id: item.title for item in stored.plan.items}
    for task in result.tasks:
        title = escape(titles.get(task.task.rpartition("-")[2], ""))
        lines.append(f"  {task.task:<{width}}  {_describe_status(task):<24}  {title}".rstrip())
    lines.append(f"  goal {result.goal}: draft")
    for task in result.tasks:
        if task.kept_body is not None:
            lines += [
                "",
                f"{task.file} was edited by hand, so its text stays. The new text would be:",
                *(f"  | {escape(line)}" for line in task.kept_body.splitlines()),
            ]
    if not result.has_policy:
        lines += [
            "",
            f"The base commit {stored.base_commit[:12]} has no codeboost.toml, which says what checks run in. Commit one and",
            "import again, or name the image at each run: codeboost run --image REF.",
        ]
    steps = [(f"codeboost plan approve {stored.issue}", "the plan itself")]
    if any(found.code == "command-not-allowed" for found in result.diagnostics):
        steps.insert(0, (f"codeboost allow approve {stored.issue}", "look at each command"))
    width = max(len(command) for command, _ in steps)
    lines.append("")
    for number, (command, what) in enumerate(steps):
        lines.append(f"{'      ' if number else 'Next: '}{command:<{width}}   ({what})")
    return "\n".join(lines)


def _describe_status(task: TaskChange) -> str:
    moved = "" if task.before in {None, task.after} else f", was {task.before}"
    return f"{task.after} ({_FATES[task.fate]}{moved})"


# show and list


def describe_plan_row(stored: StoredPlan) -> dict[str, Any]:
    approval = stored.approval
    return {
        "issue": stored.issue,
        "revision": stored.revision,
        "sha256": stored.sha256,
        "base_commit": stored.base_commit,
        "policy_digest": stored.policy_digest,
        "source": stored.source,
        "imported_at": stored.imported_at,
        "approval": None
        if approval is None
        else {
            "approver": approval.approver,
            "git_identity": approval.git_identity,
            "approved_at": approval.approved_at,
            "how": approval.how,
        },
    }


def describe_plan(stored: StoredPlan) -> dict[str, Any]:
    return describe_plan_row(stored) | {"plan": to_document(stored.plan)}


def render_plan_row(stored: StoredPlan) -> str:
    approval = stored.approval
    state = (
        "not approved"
        if approval is None
        else f"approved by {escape(approval.approver)} on {approval.approved_at} ({approval.how})"
    )
    return (
        f"issue {stored.issue} r{stored.revision}: {state};"
        f" base {stored.base_commit[:12]}, policy {stored.policy_digest[:12]}, sha256 {stored.sha256[:12]}"
    )


def render_plan_list(plans: Sequence[StoredPlan]) -> str:
    lines = []
    for stored in plans:
        lines += [render_plan_row(stored), f"  {escape(stored.plan.summary)}"]
    return "\n".join(lines)


def render_plan(stored: StoredPlan, format_: str) -> str:
    """UsageError when ``format_`` is none that there is."""
    if format_ == "json":
        return dump_json(stored.plan)
    if format_ == "yaml":
        return dump_yaml(stored.plan)
    if format_ == "markdown":
        return render_markdown(stored.plan)
    if format_ != "text":
        raise UsageError(f"there is no format '{escape(format_)}': text, yaml, json or markdown")
    return f"{render_plan_row(stored)}\n\n{_render_text(stored.plan)}"


def _render_text(plan: Plan) -> str:
    lines = [escape(plan.summary), ""]
    for item in plan.items:
        after = f"  (after {', '.join(item.depends_on)})" if item.depends_on else ""
        lines += [f"{item.id}  {escape(item.title)}{after}", f"    {escape(item.intent)}"]
        for file in item.files:
            source = f" from {escape(file.renamed_from)}" if file.renamed_from else ""
            lines.append(f"    {file.kind:<6} {escape(file.path)}{source}: {escape(file.change)}")
        for position, check in enumerate(item.acceptance, start=1):
            mark = "$" if check.type is CheckType.CMD else "?"
            lines.append(f"    {position}. {mark} {escape(check.text)}")
        lines.append("")
    if plan.questions:
        lines.append("Open questions:")
        lines += [f"  - {escape(question)}" for question in plan.questions]
    return "\n".join(lines)


# diff


# What an approval holds fast beside the plan's own text.
_GROUND = ("base_commit", "policy_digest")


def describe_difference(difference: PlanDifference, old: StoredPlan, new: StoredPlan) -> dict[str, Any]:
    before, after = to_document(difference.before), to_document(difference.after)
    return {
        "before": difference.before.revision,
        "after": difference.after.revision,
        "fields": list(difference.fields),
        "items": [
            {
                "id": item.id,
                "change": item.fate.value,
                "fields": {
                    name: {"before": _pick(before, item.id)[name], "after": _pick(after, item.id)[name]}
                    for name in item.fields
                },
            }
            for item in difference.items
        ],
        "plan": {
            name: {"before": before[name], "after": after[name]}
            for name in difference.fields
            if name in before
        },
        "ground": {
            name: {"before": getattr(old, name), "after": getattr(new, name)}
            for name in _GROUND
            if getattr(old, name) != getattr(new, name)
        },
    }


def _pick(document: dict[str, Any], item_id: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in document["items"] if item["id"] == item_id)
    return found


def render_difference(difference: PlanDifference, old: StoredPlan, new: StoredPlan, *, color: bool) -> str:
    """What the plans stand on, then item by item, and line by line within each field that differs."""
    before, after = to_document(difference.before), to_document(difference.after)
    lines = [f"revision {difference.before.revision} → revision {difference.after.revision}"]
    moved = [name for name in _GROUND if getattr(old, name) != getattr(new, name)]
    for name in moved:
        lines.append(f"{name.replace('_', ' ')}:")
        lines += _compare_lines(getattr(old, name), getattr(new, name), color=color)
    if difference.is_empty:
        lines.append("nothing else changed" if moved else "nothing changed")
    for name in difference.fields:
        if name == "order":
            lines.append("the items stand in another order")
        else:
            lines += [f"{name}:", *_compare_lines(before[name], after[name], color=color)]
    for item in difference.items:
        title = item.after.title if item.after else item.before.title if item.before else ""
        if item.fate is not ItemFate.UNCHANGED:
            lines.append(f"{item.id}  {_FATES[item.fate]}: {escape(title)}")
        for name in item.fields:
            lines.append(f"  {name}:")
            old, new = _pick(before, item.id)[name], _pick(after, item.id)[name]
            lines += _compare_lines(old, new, color=color)
    return "\n".join(lines)


def _compare_lines(before: object, after: object, *, color: bool) -> list[str]:
    rows = []
    for row in difflib.ndiff(_list_lines(before), _list_lines(after)):
        if row.startswith("?"):
            continue
        style = {"-": "31", "+": "32"}.get(row[0])
        shown = escape(row)
        rows.append(f"    \x1b[{style}m{shown}\x1b[0m" if color and style else f"    {shown}")
    return rows


def _list_lines(value: object) -> list[str]:
    if isinstance(value, str):
        return value.split("\n")
    assert isinstance(value, list)  # noqa: S101 - the fields of a plan are texts and lists
    return [
        entry if isinstance(entry, str) else ", ".join(f"{k}: {v}" for k, v in entry.items())
        for entry in value
    ]
