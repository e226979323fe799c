"""Symbolic links of the base tree (plan-rules.md §3): where their text leads, worked out without a filesystem."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from typing import NamedTuple

from codeboost.plan.model import EntryKind
from codeboost.plan.paths import is_git_name
from codeboost.plan.tree import ProjectedTree
from codeboost.visible import cut

__all__ = ["Resolution", "resolve_link"]


class Resolution(NamedTuple):
    """Where a link leads: a path from the root (``""`` is the root itself), or why nobody may follow it."""

    path: str | None
    fault: str | None


def resolve_link(
    place: str, target: str, tree: ProjectedTree, also_links: Collection[str] = ()
) -> Resolution:
    """Follows ``target``, the stored text of a link at ``place``, from that place's folder.

    It must stay inside the repository, outside ``.git``, and meet no other link, the last component included: what a
    second link says is not looked at. ``also_links`` are identities to take for links besides those of ``tree``.
    """
    fault = _explain_text(target)
    if fault:
        return Resolution(None, fault)
    steps = place.split("/")[:-1]
    for component in target.split("/"):
        if component in ("", "."):
            continue
        if component == "..":
            if not steps:
                return Resolution(None, "leads out of the repository")
            steps.pop()
            continue
        if is_git_name(component):
            return Resolution(None, "leads into .git")
        steps.append(component)
        path = "/".join(steps)
        entry = tree.find(path)
        if tree.identify(path) in also_links or (entry is not None and entry.kind is EntryKind.SYMLINK):
            return Resolution(None, f"leads through the symbolic link {cut(path)}")
    return Resolution("/".join(steps), None)


def _explain_text(target: str) -> str | None:
    if not target:
        return "is empty"
    if target.startswith("/"):
        return "is absolute"
    if "\\" in target or ":" in target:
        return "has a backslash or a colon, which some systems take for another place"
    if any(unicodedata.category(char) == "Cc" for char in target):
        return "has a control character"
    return None
