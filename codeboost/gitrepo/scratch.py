"""A git folder of our own making, for what must not be asked in a checkout's own."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from codeboost.errors import GitError
from codeboost.gitrepo.process import make_environment, run_git
from codeboost.gitrepo.records import TreeEntry
from codeboost.visible import cut

__all__ = ["ScratchRepo", "hold_folder"]

_PREFIX = "codeboost-git-"
_MARK = "in-use"
# Between the making of a folder and its mark lies a moment in which it looks as if nobody held it.
_YOUNG_S = 60.0


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
        environment = make_environment() | {"GIT_DIR": str(self.folder)} | (extra or {})
        result = run_git(self.folder, arguments, stdin=stdin, environment=environment)
        if result.returncode == 0:
            return result.stdout
        said = result.stderr.decode("utf-8", "replace").strip()
        if "No space left" in said or "Out of diskspace" in said:
            raise GitError(
                f"no space in {cut(str(self.folder.parent), 200)}",
                hint="make room there, or set TMPDIR to another folder",
            )
        raise GitError(f"git {arguments[0]} failed on borrowed objects: {cut(said.split(chr(10))[0], 200)}")


@contextmanager
def hold_folder() -> Iterator[Path]:
    """A temporary folder, gone afterwards. What killed processes left of theirs, maybe a whole pack, goes first.

    A lock says who lives: the kernel lets go of it when its holder dies. GitError when no folder can be made.
    """
    parent = tempfile.gettempdir()
    try:
        _remove_left(Path(parent))
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    except OSError as error:
        raise GitError(f"no temporary folder can be made in {parent}: {error}") from error
    try:
        try:
            unlocked = folder / f"{_MARK}.new"
            mark = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise GitError(f"no space in {cut(parent, 200)}: {error.strerror}") from error
        try:
            with suppress(OSError):
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # What bears the name was locked before it did.
                unlocked.rename(folder / _MARK)
            yield folder
        finally:
            os.close(mark)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_left(parent: Path) -> None:
    with os.scandir(parent) as entries:
        places = [Path(entry.path) for entry in entries if entry.name.startswith(_PREFIX)]
    for place in places:
        # Somebody else may be removing it just now, or it may be another user's.
        with suppress(OSError):
            found = place.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
                is_old = time.time() - found.st_mtime > _YOUNG_S
                _remove_unheld(place, os.O_CREAT if is_old else 0)


def _remove_unheld(place: Path, create: int) -> None:
    mark = os.open(place / _MARK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | create, 0o600)
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(place, ignore_errors=True)
    finally:
        os.close(mark)
