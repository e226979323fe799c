"""One goal file: reading it, rewriting its state, and making a new one (planr-contract.md, "Goal file")."""

from __future__ import annotations

from collections.abc import Sequence

from codeboost.parsing.frontmatter import (
    FrontmatterFault,
    parse_frontmatter,
    render_value,
    rewrite_frontmatter,
)
from codeboost.planr.model import Finding, Goal, GoalState, name_word, refuse_word

__all__ = ["GOAL_STATES", "GOAL_WORDS", "parse_goal", "render_goal", "rewrite_goal"]

GOAL_WORDS = frozenset({"state", "scope"})
# The states that a file may name; "legacy" is what we call a file that names none.
GOAL_STATES: dict[object, GoalState] = {
    state.value: state for state in GoalState if state is not GoalState.LEGACY
}
ALLOWED_STATES = "draft, approved, running, review, done"


def parse_goal(data: bytes, name: str, file: str) -> tuple[Goal | None, list[Finding], list[Finding]]:
    """The goal in ``data``, then errors, then warnings. The goal is None when there are errors."""
    read = parse_frontmatter(data, GOAL_WORDS)
    if isinstance(read, FrontmatterFault):
        if read.kind != "missing-frontmatter":
            return None, [Finding(read.kind, read.text, file, read.line)], []
        warning = Finding(
            "legacy-goal",
            f"the goal {name_word(name)} has no frontmatter: it counts as legacy, with an empty scope",
            file,
        )
        return Goal(name, file, name, GoalState.LEGACY, None, None, None, ()), [], [warning]
    values, errors, warnings = read.values, list[Finding](), list[Finding]()

    def add(kind: str, key: str, text: str) -> None:
        errors.append(Finding(kind, text, file, read.lines.get(key, 1)))

    texts: dict[str, str | None] = {}
    for key in ("title", "stream", "budget", "thread"):
        value = values.get(key)
        if isinstance(value, tuple):
            add(f"{key}-type", key, f"{key} must be text on one line, not a list")
        else:
            texts[key] = value
    word = values.get("state")
    state = GOAL_STATES.get(word)
    if word is not None and state is None:
        add("unknown-state", "state", refuse_word("state", word, ALLOWED_STATES))
    scope = values.get("scope", ())
    if not isinstance(scope, tuple):
        add("scope-type", "scope", "scope must be a list of task ids, such as [A-1, A-2] or []")
    if errors or not isinstance(scope, tuple):
        return None, errors, warnings
    if state is None:
        state, scope = GoalState.LEGACY, ()
        warnings.append(
            Finding(
                "goal-without-state",
                f"the goal {name_word(name)} names no state: it counts as legacy, with an empty scope",
                file,
            )
        )
    title = texts["title"] or name
    goal = Goal(
        name,
        file,
        title,
        state,
        texts["stream"],
        texts["budget"],
        texts["thread"],
        tuple(dict.fromkeys(scope)),
    )
    return goal, errors, warnings


def rewrite_goal(
    data: bytes,
    *,
    state: GoalState | None = None,
    thread: str | None = None,
    scope: Sequence[str] | None = None,
    title: str | None = None,
) -> bytes:
    """``data`` with these fields changed and every other byte as it was. ``data`` must have a readable frontmatter."""
    changes: dict[str, str | Sequence[str]] = {}
    if title is not None:
        changes["title"] = title
    if state is not None:
        changes["state"] = state.value
    if thread is not None:
        changes["thread"] = thread
    if scope is not None:
        changes["scope"] = scope
    return rewrite_frontmatter(data, changes, GOAL_WORDS)


def render_goal(
    *,
    title: str,
    scope: Sequence[str],
    body: str,
    state: GoalState = GoalState.DRAFT,
    stream: str | None = None,
    budget: str | None = None,
) -> bytes:
    """A whole new goal file. ``body`` follows the frontmatter as it is."""
    rows = ["---", f"title: {render_value(title)}", f"state: {state.value}"]
    if stream:
        rows.append(f"stream: {render_value(stream)}")
    if budget:
        rows.append(f"budget: {render_value(budget)}")
    rows.append(f"scope: {render_value(scope)}")
    return ("\n".join([*rows, "---"]) + "\n" + body).encode()
