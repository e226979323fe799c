"""The folded changes of a plan against doing them: on any plan that makes sense, item by item, on a tree of contents."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from codeboost.plan.model import ChangeKind, Check, CheckType, FileChange, Item, Plan
from codeboost.plan.net_changes import fold_changes

NAMES = "abcdef"
BASE = {name: f"base {name}" for name in "abc"}


@st.composite
def plans(draw: st.DrawFn) -> tuple[Plan, dict[str, str]]:
    """A plan in which each item makes sense after the ones before, and the tree that it leaves."""
    tree = dict(BASE)
    items = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        before = dict(tree)
        changes: list[FileChange] = []
        used: set[str] = set()
        for _ in range(draw(st.integers(1, 3))):
            kind = draw(st.sampled_from(ChangeKind))
            present = sorted(set(before) - used)
            # What an item takes away is free for what it puts there, as in the rules of plans.
            absent = sorted(set(NAMES) - set(tree) - used)
            if (kind is not ChangeKind.ADD and not present) or (
                kind in (ChangeKind.ADD, ChangeKind.RENAME) and not absent
            ):
                continue
            source = draw(st.sampled_from(present)) if kind is not ChangeKind.ADD else None
            target = draw(st.sampled_from(absent)) if kind in (ChangeKind.ADD, ChangeKind.RENAME) else source
            assert target is not None
            content = tree.pop(source) if source is not None else ""
            if kind in (ChangeKind.ADD, ChangeKind.EDIT):
                content = f"item {number} wrote {target}"
            if kind is not ChangeKind.DELETE:
                tree[target] = content
            used |= {target} | ({source} if source else set())
            renamed = source if kind is ChangeKind.RENAME else None
            changes.append(FileChange(target, kind, renamed, "Do it."))
        if changes:
            check = (Check(CheckType.CHECK, "Right."),)
            items.append(Item(f"P{number}", "Do", "Why.", tuple(changes), check, ()))
    return Plan(1, 412, 1, "A plan.", tuple(items), ()), tree


@settings(max_examples=400)
@given(plans())
def test_folding_says_what_doing_does(made: tuple[Plan, dict[str, str]]) -> None:
    plan, tree = made
    expected = {}
    for name in NAMES:
        before, after = BASE.get(name), tree.get(name)
        if before != after:
            expected[name] = (
                ChangeKind.ADD if before is None else ChangeKind.DELETE if after is None else ChangeKind.EDIT
            )
    folded = fold_changes(plan, str)
    assert {name: change.kind for name, change in folded.items()} == expected
    for name, change in folded.items():
        assert change.items
        if change.origin is not None:
            assert change.kind is ChangeKind.ADD
            assert change.origin in BASE
        if change.target is not None:
            assert name in BASE
            assert change.target in tree
