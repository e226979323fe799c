"""How git is started: with settings and an environment that nothing outside has a say in."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from codeboost.errors import GitError
from codeboost.visible import cut

__all__ = ["make_environment", "run_git", "start_git"]

# Read once: these would let the caller's or the repository's settings into a plumbing command.
_CONFIG = (
    # Whose files they are does not matter: nothing in them is trusted anyway.
    "safe.directory=*",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.abbrev=auto",
    "core.quotePath=false",
    "core.commitGraph=false",
    "core.useReplaceRefs=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    # Larger contents go through git in pieces, whatever the checkout asks for.
    "core.bigFileThreshold=8m",
    "core.packedGitWindowSize=32m",
    "core.packedGitLimit=128m",
    "core.excludesFile=/dev/null",
    "color.ui=false",
    "diff.external=",
    "diff.noprefix=false",
    "diff.renames=false",
    "diff.ignoreSubmodules=all",
    "log.showSignature=false",
    "log.mailmap=false",
    "i18n.logOutputEncoding=UTF-8",
    "protocol.allow=never",
    "submodule.recurse=false",
    "advice.graftFileDeprecated=false",
)


def make_environment() -> dict[str, str]:
    """An environment of our own: only what git needs to start, nothing that steers what it answers."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR", "SYSTEMROOT") if name in os.environ}
    return kept | {
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": "/dev/null",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_LITERAL_PATHSPECS": "1",
    }


def _command(arguments: Iterable[str]) -> list[str]:
    settings = [word for setting in _CONFIG for word in ("-c", setting)]
    return ["git", "--no-pager", "--no-replace-objects", *settings, *arguments]


def run_git(
    folder: Path,
    arguments: Sequence[str],
    *,
    stdin: bytes | None = None,
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """A git command that has ended, however. GitError when git or the folder is missing."""
    try:
        return subprocess.run(
            _command(arguments),
            cwd=folder,
            env=environment or make_environment(),
            input=stdin if stdin is not None else b"",
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise _explain_missing(folder) from error
    except NotADirectoryError as error:
        raise GitError(f"{cut(str(folder))} is not a folder") from error


def start_git(
    folder: Path, arguments: Sequence[str], environment: dict[str, str], *, stdin: int, stderr: int
) -> subprocess.Popen[bytes]:
    """A git process whose output is a pipe."""
    try:
        return subprocess.Popen(
            _command(arguments),
            cwd=folder,
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
    except FileNotFoundError as error:
        raise _explain_missing(folder) from error


def _explain_missing(folder: Path) -> GitError:
    if not folder.exists():
        return GitError(f"the folder {cut(str(folder))} does not exist")
    return GitError("git is not installed", hint="install git and try again")
