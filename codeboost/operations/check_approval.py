"""Whether a command may run: the one place that decides (design §5.1 and §5.3).

Two sources, one answer: approvals in the store, and ``[allow]`` of the policy at the base commit. Nothing of the work
tree or of the tested commit counts. A source that cannot be read stops everything, with an error that names it.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from codeboost.command.allowlist import is_approved
from codeboost.command.grammar import Argv
from codeboost.errors import InputError
from codeboost.gitrepo import GitRepo
from codeboost.operations.pins import PinChange, PinnedTree, compare_pins
from codeboost.policy import POLICY_FILE, Policy
from codeboost.store.approval_log import GENESIS, Pin, read_head
from codeboost.store.approvals import Approval, find_approvals, find_similar_approvals, list_approvals
from codeboost.store.database import Store
from codeboost.visible import cut, escape

__all__ = ["Decision", "Gate", "GateEntry", "load_gate", "load_reviewed_gate"]

# Below this two commands that share no element are strangers.
_LOOKS_ALIKE = 0.6
POLICY_ENTRY = f"policy:{POLICY_FILE}"


@dataclass(frozen=True, slots=True)
class GateEntry:
    """One approved command and where that is written: ``store:17``, or ``policy:codeboost.toml``.

    ``approval`` is None when review approved it.
    """

    name: str
    argv: Argv
    pins: tuple[Pin, ...]
    approval: Approval | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether ``argv`` may run, and why.

    ``entry`` names what let it through. When nothing did, ``nearest`` is the approved argv that looks most like it;
    ``changed_pins`` say which pinned files differ, when the argv itself is approved. ``reason`` is one plain sentence.
    """

    argv: Argv
    allowed: bool
    entry: str | None
    reason: str
    nearest: GateEntry | None = None
    changed_pins: tuple[PinChange, ...] = ()


@dataclass(slots=True)
class Gate:
    """The approvals as they were when the gate was loaded: a run asks one gate from its start to its end."""

    repo: GitRepo
    workdir: str
    log_head: str
    """The digest of the approval log that this gate was made from."""
    entries: tuple[GateEntry, ...]
    """In the order of their argv."""
    _by_argv: dict[Argv, list[GateEntry]] = field(init=False)
    _trees: dict[str, PinnedTree] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_argv = {}
        for entry in self.entries:
            self._by_argv.setdefault(entry.argv, []).append(entry)

    @property
    def approved(self) -> Sequence[Argv]:
        """Every approved argv, whatever its pins: what a plan is checked against for ``command-not-allowed``."""
        return list(self._by_argv)

    def decide(self, argv: Argv, commit: str) -> Decision:
        """Whether ``argv`` may run against the tree of ``commit`` (a full id)."""
        if not is_approved(argv, self._by_argv.keys()):
            nearest = self._find_nearest(argv)
            reason = f"nobody approved {_show(argv)}"
            if nearest is not None:
                reason += f"; the nearest approved command is {_show(nearest.argv)} ({nearest.name})"
            return Decision(argv, allowed=False, entry=None, reason=reason, nearest=nearest)
        tree = self._trees.setdefault(commit, PinnedTree(self.repo, commit))
        try:
            program = tree.pin_program(argv, self.workdir)
        except InputError as error:
            return Decision(argv, allowed=False, entry=None, reason=str(error))
        refused: list[tuple[PinChange, ...]] = []
        # Pins that were taken last say best what has changed since.
        for entry in reversed(self._by_argv[argv]):
            changes = compare_pins(entry.pins, program, tree)
            if not changes:
                return Decision(argv, allowed=True, entry=entry.name, reason=f"approved by {entry.name}")
            refused.append(changes)
        return Decision(
            argv,
            allowed=False,
            entry=None,
            reason=_describe_changes(refused[0]),
            nearest=self._by_argv[argv][-1],
            changed_pins=refused[0],
        )

    def _find_nearest(self, argv: Argv) -> GateEntry | None:
        """The entry that looks most like ``argv`` among those that begin alike or differ in the program only."""
        at = bisect_left(self.entries, argv, key=lambda entry: entry.argv)
        candidates = list(self.entries[max(0, at - 16) : at + 16])
        candidates += [entry for entry in self.entries if entry.argv[1:] == argv[1:]][:16]
        best = max(candidates, key=lambda entry: _rate(entry.argv, argv), default=None)
        return best if best and _rate(best.argv, argv) else None


def load_gate(
    store: Store,
    repository_id: int,
    repo: GitRepo,
    policy: Policy,
    base_commit: str,
    *,
    only: Argv | None = None,
) -> Gate:
    """Take both lists once, whole and verified. StoreError when the log in the store is damaged.

    With ``only`` the gate knows just what concerns that command, and only those rows are verified: as quick among
    10,000 approvals as among a hundred. That is for answers; a run takes the whole list.
    """
    if only is None:
        approvals, head = list_approvals(store, repository_id)
    else:
        approvals = find_approvals(store, repository_id, only)
        approvals = approvals or find_similar_approvals(store, repository_id, only)
        head = read_head(store.connection, repository_id)
    return _make_gate(approvals, head, repo, policy, base_commit)


def load_reviewed_gate(repo: GitRepo, policy: Policy, base_commit: str) -> Gate:
    """A gate that knows ``[allow]`` of the base commit and nothing else: whoever's store this is, it has no say."""
    return _make_gate([], GENESIS, repo, policy, base_commit)


def _make_gate(
    approvals: Sequence[Approval], head: str, repo: GitRepo, policy: Policy, base_commit: str
) -> Gate:
    base = PinnedTree(repo, base_commit)
    entries = []
    for allowed in policy.allow:
        # Review approved what the repository held then: the base commit's content.
        pins = _pin_reviewed(base, allowed.argv, policy.sandbox.workdir)
        entries.append(GateEntry(POLICY_ENTRY, allowed.argv, pins))
    entries += [
        GateEntry(f"store:{approval.id}", approval.argv, approval.pins, approval) for approval in approvals
    ]
    # Stable: entries of one argv stay in the order they were approved.
    entries.sort(key=lambda entry: entry.argv)
    return Gate(repo, policy.sandbox.workdir, head, tuple(entries), _trees={base_commit: base})


def _pin_reviewed(base: PinnedTree, argv: Argv, workdir: str) -> tuple[Pin, ...]:
    try:
        return base.pin_program(argv, workdir)
    except InputError:
        # It is refused, with this reason, when someone wants to run it.
        return ()


def _rate(one: Argv, other: Argv) -> float:
    """How alike two commands look: first by the elements they share, then by their letters."""
    letters = SequenceMatcher(None, " ".join(one), " ".join(other), autojunk=False)
    shared = SequenceMatcher(None, one, other, autojunk=False).ratio()
    return shared + letters.quick_ratio() / 100 if shared or letters.ratio() > _LOOKS_ALIKE else 0.0


def _show(argv: Argv) -> str:
    return escape(json.dumps(argv, ensure_ascii=False))


def _describe_changes(changes: tuple[PinChange, ...]) -> str:
    return f"approved with other files: {'; '.join(map(_describe_change, changes))}"


def _describe_change(change: PinChange) -> str:
    name = cut(change.path, 200)
    if change.approved is None:
        return f"{name} was not there and is now"
    if change.found is None:
        return f"{name} was {change.approved[:12]} and is not what the command names now"
    return f"{name} was {change.approved[:12]} and is {change.found[:12]}"
