"""Approvals as a document: out of one store, and into another after a person looked (``allow export``, ``import``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from codeboost.command.grammar import Argv, format_command
from codeboost.command.lint import find_suspicions
from codeboost.errors import InputError
from codeboost.operations.add_approval import find_author
from codeboost.operations.project import Project
from codeboost.store.approval_log import Pin
from codeboost.store.approvals import (
    Approval,
    NewApproval,
    add_approvals,
    check_argv,
    find_approvals,
    list_approvals,
)
from codeboost.visible import cut

__all__ = ["ImportedApproval", "export_approvals", "import_approvals", "read_export"]

FORMAT = "codeboost-approvals"
MAX_BYTES = 16 << 20
_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class ImportedApproval:
    """One entry of a document; ``known`` when this store approves it already, with the same pins."""

    approval: NewApproval
    suspicions: tuple[str, ...]
    known: bool


def export_approvals(project: Project) -> dict[str, Any]:
    """The approvals in force as plain data. StoreError when the log is damaged."""
    approvals, head = list_approvals(project.store, project.repository.id)
    return {
        "format": 1,
        "kind": FORMAT,
        "repository": str(project.repository),
        "log_head": head,
        "approvals": [_describe(approval) for approval in approvals],
    }


def read_export(project: Project, data: bytes) -> list[ImportedApproval]:
    """What a document would approve. InputError when it is none, or is of another repository."""
    if len(data) > MAX_BYTES:
        raise InputError(f"the document has {len(data)} bytes; at most {MAX_BYTES} are read")
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=_refuse_duplicates)
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is no JSON document: {cut(str(error), 200)}") from None
    if not isinstance(document, dict) or document.get("kind") != FORMAT or document.get("format") != 1:
        raise InputError("this is no document of `codeboost allow export`, format 1")
    if document.get("repository") != str(project.repository):
        raise InputError(
            f"these are approvals for {cut(str(document.get('repository')))}, and this is {project.repository}"
        )
    entries = document.get("approvals")
    if not isinstance(entries, list):
        raise InputError("the document has no list of approvals")
    return [_read_entry(project, position, entry) for position, entry in enumerate(entries, 1)]


def import_approvals(project: Project, wanted: Iterable[ImportedApproval]) -> list[Approval]:
    """Record that a person looked at these and approved them; all of them or none."""
    approvals = [entry.approval for entry in wanted]
    return add_approvals(project.store, project.repository.id, approvals, find_author(project))


def _describe(approval: Approval) -> dict[str, Any]:
    return {
        "argv": list(approval.argv),
        "pins": [pin._asdict() for pin in approval.pins],
        "rev": approval.rev,
        "reason": approval.reason,
        "how": approval.how,
        "approver": approval.author.approver,
        "git_identity": approval.author.git_identity,
        "at": approval.at,
    }


def _read_entry(project: Project, position: int, entry: object) -> ImportedApproval:
    if not isinstance(entry, dict):
        raise InputError(f"approval {position} is no object")
    try:
        argv = _read_argv(entry)
        pins = tuple(_read_pin(pin) for pin in entry.get("pins", []))
        rev = _read_text(entry, "rev", optional=True)
        given = f"{_read_text(entry, 'approver')} on {_read_text(entry, 'at')}: {_read_text(entry, 'reason')}"
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"approval {position} cannot be read: {cut(str(error), 200)}") from None
    check_argv(argv)
    known = any(
        approval.pins == pins for approval in find_approvals(project.store, project.repository.id, argv)
    )
    approval = NewApproval(argv, pins, rev, "import", given)
    return ImportedApproval(approval, find_suspicions(format_command(argv), argv), known)


def _read_argv(entry: Mapping[str, object]) -> Argv:
    argv = entry["argv"]
    if not isinstance(argv, list) or not all(isinstance(element, str) for element in argv):
        raise ValueError("argv has to be a list of strings")
    return tuple(argv)


def _read_pin(pin: object) -> Pin:
    if not isinstance(pin, dict) or set(pin) != {"path", "oid", "asked"}:
        raise ValueError("a pin has path, oid and asked")
    path, oid, asked = pin["path"], pin["oid"], pin["asked"]
    usable = isinstance(path, str) and isinstance(asked, bool)
    if not usable or not (oid is None or (isinstance(oid, str) and _OID.fullmatch(oid))):
        raise ValueError("a pin has a path, a full object id or null, and asked true or false")
    return Pin(path, oid, asked)


def _read_text(entry: Mapping[str, object], name: str, *, optional: bool = False) -> str | None:
    value = entry.get(name)
    if not isinstance(value, str) and not (optional and value is None):
        raise ValueError(f"{name} has to be a string")
    return value


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found
