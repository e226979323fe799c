"""What ``codeboost.toml`` can say (design §4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from codeboost.command.grammar import Argv
from codeboost.limits import Limits
from codeboost.plan.paths import POLICY_FILE

__all__ = ["POLICY_FILE", "SETUP_TIMEOUT_S", "Policy", "PolicyEntry", "SandboxPolicy", "SetupPolicy"]

SETUP_TIMEOUT_S = 1800.0


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """``[sandbox]``. ``image`` is None when the policy names none; ``workdir`` is relative to the repository root."""

    image: str | None = None
    workdir: str = "."
    limits: Limits = field(default_factory=Limits)
    git: bool = True
    env: Mapping[str, str] = field(default_factory=dict)
    runtime: str | None = None


@dataclass(frozen=True, slots=True)
class SetupPolicy:
    """``[setup]``: the only step that may have network, and all that it may see of the tree."""

    inputs: tuple[str, ...]
    run: tuple[Argv, ...]
    network: bool = False
    timeout_s: float = SETUP_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """One command of ``[allow]``, approved by review; ``timeout_s`` replaces the limit for it."""

    argv: Argv
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything ``codeboost.toml`` says. ``digest`` is the SHA-256 of its bytes (of none when it is not there)."""

    sandbox: SandboxPolicy
    setup: SetupPolicy | None
    allow: tuple[PolicyEntry, ...]
    digest: str
    present: bool
    task_prefix: str = "GH"
    """``[tasks] prefix``: the tasks of issue 412 are named ``GH412-P1`` and so on."""
