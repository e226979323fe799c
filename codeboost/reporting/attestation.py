"""Attestations and what was found about them, for people (text) and programs (plain data)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from codeboost.operations.verify_attestation import Answer, Verification
from codeboost.visible import escape

__all__ = ["describe_verification", "render_attestation", "render_verification"]

_WORDS = {Answer.HOLDS: "ok", Answer.WRONG: "WRONG", Answer.UNKNOWN: "not checked"}


def render_attestation(document: Mapping[str, Any]) -> str:
    """A statement or an envelope as a file: ASCII, the same bytes for the same evidence."""
    return json.dumps(document, indent=2) + "\n"


def describe_verification(found: Verification) -> dict[str, Any]:
    return {
        "subject": found.subject,
        "commit": found.commit,
        "result": found.result,
        "signed": found.signed,
        "signer": found.signer,
        "holds": found.holds,
        "checks": [
            {"name": check.name, "answer": check.answer.value, "text": check.text} for check in found.checks
        ],
    }


def render_verification(found: Verification) -> str:
    lines = [f"{escape(found.subject)} at {escape(found.commit[:12])}: {found.result}", ""]
    lines += [f"  {_WORDS[check.answer]:<12} {check.name}: {escape(check.text)}" for check in found.checks]
    if found.holds and found.is_vouched_for:
        said = "What could be checked holds."
    elif found.holds:
        said = "What could be checked holds; for the results there is only the file's own word."
    elif any(check.answer is Answer.WRONG for check in found.checks):
        said = "It does not hold: do not rely on it."
    else:
        said = "Nothing here speaks for it: name a trusted key with --key, or run this in the checkout."
    return "\n".join([*lines, "", said])
