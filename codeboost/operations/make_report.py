"""``codeboost report``: what is proven about one commit, what is not, and what that amounts to (design §7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from codeboost.operations.evidence import CommandEvidence, Evidence, collect_evidence
from codeboost.operations.find_scope import Scope, find_scope_of
from codeboost.operations.move_tasks import name_task
from codeboost.operations.project import Project
from codeboost.operations.run_model import Tail
from codeboost.policy import Policy, read_policy
from codeboost.store.attempts import Attempt
from codeboost.store.output import read_output, take_tail
from codeboost.store.plans import StoredPlan
from codeboost.store.runs import list_runs
from codeboost.verdict import Verdict

__all__ = ["NOT_RUN", "Report", "Result", "has_whole_run", "make_report", "name_verdict", "say_why"]

NOT_RUN = "not-run"


class Result(StrEnum):
    """What an attestation says (in-toto test result)."""

    PASSED = "PASSED"
    """Every command has a current pass on this tree, and every ``check`` a pass."""
    WARNED = "WARNED"
    """Only ``check`` statements are pending."""
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a report of any format tells.

    ``reasons`` say why the result is not PASSED, one sentence each. ``tails`` are the last bytes of what commands
    without a pass printed, by attempt id.
    """

    evidence: Evidence
    scope: Scope
    policy: Policy
    result: Result
    reasons: tuple[str, ...]
    tails: Mapping[str, Tail]

    def name_task(self, item_id: str) -> str:
        return name_task(self.policy.task_prefix, self.evidence.issue, item_id)


def make_report(project: Project, issue: int, rev: str = "HEAD") -> Report:
    """The report on the tree of ``rev``. UsageError when there is no approved plan or no such revision."""
    evidence = collect_evidence(project, issue, rev)
    reasons = tuple(_find_reasons(project, evidence))
    if any(reason.fails for reason in reasons):
        result = Result.FAILED
    else:
        result = Result.WARNED if reasons else Result.PASSED
    return Report(
        evidence=evidence,
        scope=find_scope_of(project, evidence.plan, evidence.commit),
        policy=read_policy(project.git, evidence.plan.base_commit),
        result=result,
        reasons=tuple(reason.text for reason in reasons),
        tails={
            command.attempt.id: _read_tail(project, command.attempt)
            for command in evidence.commands
            if command.attempt is not None and not command.has_passed
        },
    )


def name_verdict(command: CommandEvidence) -> str:
    """The verdict of the attempt that counts, or ``not-run``."""
    return command.attempt.verdict.value if command.attempt is not None else NOT_RUN


def say_why(command: CommandEvidence) -> str:
    """One sentence about the verdict; where a pass was taken over from."""
    attempt = command.attempt
    if attempt is None:
        return "no run has tried it on this tree"
    if attempt.verdict is Verdict.PASSED:
        return f"reused from run {attempt.reused_run}" if attempt.reused_run is not None else ""
    return attempt.reason


def has_whole_run(project: Project, stored: StoredPlan, tree: str) -> bool:
    """Whether one run of every item passed whole on this tree, with an image that was reviewed."""
    return any(
        (run.plan_id, run.tree) == (stored.id, tree)
        and run.complete
        and not run.image_chosen
        and run.exit_code == 0
        for run in list_runs(project.store, stored.repository_id, stored.issue)
    )


@dataclass(frozen=True, slots=True)
class _Reason:
    text: str
    fails: bool = True


def _find_reasons(project: Project, evidence: Evidence) -> Iterator[_Reason]:
    unproven = [command for command in evidence.commands if not command.has_passed]
    if unproven:
        names = ", ".join(f"{c.command.item}.{c.command.position}" for c in unproven[:10])
        more = f" and {len(unproven) - 10} more" if len(unproven) > 10 else ""
        yield _Reason(f"no pass on this tree: {names}{more}")
    elif evidence.commands and not has_whole_run(project, evidence.plan, evidence.tree):
        # Pieces of several runs are no run of the whole; with passes reused, one costs seconds.
        yield _Reason(
            "no single run of every item has passed on this tree with the image of the policy"
            if evidence.image_chosen
            else "no single run of every item has passed on this tree:"
            f" codeboost run {evidence.issue} makes one, and uses the passes again"
        )
    if evidence.image_chosen:
        yield _Reason("an image that --image named is not one that was reviewed")
    denied = [
        statement for statement in evidence.statements if not (statement.is_pending or statement.has_passed)
    ]
    if denied:
        yield _Reason(f"judged as not fulfilled: {', '.join(f'{s.item}.{s.position}' for s in denied)}")
    if evidence.pending:
        names = ", ".join(f"{s.item}.{s.position}" for s in evidence.pending)
        yield _Reason(f"not judged yet: {names}", fails=False)


def _read_tail(project: Project, attempt: Attempt) -> Tail:
    tail: dict[str, bytes] = {}
    for name, kept in (("stdout", attempt.stdout), ("stderr", attempt.stderr)):
        output = read_output(project.store, attempt.run_id, attempt.id, name, kept) if kept else None
        if output is not None and any(output):
            tail[name] = take_tail(*output)
    return tail
