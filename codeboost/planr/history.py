"""How the states came about: runs, reconstructed from the history of the task files (planr-contract.md, "Board data").

One ``git log --raw`` over the first parents and one ``git cat-file --batch``. A version that cannot be read is a warning and changes
nothing: the task keeps the status it had. The work tree's own files are hashed, so that most versions need no reading.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from codeboost.errors import GitError
from codeboost.planr.config import Config, load_config
from codeboost.planr.difference import differs, hash_blob
from codeboost.planr.model import Finding, Status, natural_key
from codeboost.planr.taskfile import parse_status

if TYPE_CHECKING:
    from codeboost.gitrepo import BlobReader, GitRepo
    from codeboost.gitrepo.log import LogEntry, LogReader
    from codeboost.planr.workspace import Workspace

__all__ = ["Change", "Head", "History", "HistoryReader", "Run"]

REMOVED = "removed"
_REGULAR = (0o100644, 0o100755)
_LINK = 0o120000


class Change(NamedTuple):
    """What a run did to one task. ``before`` is None for a new task, ``after`` is ``removed`` for one that is gone."""

    id: str
    before: str | None
    after: str


class Run(NamedTuple):
    """One step of the plan: a commit, or (``commit`` is None) what is not committed yet. ``date`` is ISO 8601.

    The first run is where the story starts: ``initial``, and without changes.
    """

    commit: str | None
    date: str
    subject: str
    counts: dict[str, int]
    changes: tuple[Change, ...]
    initial: bool


class Head(NamedTuple):
    """The commit that the work tree stands on."""

    short: str
    date: str


@dataclass(frozen=True, slots=True)
class History:
    """Runs, oldest first. ``dirty``: something below the tasks or goals folder differs from HEAD."""

    runs: tuple[Run, ...]
    warnings: tuple[Finding, ...]
    head: Head | None = None
    dirty: bool = False


class HistoryReader(AbstractContextManager["HistoryReader"]):
    """Reads the history of the planning root ``root``. git begins at once, so open it before the files are loaded.

    Whatever stands in the way (no repository, no git, a shallow clone, broken objects) is a warning.
    """

    def __init__(self, root: Path) -> None:
        self._warnings: list[Finding] = []
        self._begun: _Begun | None = None
        config, errors = load_config(root)
        if errors:
            return
        try:
            self._begun = self._begin(root, config)
        except GitError as error:
            self._warn("history-unreadable", f"the history cannot be read: {error}")

    def _begin(self, root: Path, config: Config) -> _Begun | None:
        # Late: subprocess costs start-up time, and most commands read no history.
        from codeboost.gitrepo import GitRepo  # noqa: PLC0415

        repo = GitRepo.find(root)
        if repo is None:
            self._warn("history-no-git", "there is no history: this is no git repository")
            return None
        if repo.is_shallow():
            self._warn("history-shallow", "the clone is shallow: older history is missing")
        head = repo.find_commit("HEAD")
        tasks, goals = (_locate(repo, root, folder) for folder in (config.tasks_dir, config.goals_dir))
        return _Begun(repo, head, tasks, goals, repo.read_log(head, tasks) if head else None)

    def read(self, workspace: Workspace, *, now: str, with_dirty: bool = True) -> History:
        """The history of the root, once. The workspace must hold its sources; ``now`` dates the uncommitted run."""
        if self._begun is None:
            return History((), tuple(self._warnings))
        try:
            return self._read(self._begun, workspace, now=now, with_dirty=with_dirty)
        except GitError as error:
            self._warn("history-unreadable", f"the history cannot be read: {error}")
            return History((), tuple(self._warnings))

    def _read(self, begun: _Begun, workspace: Workspace, *, now: str, with_dirty: bool) -> History:
        repo, head, tasks, goals, log = begun
        teller = _Teller(workspace, tasks, digest="sha256" if head and len(head) == 64 else "sha1")
        if log is not None:
            entries = list(log)
            with repo.read_blobs() as reader:
                teller.prepare(entries, reader)
            for entry in entries:
                teller.take_commit(entry)
        teller.take_work_tree(workspace, now)
        found = (*self._warnings, *teller.warnings)
        if head is None or not with_dirty:
            return History(tuple(teller.runs), found, dirty=bool(workspace.tasks or workspace.goals))
        # A file that git ignores counts as well, once it is a task.
        dirty = bool(teller.runs and teller.runs[-1].commit is None) or differs(
            repo, head, (tasks, goals), teller.oids, teller.digest
        )
        return History(tuple(teller.runs), found, Head(*repo.describe_commit(head)), dirty)

    def __exit__(self, *_: object) -> None:
        if self._begun is not None and self._begun.log is not None:
            self._begun.log.__exit__()

    def _warn(self, kind: str, text: str) -> None:
        self._warnings.append(Finding(kind, text))


class _Begun(NamedTuple):
    """What was found before the files were loaded; ``tasks`` and ``goals`` are folders as git names them."""

    repo: GitRepo
    head: str | None
    tasks: str
    goals: str
    log: LogReader | None


def _locate(repo: GitRepo, root: Path, folder: str) -> str:
    """A planning folder as git names it: from the top of the repository, links resolved."""
    real = os.path.realpath(root / folder)
    return os.path.relpath(real, os.path.realpath(repo.top)).replace(os.sep, "/")


class _Teller:
    """Walks from the oldest commit to the work tree, and knows every task's status on the way.

    ``oids`` are the object ids of the files that were loaded, by their paths in the repository.
    """

    def __init__(self, workspace: Workspace, folder: str, *, digest: str) -> None:
        self.digest = digest
        self.runs: list[Run] = []
        self.warnings: list[Finding] = []
        self._prefix = os.fsencode(folder) + b"/"
        self._shown = workspace.config.tasks_dir
        self._states: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._links: set[str] = set()
        self.oids: dict[bytes, str] = {}
        self._known: dict[str, Status | None] = {}
        for task_id, data in workspace.sources.items():
            oid = hash_blob(data, digest)
            self.oids[self._prefix + os.fsencode(task_id) + b".md"] = oid
            if task_id in workspace.tasks:
                self._known[oid] = workspace.tasks[task_id].status

    def prepare(self, log: Sequence[LogEntry], reader: BlobReader) -> None:
        """Find out the status in every version of every task, in one go."""
        oids = [
            oid
            for entry in log
            for mode, oid, path in entry.files
            if mode in _REGULAR and oid not in self._known and self._name_task(path) is not None
        ]
        wanted = list(dict.fromkeys(oids))
        for oid, found in zip(wanted, reader.read_many(wanted), strict=True):
            self._known[oid] = parse_status(found[1]) if found is not None and found[0] == "blob" else None

    def take_commit(self, entry: LogEntry) -> None:
        changes = []
        for mode, oid, path in entry.files:
            task_id = self._name_task(path)
            if task_id is None:
                continue
            if mode == _LINK:
                self._note_link(task_id)
            if mode not in _REGULAR:
                changes += self._move(task_id, None)
                continue
            self._links.discard(task_id)
            status = self._known[oid]
            if status is None:
                self._warn(
                    task_id,
                    f"is unreadable in commit {entry.commit[:10]}: the history goes on without that version",
                )
            else:
                changes += self._move(task_id, status.value)
        self._add_run(entry.commit, entry.date, entry.subject, changes)

    def take_work_tree(self, workspace: Workspace, now: str) -> None:
        current = {
            task.id: task.status.value for task in workspace.tasks.values() if task.id not in self._links
        }
        changes = [
            change
            for task_id in [*self._states]
            if task_id not in current
            for change in self._move(task_id, None)
        ]
        for task_id, status in current.items():
            changes += self._move(task_id, status)
        self._add_run(None, now, "uncommitted changes", changes)

    def _name_task(self, path: bytes) -> str | None:
        """The id of the task that a path of the repository holds, or None when it is no task file."""
        name = path.removeprefix(self._prefix)
        if not name.endswith(b".md") or b"/" in name or name.startswith(b".") or name == b"README.md":
            return None
        return os.fsdecode(name[:-3])

    def _move(self, task_id: str, status: str | None) -> list[Change]:
        before = self._states.get(task_id)
        if before == status:
            return []
        if before is not None:
            self._counts[before] -= 1
            del self._states[task_id]
        if status is not None:
            self._counts[status] += 1
            self._states[task_id] = status
        return [Change(task_id, before, status or REMOVED)]

    def _add_run(self, commit: str | None, date: str, subject: str, changes: list[Change]) -> None:
        if not changes:
            return
        initial = not self.runs
        counts = {status.value: self._counts[status.value] for status in Status if self._counts[status.value]}
        ordered = () if initial else tuple(sorted(changes, key=lambda change: natural_key(change.id)))
        self.runs.append(Run(commit, date, subject, counts, ordered, initial))

    def _note_link(self, task_id: str) -> None:
        if task_id not in self._links:
            self._links.add(task_id)
            self._warn(task_id, "is a link: its history is not followed")

    def _warn(self, task_id: str, text: str) -> None:
        self.warnings.append(Finding("history-unreadable", text, f"{self._shown}/{task_id}.md"))
