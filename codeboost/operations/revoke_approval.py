"""Take an approval back (``codeboost allow revoke``)."""

from __future__ import annotations

from codeboost.command.grammar import Argv
from codeboost.errors import UsageError
from codeboost.operations.add_approval import find_author
from codeboost.operations.project import Project
from codeboost.store.approvals import Approval, find_approvals, list_approvals, revoke_approvals
from codeboost.visible import cut

__all__ = ["revoke_by_argv", "revoke_by_id"]


def revoke_by_argv(project: Project, argv: Argv, *, reason: str = "") -> list[Approval]:
    """End every approval of ``argv`` in the store, whatever files it pins. UsageError when there is none."""
    found = find_approvals(project.store, project.repository.id, argv)
    return _revoke(project, found, cut(" ".join(argv), 200), reason)


def revoke_by_id(project: Project, approval_id: int, *, reason: str = "") -> list[Approval]:
    """End the approval with this number (``17`` of ``store:17``). UsageError when it is not in force."""
    approvals, _ = list_approvals(project.store, project.repository.id)
    found = [approval for approval in approvals if approval.id == approval_id]
    return _revoke(project, found, f"store:{approval_id}", reason)


def _revoke(project: Project, found: list[Approval], name: str, reason: str) -> list[Approval]:
    author = find_author(project)
    ended = revoke_approvals(
        project.store, project.repository.id, found, author, how="allow revoke", reason=reason
    )
    if not ended:
        raise UsageError(
            f"the store holds no approval of {name}",
            hint="`codeboost allow list` shows what is approved; an entry of codeboost.toml is taken out there",
        )
    return ended
