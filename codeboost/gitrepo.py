"""Every git subprocess of the program.

The checkout's own ``.git`` may be hostile (facts: replace refs change what ``git show`` prints, ``core.fsmonitor`` runs
a program at ``git status``). So: plumbing only, full object ids, and an environment in which no replace objects,
grafts, lazy fetches, transports, hooks, external diffs, text conversions, pagers or user settings have a say.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from codeboost.errors import GitError, UsageError
from codeboost.visible import cut

__all__ = ["BlobReader", "Branch", "GitRepo", "LogEntry", "Remote", "TreeChange", "TreeEntry", "parse_remote"]

# Read once: these would let the caller's or the repository's settings into a plumbing command.
_CONFIG = (
    # Whose files they are does not matter: nothing in them is trusted anyway.
    "safe.directory=*",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.quotePath=false",
    "core.commitGraph=false",
    "core.useReplaceRefs=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
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
_TREE_LINE = re.compile(rb"tree ([0-9a-f]{40}(?:[0-9a-f]{24})?)\n")
_FOLDER_MODE = 0o040000
_KINDS = {_FOLDER_MODE: "tree", 0o160000: "commit"}
_FULL_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class TreeEntry(NamedTuple):
    """One leaf of a tree. ``path`` is the bytes that git holds; ``size`` is None for a gitlink
    and for a blob that is missing."""

    mode: int
    kind: str
    oid: str
    size: int | None
    path: bytes

    @property
    def is_symlink(self) -> bool:
        return self.mode == 0o120000

    @property
    def is_gitlink(self) -> bool:
        return self.mode == 0o160000


class TreeChange(NamedTuple):
    """One path that differs between two trees.

    ``status`` is git's letter: A, D, M, T (another type), or R, a rename from ``old_path``. An absent mode is 0.
    """

    status: str
    old_mode: int
    mode: int
    path: bytes
    old_path: bytes | None


class Branch(NamedTuple):
    """The full name of a branch, and the id of the commit that it points to."""

    name: str
    commit: str


class Remote(NamedTuple):
    """Where a repository lives: ``github.com``, ``owner``, ``name``."""

    host: str
    owner: str
    name: str

    @property
    def slug(self) -> str:
        return f"{self.owner}/{self.name}"

    def __str__(self) -> str:
        return f"{self.host}/{self.owner}/{self.name}"


class LogEntry(NamedTuple):
    """One commit and what it did to files, against its first parent.

    ``files`` are (mode, object id, path) after the commit; a removed file has mode 0. ``date`` is the committer's, ISO 8601.
    """

    commit: str
    date: str
    subject: str
    files: list[tuple[int, str, bytes]]


def _make_environment() -> dict[str, str]:
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


class BlobReader:
    """One ``git cat-file --batch`` process: objects by id, as many as wanted.

    Each is hashed again: git itself takes what lies in a checkout's object store for what its file name says.
    """

    def __init__(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        self._requests = requests
        self._answers = answers

    def read(self, name: str) -> tuple[str, bytes] | None:
        """The type and content of an object, or None when the repository does not hold it."""
        self._send([name])
        return self._take(name)

    def read_many(self, names: Sequence[str]) -> Iterator[tuple[str, bytes] | None]:
        """Like ``read`` for each name, in order, without waiting for one answer before the next question.

        Names are object ids: a thousand questions fit into a pipe, so neither side ever waits for the other to read.
        """
        for start in range(0, len(names), 1000):
            asked = names[start : start + 1000]
            self._send(asked)
            for name in asked:
                yield self._take(name)

    def stream(self, name: str, chunk: int = 1 << 20) -> Iterator[bytes]:
        """The content of an object in pieces, so that a large one needs no memory of its size."""
        header = self._ask(name)
        if header is None:
            raise GitError(f"object {name} is missing from the repository")
        kind, left, oid = header
        digest = _begin_hash(kind, left, oid)
        while left:
            piece = self._answers.read(min(chunk, left))
            if not piece:
                raise GitError(f"git cat-file ended in the middle of {name}")
            left -= len(piece)
            digest.update(piece)
            yield piece
        self._answers.read(1)
        _refuse_forged(digest, oid)

    def _take(self, name: str) -> tuple[str, bytes] | None:
        header = self._read_header()
        if header is None:
            return None
        kind, size, oid = header
        content = self._answers.read(size)
        if len(content) != size:
            raise GitError(f"git cat-file ended in the middle of {name}")
        self._answers.read(1)
        digest = _begin_hash(kind, size, oid)
        digest.update(content)
        _refuse_forged(digest, oid)
        return kind, content

    def _ask(self, name: str) -> tuple[str, int, str] | None:
        self._send([name])
        return self._read_header()

    def _send(self, names: Sequence[str]) -> None:
        try:
            self._requests.write(b"".join(os.fsencode(name) + b"\n" for name in names))
            self._requests.flush()
        except OSError as error:
            raise GitError(f"git cat-file died: {error}") from error

    def _read_header(self) -> tuple[str, int, str] | None:
        words = self._answers.readline().split()
        if not words:
            raise GitError("git cat-file died")
        if words[-1] in (b"missing", b"ambiguous"):
            return None
        return words[1].decode(), int(words[2]), words[0].decode()


def _begin_hash(kind: str, size: int, oid: str) -> hashlib._Hash:
    digest = hashlib.sha256() if len(oid) == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(f"{kind} {size}\0".encode())
    return digest


def _refuse_forged(digest: hashlib._Hash, oid: str) -> None:
    if digest.hexdigest() != oid:
        raise GitError(
            f"object {oid} is not what its name says: the repository's object store is damaged",
            hint="run `git fsck`, or clone the repository anew",
        )


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
        begin = start.absolute()
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
        result = _run(folder, question, environment=_make_environment() | place)
        if result.returncode != 0:
            return None
        common, own = os.fsdecode(result.stdout).splitlines()[:2]
        return Path(common), Path(own)

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
            answer = objects.read(f"{commit}^{{commit}}")
        match = _TREE_LINE.match(answer[1]) if answer else None
        if match is None:
            raise GitError(f"{cut(commit)} is no commit of {cut(str(self.top))}")
        return match[1].decode()

    def list_tree(self, commit: str, *, sizes: bool = False) -> list[TreeEntry]:
        """Every leaf of the commit's tree, in git's order. 50,000 files take 27 ms (without sizes)."""
        output = self.run("ls-tree", "-r", "-z", *(["-l"] if sizes else []), "--full-tree", commit)
        entries = []
        for record in output.split(b"\0"):
            if not record:
                continue
            head, _, path = record.partition(b"\t")
            words = head.split()
            # A blob that the repository does not hold is listed as BAD.
            size = int(words[3]) if sizes and words[3].isdigit() else None
            entries.append(TreeEntry(int(words[0], 8), words[1].decode(), words[2].decode(), size, path))
        return entries

    def find_entry(self, commit: str, path: str) -> TreeEntry | None:
        """The entry at ``path`` (a folder included), or None."""
        name, mode = self.find_tree(commit), _FOLDER_MODE
        with self.read_blobs() as objects:
            for part in os.fsencode(path).split(b"/"):
                answer = objects.read(name) if mode == _FOLDER_MODE else None
                found = _find_in_tree(answer[1], part, len(name) // 2) if answer else None
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
        return list(_read_changes(output))

    @contextmanager
    def read_blobs(self) -> Iterator[BlobReader]:
        """A reader of objects by id; one process for all of them."""
        process = _start(self.top, ["cat-file", "--batch"], self._make_environment())
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
        usual = [
            f"{place}/{name}"
            for place in ("refs/remotes/origin", "refs/heads")
            for name in ("main", "master")
        ]
        format_ = "--format=%(refname)%00%(symref)%00%(objectname)"
        listed = self.run("for-each-ref", format_, "refs/remotes/origin/HEAD", *usual).decode(
            "utf-8", "surrogateescape"
        )
        found = {
            name: Branch(link or name, oid)
            for name, link, oid in (row.split("\0") for row in listed.splitlines())
        }
        # Left behind by a remote that is gone, its branches say nothing.
        has_remote = any(name.startswith("refs/remotes/") for name in found) and self.read_config(
            "remote.origin.url"
        )
        for name in ("refs/remotes/origin/HEAD", *usual):
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
        said = self.run("log", "-1", "--no-show-signature", "--format=%h %cI", "--end-of-options", commit)
        short, _, date = said.decode().strip().partition(" ")
        return short, date

    def read_log(self, commit: str, path: str) -> list[LogEntry]:
        """The commits that changed something at or below ``path``, oldest first, along the first parents.

        A commit's subject may hold any byte; what is not UTF-8 is replaced. 1,000 commits take about 80 ms.
        """
        output = self.run(
            "log",
            "--first-parent",
            "--diff-merges=first-parent",
            "--root",
            "--raw",
            "--no-abbrev",
            "--no-renames",
            "--no-relative",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--no-notes",
            "--no-show-signature",
            "--no-mailmap",
            "-O/dev/null",
            "--encoding=UTF-8",
            "--reverse",
            "-z",
            "--format=%H%x00%cI%x00%s",
            "--end-of-options",
            commit,
            "--",
            path,
        )
        return list(_read_log(output))

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
        result = _run(self.top, ["config", *scope, "--get", name], environment=environment)
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

    def list_untracked(self, *paths: str) -> list[bytes]:
        """Files at or below ``paths`` that are neither in the index nor ignored."""
        output = self.run("ls-files", "-z", "--others", "--exclude-standard", "--full-name", "--", *paths)
        return [record for record in output.split(b"\0") if record]

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
        try:
            folder = Path(tempfile.mkdtemp(prefix="codeboost-git-"))
        except OSError as error:
            raise GitError(f"no temporary folder can be made in {tempfile.gettempdir()}: {error}") from error
        try:
            try:
                scratch = ScratchRepo.make(folder, self.common_dir / "objects", self._read_object_format())
            except OSError as error:
                raise GitError(f"no space in {cut(str(folder.parent), 200)}: {error.strerror}") from error
            yield scratch
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _read_object_format(self) -> str:
        return (self.read_config("extensions.objectFormat") or "sha1").lower()

    # The door

    def _make_environment(self) -> dict[str, str]:
        # Named outright, so that core.worktree and core.bare of the checkout's own configuration have no say.
        place = {"GIT_DIR": str(self.git_dir)}
        if self.top != self.common_dir:
            place["GIT_WORK_TREE"] = str(self.top)
        return _make_environment() | place

    def run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """The output of a git command; GitError with git's own first line when it fails."""
        result = _run(self.top, arguments, stdin=stdin, environment=self._make_environment())
        if result.returncode != 0:
            said = result.stderr.decode("utf-8", "replace").strip().split("\n")[0]
            raise GitError(f"git {arguments[0]} failed in {cut(str(self.top))}: {cut(said, 200)}")
        return result.stdout

    def try_run(self, *arguments: str) -> bytes | None:
        """The output of a git command, or None when it exits other than 0: for questions with a plain no."""
        result = _run(self.top, arguments, environment=self._make_environment())
        return result.stdout if result.returncode == 0 else None


def _read_log(output: bytes) -> Iterator[LogEntry]:
    """With ``-z`` a commit is three fields, then a line end and its files: a ``:`` record and a path each."""
    fields = iter(output.split(b"\0"))
    commit = next(fields, b"")
    while commit:
        date, subject = next(fields), next(fields)
        files = []
        following = next(fields, b"").lstrip(b"\n")
        while following.startswith(b":"):
            _, mode, _, oid, _ = following[1:].split(b" ")
            files.append((int(mode, 8), oid.decode(), next(fields)))
            following = next(fields, b"")
        yield LogEntry(commit.decode(), date.decode(), subject.decode("utf-8", "replace"), files)
        commit = following


def _read_changes(output: bytes) -> Iterator[TreeChange]:
    """``:OLDMODE MODE OLDID ID STATUS``, then one path, of a rename two: the old one first."""
    fields = iter(output.split(b"\0"))
    for record in fields:
        if not record:
            continue
        old_mode, mode, _, _, status = record[1:].split(b" ")
        path = next(fields)
        old_path = path if status.startswith(b"R") else None
        path = next(fields) if old_path is not None else path
        yield TreeChange(status[:1].decode(), int(old_mode, 8), int(mode, 8), path, old_path)


@dataclass(frozen=True, slots=True)
class ScratchRepo:
    """A git folder made by us: its configuration, attributes and references are ours, only objects are borrowed."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, objects: Path, object_format: str) -> ScratchRepo:
        if object_format not in ("sha1", "sha256"):
            raise GitError(f"the repository has an unknown object format: {cut(object_format)}")
        for name in ("objects/info", "objects/pack", "refs/heads", "info"):
            (folder / name).mkdir(parents=True)
        extension = "[extensions]\n\tobjectFormat = sha256\n" if object_format == "sha256" else ""
        version = 1 if extension else 0
        config = f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n{extension}"
        (folder / "config").write_text(config, encoding="utf-8")
        (folder / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        path = os.fsencode(objects)
        if b"\n" in path:
            path = b'"' + path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
        (folder / "objects" / "info" / "alternates").write_bytes(path + b"\n")
        return cls(folder)

    def write_tree(self, entries: Iterable[TreeEntry]) -> str:
        """The id of a tree with these leaves, made where it is missing."""
        rows = b"".join(b"%o %s\t%s\0" % (entry.mode, entry.oid.encode(), entry.path) for entry in entries)
        self.run("update-index", "-z", "--index-info", stdin=rows)
        return self.run("write-tree").decode().strip()

    def commit_tree(self, tree: str, message: str, moment: int) -> str:
        """One commit without parents, the same for the same tree: fixed identity, ``moment`` in seconds UTC."""
        who = {"NAME": "codeboost", "EMAIL": "codeboost@localhost", "DATE": f"@{moment} +0000"}
        fixed = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        return self.run("commit-tree", tree, stdin=message.encode(), extra=fixed).decode().strip()

    def pack(self, commit: str) -> tuple[Path, Path]:
        """Everything that ``commit`` reaches as one pack and its index; the same bytes for the same objects.

        Objects are packed anew: how the source happened to store them would show in the bytes otherwise.
        """
        options = ("--revs", "--threads=1", "--window=0", "--no-reuse-object", "--no-reuse-delta", "--quiet")
        prefix = self.folder / "objects" / "pack" / "pack"
        name = self.run(
            "-c", "pack.compression=1", "pack-objects", *options, str(prefix), stdin=commit.encode() + b"\n"
        )
        stem = f"{prefix}-{name.decode().strip()}"
        return Path(stem + ".pack"), Path(stem + ".idx")

    def adopt(self, head: str | None, index: Path, exclude: Path) -> None:
        """Takes over what is mere data: which commit is checked out, what the index remembers, what is ignored."""
        if head is not None:
            (self.folder / "HEAD").write_text(head + "\n", encoding="utf-8")
        for source, name in ((index, "index"), (exclude, "info/exclude")):
            if source.is_file():
                # With its times: what changed in the second in which the index was written, git looks at again.
                shutil.copy2(source, self.folder / name)

    def list_changes(self, top: Path, head: str | None) -> list[str]:
        """What differs in the work tree at ``top``."""
        question = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")
        place = {"GIT_WORK_TREE": str(top)}
        try:
            output = self.run(*question, extra=place)
        except GitError:
            # A split or damaged index: ask without what it remembers.
            (self.folder / "index").unlink(missing_ok=True)
            if head is not None:
                self.run("read-tree", head)
            output = self.run(*question, extra=place)
        return [os.fsdecode(record[3:]) for record in output.split(b"\0") if record]

    def run(self, *arguments: str, stdin: bytes | None = None, extra: dict[str, str] | None = None) -> bytes:
        environment = _make_environment() | {"GIT_DIR": str(self.folder)} | (extra or {})
        result = _run(self.folder, arguments, stdin=stdin, environment=environment)
        if result.returncode == 0:
            return result.stdout
        said = result.stderr.decode("utf-8", "replace").strip()
        if "No space left" in said or "Out of diskspace" in said:
            raise GitError(
                f"no space in {cut(str(self.folder.parent), 200)}",
                hint="make room there, or set TMPDIR to another folder",
            )
        raise GitError(f"git {arguments[0]} failed on borrowed objects: {cut(said.split(chr(10))[0], 200)}")


def _find_in_tree(content: bytes, name: bytes, oid_bytes: int) -> tuple[int, str] | None:
    """The mode and id of the entry ``name`` in a tree object: ``mode SP name NUL id``, again and again."""
    start = 0
    while start < len(content):
        space = content.index(b" ", start)
        end = content.index(b"\0", space)
        if content[space + 1 : end] == name:
            return int(content[start:space], 8), content[end + 1 : end + 1 + oid_bytes].hex()
        start = end + 1 + oid_bytes
    return None


_URL = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/]*@)?(?P<host>[^/:]+)(?::\d+)?/|(?:[^@/]*@)?(?P<scp>[^/:]+):)"
    r"(?P<owner>[^/]+)/(?P<name>[^/]+?)(?:\.git)?/?"
)


def parse_remote(url: str) -> Remote | None:
    """``host/owner/name`` of a remote's address, or None when it is not of that form."""
    match = _URL.fullmatch(url)
    if match is None:
        return None
    return Remote((match["host"] or match["scp"]).lower(), match["owner"], match["name"])


def _command(arguments: Iterable[str]) -> list[str]:
    settings = [word for setting in _CONFIG for word in ("-c", setting)]
    return ["git", "--no-pager", "--no-replace-objects", *settings, *arguments]


def _run(
    folder: Path,
    arguments: Sequence[str],
    *,
    stdin: bytes | None = None,
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            _command(arguments),
            cwd=folder,
            env=environment or _make_environment(),
            input=stdin if stdin is not None else b"",
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise _explain_missing(folder) from error
    except NotADirectoryError as error:
        raise GitError(f"{cut(str(folder))} is not a folder") from error


def _start(folder: Path, arguments: Sequence[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            _command(arguments),
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except FileNotFoundError as error:
        raise _explain_missing(folder) from error


def _explain_missing(folder: Path) -> GitError:
    if not folder.exists():
        return GitError(f"the folder {cut(str(folder))} does not exist")
    return GitError("git is not installed", hint="install git and try again")
