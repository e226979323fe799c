"""Would this command run now, and if not, why (``codeboost allow test``)."""

from __future__ import annotations

from dataclasses import dataclass

from codeboost.command.grammar import Argv, format_command
from codeboost.command.lint import find_suspicions
from codeboost.operations.check_approval import Decision, load_gate
from codeboost.operations.choose_base import choose_base
from codeboost.operations.project import Project
from codeboost.policy import read_policy
from codeboost.store.approvals import check_argv

__all__ = ["GateAnswer", "ask_gate"]


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """The gate's answer for one command at ``commit``, with the policy of ``base_commit``."""

    decision: Decision
    base_commit: str
    commit: str
    suspicions: tuple[str, ...]


def ask_gate(project: Project, argv: Argv, *, rev: str | None = None, base: str | None = None) -> GateAnswer:
    """Ask the gate about ``argv`` against ``rev``, else HEAD. InputError when no command can equal this argv."""
    check_argv(argv)
    base_commit = choose_base(project.git, base)
    commit = project.git.resolve_commit(rev or "HEAD")
    policy = read_policy(project.git, base_commit)
    gate = load_gate(project.store, project.repository.id, project.git, policy, base_commit, only=argv)
    suspicions = find_suspicions(format_command(argv), argv)
    return GateAnswer(gate.decide(argv, commit), base_commit, commit, suspicions)
