"""The report as an in-toto statement v1 with the test-result predicate: plain data, the same for the same evidence.

The predicate has no place for times, runs and outputs. They are further resource descriptors of ``configuration``, each
with its content, and the SHA-256 of that content as its digest.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Collection, Iterator
from dataclasses import asdict
from typing import Any

from codeboost.operations.evidence import CommandEvidence, StatementEvidence
from codeboost.operations.make_report import Report
from codeboost.store.attempts import Attempt
from codeboost.store.plans import StoredPlan
from codeboost.store.runs import RunRecord
from codeboost.store.verdicts import CheckVerdict

__all__ = [
    "PREDICATE_TYPE",
    "STATEMENT_TYPE",
    "build_statement",
    "describe_attempt_resource",
    "describe_environment",
    "describe_plan_resource",
    "describe_run_resource",
    "describe_verdict_resource",
    "name_command",
    "name_statement",
]

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://in-toto.io/attestation/test-result/v0.1"


def build_statement(report: Report, repository: str) -> dict[str, Any]:
    """The statement about the tested commit; ``repository`` is ``host/owner/name``."""
    evidence = report.evidence
    commands, statements = evidence.commands, evidence.statements
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": repository, "digest": {"gitCommit": evidence.commit}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "result": report.result.value,
            "configuration": list(_list_resources(report)),
            "passedTests": [
                *(name_command(command) for command in commands if command.has_passed),
                *(name_statement(statement) for statement in statements if statement.has_passed),
            ],
            "warnedTests": [name_statement(statement) for statement in statements if statement.is_pending],
            "failedTests": [
                *(name_command(command) for command in commands if not command.has_passed),
                *(name_statement(one) for one in statements if not (one.has_passed or one.is_pending)),
            ],
        },
    }


def name_command(command: CommandEvidence) -> str:
    return f"{command.command.item}.{command.command.position} {command.command.text}"


def name_statement(statement: StatementEvidence) -> str:
    return f"{statement.item}.{statement.position} {statement.text}"


# What it was proven with


def _list_resources(report: Report) -> Iterator[dict[str, Any]]:
    evidence = report.evidence
    plan = evidence.plan
    yield describe_plan_resource(plan, evidence.approved_by)
    yield {"name": "base", "digest": {"gitCommit": plan.base_commit}}
    yield {"name": "tree", "digest": {"gitTree": evidence.tree}}
    yield {"name": "policy", "digest": {"sha256": plan.policy_digest}}
    yield from describe_environment(evidence.runs.values())
    if report.reasons:
        yield _embed("reasons", list(report.reasons))
    for run in evidence.runs.values():
        yield describe_run_resource(run)
    for command in evidence.commands:
        if command.attempt is not None:
            yield describe_attempt_resource(command.attempt)
            yield from _list_outputs(command.attempt)
    for statement in evidence.statements:
        if statement.verdict is not None:
            yield describe_verdict_resource(statement.verdict)


def describe_plan_resource(plan: StoredPlan, approved_by: str) -> dict[str, Any]:
    """``approved_by`` is ``person``, or ``base`` for a plan that ``run --ci`` was given."""
    return {
        "name": "plan",
        "digest": {"sha256": plan.sha256},
        "annotations": {
            "issue": plan.issue,
            "revision": plan.revision,
            "approvedBy": approved_by,
            "approval": asdict(plan.approval) if plan.approval is not None else None,
        },
    }


def describe_environment(runs: Collection[RunRecord]) -> list[dict[str, Any]]:
    """Each image and each state of the approval log once, however many runs had it."""
    images = {run.image_id: run.image for run in runs if run.image_id is not None}
    resources: list[dict[str, Any]] = []
    for image_id, reference in sorted(images.items()):
        algorithm, _, digest = image_id.rpartition(":")
        annotations = {"reference": reference}
        resources.append(
            {"name": "image", "digest": {algorithm or "sha256": digest}, "annotations": annotations}
        )
    heads = sorted({run.log_head for run in runs})
    return resources + [{"name": "approvals", "digest": {"sha256": head}} for head in heads]


def describe_run_resource(run: RunRecord) -> dict[str, Any]:
    content = asdict(run)
    # Row numbers of one store mean nothing elsewhere.
    del content["repository_id"], content["plan_id"]
    return _embed(f"run:{run.id}", content)


def describe_attempt_resource(attempt: Attempt) -> dict[str, Any]:
    """Everything that the store recorded of an attempt (design §7)."""
    content = asdict(attempt)
    # Looked up, not recorded.
    del content["reused_run"]
    return _embed(f"attempt:{attempt.item}.{attempt.position}:{attempt.id}", content)


def describe_verdict_resource(verdict: CheckVerdict) -> dict[str, Any]:
    content = asdict(verdict)
    del content["plan_id"]
    return _embed(f"verdict:{verdict.item}.{verdict.position}:{verdict.id}", content)


def _list_outputs(attempt: Attempt) -> Iterator[dict[str, Any]]:
    for name, stream in (("stdout", attempt.stdout), ("stderr", attempt.stderr)):
        if stream is not None:
            yield {
                "name": f"output:{attempt.item}.{attempt.position}:{name}",
                "digest": {"sha256": stream.sha256},
                "annotations": {"bytes": stream.total, "kept": stream.kept},
            }


def _embed(name: str, content: object) -> dict[str, Any]:
    data = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    return {
        "name": name,
        "digest": {"sha256": hashlib.sha256(data).hexdigest()},
        "mediaType": "application/json",
        "content": b64encode(data).decode(),
    }
