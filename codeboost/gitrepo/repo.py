"""A repository, and what the program asks of it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING

from codeboost.errors import GitError, UsageError
from codeboost.gitrepo.objects import BlobReader, find_in_tree
from codeboost.gitrepo.process import make_environment, run_git, start_git
from codeboost.gitrepo.records import (
    Branch,
    Remote,
    TreeChange,
    TreeEntry,
    parse_remote,
    read_changes,
    read_tree_entries,
)
from codeboost.visible import cut

if TYPE_CHECKING:
    from codeboost.gitrepo.log import LogReader
    from codeboost.gitrepo.scratch import ScratchRepo

__all__ = ["GitRepo"]

_FOLDER_MODE = 0o040000
_KINDS = {_FOLDER_MODE: "tree", 0o160000: "commit"}
_USUAL = ("refs/remotes/origin/main", "refs/remotes/origin/master", "refs/heads/main", "refs/heads/master")
_FULL_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")

# Values of the attributes ``text`` and ``eol`` with which line ends are converted.
_TEXT = frozenset({b"set", b"auto", b"lf", b"crlf"})


@dataclass(frozen=True, slots=True)
class GitRepo:
    """A repository as git finds it: ``top`` is the work tree's root (the git folder of a bare one).

    Where the work tree is follows from where ``.git`` lies, never from what its configuration says.
    """

    top: Path
    common_dir: Path
    git_dir: Path

    @property
    def is_bare(self) -> bool:
        """Whether there is no work tree."""
        return self.top == self.git_dir

    @classmethod
    def find(cls, start: Path) -> GitRepo | None:
        """The repository that ``start`` lies in, or None. GitError when git itself is missing."""
        # Links resolved: the folders above are those of the place itself.
        begin = start.resolve()
        for folder in (begin, *begin.parents):
            if os.path.lexists(folder / ".git"):
                found = cls._read(folder, {"GIT_DIR": str(folder / ".git"), "GIT_WORK_TREE": str(folder)})
                if found is not None:
                    return cls(folder.resolve(), *found)
        # A bare one only outside any checkout: a tree may hold a folder that looks like a repository.
        found = cls._read(start, {})
        return cls(found[0], *found) if found is not None else None

    @staticmethod
    def _read(folder: Path, place: dict[str, str]) -> tuple[Path, Path] | None:
        question = ["rev-parse", "--path-format=absolute", "--git-common-dir", "--absolute-git-dir"]
        result = run_git(folder, question, environment=make_environment() | place)
        if result.returncode != 0:
            return None
        # Only a line feed ends a line here: a folder's name may hold what Python takes for other line ends.
        rows = os.fsdecode(result.stdout).split("\n")
        if len(rows) != 3:
            raise GitError(f"the repository's path {cut(str(folder), 200)} has a line break in it")
        return Path(rows[0]), Path(rows[1])

    @classmethod
    def open(cls, start: Path) -> GitRepo:
        """Like ``find``, but UsageError when there is none."""
        found = cls.find(start)
        if found is None:
            raise UsageError(
                f"{cut(str(start))} is not in a git repository",
                hint="run this inside the checkout, or make one with `git init`",
            )
        return found

    # Objects

    def find_commit(self, rev: str) -> str | None:
        """The full id of the commit that ``rev`` names, or None."""
        if not rev or rev.startswith("-"):
            return None
        result = self.try_run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
        oid = result.decode().strip() if result is not None else ""
        return oid if _FULL_OID.fullmatch(oid) else None

    def resolve_commit(self, rev: str) -> str:
        """Like ``find_commit``, but UsageError when there is no such commit."""
        oid = self.find_commit(rev)
        if oid is None:
            raise UsageError(f"there is no commit '{cut(rev)}' in {cut(str(self.top))}")
        return oid

    def find_tree(self, commit: str) -> str:
        """The id of a commit's tree."""
        with self.read_blobs() as objects:
            return self._find_tree(objects, commit)

    def _find_tree(self, objects: BlobReader, commit: str) -> str:
        tree = objects.find_tree(commit)
        if tree is None:
            raise GitError(f"{cut(commit)} is no commit of {cut(str(self.top))}")
        return tree

    def list_tree(self, commit: str, *, sizes: bool = False) -> list[TreeEntry]:
        """Every leaf of the commit's tree, in git's order. 50,000 files take 27 ms (without sizes)."""
        return list(self.iterate_tree(commit, sizes=sizes))

    def iterate_tree(
        self, commit: str, *, sizes: bool = False, folders: bool = False
    ) -> Generator[TreeEntry, None, None]:
        """The leaves of the commit's tree as git names them; with ``folders`` each folder, too, before what it holds.

        Stop at any time: a few objects can describe a tree without end, with one folder ten times in another.
        """
        options = (*(["-l"] if sizes else []), *(["-t"] if folders else []))
        arguments = ("ls-tree", "-r", "-z", *options, "--full-tree", commit)
        with tempfile.TemporaryFile() as said:
            environment = self._make_environment()
            process = start_git(self.top, arguments, environment, stdin=DEVNULL, stderr=said.fileno())
            assert process.stdout is not None  # noqa: S101 - a pipe by construction
            ended = False
            try:
                yield from read_tree_entries(process.stdout)
                ended = True
            finally:
                if not ended:
                    process.kill()
                process.stdout.close()
                status = process.wait()
            if status != 0:
                said.seek(0)
                raise self._explain(arguments, said.read(1000))

    def find_entry(self, commit: str, path: str) -> TreeEntry | None:
        """The entry at ``path`` (a folder included), or None."""
        with self.read_blobs() as objects:
            name, mode = self._find_tree(objects, commit), _FOLDER_MODE
            for part in os.fsencode(path).split(b"/"):
                answer = objects.read(name) if mode == _FOLDER_MODE else None
                found = find_in_tree(answer[1], part, len(name) // 2) if answer else None
                if found is None:
                    return None
                mode, name = found
        return TreeEntry(mode, _KINDS.get(mode, "blob"), name, None, os.fsencode(path))

    def read_file(self, commit: str, path: str) -> bytes | None:
        """The content of the regular file at ``path`` in ``commit``; None when there is none (a link is none)."""
        entry = self.find_entry(commit, path)
        if entry is None or entry.kind != "blob" or entry.is_symlink:
            return None
        return self.read_blob(entry.oid)

    def read_blob(self, oid: str) -> bytes:
        """The content of one blob; GitError when the repository does not hold it, or holds something else there."""
        with self.read_blobs() as objects:
            answer = objects.read(oid)
        if answer is None:
            raise GitError(f"object {cut(oid)} is missing from the repository")
        return answer[1]

    def compare_trees(
        self, before: str, after: str, *, renames: bool, paths: Sequence[bytes] = ()
    ) -> list[TreeChange]:
        """The paths that differ between two commits, in git's order; of ``paths`` only, when some are named.

        With ``renames``, a deletion and an addition that are alike by half are one rename.
        """
        with self.open_scratch() as scratch:
            output = scratch.run(
                "diff-tree",
                "-r",
                "-z",
                "--raw",
                "--no-abbrev",
                "--no-ext-diff",
                "--no-textconv",
                "--no-relative",
                "--ignore-submodules=none",
                *(("-M50%", "-l1000") if renames else ("--no-renames",)),
                "--end-of-options",
                before,
                after,
                "--",
                *map(os.fsdecode, paths),
            )
        return list(read_changes(output))

    @contextmanager
    def read_blobs(self) -> Iterator[BlobReader]:
        """A reader of objects by id; one process for all of them."""
        process = start_git(
            self.top, ["cat-file", "--batch"], self._make_environment(), stdin=PIPE, stderr=DEVNULL
        )
        assert process.stdin is not None  # noqa: S101 - both are pipes by construction
        assert process.stdout is not None  # noqa: S101
        try:
            yield BlobReader(process.stdin, process.stdout)
        finally:
            process.stdout.close()
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()

    # History

    def find_merge_base(self, one: str, other: str) -> str | None:
        result = self.try_run("merge-base", one, other)
        return result.decode().split("\n", 1)[0].strip() or None if result is not None else None

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        return self.try_run("merge-base", "--is-ancestor", ancestor, descendant) is not None

    def find_default_branch(self) -> Branch | None:
        """The branch that plans are measured from: the remote's default one, else the local one (design §4).

        Without a recorded ``origin/HEAD`` the usual names are tried; None when nothing fits.
        """
        format_ = "--format=%(refname)%00%(symref)%00%(objectname)"
        listed = self.run("for-each-ref", format_, "refs/remotes/origin/HEAD", *_USUAL).decode(
            "utf-8", "surrogateescape"
        )
        found = {
            name: Branch(link or name, oid)
            for name, link, oid in (row.split("\0") for row in listed.split("\n")[:-1])
        }
        # Left behind by a remote that is gone, its branches say nothing.
        has_remote = any(name.startswith("refs/remotes/") for name in found) and self.read_config(
            "remote.origin.url"
        )
        for name in ("refs/remotes/origin/HEAD", *_USUAL):
            if name in found and (has_remote or name.startswith("refs/heads/")):
                return found[name]
        current = self.try_run("symbolic-ref", "--quiet", "HEAD")
        name = current.decode("utf-8", "surrogateescape").strip() if current else ""
        commit = self.find_commit(name)
        return Branch(name, commit) if commit else None

    def is_shallow(self) -> bool:
        """Whether the repository is a clone that lacks its older commits."""
        return self.run("rev-parse", "--is-shallow-repository").strip() == b"true"

    def describe_commit(self, commit: str) -> tuple[str, str]:
        """The short id of a commit and its committer's date, ISO 8601."""
        from codeboost.gitrepo.log import read_date  # noqa: PLC0415 - with threading, and few commands look back

        said = self.run("log", "-1", "--no-show-signature", "--format=%h %cI", "--end-of-options", commit)
        short, _, date = said.strip().partition(b" ")
        return short.decode(), read_date(date)

    def read_log(self, commit: str, path: str) -> LogReader:
        """The commits that changed something at or below ``path``, oldest first, along the first parents.

        A commit's subject may hold any byte; what is not UTF-8 is replaced. 1,000 commits take about 80 ms.
        """
        from codeboost.gitrepo.log import LOG_OPTIONS, LogReader  # noqa: PLC0415 - with threading, and few commands look back

        arguments = ("log", *LOG_OPTIONS, "--end-of-options", commit, "--", path)
        return LogReader(start_git(self.top, arguments, self._make_environment(), stdin=DEVNULL, stderr=PIPE))

    # The checkout

    def read_config(self, name: str) -> str | None:
        """One value of the repository's own configuration; includes and other files have no say."""
        result = self.try_run("config", "--local", "--no-includes", "--get", name)
        return result.decode("utf-8", "replace").rstrip("\n") if result else None

    def read_core_config(self) -> dict[str, str]:
        """Everything below ``core.`` of the repository's own configuration: names in lower case, without ``core.``."""
        result = self.try_run("config", "--local", "--no-includes", "--null", "--get-regexp", r"^core\.")
        rows = (result or b"").decode("utf-8", "replace").split("\0")
        pairs = (row.partition("\n") for row in rows if row)
        # A name without a value means true.
        return {name.removeprefix("core."): value if mark else "true" for name, mark, value in pairs}

    def read_identity(self) -> str | None:
        """``Name <mail>`` as the person set it up, for the record of who approved; None when unset."""
        name = self._read_personal("user.name")
        mail = self._read_personal("user.email")
        return f"{name or ''} <{mail or ''}>".strip() if name or mail else None

    def _read_personal(self, name: str, *scope: str) -> str | None:
        # The only look at the person's own settings: reading a value runs nothing.
        names = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL")
        personal = {key: os.environ[key] for key in names if key in os.environ}
        environment = {
            k: v for k, v in self._make_environment().items() if k != "GIT_CONFIG_GLOBAL"
        } | personal
        result = run_git(self.top, ["config", *scope, "--get", name], environment=environment)
        return result.stdout.decode("utf-8", "replace").strip() if result.returncode == 0 else None

    def find_remote(self) -> Remote | None:
        """What ``origin`` says the repository is, or None when it has no origin or an unusual one."""
        url = self.read_config("remote.origin.url")
        return parse_remote(url) if url else None

    def list_changes(self) -> list[str]:
        """Paths whose content differs from HEAD, untracked files included; what a run will not see.

        Asked in a git folder of our own: in the checkout's, filters and the like that its configuration names would run.
        """
        head = self.find_commit("HEAD")
        with self.open_scratch() as scratch:
            scratch.adopt(head, self.git_dir / "index", self.common_dir / "info" / "exclude")
            return scratch.list_changes(self.top, head)

    def list_files(self, *paths: str, staged: bool) -> list[bytes]:
        """Files at or below ``paths`` that are in the index; or else those that are neither there nor ignored."""
        which = ["--cached"] if staged else ["--others", "--exclude-standard"]
        output = self.run("ls-files", "-z", *which, "--full-name", "--", *paths)
        return [record for record in output.split(b"\0") if record]

    def converts_line_ends(self, paths: Sequence[bytes]) -> bool:
        """Whether git may check every one of these files out with CRLF: by ``core.autocrlf``, or by its attributes."""
        if self.read_core_config().get("autocrlf", "false").lower() not in ("false", "no", "off", "0"):
            return True
        asked = b"".join(path + b"\0" for path in paths)
        fields = self.run("check-attr", "-z", "--stdin", "text", "eol", stdin=asked).split(b"\0")
        told = {path for path, value in zip(fields[0::3], fields[2::3], strict=False) if value in _TEXT}
        return told.issuperset(paths)

    def find_hooks(self) -> tuple[Path, bool]:
        """The folder that git takes this checkout's hooks from, and whether it serves this repository alone.

        ``core.hooksPath`` moves it; when that is set in the person's own configuration, all repositories share it.
        """
        own = self.read_config("core.hooksPath")
        # By its scope: without one, git would answer with the setting that every command of ours carries.
        shared = None if own else self._read_personal("core.hooksPath", "--global")
        path = own or shared
        if not path:
            return self.common_dir / "hooks", True
        return self.top / Path(path).expanduser(), shared is None

    @contextmanager
    def open_scratch(self) -> Iterator[ScratchRepo]:
        """A temporary git folder of our own that borrows this repository's objects, and nothing else of it."""
        from codeboost.gitrepo.scratch import ScratchRepo, hold_folder  # noqa: PLC0415 - few commands need it

        with hold_folder() as folder:
            try:
                scratch = ScratchRepo.make(folder, self.common_dir / "objects", self._read_object_format())
            except OSError as error:
                raise GitError(f"no space in {cut(str(folder.parent), 200)}: {error.strerror}") from error
            yield scratch

    def _read_object_format(self) -> str:
        return (self.read_config("extensions.objectFormat") or "sha1").lower()

    # The door

    def _make_environment(self) -> dict[str, str]:
        # Named outright, so that core.worktree and core.bare of the checkout's own configuration have no say.
        place = {"GIT_DIR": str(self.git_dir)}
        if self.top != self.common_dir:
            place["GIT_WORK_TREE"] = str(self.top)
        return make_environment() | place

    def run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """The output of a git command; GitError with git's own first line when it fails."""
        result = run_git(self.top, arguments, stdin=stdin, environment=self._make_environment())
        if result.returncode != 0:
            raise self._explain(arguments, result.stderr)
        return result.stdout

    def _explain(self, arguments: Sequence[str], said: bytes) -> GitError:
        line = said.decode("utf-8", "replace").strip().split("\n")[0]
        return GitError(f"git {arguments[0]} failed in {cut(str(self.top))}: {cut(line, 200)}")

    def try_run(self, *arguments: str) -> bytes | None:
        """The output of a git command, or None when it exits other than 0: for questions with a plain no."""
        result = run_git(self.top, arguments, environment=self._make_environment())
        return result.stdout if result.returncode == 0 else None
