"""One layer that holds a tree: a tar archive whose bytes and size follow from the tree alone, written as it is read."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from codeboost.errors import GitError, InputError
from codeboost.gitrepo import BlobReader, GitRepo, TreeEntry
from codeboost.sandbox.archive import END, MTIME, Kind, make_header, measure, pad
from codeboost.sandbox.onecommit import GitFile
from codeboost.sandbox.profile import HOME, TMP, USER_ID, WORKSPACE
from codeboost.sandbox.tree import SnapshotTree, is_lfs_pointer, show_paths

__all__ = ["LayerPlan", "archive_extras", "is_whiteout", "measure_layer", "write_layer"]

_WHITEOUT = b".wh."
# In a layer: whatever lower layers have in this folder is not seen.
_OPAQUE = b".wh..wh..opq"
_EXTRAS_BYTES = 16 << 20
_EXECUTABLE = 0o111
_READ_BYTES = 1 << 20
_ROOT = WORKSPACE[1:].encode()
_HOME = HOME[1:].encode()
_TMP = TMP[1:].encode()


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """What goes into the layer: the tree, and the one-commit ``.git`` if any. No tree needs no ``repository``."""

    repository: GitRepo | None
    tree: SnapshotTree
    owner: int = USER_ID
    git_folders: tuple[bytes, ...] = ()
    git_files: tuple[GitFile, ...] = ()
    hides_base: bool = True
    """Whether what the base image has in the work folder is hidden, so that the tree is all there is."""
    lfs: dict[bytes, None] = field(default_factory=dict)
    """The paths of Git LFS pointers, in order; filled while the blobs are read."""


def is_whiteout(path: bytes) -> bool:
    return path.startswith(_WHITEOUT) or b"/" + _WHITEOUT in path


def _iterate_folders(plan: LayerPlan) -> Iterator[bytes]:
    yield _ROOT
    for folder in plan.tree.folders:
        if not is_whiteout(folder):
            yield _ROOT + b"/" + folder
    if plan.git_files:
        yield _ROOT + b"/.git"
        for folder in plan.git_folders:
            yield _ROOT + b"/.git/" + folder


def _list_entries(plan: LayerPlan) -> list[TreeEntry]:
    return [entry for entry in plan.tree.entries if not is_whiteout(entry.path)]


def measure_layer(plan: LayerPlan) -> int:
    size = sum(measure(folder, Kind.FOLDER) for folder in _iterate_folders(plan))
    size += sum(measure(folder, Kind.FOLDER) for folder in (_TMP, _HOME.rpartition(b"/")[0], _HOME))
    size += measure(_ROOT + b"/" + _OPAQUE, Kind.FILE) if plan.hides_base else 0
    for entry in _list_entries(plan):
        name = _ROOT + b"/" + entry.path
        if entry.is_gitlink:
            size += measure(name, Kind.FOLDER)
        elif entry.is_symlink:
            # A target longer than a header's field takes blocks of its own; its length is the blob's.
            size += measure(name, Kind.SYMLINK, target=entry.size or 0)
        else:
            size += measure(name, Kind.FILE, size=entry.size or 0)
    size += sum(measure(_ROOT + b"/.git/" + file.name, Kind.FILE, size=file.size) for file in plan.git_files)
    return size + len(END)


def write_layer(plan: LayerPlan, top: bytes = b"") -> Iterator[bytes]:
    """The tar of the layer; ``top`` goes before every name (``b"tree/"``)."""
    # What is mounted there takes its mode from this folder; the base may have a closed one, a link or a file there.
    yield make_header(top + _TMP, Kind.FOLDER, mode=0o1777)
    yield make_header(top + _HOME.rpartition(b"/")[0], Kind.FOLDER, mode=0o755)
    yield make_header(top + _HOME, Kind.FOLDER, mode=0o755, owner=plan.owner)
    for folder in _iterate_folders(plan):
        yield make_header(top + folder, Kind.FOLDER, mode=0o755, owner=plan.owner)
        if folder == _ROOT and plan.hides_base:
            yield make_header(top + folder + b"/" + _OPAQUE, Kind.FILE, mode=0o644, owner=plan.owner)
    root = top + _ROOT + b"/"
    if plan.repository is not None:
        with plan.repository.read_blobs() as blobs:
            yield from _write_entries(plan, blobs, _list_entries(plan), root)
    for file in plan.git_files:
        # One second after the files: an index as old as they are would be doubted entry by entry.
        mtime = MTIME + (file.name == b"index")
        name = root + b".git/" + file.name
        yield make_header(name, Kind.FILE, mode=0o644, owner=plan.owner, size=file.size, mtime=mtime)
        yield from _read_content(file.content)
        yield bytes(pad(file.size))
    yield END


def _read_content(content: bytes | Path) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    with content.open("rb") as file:
        while piece := file.read(_READ_BYTES):
            yield piece


def _write_entries(
    plan: LayerPlan, blobs: BlobReader, entries: Iterable[TreeEntry], root: bytes
) -> Iterator[bytes]:
    """The entries in their order: small ones asked for together, large ones in pieces."""
    together: list[TreeEntry] = []
    for entry in entries:
        if entry.is_gitlink:
            yield make_header(root + entry.path, Kind.FOLDER, mode=0o755, owner=plan.owner)
        elif (entry.size or 0) <= _READ_BYTES or entry.is_symlink:
            together.append(entry)
        else:
            yield from _write_small(plan, blobs, together, root)
            together = []
            yield _make_file_header(plan, entry, root)
            yield from blobs.stream(entry.oid)
            yield bytes(pad(entry.size or 0))
    yield from _write_small(plan, blobs, together, root)


def _write_small(
    plan: LayerPlan, blobs: BlobReader, entries: list[TreeEntry], root: bytes
) -> Iterator[bytes]:
    answers = blobs.read_many([entry.oid for entry in entries])
    for entry, answer in zip(entries, answers, strict=True):
        if answer is None or len(answer[1]) != entry.size:
            raise GitError(f"the content of {show_paths([entry.path])} vanished from the repository")
        content = answer[1]
        if entry.is_symlink:
            name = root + entry.path
            yield make_header(name, Kind.SYMLINK, mode=0o777, owner=plan.owner, target=content)
            continue
        if is_lfs_pointer(content):
            plan.lfs[entry.path] = None
        # In one piece: each takes its way through several generators.
        yield b"".join((_make_file_header(plan, entry, root), content, bytes(pad(len(content)))))


def _make_file_header(plan: LayerPlan, entry: TreeEntry, root: bytes) -> bytes:
    mode = 0o755 if entry.mode & _EXECUTABLE else 0o644
    return make_header(root + entry.path, Kind.FILE, mode=mode, owner=plan.owner, size=entry.size or 0)


def archive_extras(repository: GitRepo, entries: list[TreeEntry], tree: SnapshotTree) -> bytes:
    """What a layer would take for the removal of other files, as a tar for the created container."""
    size = sum(measure(entry.path, Kind.FILE, size=entry.size or 0) for entry in entries)
    if size > _EXTRAS_BYTES:
        raise InputError(
            f"the files whose names begin with .wh. take more than {_EXTRAS_BYTES >> 20} MiB together"
        )
    plan = LayerPlan(repository, tree)
    output = io.BytesIO()
    for folder in tree.folders:
        if is_whiteout(folder):
            output.write(make_header(folder, Kind.FOLDER, mode=0o755, owner=USER_ID))
    with repository.read_blobs() as blobs:
        output.writelines(_write_entries(plan, blobs, entries, b""))
    output.write(END)
    return output.getvalue()
