"""Every git subprocess of the program.

The checkout's own ``.git`` may be hostile (facts: replace refs change what ``git show`` prints, ``core.fsmonitor`` runs
a program at ``git status``). So: plumbing only, full object ids, and an environment in which no replace objects,
grafts, lazy fetches, transports, hooks, external diffs, text conversions, pagers or user settings have a say.
"""

from codeboost.gitrepo.objects import BlobReader
from codeboost.gitrepo.records import Branch, Remote, TreeChange, TreeEntry, parse_remote
from codeboost.gitrepo.repo import GitRepo

__all__ = [
    "BlobReader",
    "Branch",
    "GitRepo",
    "Remote",
    "TreeChange",
    "TreeEntry",
    "parse_remote",
]
