"""Reports made of plain data, as hostile as it gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from codeboost.limits import Limits
from codeboost.operations.evidence import CommandEvidence, Evidence, ItemEvidence, StatementEvidence
from codeboost.operations.find_scope import Scope, ScopeFinding, ScopeKind
from codeboost.operations.make_report import Report, Result
from codeboost.operations.schedule import Command
from codeboost.policy import Policy, SandboxPolicy
from codeboost.store.attempts import Attempt, KeptStream
from codeboost.store.plans import StoredPlan
from codeboost.store.verdicts import Answer, CheckVerdict
from codeboost.verdict import Verdict

COMMIT = "c0ffee" * 6 + "c0ff"


class Told(NamedTuple):
    """One command of a report: its verdict (None: never tried), its text, why, and what it printed."""

    verdict: Verdict | None
    text: str = "true"
    reason: str = "because"
    stdout: bytes = b""
    stderr: bytes = b""


def _make_command(told: Told, item: str, position: int) -> CommandEvidence:
    command = Command(item, position, told.text, tuple(told.text.split()) or ("true",))
    if told.verdict is None:
        return CommandEvidence(command, None)
    attempt = Attempt(
        id=f"{item}{position}",
        run_id=1,
        item=item,
        position=position,
        argv=command.argv,
        argv_sha256="0" * 64,
        approval="store:1",
        verdict=told.verdict,
        reason=told.reason,
        exit_code=0,
        signal=None,
        timed_out=False,
        out_of_memory=False,
        started_at="2026-01-02T03:04:05.678901+00:00",
        ended_at="2026-01-02T03:04:06.678901+00:00",
        duration_s=1.0,
        limits=Limits(),
        stdout=KeptStream(len(told.stdout), len(told.stdout), len(told.stdout), "1" * 64),
    )
    return CommandEvidence(command, attempt)


def make_report(
    commands: Sequence[Told] = (Told(Verdict.PASSED),),
    *,
    title: str = "Do it",
    checks: Sequence[tuple[str, Answer | None]] = (),
    note: str = "looked",
    findings: Sequence[tuple[str, str]] = (),
    result: Result = Result.FAILED,
    reasons: Sequence[str] = (),
    items: int = 1,
) -> Report:
    """``items`` items with the same ``commands`` and ``checks`` each."""
    made = []
    for number in range(1, items + 1):
        name = f"P{number}"
        given = tuple(_make_command(told, name, position) for position, told in enumerate(commands, 1))
        statements = []
        for position, (text, answer) in enumerate(checks, len(commands) + 1):
            verdict = (
                CheckVerdict(
                    1, 1, name, position, COMMIT, COMMIT, answer, note, "Ada", "2026-01-02T03:04:05Z"
                )
                if answer
                else None
            )
            statements.append(StatementEvidence(name, position, text, verdict))
        made.append(ItemEvidence(name, title, given, tuple(statements)))
    plan = StoredPlan(
        1, 1, 412, 3, "a" * 64, b"", COMMIT, "b" * 64, "plan.yaml", "2026-01-01T00:00:00Z", None
    )
    evidence = Evidence(412, "example/payments", plan, "person", COMMIT, COMMIT, tuple(made), {}, None)
    scope = Scope(
        412,
        3,
        COMMIT,
        COMMIT,
        len(findings),
        0,
        tuple(ScopeFinding(ScopeKind.UNDECLARED, path, message) for path, message in findings),
    )
    policy = Policy(SandboxPolicy(), None, (), "b" * 64, present=True)
    tails = {
        command.attempt.id: {
            name: data for name, data in (("stdout", told.stdout), ("stderr", told.stderr)) if data
        }
        for item in made
        for command, told in zip(item.commands, commands, strict=True)
        if command.attempt and not command.has_passed
    }
    return Report(evidence, scope, policy, result, tuple(reasons), tails)


@pytest.fixture
def build() -> Callable[..., Report]:
    return make_report


@pytest.fixture
def told() -> Any:
    return Told
