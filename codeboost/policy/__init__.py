"""``codeboost.toml``: the repository's reviewed policy, read only from a plan's base commit (design §4).

What an agent writes cannot loosen its own cage, so the file of the work tree or of the tested commit means nothing.
Without one at the base commit the defaults hold. A file that cannot be understood whole stops everything: nothing
falls back to a default because of a typing error.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from codeboost.policy.model import POLICY_FILE, Policy, PolicyEntry, SandboxPolicy, SetupPolicy

if TYPE_CHECKING:
    from codeboost.gitrepo import GitRepo

__all__ = ["POLICY_FILE", "Policy", "PolicyEntry", "SandboxPolicy", "SetupPolicy", "read_policy"]

_MAX_BYTES = 1 << 20


def read_policy(repo: GitRepo, commit: str) -> Policy:
    """The policy at ``commit`` (a full id), the defaults when it has none.

    InputError, with a diagnostic of code ``policy`` for each fault, when the file cannot be understood.
    """
    entry = repo.find_entry(commit, POLICY_FILE)
    where = f"{POLICY_FILE} at {commit[:12]}"
    if entry is None:
        return Policy(SandboxPolicy(), None, (), hashlib.sha256(b"").hexdigest(), present=False)
    # With tomllib: most checks of a plan find no policy to read.
    from codeboost.policy.document import parse_policy, refuse_policy  # noqa: PLC0415

    if entry.kind != "blob" or entry.is_symlink:
        kind = "a symbolic link" if entry.is_symlink else "a submodule" if entry.is_gitlink else "a folder"
        raise refuse_policy(where, [(None, f"it is {kind}, and has to be a regular file")])
    size = int(repo.run("cat-file", "-s", entry.oid))
    if size > _MAX_BYTES:
        raise refuse_policy(where, [(None, f"it has {size} bytes; at most {_MAX_BYTES} are read")])
    return parse_policy(repo.read_blob(entry.oid), where)
