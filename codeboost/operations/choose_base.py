"""Which commit a plan is measured from (design §4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeboost.errors import UsageError
from codeboost.visible import cut

if TYPE_CHECKING:
    from codeboost.gitrepo import GitRepo

__all__ = ["choose_base", "find_base"]


def choose_base(git: GitRepo, rev: str | None = None) -> str:
    """Like ``find_base``, but UsageError when there is no commit to measure from."""
    base = find_base(git, rev)
    if base is None:
        raise UsageError("this repository has no commit yet", hint="commit something first")
    return base


def find_base(git: GitRepo, rev: str | None = None) -> str | None:
    """The base commit of a plan: ``rev``, else where HEAD left the default branch (design §4).

    None when the repository has no commit yet. UsageError when the question has no answer.
    """
    if rev is not None:
        return git.resolve_commit(rev)
    head = git.find_commit("HEAD")
    if head is None:
        return None
    branch = git.find_default_branch()
    if branch is None:
        raise UsageError("there is no default branch to measure from", hint="name the base with --base REV")
    base = head if head == branch.commit else git.find_merge_base(head, branch.commit)
    if base is None:
        raise UsageError(
            f"HEAD and {cut(branch.name)} have no commit in common", hint="name the base with --base REV"
        )
    return base
