"""Two revisions of a plan, item by item: what ``plan diff`` shows, and which tasks go back to ``open`` (design §6)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from codeboost.plan.model import Item, Plan

__all__ = ["WORK_FIELDS", "ItemDifference", "ItemFate", "PlanDifference", "compare_plans"]

# What makes an item another piece of work. A new title alone does not.
WORK_FIELDS = ("intent", "files", "acceptance", "depends_on")
_FIELDS = ("title", *WORK_FIELDS)


class ItemFate(StrEnum):
    UNCHANGED = "unchanged"
    RETITLED = "retitled"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class ItemDifference:
    """One item by its id, before and after; ``fields`` are the names of those that differ when both are there."""

    id: str
    before: Item | None
    after: Item | None
    fields: tuple[str, ...] = ()

    @property
    def fate(self) -> ItemFate:
        if self.before is None:
            return ItemFate.ADDED
        if self.after is None:
            return ItemFate.REMOVED
        if any(field in WORK_FIELDS for field in self.fields):
            return ItemFate.CHANGED
        return ItemFate.RETITLED if self.fields else ItemFate.UNCHANGED


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """``items`` are those of the later plan in its order, then the vanished ones; ``fields`` of the plan itself.

    ``fields`` names ``summary``, ``questions`` and ``order`` (common items in another order), as far as they differ.
    """

    before: Plan
    after: Plan
    fields: tuple[str, ...]
    items: tuple[ItemDifference, ...]

    @property
    def is_empty(self) -> bool:
        return not self.fields and all(item.fate is ItemFate.UNCHANGED for item in self.items)


def compare_plans(before: Plan, after: Plan) -> PlanDifference:
    """What changed between two valid plans. Revision and issue numbers are not compared."""
    old = {item.id: item for item in before.items}
    new = {item.id: item for item in after.items}
    items = [_compare_items(old.get(name), item) for name, item in new.items()]
    items += [ItemDifference(name, item, None) for name, item in old.items() if name not in new]
    fields = [name for name in ("summary", "questions") if getattr(before, name) != getattr(after, name)]
    if [name for name in old if name in new] != [name for name in new if name in old]:
        fields.append("order")
    return PlanDifference(before, after, tuple(fields), tuple(items))


def _compare_items(before: Item | None, after: Item) -> ItemDifference:
    if before is None:
        return ItemDifference(after.id, None, after)
    fields = tuple(name for name in _FIELDS if getattr(before, name) != getattr(after, name))
    return ItemDifference(after.id, before, after, fields)
