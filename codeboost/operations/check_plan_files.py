"""``codeboost plan check``: plans checked as import checks them, with nothing stored and nothing written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from codeboost.diagnostics import Diagnostic, has_errors
from codeboost.errors import UsageError
from codeboost.operations.choose_base import find_base
from codeboost.operations.plan_context import make_context
from codeboost.operations.plan_file import PlanFile, read_plan_file
from codeboost.plan.loader import check_plan
from codeboost.plan.model import PlanContext
from codeboost.plan.paths import POLICY_FILE

if TYPE_CHECKING:
    from codeboost.gitrepo import GitRepo

__all__ = ["FileCheck", "check_plan_files"]


class FileCheck(NamedTuple):
    """One file and everything that was found; ``base_commit`` is None when it was checked alone."""

    file: PlanFile
    base_commit: str | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def has_errors(self) -> bool:
        return has_errors(self.diagnostics)


def check_plan_files(
    paths: Sequence[str], start: Path, *, issue: int | None, base: str | None, use_tree: bool
) -> list[FileCheck]:
    """Check every file; inside a checkout (and with ``use_tree``) also against the tree of the base commit.

    Without ``issue`` a plan may be for any. Approvals of the store are not asked, those of the policy at the base are.
    UsageError when a file cannot be read, or ``base`` is named where there is no checkout.
    """
    if paths.count("-") > 1:
        raise UsageError("standard input is named twice, and can be read once")
    git = _find_repository(start) if use_tree else None
    if git is None and base is not None:
        raise UsageError("--base needs a checkout, and the check of its tree")
    # A repository without a commit has no tree to check against.
    base_commit = find_base(git, base) if git is not None else None
    context = _make_context(git, base_commit, issue)
    results = []
    for path in paths:
        file = read_plan_file(path)
        checked = check_plan(file.data, file.format, context)
        results.append(FileCheck(file, base_commit, checked.diagnostics))
    return results


def _find_repository(start: Path) -> GitRepo | None:
    from codeboost.gitrepo import GitRepo  # noqa: PLC0415 - a file checked alone needs no git

    return GitRepo.find(start)


def _make_context(git: GitRepo | None, base_commit: str | None, issue: int | None) -> PlanContext | None:
    if git is None or base_commit is None:
        if issue is not None:
            raise UsageError("--issue needs a checkout with a commit, and the check of its tree")
        return None
    context = make_context(git, base_commit, issue=issue, approved=(), any_issue=issue is None)
    # What is in a folder of that name counts, too: it is refused.
    if not any(entry.path.partition("/")[0] == POLICY_FILE for entry in context.base_entries or ()):
        return context
    from codeboost.policy import read_policy  # noqa: PLC0415 - 30 ms with what it needs, often for nothing

    return replace(context, approved=[entry.argv for entry in read_policy(git, base_commit).allow])
