"""What a well-formed plan means, checked against the selected issue, the base tree and the approved commands.

plan-rules.md §3, rule by rule. One walk over the items in listed order; each is checked against the tree as the items
before it have left it, and only an item free of errors changes that tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from codeboost.diagnostics import Diagnostic, Severity
from codeboost.errors import CommandSyntaxError
from codeboost.plan.changes import Claim, check_changes, check_claims, check_state, list_claims
from codeboost.plan.model import CheckType, Item, PathKey, Plan, PlanContext
from codeboost.plan.paths import POLICY_FILE, make_identity
from codeboost.plan.tree import ProjectedTree
from codeboost.visible import cut

__all__ = ["check_meaning"]

# Three name the trouble; the three hundredth helps nobody.
_MOST_CONTRADICTIONS = 3
# What codeboost itself reads: its policy, and planr's configuration, tasks and goals.
_POLICY_FILES = re.compile(
    re.escape(POLICY_FILE) + r"|(?:.*/)?(?:planr\.config\.json|tasks/[^/]+\.md|plans/[^/]+-goal\.md)",
    re.IGNORECASE,
)


def check_meaning(plan: Plan, context: PlanContext | None) -> list[Diagnostic]:
    """Every finding about ``plan``, in no special order and without positions.

    Without a context only the rules that need none are checked: no ``issue``, ``context`` or
    ``command-not-allowed``, nothing that asks the tree; paths are then compared exactly.
    """
    return list(_Checker(plan, context).check())


class _Checker:
    def __init__(self, plan: Plan, context: PlanContext | None) -> None:
        self._plan = plan
        self._context = context
        identify = make_identity(context.path_key) if context else None
        entries = context.base_entries if context else None
        # Comparing two paths of one plan needs no tree, and where the identity is unknown the exact one finds least.
        self._tree = ProjectedTree(entries or (), identify or str)
        self._knows_state = entries is not None and identify is not None and not self._tree.contradictions
        self._knows_identity = identify is not None
        self._indexes: dict[str, list[int]] = {}
        self._needed: list[frozenset[int]] = []
        self._altered: dict[str, list[int]] = {}

    def check(self) -> Iterator[Diagnostic]:
        yield from self._check_context()
        for index, item in enumerate(self._plan.items):
            yield from self._check_item(index, item)
        if self._plan.questions:
            count = len(self._plan.questions)
            message = f"the plan asks {count} {'question' if count == 1 else 'questions'}; answer before you approve it"
            yield Diagnostic("open-questions", Severity.WARNING, message, pointer="/questions")

    def _check_context(self) -> Iterator[Diagnostic]:
        context = self._context
        if context is None:
            return
        repository = f" of {cut(context.repository)}" if context.repository else ""
        if context.any_issue:
            pass
        elif context.issue is None:
            yield _context_error("no issue is selected, so nothing can be compared with the plan's")
        elif context.issue != self._plan.issue:
            message = f"issue is {self._plan.issue}; the selected issue{repository} is {context.issue}"
            yield Diagnostic("issue", Severity.ERROR, message, pointer="/issue")
        if context.base_entries is None:
            yield _context_error("the base commit is not known, so no path can be compared with its tree")
        if not self._knows_identity:
            rules = ", ".join(PathKey)
            yield _context_error(f"it is not known when two paths are one file in this checkout ({rules})")
        for message in self._tree.contradictions[:_MOST_CONTRADICTIONS]:
            yield _context_error(f"the base tree contradicts itself: {message}")

    def _check_item(self, index: int, item: Item) -> Iterator[Diagnostic]:
        pointer = f"/items/{index}"
        claims = list_claims(item, pointer)
        found = [
            *self._check_id(index, item),
            *self._check_depends_on(index, item),
            *check_changes(item, pointer),
            *check_claims(item, claims, self._tree),
            *(check_state(item, claims, self._tree) if self._knows_state else ()),
            *self._check_order(index, item, claims),
            *self._check_commands(item, pointer),
            *_check_policy_files(item, claims),
        ]
        if self._knows_state and not any(diagnostic.is_error for diagnostic in found):
            self._tree.apply(item.files)
        for claim in claims:
            if claim.alters_tree:
                self._altered.setdefault(self._tree.identify(claim.path), []).append(index)
        self._indexes.setdefault(item.id, []).append(index)
        yield from _remove_repeats(found)

    # Ids and dependencies

    def _check_id(self, index: int, item: Item) -> Iterator[Diagnostic]:
        if item.id in self._indexes:
            first = self._indexes[item.id][0] + 1
            message = f"the id {item.id} is taken by item number {first}; ids are unique"
            yield Diagnostic("duplicate-id", Severity.ERROR, message, item.id, f"/items/{index}/id")

    def _check_depends_on(self, index: int, item: Item) -> Iterator[Diagnostic]:
        """``depends_on`` names earlier items, each once; what it reaches is kept for ``_check_order``."""
        needed: set[int] = set()
        later = {other.id for other in self._plan.items[index:]}
        for position, name in enumerate(item.depends_on):
            fault = None
            if name in item.depends_on[:position]:
                fault = f"{item.id} names {name} twice in depends_on; each once is enough"
            elif name == item.id:
                fault = f"{item.id} depends on itself; only earlier items are allowed"
            elif name in self._indexes:
                for earlier in self._indexes[name]:
                    needed |= {earlier} | self._needed[earlier]
            elif name in later:
                fault = f"{item.id} depends on {name}, which comes later; only earlier items are allowed"
            else:
                fault = (
                    f"{item.id} depends on {name}, and no item has this id; only earlier items are allowed"
                )
            if fault:
                pointer = f"/items/{index}/depends_on/{position}"
                yield Diagnostic("dependency", Severity.ERROR, fault, item.id, pointer)
        self._needed.append(frozenset(needed))

    def _check_order(self, index: int, item: Item, claims: list[Claim]) -> Iterator[Diagnostic]:
        """Whoever uses a path that an earlier item created, renamed or removed depends on that item."""
        told: set[int] = set()
        for claim in claims:
            for earlier in self._altered.get(self._tree.identify(claim.path), ()):
                if earlier in self._needed[index] or earlier in told:
                    continue
                told.add(earlier)
                other = self._plan.items[earlier].id
                message = (
                    f'{item.id} uses "{cut(claim.path, 120)}", which {other} creates, renames or removes; '
                    f"it must depend on {other}, directly or through others"
                )
                yield Diagnostic("dependency", Severity.ERROR, message, item.id, f"/items/{index}/depends_on")

    # Commands

    def _check_commands(self, item: Item, pointer: str) -> Iterator[Diagnostic]:
        commands = [
            (f"{pointer}/acceptance/{position}/text", check.text)
            for position, check in enumerate(item.acceptance)
            if check.type is CheckType.CMD
        ]
        if not commands:
            message = f"{item.id} has no cmd, so nothing shows by itself that it is done"
            yield Diagnostic("no-test-command", Severity.WARNING, message, item.id, f"{pointer}/acceptance")
        for place, text in commands:
            yield from self._check_command(item, place, text)

    def _check_command(self, item: Item, pointer: str, text: str) -> Iterator[Diagnostic]:
        # Lark is slow to import; a plan without a cmd does not need it.
        from codeboost.command.allowlist import is_approved  # noqa: PLC0415
        from codeboost.command.grammar import draw_error, parse_command  # noqa: PLC0415
        from codeboost.command.lint import find_suspicions  # noqa: PLC0415

        try:
            argv = parse_command(text)
        except CommandSyntaxError as error:
            command, caret = draw_error(error)
            message = f"the command cannot be read: {error}\n  {command}\n  {caret}"
            yield Diagnostic("command-syntax", Severity.ERROR, message, item.id, pointer, hint=error.hint)
            return
        if self._context is not None and not is_approved(argv, self._context.approved):
            message = (
                f"the command {_show_argv(argv)} is not on the approved list; "
                "it will not run until a person approves it"
            )
            yield Diagnostic("command-not-allowed", Severity.WARNING, message, item.id, pointer)
        for sentence in find_suspicions(text, argv):
            message = f"look twice at the command {_show_argv(argv)}: {sentence}"
            yield Diagnostic("suspicious-command", Severity.WARNING, message, item.id, pointer)


def _check_policy_files(item: Item, claims: list[Claim]) -> Iterator[Diagnostic]:
    for claim in claims:
        if _POLICY_FILES.fullmatch(claim.path):
            message = (
                f'"{cut(claim.path, 120)}" is a file that codeboost itself reads; '
                "look closely at what the plan changes there"
            )
            yield Diagnostic("policy-file", Severity.WARNING, message, item.id, claim.pointer)


def _remove_repeats(found: list[Diagnostic]) -> Iterator[Diagnostic]:
    """One finding a code and place: a path may lie beneath both a file and another path of its item."""
    seen: set[tuple[str, str, str]] = set()
    for diagnostic in found:
        key = (diagnostic.code, diagnostic.pointer, diagnostic.message)
        if key not in seen:
            seen.add(key)
            yield diagnostic


def _show_argv(argv: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{cut(argument, 60)}"' for argument in argv) + "]"


def _context_error(message: str) -> Diagnostic:
    return Diagnostic("context", Severity.ERROR, message)
