"""Paths as plans write them: canonical or refused (plan-rules.md §3, ``path``), and when two are the same file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from codeboost.plan.model import PathKey

__all__ = [
    "POLICY_FILE",
    "Observation",
    "choose_path_key",
    "explain_path",
    "find_path_key",
    "is_git_name",
    "list_parents",
    "make_identity",
    "observe_names",
]

POLICY_FILE = "codeboost.toml"
"""The repository's reviewed policy: it counts as it stands at a plan's base commit (design §4)."""

# What HFS+ leaves out when it compares names (git knows the same list).
_HFS_IGNORED = dict.fromkeys((*range(8204, 8208), *range(8234, 8239), *range(8298, 8304), 65279))


# Each rule: what no canonical path matches, and the end of the sentence that says so.
_PATH_RULES = (
    (re.compile(r"(?!.)", re.DOTALL), "is empty"),
    (re.compile(r"/"), "is absolute; it must start at the repository root"),
    (re.compile(r".*\\", re.DOTALL), "has a backslash; only forward slashes separate folders"),
    (re.compile(r".*:", re.DOTALL), "has a colon, which some systems take for a drive or a stream"),
    (re.compile(r".*[\x00-\x1f\x7f-\x9f]", re.DOTALL), "has a control character"),
    (re.compile(r".*/\Z"), "ends in a slash; name a file, not a folder"),
    (re.compile(r".*//"), "has an empty component (//)"),
    (re.compile(r"(?:.*/)?\.\.?(?:/|\Z)"), "has the component . or ..; it must lead straight to the file"),
)


def explain_path(path: str) -> str | None:
    """Why ``path`` is not canonical, as the end of a sentence; None when it is. Nothing is ever rewritten."""
    for pattern, reason in _PATH_RULES:
        if pattern.match(path):
            return reason
    if any(map(is_git_name, path.split("/"))):
        return "leads into .git, or into a name that some checkout takes for .git"
    return None


def is_git_name(component: str) -> bool:
    r"""Whether some checkout opens ``.git`` under this name.

    In any letter case; on NTFS also with trailing dots and spaces, and as the short name ``git~1``; on HFS+ also with
    ignorable characters anywhere (``.g\u200cit``).
    """
    name = component.translate(_HFS_IGNORED).rstrip(". ")
    return any(
        folded in (".git", "git~1") for folded in (name.lower(), name.upper().lower(), name.casefold())
    )


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


# Finding out which rule a checkout has


class Observation(NamedTuple):
    """What a folder's filesystem does with names."""

    ignores_case: bool
    normalises: bool


def find_path_key(
    folder: Path, *, ignore_case: str | None = None, precompose: str | None = None
) -> PathKey | None:
    """The path identity of a checkout, found by looking; None when it cannot be found out.

    ``folder`` is any folder on the checkout's filesystem that may be written for a moment, best its git folder: a
    temporary one is made in it, or else beside it or in the system's, if those are on the same filesystem, and is
    gone afterwards. ``ignore_case`` and ``precompose`` are git's ``core.ignorecase`` and ``core.precomposeunicode``.
    """
    import tempfile  # noqa: PLC0415 - slow to import, and a check without a checkout needs none

    observation = None
    for place in (folder, folder.parent, Path(tempfile.gettempdir())):
        if _is_same_filesystem(folder, place):
            observation = observe_names(place)
        if observation is not None:
            break
    return choose_path_key(observation, ignore_case=_is_true(ignore_case), precompose=_is_true(precompose))


def choose_path_key(
    observation: Observation | None, *, ignore_case: bool, precompose: bool
) -> PathKey | None:
    """The coarser of what the filesystem does and what git is told that it does; None when nobody looked.

    A setting may add a rule and never takes one away: two paths taken for one cost an author a rename, one file taken
    for two costs the check its meaning.
    """
    if observation is None:
        return None
    if observation.ignores_case or ignore_case:
        return PathKey.CASEFOLD
    return PathKey.NFC if observation.normalises or precompose else PathKey.EXACT


def observe_names(place: Path) -> Observation | None:
    """Makes one file in a new folder in ``place`` and asks for it by other names; None when nothing can be made."""
    import tempfile  # noqa: PLC0415 - as above

    try:
        with tempfile.TemporaryDirectory(prefix="codeboost-probe-", dir=place) as name:
            probe = Path(name)
            (probe / "case-\u00e9").touch()
            return Observation(
                ignores_case=(probe / "CASE-\u00e9").exists() or (probe / "CASE-\u00c9").exists(),
                normalises=(probe / "case-e\u0301").exists(),
            )
    except (OSError, UnicodeEncodeError):
        return None


def _is_same_filesystem(folder: Path, place: Path) -> bool:
    try:
        return folder.stat().st_dev == place.stat().st_dev
    except OSError:
        return False


def _is_true(setting: str | None) -> bool:
    """A git boolean; a bare name in the file (an empty value here) is true as well, anything odd too."""
    return setting is not None and setting.strip().lower() not in ("false", "no", "off", "0")
