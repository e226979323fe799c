"""codeboost: check a plan strictly, approve its exact commands, run each in a container where it can do no harm.

What this module offers is the public API and stays stable; everything else is private. Names are loaded when they are
first used (PEP 562), so that ``import codeboost`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codeboost.command.allowlist import is_approved
    from codeboost.command.grammar import parse_command
    from codeboost.diagnostics import Diagnostic
    from codeboost.errors import CommandSyntaxError, PlanSourceError
    from codeboost.parsing.source import parse_source
    from codeboost.plan.loader import CheckedPlan, check_plan
    from codeboost.plan.model import BaseEntry, Check, FileChange, Item, Plan, PlanContext

__version__ = "0.1.0"

_HOMES = {
    "BaseEntry": "codeboost.plan.model",
    "Check": "codeboost.plan.model",
    "CheckedPlan": "codeboost.plan.loader",
    "CommandSyntaxError": "codeboost.errors",
    "Diagnostic": "codeboost.diagnostics",
    "FileChange": "codeboost.plan.model",
    "Item": "codeboost.plan.model",
    "Plan": "codeboost.plan.model",
    "PlanContext": "codeboost.plan.model",
    "PlanSourceError": "codeboost.errors",
    "check_plan": "codeboost.plan.loader",
    "is_approved": "codeboost.command.allowlist",
    "parse_command": "codeboost.command.grammar",
    "parse_source": "codeboost.parsing.source",
}

__all__ = [
    "BaseEntry",
    "Check",
    "CheckedPlan",
    "CommandSyntaxError",
    "Diagnostic",
    "FileChange",
    "Item",
    "Plan",
    "PlanContext",
    "PlanSourceError",
    "check_plan",
    "is_approved",
    "parse_command",
    "parse_source",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
