"""What a whole plan does to each path: the changes of its items, folded into one.

Items build on each other: one edits what an earlier one added, or moves it again. What counts in the end is the
difference between the base and the state after the last item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from codeboost.plan.model import ChangeKind, Plan

__all__ = ["NetChange", "fold_changes"]


@dataclass(frozen=True, slots=True)
class NetChange:
    """The change of one path by the whole plan: added, edited or deleted.

    An addition with ``origin`` is where a rename ends; a deletion with ``target`` is where it began.
    """

    path: str
    kind: ChangeKind
    items: tuple[str, ...]
    origin: str | None = None
    target: str | None = None


@dataclass(slots=True)
class _File:
    """A file as the items so far have left it; ``origin`` is the base file that it was, None for a new one."""

    path: str
    origin: str | None
    items: list[str] = field(default_factory=list)
    is_edited: bool = False


def fold_changes(plan: Plan, identify: Callable[[str], str]) -> dict[str, NetChange]:
    """The net change of each path, by its identity, once every item is done."""
    files: dict[str, _File] = {}
    gone: dict[str, _File] = {}
    for item in plan.items:
        moved: dict[str, _File] = {}
        for change in item.files:
            if change.kind in (ChangeKind.DELETE, ChangeKind.RENAME):
                source = change.renamed_from or change.path
                file = files.pop(identify(source), None) or _File(source, source)
                file.items.append(item.id)
                if file.origin is not None:
                    gone.setdefault(identify(file.origin), _File(file.origin, file.origin, file.items))
                moved[change.path] = file
        for change in item.files:
            key = identify(change.path)
            if change.kind is ChangeKind.ADD:
                files[key] = _File(change.path, None, [item.id])
            elif change.kind is ChangeKind.RENAME:
                moved[change.path].path = change.path
                files[key] = moved[change.path]
            elif change.kind is ChangeKind.EDIT:
                file = files.setdefault(key, _File(change.path, change.path))
                file.items.append(item.id)
                file.is_edited = True
    return _name_changes(files, gone, identify)


def _name_changes(
    files: Mapping[str, _File], gone: dict[str, _File], identify: Callable[[str], str]
) -> dict[str, NetChange]:
    declared: dict[str, NetChange] = {}
    targets: dict[str, str] = {}
    for key, file in files.items():
        items = tuple(dict.fromkeys(file.items))
        replaces = gone.pop(key, None) is not None
        if file.origin is not None and identify(file.origin) == key:
            # A file that only went away and came back is what it was.
            if file.is_edited:
                declared[key] = NetChange(file.path, ChangeKind.EDIT, items)
            continue
        if file.origin is not None:
            targets[identify(file.origin)] = file.path
        declared[key] = (
            NetChange(file.path, ChangeKind.EDIT, items)
            if replaces
            else NetChange(file.path, ChangeKind.ADD, items, origin=file.origin)
        )
    for key, file in gone.items():
        items = tuple(dict.fromkeys(file.items))
        declared[key] = NetChange(file.path, ChangeKind.DELETE, items, target=targets.get(key))
    return declared
