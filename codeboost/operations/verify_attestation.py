"""``codeboost attest verify``: is an attestation signed by whom it should be, and does it say what is on record?

Every question has one of three answers: it holds, it does not, or there is nothing here to check it against. Whoever
wrote the file chose everything in it, so nothing counts only because the file says so.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from codeboost.errors import CodeboostError
from codeboost.gitrepo import GitRepo
from codeboost.operations.attestation import (
    describe_attempt_resource,
    describe_environment,
    describe_plan_resource,
    describe_run_resource,
    describe_verdict_resource,
)
from codeboost.operations.attestation_file import Facts, read_attestation
from codeboost.operations.envelope import Envelope, TrustedKey
from codeboost.operations.make_report import Result, has_whole_run
from codeboost.operations.project import Project
from codeboost.operations.schedule import list_commands
from codeboost.plan.canonical import digest_plan
from codeboost.plan.model import CheckType, Plan
from codeboost.policy import read_policy
from codeboost.store.approval_log import GENESIS, list_log
from codeboost.store.attempts import Attempt, KeptStream, find_attempt, list_decisive_attempts
from codeboost.store.output import find_output
from codeboost.store.plans import StoredPlan, is_ci_plan, list_plans
from codeboost.store.runs import find_run
from codeboost.store.verdicts import find_verdict
from codeboost.verdict import Verdict
from codeboost.visible import cut

__all__ = ["Answer", "AttestationCheck", "Verification", "verify_attestation"]


class Answer(StrEnum):
    HOLDS = "holds"
    WRONG = "wrong"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AttestationCheck:
    """One question and its answer; ``text`` is one sentence."""

    name: str
    answer: Answer
    text: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What an attestation says and what of it holds. ``signer`` is the trusted key that signed it, if one did."""

    subject: str
    commit: str
    result: str
    signed: bool
    signer: str | None
    checks: tuple[AttestationCheck, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong, and something beyond the file itself speaks for it."""
        wrong = any(check.answer is Answer.WRONG for check in self.checks)
        return not wrong and any(c.answer is Answer.HOLDS for c in self.checks if c.name != "form")

    @property
    def is_vouched_for(self) -> bool:
        """Whether a trusted key or the store speaks for the results, and not only the file itself."""
        return any(c.answer is Answer.HOLDS for c in self.checks if c.name in ("signature", "tests"))


def verify_attestation(
    path: Path, trusted: Sequence[TrustedKey], git: GitRepo | None, project: Project | None
) -> Verification:
    """Check an attestation, bare or in an envelope, against the keys, the checkout and the store that are given.

    UsageError when the file cannot be read, InputError when it is no attestation.
    """
    envelope, facts = read_attestation(path)
    signer = envelope.find_signer(trusted) if envelope is not None and trusted else None
    checks = [_check_signature(envelope, signer, asked=bool(trusted)), _check_form(facts)]
    checks += _check_commits(facts, git)
    checks += _check_store(facts, project)
    return Verification(
        subject=facts.subject,
        commit=facts.commit,
        result=facts.result,
        signed=envelope is not None and bool(envelope.signatures),
        signer=signer.id if signer else None,
        checks=tuple(checks),
    )


# The file by itself


def _check_signature(
    envelope: Envelope | None, signer: TrustedKey | None, *, asked: bool
) -> AttestationCheck:
    if signer is not None:
        return AttestationCheck("signature", Answer.HOLDS, f"signed with the trusted key {signer.id[:16]}")
    if asked:
        text = "no trusted key signed it" if envelope is not None else "it is not signed"
        return AttestationCheck("signature", Answer.WRONG, text)
    return AttestationCheck("signature", Answer.UNKNOWN, "signature not verified")


def _check_form(facts: Facts) -> AttestationCheck:
    """Whether the statement agrees with itself: contents with their digests, the result with the tests."""
    for resource in facts.resources:
        content = resource.get("content")
        if content is None:
            continue
        try:
            digest = hashlib.sha256(b64decode(content, validate=True)).hexdigest()
        except (ValueError, TypeError):
            digest = ""
        if digest != resource["digest"].get("sha256"):
            text = f"the content of {cut(resource['name'])} is not what its digest says"
            return AttestationCheck("form", Answer.WRONG, text)
    contradicts = (facts.result is not Result.FAILED and facts.failed) or (
        facts.result is Result.PASSED and facts.warned
    )
    if contradicts:
        return AttestationCheck(
            "form", Answer.WRONG, f"it says {facts.result}, and its own tests say otherwise"
        )
    return AttestationCheck("form", Answer.HOLDS, "its contents, digests and result agree with each other")


# Against the checkout


def _check_commits(facts: Facts, git: GitRepo | None) -> Iterator[AttestationCheck]:
    commit = git.find_commit(facts.commit) if git is not None else None
    if git is None or commit is None:
        yield AttestationCheck("commit", Answer.UNKNOWN, "there is no checkout here that holds the commit")
        return
    if commit != facts.commit:
        yield AttestationCheck("commit", Answer.WRONG, f"{cut(facts.commit)} is not the full id of a commit")
        return
    yield _compare("tree", facts.find("tree", "gitTree"), git.find_tree(commit), "the tree of the commit")
    base = git.find_commit(facts.find("base", "gitCommit") or "")
    if base is None:
        yield AttestationCheck("base", Answer.UNKNOWN, "this checkout does not hold the base commit")
        return
    if not git.is_ancestor(base, commit):
        yield AttestationCheck("base", Answer.WRONG, "the commit does not descend from the base")
    try:
        policy = read_policy(git, base).digest
    except CodeboostError as error:
        yield AttestationCheck("policy", Answer.WRONG, f"the policy at the base cannot be read: {error}")
    else:
        yield _compare("policy", facts.find("policy", "sha256"), policy, "codeboost.toml at the base commit")


def _compare(name: str, said: str | None, found: str, what: str) -> AttestationCheck:
    if said == found:
        return AttestationCheck(name, Answer.HOLDS, f"it names {what}")
    return AttestationCheck(name, Answer.WRONG, f"it does not name {what}, which is {found[:12]}")


# Against the store


def _check_store(facts: Facts, project: Project | None) -> Iterator[AttestationCheck]:
    if project is None or str(project.repository).lower() != facts.subject.lower():
        yield AttestationCheck("store", Answer.UNKNOWN, f"no store here knows {cut(facts.subject, 200)}")
        return
    stored = _find_plan(facts, project)
    if stored is None:
        yield AttestationCheck("plan", Answer.UNKNOWN, "the store does not hold this plan")
        return
    intact = digest_plan(stored.plan) == stored.sha256
    yield AttestationCheck(
        "plan",
        Answer.HOLDS if intact else Answer.WRONG,
        f"it is revision {stored.revision} for issue {stored.issue}"
        if intact
        else "the plan in the store is not what its own digest says",
    )
    heads = {GENESIS, *(entry.digest for entry in list_log(project.store, project.repository.id))}
    if any(resource["digest"].get("sha256") not in heads for resource in facts.list_named("approvals")):
        yield AttestationCheck("approvals", Answer.WRONG, "the log of approvals never had this head")
    else:
        yield AttestationCheck("approvals", Answer.HOLDS, "the log of approvals had these heads")
    records = _check_records(facts, project, stored)
    yield records
    yield _check_outputs(facts, project)
    # What is not on record was told already.
    if records.answer is Answer.HOLDS:
        yield _check_tests(facts, project, stored)
        yield _check_current(facts, project, stored)


def _find_plan(facts: Facts, project: Project) -> StoredPlan | None:
    sha256, base = facts.find("plan", "sha256"), facts.find("base", "gitCommit")
    plans = list_plans(project.store, project.repository.id)
    return next((plan for plan in plans if (plan.sha256, plan.base_commit) == (sha256, base)), None)


def _check_records(facts: Facts, project: Project, stored: StoredPlan) -> AttestationCheck:
    """Whether each run, attempt and verdict in the statement is exactly the store's record of it."""

    def look_up(name: str) -> Mapping[str, Any] | None:
        kind, _, rest = name.partition(":")
        key = rest.rpartition(":")[2]
        if kind == "attempt":
            attempt = find_attempt(project.store, key)
            return describe_attempt_resource(attempt) if attempt is not None else None
        if not (key.isdecimal() and key.isascii() and len(key) < 16):
            return None
        if kind == "verdict":
            verdict = find_verdict(project.store, int(key))
            return describe_verdict_resource(verdict) if verdict is not None else None
        run = find_run(project.store, int(key))
        return describe_run_resource(run) if run is not None else None

    resources = [one for prefix in ("run:", "attempt:", "verdict:") for one in facts.list_named(prefix)]
    for resource in resources:
        if look_up(resource["name"]) != resource:
            text = f"{cut(resource['name'])} is not on record, or not like this"
            return AttestationCheck("records", Answer.WRONG, text)
    numbers = [int(resource["name"].removeprefix("run:")) for resource in facts.list_named("run:")]
    runs = [run for run in (find_run(project.store, number) for number in numbers) if run is not None]
    approved_by = "base" if is_ci_plan(project.store, stored.id) else "person"
    known = [describe_plan_resource(stored, approved_by), *describe_environment(runs)]
    if known != [one for one in facts.resources if one["name"] in ("plan", "image", "approvals")]:
        text = "plan, image or approvals are not those of its runs"
        return AttestationCheck("records", Answer.WRONG, text)
    text = f"{len(resources)} runs, attempts and verdicts are on record"
    return AttestationCheck("records", Answer.HOLDS, text)


def _check_outputs(facts: Facts, project: Project) -> AttestationCheck:
    """Whether the outputs that were kept whole are still the bytes whose digest was recorded."""
    looked = 0
    for attempt in _list_attempts(facts, project):
        for name, stream in (("stdout", attempt.stdout), ("stderr", attempt.stderr)):
            if stream is None or not stream.total or stream.total != stream.kept:
                continue
            # A pass that was taken over printed nothing of its own.
            run_id = attempt.reused_run or attempt.run_id
            path = find_output(project.store, run_id, attempt.reused_from or attempt.id, name)
            if path is None:
                continue
            looked += 1
            if not _is_content(path, stream):
                text = f"{name} of {attempt.item}.{attempt.position} is not what was recorded"
                return AttestationCheck("outputs", Answer.WRONG, text)
    if not looked:
        return AttestationCheck("outputs", Answer.UNKNOWN, "nothing that was printed is kept here")
    return AttestationCheck("outputs", Answer.HOLDS, f"{looked} kept outputs are what was recorded")


def _is_content(path: Path, stream: KeptStream) -> bool:
    return hashlib.sha256(path.read_bytes()).hexdigest() == stream.sha256


def _list_attempts(facts: Facts, project: Project) -> list[Attempt]:
    ids = [resource["name"].rpartition(":")[2] for resource in facts.list_named("attempt:")]
    return [attempt for attempt in (find_attempt(project.store, one) for one in ids) if attempt is not None]


def _check_tests(facts: Facts, project: Project, stored: StoredPlan) -> AttestationCheck:
    """Whether the lists of tests cover the plan, and follow from the attempts and verdicts of this tree on record."""
    tree = facts.find("tree", "gitTree") or ""
    passed = set()
    for attempt in _list_attempts(facts, project):
        run = find_run(project.store, attempt.run_id)
        if run is not None and (run.plan_id, run.tree) == (stored.id, tree) and attempt.verdict == "passed":
            passed.add((attempt.item, attempt.position))
    judged = {}
    for resource in facts.list_named("verdict:"):
        verdict = find_verdict(project.store, int(resource["name"].rpartition(":")[2]))
        if verdict is not None and (verdict.plan_id, verdict.tree) == (stored.id, tree):
            judged[verdict.item, verdict.position] = verdict.answer.value
    expected = _expect_tests(stored.plan, passed, judged)
    lists = (set(facts.passed), set(facts.warned), set(facts.failed))
    if lists != expected:
        return AttestationCheck(
            "tests", Answer.WRONG, "its lists of tests do not follow from what is on record"
        )
    if facts.result is not Result.FAILED and not has_whole_run(project, stored, tree):
        return AttestationCheck("tests", Answer.WRONG, "no single run of every item has passed on this tree")
    return AttestationCheck("tests", Answer.HOLDS, "its tests are those of the plan, as they are on record")


def _check_current(facts: Facts, project: Project, stored: StoredPlan) -> AttestationCheck:
    """Whether what it calls passed still is, by the newest attempt of each command on this tree."""
    newest = list_decisive_attempts(project.store, stored.id, facts.find("tree", "gitTree") or "")
    for attempt in _list_attempts(facts, project):
        now = newest.get((attempt.item, attempt.position), attempt)
        if attempt.verdict is Verdict.PASSED and now.verdict is not Verdict.PASSED:
            text = f"{attempt.item}.{attempt.position} is {now.verdict} since run {now.run_id}"
            return AttestationCheck("current", Answer.WRONG, text)
    return AttestationCheck("current", Answer.HOLDS, "no later run says otherwise")


def _expect_tests(
    plan: Plan, passed: set[tuple[str, int]], judged: Mapping[tuple[str, int], str]
) -> tuple[set[str], set[str], set[str]]:
    lists: dict[str, set[str]] = {"pass": set(), "pending": set(), "fail": set()}
    for item in plan.items:
        for command in list_commands(item):
            key = item.id, command.position
            lists["pass" if key in passed else "fail"].add(f"{item.id}.{command.position} {command.text}")
        for position, check in enumerate(item.acceptance, 1):
            if check.type is CheckType.CHECK:
                lists[judged.get((item.id, position), "pending")].add(f"{item.id}.{position} {check.text}")
    return lists["pass"], lists["pending"], lists["fail"]
