"""What a person has to look at before a plan can run, and her answer to each (``codeboost allow approve``)."""

from __future__ import annotations

from dataclasses import dataclass

from codeboost.command.grammar import Argv, parse_command
from codeboost.command.lint import find_suspicions
from codeboost.errors import InputError
from codeboost.operations.add_approval import find_author
from codeboost.operations.check_approval import Decision, load_gate
from codeboost.operations.pins import FileDifference, PinnedTree, find_differences
from codeboost.operations.project import Project, require_plan
from codeboost.plan.model import CheckType
from codeboost.policy import Policy, read_policy
from codeboost.store.approval_log import Pin
from codeboost.store.approvals import Approval, NewApproval, add_approvals, record_refusal
from codeboost.store.plans import StoredPlan

__all__ = [
    "PendingApprovals",
    "PendingCommand",
    "Use",
    "approve_command",
    "find_pending",
    "refuse_command",
]


@dataclass(frozen=True, slots=True)
class Use:
    """Where the plan wants a command: ``position`` counts the item's acceptance checks from 1."""

    item: str
    title: str
    intent: str
    position: int


@dataclass(frozen=True, slots=True)
class PendingCommand:
    """One command that may not run yet, with everything a person should see before she approves it.

    ``problem`` says why it cannot be approved at all, else it is None.
    """

    text: str
    argv: Argv
    uses: tuple[Use, ...]
    decision: Decision
    pins: tuple[Pin, ...]
    differences: tuple[FileDifference, ...]
    suspicions: tuple[str, ...]
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class PendingApprovals:
    """The newest revision's commands at ``commit``: those that may run are counted, the others listed."""

    plan: StoredPlan
    policy: Policy
    commit: str
    approved: int
    commands: tuple[PendingCommand, ...]


def find_pending(project: Project, issue: int, *, rev: str | None = None) -> PendingApprovals:
    """The commands of the newest plan for ``issue`` that may not run against ``rev``, else against the base commit.

    UsageError when there is no plan or no such revision; InputError and StoreError when a list cannot be read.
    """
    stored = require_plan(project, issue)
    policy = read_policy(project.git, stored.base_commit)
    commit = project.git.resolve_commit(rev) if rev is not None else stored.base_commit
    gate = load_gate(project.store, project.repository.id, project.git, policy, stored.base_commit)
    base = PinnedTree(project.git, stored.base_commit)
    tree = PinnedTree(project.git, commit)
    uses: dict[Argv, list[Use]] = {}
    texts: dict[Argv, str] = {}
    for item in stored.plan.items:
        for position, check in enumerate(item.acceptance, 1):
            if check.type is CheckType.CMD:
                argv = parse_command(check.text)
                texts.setdefault(argv, check.text)
                uses.setdefault(argv, []).append(Use(item.id, item.title, item.intent, position))
    pending = []
    for argv, wanted in uses.items():
        decision = gate.decide(argv, commit)
        if decision.allowed:
            continue
        pins: tuple[Pin, ...] = ()
        problem = None
        try:
            pins = tree.pin_program(argv, policy.sandbox.workdir)
        except InputError as error:
            problem = f"{error}; {error.hint}"
        pending.append(
            PendingCommand(
                text=texts[argv],
                argv=argv,
                uses=tuple(wanted),
                decision=decision,
                pins=_keep_asked(decision, pins, tree),
                differences=find_differences(pins, base, tree),
                suspicions=find_suspicions(texts[argv], argv),
                problem=problem,
            )
        )
    return PendingApprovals(stored, policy, commit, len(uses) - len(pending), tuple(pending))


def approve_command(project: Project, pending: PendingApprovals, command: PendingCommand) -> Approval:
    """Record that a person looked at ``command`` and pressed the key that approves it."""
    reason = f"plan r{pending.plan.revision} of issue {pending.plan.issue}, {command.uses[0].item}"
    wanted = NewApproval(command.argv, command.pins, pending.commit, "key", reason)
    return add_approvals(project.store, project.repository.id, [wanted], find_author(project))[0]


def refuse_command(project: Project, pending: PendingApprovals, command: PendingCommand) -> None:
    """Record that a person looked at ``command`` and did not approve it."""
    reason = f"plan r{pending.plan.revision} of issue {pending.plan.issue}, {command.uses[0].item}"
    author = find_author(project)
    record_refusal(project.store, project.repository.id, command.argv, author, how="key", reason=reason)


def _keep_asked(decision: Decision, program: tuple[Pin, ...], tree: PinnedTree) -> tuple[Pin, ...]:
    """Approving new content keeps what was pinned before by hand, as it is now."""
    if not decision.changed_pins or decision.nearest is None:
        return program
    asked = [pin.path for pin in decision.nearest.pins if pin.asked]
    return (*program, *(Pin(path, tree.find_oid(path, folders=True), asked=True) for path in asked))
