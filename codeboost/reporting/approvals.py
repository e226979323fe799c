"""Commands, pins and approvals as a person looks at them before she says yes (design §5.3 and §5.6).

Nothing here is ever cut: what was not seen cannot be approved. A space shows as ␣, everything invisible as an escape;
a command can hold no backslash, so an escape is never the text itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from codeboost.limits import format_duration, format_size
from codeboost.operations.approve_commands import PendingApprovals, PendingCommand
from codeboost.operations.ask_gate import GateAnswer
from codeboost.operations.check_approval import Decision, GateEntry
from codeboost.operations.export_approvals import ImportedApproval
from codeboost.operations.list_approvals import ApprovalList
from codeboost.operations.pins import FileDifference
from codeboost.store.approval_log import LogEntry, LogKind, Pin
from codeboost.store.approvals import Approval
from codeboost.visible import count, escape

__all__ = [
    "describe_answer",
    "describe_approval",
    "describe_entry",
    "describe_log_entry",
    "describe_pending",
    "make_entry",
    "render_answer",
    "render_approval",
    "render_argv",
    "render_differences",
    "render_ground",
    "render_import",
    "render_list",
    "render_log",
    "render_pending",
    "show_text",
]

_SPACE = "\u2423"


def show_text(text: str) -> str:
    """One argument with its spaces and everything invisible made visible; the sign for a space is escaped itself."""
    return escape(text).replace(_SPACE, r"\u{2423}").replace(" ", _SPACE)


def render_argv(argv: Sequence[str], indent: str = "  ") -> list[str]:
    """Every element whole, on a line of its own, numbered from 0 as a program counts them, with its length."""
    lines = []
    for position, argument in enumerate(argv):
        length = "empty" if not argument else f"{len(argument)} chars"
        lines.append(f"{indent}{position:>3}  {length:>9}  {show_text(argument)}".rstrip())
    return lines


# The view of `allow approve`


def render_ground(pending: PendingApprovals) -> list[str]:
    """What holds for every command of the plan: where it would run, and within which limits."""
    sandbox = pending.policy.sandbox
    limits = sandbox.limits
    image = sandbox.image or "named at the run with --image (there is no codeboost.toml at the base commit)"
    if sandbox.image is None and pending.policy.present:
        image = "named by nobody yet: [sandbox] image of codeboost.toml is missing"
    plan = f"r{pending.plan.revision} of issue {pending.plan.issue}"
    sizes = f"{format_size(limits.memory_bytes)} memory, {format_size(limits.disk_bytes)} disk"
    counts = f"{limits.cpus:g} cpus, {limits.pids} processes"
    return [
        f"plan    {plan}, base {pending.plan.base_commit[:12]}, files as in {pending.commit[:12]}",
        f"image   {escape(image)}",
        "network none",
        f"limits  {format_duration(limits.timeout_s)}, {sizes}, {counts}",
        f"folder  /workspace/{'' if sandbox.workdir == '.' else escape(sandbox.workdir)}",
    ]


def render_pending(command: PendingCommand, number: int, total: int) -> list[str]:
    """One command to decide about."""
    lines = [
        f"command {number} of {total}, {count(len(command.argv), 'argument')}:",
        *render_argv(command.argv),
    ]
    for use in command.uses:
        lines.append(f"wanted by {use.item}, check {use.position}: {escape(use.title)}")
        lines.append(f"  because: {escape(use.intent)}")
    lines += render_pins(command.pins)
    if command.decision.changed_pins:
        lines.append(f"changed since it was approved: {command.decision.reason}")
    lines += (f"look twice: {sentence}" for sentence in command.suspicions)
    lines += render_differences(command.differences)
    if command.problem:
        lines.append(f"cannot be approved: {command.problem}")
    return lines


def render_pins(pins: Sequence[Pin]) -> list[str]:
    return [
        f"pinned    {show_text(pin.path)} = {pin.oid[:12] if pin.oid else 'absent'}"
        + (" (asked for)" if pin.asked else "")
        for pin in pins
    ]


def render_differences(differences: Sequence[FileDifference]) -> list[str]:
    """The whole difference of each pinned file against the base commit, line by line, with a prefix of ours."""
    lines = []
    for difference in differences:
        lines.append(f"difference of {show_text(difference.path)} against the base commit:")
        lines += (f"  | {line}" for line in _compare(difference))
    return lines


def _compare(difference: FileDifference) -> list[str]:
    before, after = difference.before, difference.after
    if before is None or after is None:
        what = "it was not there before" if before is None else "it is not there any more"
        content = after if before is None else before
        sign = "+" if before is None else "-"
        return [what, *(f"{sign}{line}" for line in _read_lines(content or b""))]
    return list(difflib.unified_diff(_read_lines(before), _read_lines(after), lineterm="", n=3))[2:] or [
        "the same text in other bytes"
    ]


def _read_lines(content: bytes) -> list[str]:
    # Bytes that are no UTF-8 show as \x.., so that a binary file differs visibly too.
    return [escape(line) for line in content.decode("utf-8", "backslashreplace").split("\n")]


# The list, the answer, the log


def render_list(listing: ApprovalList) -> list[str]:
    lines = []
    for listed in listing.approvals:
        lines += render_approval(listed.entry, listing.base_commit)
        lines += (f"  look twice: {sentence}" for sentence in listed.suspicions)
    return lines


def render_approval(entry: GateEntry, base_commit: str) -> list[str]:
    approval = entry.approval
    origin = _render_origin(approval) if approval else f"review, [allow] at {base_commit[:12]}"
    return [
        f"{entry.name}  {' '.join(map(_show_argument, entry.argv))}",
        f"  {origin}",
        *(f"  {line}" for line in render_pins(entry.pins)),
    ]


def _render_origin(approval: Approval) -> str:
    author = approval.author
    who = escape(author.approver) + (f" ({escape(author.git_identity)})" if author.git_identity else "")
    why = f": {escape(approval.reason)}" if approval.reason else ""
    return f"{who}, {approval.at}, {approval.how}{why}"


def _show_argument(argument: str) -> str:
    shown = show_text(argument)
    return shown if argument and _SPACE not in shown and "'" not in shown else f"'{shown}'"


def render_answer(answer: GateAnswer) -> list[str]:
    """Yes with the entry, or no with both commands side by side and the elements that differ marked."""
    decision = answer.decision
    lines = [f"yes: {decision.entry}"] if decision.allowed else [f"no: {decision.reason}"]
    if decision.changed_pins:
        lines.append(f"to look at the difference: codeboost allow approve ISSUE --rev {answer.commit[:12]}")
    if not decision.allowed and not decision.changed_pins:
        if decision.nearest is not None:
            lines += _render_comparison(decision.argv, decision.nearest)
        else:
            lines += ["it would need an approval of:", *render_argv(decision.argv)]
    return [*lines, *(f"look twice: {sentence}" for sentence in answer.suspicions)]


def _render_comparison(argv: Sequence[str], nearest: GateEntry) -> list[str]:
    """``-`` stands before what only the approved command has, ``+`` before what only the asked one has."""
    lines = [f"compared with {nearest.name} (- approved, + asked for):"]
    matcher = difflib.SequenceMatcher(None, nearest.argv, list(argv), autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            lines += (f"    {_show_argument(argument)}" for argument in nearest.argv[i1:i2])
            continue
        lines += (f"  - {_show_argument(argument)}" for argument in nearest.argv[i1:i2])
        lines += (f"  + {_show_argument(argument)}" for argument in argv[j1:j2])
    return lines


def render_log(entries: Sequence[LogEntry]) -> list[str]:
    lines = []
    for entry in entries:
        ended = f" of {entry.target}" if entry.kind is LogKind.REVOKE else ""
        why = f": {escape(entry.reason)}" if entry.reason else ""
        lines.append(
            f"{entry.id}  {entry.at}  {entry.kind}{ended}  {' '.join(map(_show_argument, entry.argv))}"
        )
        lines.append(f"    {escape(entry.author.approver)}, {entry.how}{why}")
        lines += (f"    {line}" for line in render_pins(entry.pins))
    return lines


def render_import(entry: ImportedApproval, number: int, total: int) -> list[str]:
    approval = entry.approval
    return [
        f"approval {number} of {total}, {count(len(approval.argv), 'argument')}:",
        *render_argv(approval.argv),
        f"given by {escape(approval.reason)}",
        *render_pins(approval.pins),
        *(f"look twice: {sentence}" for sentence in entry.suspicions),
    ]


# For --json


def describe_entry(entry: GateEntry, suspicions: Sequence[str] = ()) -> dict[str, Any]:
    approval = entry.approval
    return {
        "entry": entry.name,
        "source": "store" if approval else "policy",
        "argv": list(entry.argv),
        "pins": [pin._asdict() for pin in entry.pins],
        "approver": approval.author.approver if approval else None,
        "git_identity": approval.author.git_identity if approval else None,
        "at": approval.at if approval else None,
        "how": approval.how if approval else "review",
        "reason": approval.reason if approval else None,
        "suspicions": list(suspicions),
    }


def describe_approval(approval: Approval, suspicions: Sequence[str] = ()) -> dict[str, Any]:
    return describe_entry(make_entry(approval), suspicions)


def make_entry(approval: Approval) -> GateEntry:
    """An approval of the store as the gate would hold it."""
    return GateEntry(f"store:{approval.id}", approval.argv, approval.pins, approval)


def describe_answer(answer: GateAnswer) -> dict[str, Any]:
    return {
        **_describe_decision(answer.decision),
        "base_commit": answer.base_commit,
        "commit": answer.commit,
        "suspicions": list(answer.suspicions),
    }


def _describe_decision(decision: Decision) -> dict[str, Any]:
    return {
        "argv": list(decision.argv),
        "allowed": decision.allowed,
        "entry": decision.entry,
        "reason": decision.reason,
        "nearest": describe_entry(decision.nearest) if decision.nearest else None,
        "changed_pins": [change._asdict() for change in decision.changed_pins],
    }


def describe_pending(pending: PendingApprovals) -> dict[str, Any]:
    return {
        "issue": pending.plan.issue,
        "revision": pending.plan.revision,
        "base_commit": pending.plan.base_commit,
        "commit": pending.commit,
        "approved": pending.approved,
        "pending": [
            {
                **_describe_decision(command.decision),
                "text": command.text,
                "uses": [asdict(use) for use in command.uses],
                "pins": [pin._asdict() for pin in command.pins],
                "suspicions": list(command.suspicions),
            }
            for command in pending.commands
        ],
    }


def describe_log_entry(entry: LogEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "kind": entry.kind.value,
        "argv": list(entry.argv),
        "approver": entry.author.approver,
        "git_identity": entry.author.git_identity,
        "at": entry.at,
        "how": entry.how,
        "reason": entry.reason,
        "rev": entry.rev,
        "pins": [pin._asdict() for pin in entry.pins],
        "target": entry.target,
        "digest": entry.digest,
    }
