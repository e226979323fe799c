"""``codeboost scope``: what the tested commit changed, against what the plan declared (design §6).

Items build on each other, so their changes are first folded into one: an item may edit what an earlier one added, or
rename it again. What is on both sides at each path is compared then; git's renames only say how a deletion and an
addition belong together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from codeboost.gitrepo import TreeChange
from codeboost.operations.check_approval import Gate, load_gate, load_reviewed_gate
from codeboost.operations.evidence import find_plan_in_force
from codeboost.operations.move_tasks import TaskMover
from codeboost.operations.plan_context import find_identity
from codeboost.operations.project import Project, require_plan
from codeboost.operations.schedule import list_commands
from codeboost.plan.model import ChangeKind, Plan
from codeboost.plan.net_changes import NetChange, fold_changes
from codeboost.plan.paths import make_identity
from codeboost.policy import POLICY_FILE, read_policy
from codeboost.store.plans import StoredPlan, is_ci_plan
from codeboost.visible import cut

__all__ = ["Scope", "ScopeFinding", "ScopeKind", "find_scope", "find_scope_of"]


class ScopeKind(StrEnum):
    UNDECLARED = "undeclared"
    """Changed, and no item says so."""
    MISSING = "missing"
    """Declared, and it did not happen (yet)."""
    KIND = "kind"
    """Both, but not the same kind of change."""
    POLICY = "policy"
    """``codeboost.toml`` differs: it has no say until it is part of a base commit."""
    PINNED = "pinned"
    """A file that an approval holds fast differs, so the approval does not hold."""


@dataclass(frozen=True, slots=True)
class ScopeFinding:
    """One difference. ``declared`` and ``actual`` are kinds of change; ``items`` are those that declared it."""

    kind: ScopeKind
    path: str
    message: str
    renamed_from: str | None = None
    declared: ChangeKind | None = None
    actual: ChangeKind | None = None
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """The comparison of one commit with the plan's base. ``planning_files`` counts changes that planr itself makes."""

    issue: int
    revision: int
    base_commit: str
    commit: str
    changed: int
    planning_files: int
    findings: tuple[ScopeFinding, ...]


def find_scope(project: Project, issue: int, rev: str = "HEAD") -> Scope:
    """Compare ``rev`` with the newest approved revision of a plan, or with the newest one where none is approved.

    UsageError when there is no plan or no such revision.
    """
    stored = find_plan_in_force(project, issue) or require_plan(project, issue)
    return find_scope_of(project, stored, project.git.resolve_commit(rev))


def find_scope_of(project: Project, stored: StoredPlan, commit: str, gate: Gate | None = None) -> Scope:
    """Compare a commit (a full id) with one revision of a plan; ``gate`` is the one that a run has asked, if any."""
    plan, base = stored.plan, stored.base_commit
    policy = read_policy(project.git, base)
    mover = TaskMover.open(project, stored.issue, policy.task_prefix)
    by_ci = is_ci_plan(project.store, stored.id)
    changes = project.git.compare_trees(base, commit, renames=False)
    planning = {
        change.path
        for change in changes
        # With --ci the plan itself comes as a file of the tested branch.
        if mover.is_planning_file(os.fsdecode(change.path))
        or (by_ci and change.path == os.fsencode(stored.source))
    }
    kept = [change for change in changes if change.path not in {*planning, POLICY_FILE.encode()}]
    comparison = _Comparison(project, base, commit, _find_identity(project))
    findings = comparison.compare(plan, kept)
    if any(change.path == POLICY_FILE.encode() for change in changes):
        findings.append(_describe_policy(plan, base))
    if gate is None:
        gate = (
            load_reviewed_gate(project.git, policy, base)
            if by_ci
            else load_gate(project.store, project.repository.id, project.git, policy, base)
        )
    findings += _find_changed_pins(gate, plan, commit)
    return Scope(
        issue=stored.issue,
        revision=stored.revision,
        base_commit=base,
        commit=commit,
        changed=len(changes),
        planning_files=len(planning),
        findings=tuple(findings),
    )


def _find_identity(project: Project) -> Callable[[str], str]:
    return make_identity(find_identity(project.git)) or str


def _describe_policy(plan: Plan, base: str) -> ScopeFinding:
    items = tuple(
        item.id for item in plan.items if any(POLICY_FILE in (f.path, f.renamed_from) for f in item.files)
    )
    return ScopeFinding(
        ScopeKind.POLICY,
        POLICY_FILE,
        f"differs from the one at the base {base[:12]}, which alone counts for this plan",
        items=items,
    )


def _find_changed_pins(gate: Gate, plan: Plan, commit: str) -> Iterable[ScopeFinding]:
    found: dict[str, list[str]] = {}
    for item in plan.items:
        for command in list_commands(item):
            for pin in gate.decide(command.argv, commit).changed_pins:
                items = found.setdefault(pin.path, [])
                items += [item.id] if item.id not in items else []
    for path, items in sorted(found.items()):
        yield ScopeFinding(
            ScopeKind.PINNED,
            path,
            f"is not what was approved with a command of {', '.join(items)}",
            items=tuple(items),
        )


# What happened


_KINDS = {"A": ChangeKind.ADD, "D": ChangeKind.DELETE, "M": ChangeKind.EDIT, "T": ChangeKind.EDIT}
_NOUNS = {
    ChangeKind.ADD: "an addition",
    ChangeKind.EDIT: "an edit",
    ChangeKind.DELETE: "a deletion",
    ChangeKind.RENAME: "a rename",
}
_VERBS = {ChangeKind.ADD: "added", ChangeKind.EDIT: "edited", ChangeKind.DELETE: "deleted"}
_SPECIAL = {0o120000: "a symbolic link", 0o160000: "a submodule"}


@dataclass(slots=True)
class _Actual:
    path: str
    kind: ChangeKind
    special: str | None
    """What it is now, if it is no regular file and was none such before."""


class _Comparison:
    """One commit against one plan; every path is told about once."""

    def __init__(self, project: Project, base: str, commit: str, identify: Callable[[str], str]) -> None:
        self._git = project.git
        self._base = base
        self._commit = commit
        self._identify = identify
        self._findings: list[ScopeFinding] = []
        self._told: set[str] = set()
        self._declared: dict[str, NetChange] = {}
        self._actual: dict[str, _Actual] = {}
        self._pairs: dict[str, str] = {}

    def compare(self, plan: Plan, changes: Iterable[TreeChange]) -> list[ScopeFinding]:
        self._declared = fold_changes(plan, self._identify)
        # The policy has a finding of its own.
        self._declared.pop(self._identify(POLICY_FILE), None)
        self._actual = self._read(changes)
        kinds = {actual.kind for actual in self._actual.values()}
        if {ChangeKind.ADD, ChangeKind.DELETE} <= kinds:
            self._pairs = self._find_pairs()
        for old, new in self._pairs.items():
            self._judge_rename(old, new)
        for key in sorted({*self._declared, *self._actual}):
            if key not in self._told:
                self._judge(key)
        self._findings.sort(key=lambda finding: finding.path)
        return self._findings

    def _read(self, changes: Iterable[TreeChange]) -> dict[str, _Actual]:
        found: dict[str, _Actual] = {}
        for change in changes:
            path = os.fsdecode(change.path)
            key = self._identify(path)
            special = _SPECIAL.get(change.mode & 0o170000)
            special = special if change.mode & 0o170000 != change.old_mode & 0o170000 else None
            # Two spellings of one path: the same file, written anew.
            kind = ChangeKind.EDIT if key in found else _KINDS[change.status]
            found[key] = _Actual(path, kind, special)
        return found

    def _find_pairs(self) -> dict[str, str]:
        """The renames by git's eyes, from key to key. A declared one counts when git sees it looking at it alone."""
        pairs = {}
        for change in self._git.compare_trees(self._base, self._commit, renames=True):
            if change.old_path is not None:
                pairs[self._identify(os.fsdecode(change.old_path))] = self._identify(os.fsdecode(change.path))
        for new, declared in self._declared.items():
            old = self._identify(declared.origin) if declared.origin is not None else None
            if old is None or pairs.get(old) == new or not self._is_pair(old, new):
                continue
            if self._sees_rename(self._actual[old].path, self._actual[new].path):
                pairs = {before: after for before, after in pairs.items() if after != new}
                pairs[old] = new
        return {old: new for old, new in pairs.items() if self._is_pair(old, new)}

    def _is_pair(self, old: str, new: str) -> bool:
        before, after = self._actual.get(old), self._actual.get(new)
        return (
            before is not None
            and after is not None
            and (before.kind, after.kind) == (ChangeKind.DELETE, ChangeKind.ADD)
        )

    def _sees_rename(self, old: str, new: str) -> bool:
        paths = [os.fsencode(old), os.fsencode(new)]
        changes = self._git.compare_trees(self._base, self._commit, renames=True, paths=paths)
        return any(change.old_path is not None for change in changes)

    def _judge_rename(self, old: str, new: str) -> None:
        source, target = self._declared.get(old), self._declared.get(new)
        if target is not None and target.origin is not None and self._identify(target.origin) == old:
            return  # declared just so; what the file is now is judged like that of any other
        before, after = self._actual[old].path, self._actual[new].path
        self._told |= {old, new}
        known = target or source
        if known is None:
            self._add(ScopeKind.UNDECLARED, after, f"renamed from {cut(before, 200)}", None, before)
            return
        message = (
            f"declared as {_name(known)}, and git sees a rename of {cut(before, 200)} to {cut(after, 200)}"
        )
        self._add(ScopeKind.KIND, known.path, message, known, before)

    def _judge(self, key: str) -> None:
        declared, actual = self._declared.get(key), self._actual.get(key)
        if declared is None:
            assert actual is not None  # noqa: S101 - the key came from one of both
            self._add(ScopeKind.UNDECLARED, actual.path, _VERBS[actual.kind], None, actual=actual.kind)
        elif actual is None:
            self._judge_missing(declared)
        elif declared.kind is not actual.kind:
            message = f"declared as {_name(declared)}, and it was {_VERBS[actual.kind]}"
            self._add(ScopeKind.KIND, declared.path, message, declared, actual=actual.kind)
        elif actual.special is not None:
            message = f"declared as {_name(declared)}, and it is {actual.special} now"
            self._add(ScopeKind.KIND, declared.path, message, declared, actual=actual.kind)
        elif declared.origin is not None:
            self._judge_declared_rename(key, declared, actual)

    def _judge_missing(self, declared: NetChange) -> None:
        if declared.target is not None and self._identify(declared.target) not in self._actual:
            return  # told at the other end
        if declared.origin is not None and self._identify(declared.origin) not in self._actual:
            message = f"declared as a rename of {cut(declared.origin, 200)}, which did not happen"
            self._add(ScopeKind.MISSING, declared.path, message, declared, declared.origin)
            return
        self._add(
            ScopeKind.MISSING, declared.path, f"declared as {_name(declared)}, which did not happen", declared
        )

    def _judge_declared_rename(self, key: str, declared: NetChange, actual: _Actual) -> None:
        assert declared.origin is not None  # noqa: S101 - asked by the caller
        old = self._identify(declared.origin)
        # Otherwise the other end is told about by itself.
        if self._is_pair(old, key) and self._pairs.get(old) != key:
            message = (
                f"declared as a rename of {cut(declared.origin, 200)}, and git sees no likeness between them"
            )
            self._add(ScopeKind.KIND, declared.path, message, declared, declared.origin, actual.kind)

    def _add(
        self,
        kind: ScopeKind,
        path: str,
        message: str,
        declared: NetChange | None,
        renamed_from: str | None = None,
        actual: ChangeKind | None = None,
    ) -> None:
        said = None
        if declared is not None:
            is_rename = declared.origin is not None or declared.target is not None
            said = ChangeKind.RENAME if is_rename else declared.kind
        if actual is None and kind is not ScopeKind.MISSING:
            actual = ChangeKind.RENAME
        if kind is ScopeKind.UNDECLARED:
            message = f"no item declares it: {message}"
        items = declared.items if declared is not None else ()
        self._findings.append(ScopeFinding(kind, path, message, renamed_from, said, actual, items))


def _name(declared: NetChange) -> str:
    if declared.origin is not None:
        return f"a rename of {cut(declared.origin, 200)}"
    if declared.target is not None:
        return f"a rename to {cut(declared.target, 200)}"
    return _NOUNS[declared.kind]
