"""The state of the evidence of an issue: what is proven about one tree, by which attempts, and what is not (design §5.5).

Attempts are only ever added. What counts for a tree is looked up here, and nowhere else, so a run of an older revision
or of another commit cannot take anything away from what is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codeboost.errors import ApprovalNeededError
from codeboost.operations.project import Project, require_plan
from codeboost.operations.schedule import Command, list_commands
from codeboost.plan.model import CheckType
from codeboost.store.attempts import Attempt, list_decisive_attempts
from codeboost.store.plans import StoredPlan, is_ci_plan, list_plans
from codeboost.store.runs import RunRecord, find_run, list_runs
from codeboost.store.verdicts import Answer, CheckVerdict, list_verdicts
from codeboost.verdict import Verdict

__all__ = [
    "CommandEvidence",
    "Evidence",
    "ItemEvidence",
    "StatementEvidence",
    "collect_evidence",
    "collect_evidence_of",
    "find_plan_in_force",
]


@dataclass(frozen=True, slots=True)
class CommandEvidence:
    """One command and the newest attempt that says something about it on this tree; None when none does."""

    command: Command
    attempt: Attempt | None

    @property
    def has_passed(self) -> bool:
        return self.attempt is not None and self.attempt.verdict is Verdict.PASSED


@dataclass(frozen=True, slots=True)
class StatementEvidence:
    """One ``check`` statement; ``verdict`` is None while it is pending for this revision and tree."""

    item: str
    position: int
    text: str
    verdict: CheckVerdict | None

    @property
    def is_pending(self) -> bool:
        return self.verdict is None

    @property
    def has_passed(self) -> bool:
        return self.verdict is not None and self.verdict.answer is Answer.PASS


@dataclass(frozen=True, slots=True)
class ItemEvidence:
    id: str
    title: str
    commands: tuple[CommandEvidence, ...]
    statements: tuple[StatementEvidence, ...]

    @property
    def commands_passed(self) -> bool:
        return all(command.has_passed for command in self.commands)

    @property
    def statements_passed(self) -> bool:
        return all(statement.has_passed for statement in self.statements)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one tree. ``runs`` holds every run that an attempt here came from, by number.

    ``approved_by`` is ``person``, or ``base`` for a plan that ``run --ci`` was given.
    """

    issue: int
    repository: str
    plan: StoredPlan
    approved_by: str
    commit: str
    tree: str
    items: tuple[ItemEvidence, ...]
    runs: Mapping[int, RunRecord]
    last_run: RunRecord | None
    """The newest run of the issue, whatever it tested."""

    @property
    def commands(self) -> tuple[CommandEvidence, ...]:
        return tuple(command for item in self.items for command in item.commands)

    @property
    def statements(self) -> tuple[StatementEvidence, ...]:
        return tuple(statement for item in self.items for statement in item.statements)

    @property
    def pending(self) -> tuple[StatementEvidence, ...]:
        return tuple(statement for statement in self.statements if statement.is_pending)

    @property
    def commands_passed(self) -> bool:
        """Whether every command of every item has a pass for this very tree."""
        return all(item.commands_passed for item in self.items)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to prove: every command and every statement has a pass for this very tree."""
        return self.commands_passed and all(item.statements_passed for item in self.items)

    @property
    def image_chosen(self) -> bool:
        """Whether any of this came from a run whose image ``--image`` named."""
        return any(run.image_chosen for run in self.runs.values())


def find_plan_in_force(project: Project, issue: int) -> StoredPlan | None:
    """The newest revision that a person approved, or that ``run --ci`` took from a file; None when there is none."""
    for stored in reversed(list_plans(project.store, project.repository.id, issue)):
        if stored.approval is not None or is_ci_plan(project.store, stored.id):
            return stored
    return None


def collect_evidence(project: Project, issue: int, rev: str | None = None) -> Evidence:
    """What is known of the tree of ``rev``, else of HEAD.

    UsageError when there is no plan or no such commit, ApprovalNeededError when no revision is approved.
    """
    stored = find_plan_in_force(project, issue)
    if stored is None:
        newest = require_plan(project, issue)
        raise ApprovalNeededError(
            f"no revision of the plan for issue {issue} is approved, so there is nothing to prove",
            hint=f"codeboost plan approve {issue} approves revision {newest.revision}",
        )
    commit = project.git.resolve_commit(rev or "HEAD")
    return collect_evidence_of(project, stored, commit, project.git.find_tree(commit))


def collect_evidence_of(project: Project, stored: StoredPlan, commit: str, tree: str) -> Evidence:
    """What is known of one tree under one revision of a plan, in force or not."""
    runs = list_runs(project.store, project.repository.id, stored.issue, limit=1)
    attempts = list_decisive_attempts(project.store, stored.id, tree)
    verdicts = list_verdicts(project.store, stored.id, tree)
    items = tuple(
        ItemEvidence(
            id=item.id,
            title=item.title,
            commands=tuple(
                CommandEvidence(command, attempts.get((item.id, command.position)))
                for command in list_commands(item)
            ),
            statements=tuple(
                StatementEvidence(item.id, position, check.text, verdicts.get((item.id, position)))
                for position, check in enumerate(item.acceptance, 1)
                if check.type is CheckType.CHECK
            ),
        )
        for item in stored.plan.items
    )
    found = {attempt.run_id for attempt in attempts.values()}
    sources = {number: find_run(project.store, number) for number in sorted(found)}
    return Evidence(
        issue=stored.issue,
        repository=project.repository.slug,
        plan=stored,
        approved_by="base" if is_ci_plan(project.store, stored.id) else "person",
        commit=commit,
        tree=tree,
        items=items,
        runs={number: run for number, run in sources.items() if run is not None},
        last_run=runs[0] if runs else None,
    )
