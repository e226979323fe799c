"""Approve one command that a person names herself (``codeboost allow add``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codeboost.command.grammar import Argv, format_command
from codeboost.command.lint import find_suspicions
from codeboost.operations.choose_base import choose_base
from codeboost.operations.pins import FileDifference, PinnedTree, find_differences
from codeboost.operations.project import Project, find_approver
from codeboost.policy import read_policy
from codeboost.store.approval_log import Author, Pin
from codeboost.store.approvals import Approval, NewApproval, add_approvals, check_argv, find_approvals
from codeboost.visible import cut

__all__ = ["AddedApproval", "add_approval", "find_author"]


@dataclass(frozen=True, slots=True)
class AddedApproval:
    """The approval as it stands now; ``is_new`` is false when it stood already, with the same pins.

    ``differences`` are the pinned files that the base commit holds otherwise than the commit they were pinned at.
    """

    approval: Approval
    is_new: bool
    suspicions: tuple[str, ...]
    differences: tuple[FileDifference, ...]


def add_approval(
    project: Project,
    argv: Argv,
    *,
    reason: str = "",
    rev: str | None = None,
    base: str | None = None,
    pins: Sequence[str] = (),
) -> AddedApproval:
    """Approve ``argv``, pinned to the files of ``rev`` (a revision), else of the base commit (design §4).

    InputError when no command can equal this argv, or its program cannot be told; UsageError for an unknown revision.
    """
    check_argv(argv)
    base_commit = choose_base(project.git, base)
    commit = project.git.resolve_commit(rev) if rev is not None else base_commit
    workdir = read_policy(project.git, base_commit).sandbox.workdir
    tree = PinnedTree(project.git, commit)
    taken = tuple(
        dict.fromkeys(
            [*tree.pin_program(argv, workdir), *(pin for path in pins for pin in tree.pin_path(path))]
        )
    )
    before = {approval.id for approval in find_approvals(project.store, project.repository.id, argv)}
    wanted = NewApproval(argv, taken, commit, "allow add", reason)
    approval = add_approvals(project.store, project.repository.id, [wanted], find_author(project))[0]
    return AddedApproval(
        approval,
        approval.id not in before,
        (*find_suspicions(format_command(argv), argv), *_explain_absent(taken, commit)),
        find_differences(taken, PinnedTree(project.git, base_commit), tree),
    )


def _explain_absent(pins: Sequence[Pin], commit: str) -> list[str]:
    return [
        f"{cut(pin.path)} is not in {commit[:12]}, so this approves the command only where that file is not there;"
        " --rev REV names a commit that has it"
        for pin in pins
        if pin.oid is None and not pin.asked
    ]


def find_author(project: Project) -> Author:
    """Who is at the terminal, as the log records it."""
    approver = find_approver(project.git)
    return Author(approver.user, approver.git_identity)
