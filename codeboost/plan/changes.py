"""What the files of one item may say (plan-rules.md §3): alone, against each other, against the projected state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from codeboost.diagnostics import Diagnostic, Severity
from codeboost.plan.links import resolve_link
from codeboost.plan.model import ChangeKind, EntryKind, FileChange, Item
from codeboost.plan.paths import explain_path, list_parents
from codeboost.plan.tree import Entry, ProjectedTree
from codeboost.visible import cut

__all__ = ["Claim", "check_changes", "check_claims", "check_state", "list_claims"]

_KIND_NAMES = {
    EntryKind.FILE: "a file",
    EntryKind.SYMLINK: "a symbolic link",
    EntryKind.GITLINK: "a submodule",
}
_VERBS = {
    ChangeKind.EDIT: "edited",
    ChangeKind.DELETE: "deleted",
    ChangeKind.RENAME: "renamed",
    ChangeKind.ADD: "added",
}


class Claim(NamedTuple):
    """One path that an item declares: of which change, where it is written, and whether it names what is there.

    ``is_subject`` is false for the destination of a rename, which is only ever a new name.
    """

    path: str
    change: FileChange
    pointer: str
    is_subject: bool

    @property
    def is_new_name(self) -> bool:
        return self.change.kind is ChangeKind.ADD or not self.is_subject

    @property
    def alters_tree(self) -> bool:
        """Whether the path is created, renamed or removed, so that later items depend on this one."""
        return self.change.kind is not ChangeKind.EDIT


def list_claims(item: Item, item_pointer: str) -> list[Claim]:
    """The paths an item declares, without those of changes that have a path which is not canonical."""
    claims = []
    for index, change in enumerate(item.files):
        if any(explain_path(path) for path in (change.path, change.renamed_from) if path is not None):
            continue
        pointer = f"{item_pointer}/files/{index}"
        is_rename = change.kind is ChangeKind.RENAME
        if is_rename and change.renamed_from is not None:
            claims.append(Claim(change.renamed_from, change, pointer + "/renamed_from", is_subject=True))
        claims.append(Claim(change.path, change, pointer + "/path", is_subject=not is_rename))
    return claims


def check_changes(item: Item, item_pointer: str) -> Iterator[Diagnostic]:
    """``path`` and ``rename-source``: what each change says by itself."""
    for index, change in enumerate(item.files):
        refused = False
        for field, path in (("path", change.path), ("renamed_from", change.renamed_from)):
            fault = explain_path(path) if path is not None else None
            if path is not None and fault is not None:
                refused = True
                pointer = f"{item_pointer}/files/{index}/{field}"
                yield _error("path", item, pointer, f"{field} {_quote(path)} {fault}")
        if refused:
            continue
        pointer = f"{item_pointer}/files/{index}/renamed_from"
        if change.kind is ChangeKind.RENAME and change.renamed_from is None:
            message = f"renamed_from is null; a rename to {_quote(change.path)} must name the old path"
            yield _error("rename-source", item, pointer, message)
        elif change.kind is not ChangeKind.RENAME and change.renamed_from is not None:
            message = (
                f"renamed_from is {_quote(change.renamed_from)}; it must be null, as {_quote(change.path)} is "
                f"{_VERBS[change.kind]}, not renamed"
            )
            yield _error("rename-source", item, pointer, message)


def check_claims(item: Item, claims: Sequence[Claim], tree: ProjectedTree) -> Iterator[Diagnostic]:
    """``duplicate-path`` and the half of ``path-parent`` that needs no state: an item's paths against each other."""
    first: dict[str, Claim] = {}
    for claim in claims:
        other = first.setdefault(tree.identify(claim.path), claim)
        if other is not claim:
            same = "" if other.path == claim.path else f" (written {_quote(other.path)} there)"
            message = f"{_quote(claim.path)} takes part in two operations of one item{same}; one is allowed"
            yield _error("duplicate-path", item, claim.pointer, message)
    for claim in claims:
        for folder in list_parents(claim.path):
            above = first.get(tree.identify(folder))
            if above is not None:
                message = (
                    f"{_quote(claim.path)} lies beneath {_quote(above.path)}, which this item declares too"
                )
                yield _error("path-parent", item, claim.pointer, message)
                break


def check_state(item: Item, claims: Sequence[Claim], tree: ProjectedTree) -> Iterator[Diagnostic]:
    """The rules that need the tree as the items before have left it."""
    for claim in claims:
        blocking = tree.find_blocking(claim.path)
        if blocking is not None:
            message = f"{_quote(claim.path)} lies beneath {_quote(blocking.path)}, which is {_KIND_NAMES[blocking.kind]}"
            yield _error("path-parent", item, claim.pointer, message)
        entry = tree.find(claim.path)
        if claim.is_new_name:
            yield from _check_unused(item, claim, entry, tree)
        elif entry is None:
            yield _explain_missing(item, claim, tree)
        if entry is not None and claim.is_subject:
            if entry.kind is EntryKind.GITLINK:
                message = f"{_quote(claim.path)} is a submodule; a plan never declares one"
                yield _error("gitlink", item, claim.pointer, message)
            elif entry.kind is EntryKind.SYMLINK:
                yield from _check_link(item, claim, entry, claims, tree)


def _check_unused(item: Item, claim: Claim, entry: Entry | None, tree: ProjectedTree) -> Iterator[Diagnostic]:
    what = "added" if claim.change.kind is ChangeKind.ADD else "the new name of a file"
    if entry is not None:
        known = "" if entry.path == claim.path else f" as {_quote(entry.path)}"
        message = (
            f"{_quote(claim.path)} is there already{known}, {_KIND_NAMES[entry.kind]}; it cannot be {what}"
        )
        yield _error("existing-file", item, claim.pointer, message)
    elif tree.is_folder(claim.path):
        message = f"{_quote(claim.path)} is a folder with content; it cannot be {what}"
        yield _error("existing-file", item, claim.pointer, message)


def _explain_missing(item: Item, claim: Claim, tree: ProjectedTree) -> Diagnostic:
    verb = _VERBS[claim.change.kind]
    if tree.is_folder(claim.path):
        message = f"{_quote(claim.path)} is a folder; only files can be {verb}"
        return _error("missing-file", item, claim.pointer, message)
    message = f"{_quote(claim.path)} does not exist before {item.id}, so it cannot be {verb}"
    suggestion = tree.suggest(claim.path)
    if suggestion is not None:
        message += f"; did you mean {_quote(suggestion)}?"
    return _error("missing-file", item, claim.pointer, message)


def _check_link(
    item: Item, claim: Claim, entry: Entry, claims: Sequence[Claim], tree: ProjectedTree
) -> Iterator[Diagnostic]:
    """``symlink-target``: where the link leads, from its old place and from its new one."""
    change = claim.change
    target = entry.target or ""
    places = [(entry.path, frozenset[str]())]
    if change.kind is ChangeKind.RENAME:
        # At its new place the link must not meet itself either.
        places.append((change.path, frozenset({tree.identify(change.path)})))
    is_alone = len(item.files) == 1 and change.kind in (ChangeKind.EDIT, ChangeKind.DELETE)
    link = f"the symbolic link {_quote(claim.path)} -> {_quote(target)}"
    for place, also_links in places:
        resolution = resolve_link(place, target, tree, also_links)
        if resolution.path is None:
            if not is_alone:
                message = f"{link} {resolution.fault}; it may be edited or deleted only, and as the sole file of its item"
                yield _error("symlink-target", item, claim.pointer, message)
                return
            continue
        shared = _find_beneath(resolution.path, claim, claims, tree)
        if shared is not None:
            message = f"{link} leads to {_quote(shared.path)}, which this item declares too; put it in an item of its own"
            yield _error("symlink-target", item, claim.pointer, message)
            return


def _find_beneath(path: str, link: Claim, claims: Sequence[Claim], tree: ProjectedTree) -> Claim | None:
    """Another change's path that is ``path`` or beneath it, by identity; everything is beneath the root."""
    key = tree.identify(path)
    for claim in claims:
        if claim.change is link.change:
            continue
        if not path or tree.identify(claim.path) == key:
            return claim
        if any(tree.identify(folder) == key for folder in list_parents(claim.path)):
            return claim
    return None


def _quote(path: str) -> str:
    return f'"{cut(path, 120)}"'


def _error(code: str, item: Item, pointer: str, message: str) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, message, item=item.id, pointer=pointer)
