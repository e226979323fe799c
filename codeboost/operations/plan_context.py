"""What a plan is checked against: the base commit's tree, the path identity of the checkout, the approved commands."""

from __future__ import annotations

import os
from collections.abc import Sequence

from codeboost.command.grammar import Argv
from codeboost.gitrepo import GitRepo, TreeEntry
from codeboost.plan.model import BaseEntry, EntryKind, PlanContext
from codeboost.plan.paths import find_path_key

__all__ = ["list_base_entries", "make_context"]


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
        path_key=find_path_key(
            git.common_dir,
            ignore_case=git.read_config("core.ignorecase"),
            precompose=git.read_config("core.precomposeunicode"),
        ),
        repository=repository,
        any_issue=any_issue,
    )


def list_base_entries(git: GitRepo, commit: str) -> list[BaseEntry]:
    """The leaves of a commit's tree; the target of a symbolic link is the text that git stores for it."""
    entries = git.list_tree(commit)
    links = {entry.oid for entry in entries if entry.is_symlink}
    targets: dict[str, str] = {}
    if links:
        with git.read_blobs() as reader:
            for oid in links:
                found = reader.read(oid)
                targets[oid] = os.fsdecode(found[1]) if found else ""
    return [_make_entry(entry, targets) for entry in entries]


def _make_entry(entry: TreeEntry, targets: dict[str, str]) -> BaseEntry:
    path = os.fsdecode(entry.path)
    if entry.is_symlink:
        return BaseEntry(path, EntryKind.SYMLINK, targets[entry.oid])
    return BaseEntry(path, EntryKind.GITLINK if entry.is_gitlink else EntryKind.FILE)
