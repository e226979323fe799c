"""What may run, and on whose word: both sources side by side (``codeboost allow list``), and the history of one."""

from __future__ import annotations

from dataclasses import dataclass

from codeboost.command.grammar import format_command
from codeboost.command.lint import find_suspicions
from codeboost.operations.check_approval import GateEntry, load_gate
from codeboost.operations.choose_base import choose_base
from codeboost.operations.project import Project
from codeboost.policy import read_policy
from codeboost.store.approval_log import LogEntry, list_log
from codeboost.store.approvals import LogCheck, verify_log

__all__ = ["ApprovalList", "ListedApproval", "check_log", "list_all_approvals", "read_log"]


@dataclass(frozen=True, slots=True)
class ListedApproval:
    entry: GateEntry
    suspicions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ApprovalList:
    """``base_commit`` is where the policy was read from."""

    base_commit: str
    log_head: str
    approvals: tuple[ListedApproval, ...]


def list_all_approvals(project: Project, *, base: str | None = None) -> ApprovalList:
    """Every command that may run, by argv. InputError or StoreError when a source cannot be read: nothing runs then."""
    commit = choose_base(project.git, base)
    policy = read_policy(project.git, commit)
    gate = load_gate(project.store, project.repository.id, project.git, policy, commit)
    listed = tuple(
        ListedApproval(entry, find_suspicions(format_command(entry.argv), entry.argv))
        for entry in gate.entries
    )
    return ApprovalList(commit, gate.log_head, listed)


def read_log(project: Project) -> list[LogEntry]:
    """The history of approvals, oldest first. StoreError when it was edited."""
    return list_log(project.store, project.repository.id)


def check_log(project: Project) -> LogCheck:
    """Whether the history is whole, and what is wrong with it if not."""
    return verify_log(project.store, project.repository.id)
