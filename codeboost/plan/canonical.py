"""Plans as data again: canonical JSON for the store and its digest, and the forms that ``plan show`` prints."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from codeboost.plan.model import ChangeKind, Check, CheckType, FileChange, Item, Plan

__all__ = ["build_plan", "decode_plan", "digest_plan", "encode_plan", "to_document", "with_revision"]


def build_plan(document: Any) -> Plan:
    """The plan that a document of the right shape (``check_shape`` found nothing) stands for."""
    return Plan(
        schema_version=document["schema_version"],
        issue=document["issue"],
        revision=document["revision"],
        summary=document["summary"],
        items=tuple(_build_item(item) for item in document["items"]),
        questions=tuple(document["questions"]),
    )


def _build_item(document: Any) -> Item:
    return Item(
        id=document["id"],
        title=document["title"],
        intent=document["intent"],
        files=tuple(
            FileChange(file["path"], ChangeKind(file["kind"]), file["renamed_from"], file["change"])
            for file in document["files"]
        ),
        acceptance=tuple(Check(CheckType(check["type"]), check["text"]) for check in document["acceptance"]),
        depends_on=tuple(document["depends_on"]),
    )


def to_document(plan: Plan) -> dict[str, Any]:
    """The plan as plain data, keys in the order of the schema."""
    return {
        "schema_version": plan.schema_version,
        "issue": plan.issue,
        "revision": plan.revision,
        "summary": plan.summary,
        "items": [
            {
                "id": item.id,
                "title": item.title,
                "intent": item.intent,
                "files": [
                    {
                        "path": file.path,
                        "kind": str(file.kind),
                        "renamed_from": file.renamed_from,
                        "change": file.change,
                    }
                    for file in item.files
                ],
                "acceptance": [{"type": str(check.type), "text": check.text} for check in item.acceptance],
                "depends_on": list(item.depends_on),
            }
            for item in plan.items
        ],
        "questions": list(plan.questions),
    }


def encode_plan(plan: Plan) -> bytes:
    """Canonical JSON: UTF-8, sorted keys, no spaces, nothing escaped that need not be. Equal plans, equal bytes."""
    text = json.dumps(
        to_document(plan), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    return text.encode("utf-8")


def decode_plan(data: bytes) -> Plan:
    """The plan that ``encode_plan`` wrote. ValueError or KeyError when the bytes are no such thing."""
    return build_plan(json.loads(data))


def digest_plan(plan: Plan) -> str:
    """SHA-256 of the canonical bytes, in hexadecimal: what an approval fixes."""
    import hashlib  # noqa: PLC0415 - checking a plan needs none

    return hashlib.sha256(encode_plan(plan)).hexdigest()


def with_revision(plan: Plan, revision: int) -> Plan:
    """The same plan under another revision number: import sets the next free one."""
    return replace(plan, revision=revision)
