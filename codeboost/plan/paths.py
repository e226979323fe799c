"""Paths as plans write them: canonical or refused (plan-rules.md §3, ``path``), and when two are the same file."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

from codeboost.plan.model import PathKey

__all__ = ["explain_path", "is_git_name", "list_parents", "make_identity"]

# What HFS+ leaves out when it compares names (git knows the same list).
_HFS_IGNORED = {
    code: None for code in (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
}


def explain_path(path: str) -> str | None:
    """Why ``path`` is not canonical, as the end of a sentence; None when it is. Nothing is ever rewritten."""
    if not path:
        return "is empty"
    if path.startswith("/"):
        return "is absolute; it must start at the repository root"
    if "\\" in path:
        return "has a backslash; only forward slashes separate folders"
    if ":" in path:
        return "has a colon, which some systems take for a drive or a stream"
    control = next((char for char in path if unicodedata.category(char) == "Cc"), None)
    if control is not None:
        return f"has the control character U+{ord(control):04X}"
    if path.endswith("/"):
        return "ends in a slash; name a file, not a folder"
    for component in path.split("/"):
        if not component:
            return "has an empty component (//)"
        if component in (".", ".."):
            return f"has the component {component}; it must lead straight to the file"
        if is_git_name(component):
            return "leads into .git, or into a name that some checkout takes for .git"
    return None


def is_git_name(component: str) -> bool:
    r"""Whether some checkout opens ``.git`` under this name.

    In any letter case; on NTFS also with trailing dots and spaces, and as the short name ``git~1``; on HFS+ also with
    ignorable characters anywhere (``.g\u200cit``).
    """
    name = component.translate(_HFS_IGNORED).rstrip(". ")
    return any(folded in (".git", "git~1") for folded in (name.lower(), name.upper().lower(), name.casefold()))


def list_parents(path: str) -> Iterator[str]:
    """The folders above ``path``, the nearest first: ``a/b/c`` has ``a/b`` and ``a``."""
    end = path.rfind("/")
    while end > 0:
        path = path[:end]
        yield path
        end = path.rfind("/")


def make_identity(key: PathKey | str | Callable[[str], str] | None) -> Callable[[str], str] | None:
    """The function that maps a path to its identity; None when the rule is not known."""
    if callable(key):
        return key
    match key:
        case PathKey.EXACT:
            return _keep
        case PathKey.NFC:
            return _compose
        case PathKey.CASEFOLD:
            return _fold
        case _:
            return None


def _keep(path: str) -> str:
    return path


def _compose(path: str) -> str:
    return path if path.isascii() else unicodedata.normalize("NFC", path)


def _fold(path: str) -> str:
    return _compose(path).lower()
