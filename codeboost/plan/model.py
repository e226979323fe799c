"""A plan, and what it is checked against, as frozen data (plan.schema.json, plan-rules.md §3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from codeboost.command.grammar import Argv

__all__ = [
    "BaseEntry",
    "ChangeKind",
    "Check",
    "CheckType",
    "EntryKind",
    "FileChange",
    "Item",
    "PathKey",
    "Plan",
    "PlanContext",
]


class ChangeKind(StrEnum):
    EDIT = "edit"
    ADD = "add"
    DELETE = "delete"
    RENAME = "rename"


class CheckType(StrEnum):
    CMD = "cmd"
    CHECK = "check"


class EntryKind(StrEnum):
    FILE = "file"
    SYMLINK = "symlink"
    GITLINK = "gitlink"


class PathKey(StrEnum):
    """When two paths name the same file in a checkout: the path identity of plan-rules.md §3."""

    EXACT = "identity"
    NFC = "nfc"
    CASEFOLD = "casefold"


@dataclass(frozen=True, slots=True)
class FileChange:
    path: str
    kind: ChangeKind
    renamed_from: str | None
    change: str


@dataclass(frozen=True, slots=True)
class Check:
    type: CheckType
    text: str


@dataclass(frozen=True, slots=True)
class Item:
    id: str
    title: str
    intent: str
    files: tuple[FileChange, ...]
    acceptance: tuple[Check, ...]
    depends_on: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    schema_version: int
    issue: int
    revision: int
    summary: str
    items: tuple[Item, ...]
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BaseEntry:
    """One entry of the base commit's tree; ``target`` is the stored text of a symbolic link."""

    path: str
    kind: EntryKind | str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class PlanContext:
    """What a plan is checked against. A None means "unknown", which is an error of code ``context``.

    ``path_key`` maps a path to its identity: a ``PathKey``, its name, or a function for a rule of one's own.
    ``any_issue`` says that nobody selected an issue and none is asked for, as in ``plan check FILE``; it is never set
    by an import.
    """

    issue: int | None
    base_entries: Sequence[BaseEntry] | None
    approved: Sequence[Argv]
    path_key: PathKey | str | Callable[[str], str] | None = None
    repository: str | None = None
    any_issue: bool = False
