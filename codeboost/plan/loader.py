"""From bytes to a checked plan: read, shape, meaning (design §2). Bad input is a list of diagnostics, never a raise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from codeboost.diagnostics import Diagnostic, has_errors
from codeboost.errors import PlanSourceError
from codeboost.parsing.source import Source, read_source
from codeboost.plan.canonical import build_plan
from codeboost.plan.meaning import check_meaning
from codeboost.plan.model import Plan, PlanContext
from codeboost.plan.schema import check_shape

__all__ = ["CheckedPlan", "check_plan"]


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """``plan`` is None when there is any error; ``diagnostics`` are in the order of the file, warnings among them."""

    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        return self.plan is not None


def check_plan(data: bytes, format: str, context: PlanContext | None = None) -> CheckedPlan:  # noqa: A002 - public name
    """Checks a plan in ``format`` (``"json"`` or ``"yaml"``) as strictly as plan-rules.md says.

    Import and check both come through here, so that they cannot disagree. A file that cannot be read has ``parse``
    errors, one of the wrong shape ``version`` or ``schema`` errors, and only then is its meaning checked: against
    ``context``, or without one as far as that goes.
    """
    try:
        source = read_source(data, format)
    except PlanSourceError as error:
        return CheckedPlan(None, error.diagnostics)
    faults = check_shape(source.value)
    if faults:
        found = [_place(fault.diagnostic, source, at_key=fault.at_key) for fault in faults]
        return CheckedPlan(None, _sort(found))
    plan = build_plan(source.value)
    diagnostics = _sort(_place(diagnostic, source) for diagnostic in check_meaning(plan, context))
    return CheckedPlan(None if has_errors(diagnostics) else plan, diagnostics)


def _place(diagnostic: Diagnostic, source: Source, *, at_key: bool = False) -> Diagnostic:
    return replace(diagnostic, position=source.locate(diagnostic.pointer, key=at_key))


def _sort(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(diagnostics, key=lambda diagnostic: diagnostic.position or (0, 0)))
