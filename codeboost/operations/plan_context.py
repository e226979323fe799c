"""What a plan is checked against: the base commit's tree, the path identity of the checkout, the approved commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from codeboost.command.grammar import Argv
from codeboost.errors import GitError
from codeboost.plan.model import BaseEntry, PathKey, PlanContext
from codeboost.plan.paths import find_path_key
from codeboost.plan.tree import make_base_entries

if TYPE_CHECKING:
    from codeboost.gitrepo import GitRepo

__all__ = ["find_identity", "list_base_entries", "make_context"]


def make_context(
    git: GitRepo,
    base: str,
    *,
    issue: int | None,
    approved: Sequence[Argv],
    repository: str | None = None,
    any_issue: bool = False,
) -> PlanContext:
    """The context of a plan for ``issue`` (or, when asked so, any) against the tree of ``base`` (a full commit id)."""
    return PlanContext(
        issue=issue,
        base_entries=list_base_entries(git, base),
        approved=approved,
        path_key=find_identity(git),
        repository=repository,
        any_issue=any_issue,
    )


def find_identity(git: GitRepo) -> PathKey | None:
    """When two paths are one file in this checkout: found by looking, and by what git was told (plan-rules.md §3)."""
    core = git.read_core_config()
    return find_path_key(
        git.common_dir, ignore_case=core.get("ignorecase"), precompose=core.get("precomposeunicode")
    )


def list_base_entries(git: GitRepo, commit: str) -> list[BaseEntry]:
    """The leaves of a commit's tree; the target of a symbolic link is the text that git stores for it."""
    entries = git.list_tree(commit)
    targets: dict[str, bytes] = {}
    links = {entry.oid for entry in entries if entry.is_symlink}
    if links:
        with git.read_blobs() as reader:
            for oid in links:
                found = reader.read(oid)
                if found is None:
                    raise GitError(f"object {oid} is missing from the repository")
                targets[oid] = found[1]
    return make_base_entries(entries, targets.__getitem__)
