"""The exact tree of a commit as one more layer on the base image (design §5.4, facts).

The layer's bytes follow from the tree alone, so the engine's own content addressing is the cache: the same base, tree
and options never build twice. Everything is streamed; sizes come from the tree's listing, so a tree of a gigabyte needs
no gigabyte of memory.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from codeboost.errors import EngineError, GitError, InputError
from codeboost.gitrepo import BlobReader, GitRepo, TreeEntry
from codeboost.sandbox.archive import END, MTIME, Kind, gather, make_header, measure, pad, wrap
from codeboost.sandbox.base import Snapshot
from codeboost.sandbox.client import EngineClient, RefusedError
from codeboost.sandbox.lock import hold_lock
from codeboost.sandbox.onecommit import GitFile, make_git_folder
from codeboost.sandbox.owner import Label
from codeboost.sandbox.profile import HOME, USER_ID, WORKSPACE
from codeboost.sandbox.tree import SnapshotTree, is_lfs_pointer, read_tree, show_paths
from codeboost.visible import cut

__all__ = [
    "FORMAT",
    "REPOSITORY",
    "LaidTree",
    "LayerPlan",
    "build_layered_image",
    "make_bare_image",
    "take_snapshot",
]

FORMAT = 1
"""Raised whenever the same input would give other bytes."""
REPOSITORY = "codeboost/snapshot"
_WHITEOUT = b".wh."
_EXTRAS_BYTES = 16 << 20
_EXECUTABLE = 0o111
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """What goes into the layer: the tree, and the one-commit ``.git`` if any. No tree needs no ``repository``."""

    repository: GitRepo | None
    tree: SnapshotTree
    owner: int = USER_ID
    git_folders: tuple[bytes, ...] = ()
    git_files: tuple[GitFile, ...] = ()
    lfs: list[bytes] = field(default_factory=list)
    """Filled while the blobs are read."""


@dataclass(frozen=True, slots=True)
class LaidTree:
    """What a container of a snapshot needs beyond its image; ``extras`` is a tar of what no layer can hold."""

    repository: GitRepo
    commit: str
    extras: bytes = b""

    def is_folder(self, path: str) -> bool:
        """Whether the snapshot has a folder at ``path``, relative to its root, and no link on the way."""
        entry = self.repository.find_entry(self.commit, path)
        return entry is not None and (entry.kind == "tree" or entry.is_gitlink)


def take_snapshot(
    client: EngineClient,
    repository: GitRepo,
    commit: str,
    image_id: str,
    *,
    git: bool,
) -> tuple[Snapshot, LaidTree]:
    """The snapshot, made or found, and what a container of it needs to know.

    Raises InputError for a tree that may not be laid out, EngineError and GitError for the environment.
    """
    laid = LaidTree(repository, commit)
    # A tree that was laid out once was checked then: its id, read from the commit, says it all.
    content = repository.find_tree(commit)
    found = _find(client, _make_key(image_id, content, git=git))
    if found is not None and not found.extras:
        return _reuse(client, found, content), laid
    tree = read_tree(repository, commit)
    key = _make_key(image_id, tree.content, git=git)
    extras = [entry for entry in tree.entries if _is_whiteout(entry.path)]
    if extras:
        laid = replace(laid, extras=_archive_extras(repository, extras, tree))
    with hold_lock(f"snapshot-{key}"):
        # Another run may have built it while this one waited.
        found = _find(client, key)
        if found is not None:
            return _reuse(client, found, tree.content), laid
        with ExitStack() as stack:
            folders, files = stack.enter_context(make_git_folder(repository, tree)) if git else ([], [])
            plan = LayerPlan(repository, tree, git_folders=tuple(folders), git_files=tuple(files))
            labels: dict[str, str] = {
                Label.KIND: "snapshot",
                Label.KEY: key,
                Label.EXTRAS: "1" if extras else "",
            }
            built, warnings = build_layered_image(client, plan, image_id, f"{REPOSITORY}:{key}", labels)
        return Snapshot(built, key, tree.content, reused=False, warnings=warnings), laid


def _reuse(client: EngineClient, found: _Image, content: str) -> Snapshot:
    # The tag is set again for its time: that of the last use.
    client.tag_image(found.id, REPOSITORY, found.key)
    return Snapshot(found.id, found.key, content, reused=True, warnings=found.warnings)


def make_bare_image(client: EngineClient, image_id: str) -> str:
    """The id of an image with the sandbox's folders and no tree in them: where the sandbox itself is looked at."""
    key = _make_key(image_id, "", git=False)
    with hold_lock(f"snapshot-{key}"):
        found = _find(client, key)
        if found is not None:
            return found.id
        labels: dict[str, str] = {Label.KIND: "snapshot", Label.KEY: key}
        plan = LayerPlan(None, SnapshotTree("", "", "", (), ()))
        return build_layered_image(client, plan, image_id, f"{REPOSITORY}:{key}", labels)[0]


@dataclass(frozen=True, slots=True)
class _Image:
    id: str
    key: str
    warnings: tuple[str, ...]
    extras: bool


def _make_key(image_id: str, content: str, *, git: bool) -> str:
    parts = {"format": FORMAT, "image": image_id, "tree": content, "git": git}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _find(client: EngineClient, key: str) -> _Image | None:
    found = client.inspect_image(f"{REPOSITORY}:{key}")
    labels = ((found or {}).get("Config") or {}).get("Labels") or {}
    if found is None or labels.get(Label.KEY) != key:
        return None
    try:
        warnings = tuple(str(text) for text in json.loads(labels.get(Label.WARNINGS) or "[]"))
    except ValueError:
        warnings = ()
    return _Image(str(found["Id"]), key, warnings, bool(labels.get(Label.EXTRAS)))


def build_layered_image(
    client: EngineClient, plan: LayerPlan, base_id: str, reference: str, labels: Mapping[str, str]
) -> tuple[str, tuple[str, ...]]:
    """One more layer on ``base_id`` under the name ``reference``: the image's id, and what the tree lacks."""
    base = client.inspect_image(base_id)
    if base is None:
        raise EngineError(f"the image {cut(base_id)} is gone", hint="run again; it is pulled or built anew")
    try:
        client.load_image(gather(_write_image(plan, base, reference, labels)))
    except RefusedError:
        # An image store that does not take a load with absent layers: build in the ordinary way.
        _build_by_copy(client, plan, base_id, reference, labels)
    # A load leaves no trace of when; the time of this tag is that of the first use.
    client.tag_image(reference, *reference.rsplit(":", 1))
    found = client.inspect_image(reference)
    if found is None:
        raise EngineError(f"the engine took the snapshot {cut(reference)} and does not have it")
    layers, expected = found["RootFS"].get("Layers") or [], base["RootFS"].get("Layers") or []
    if layers[: len(expected)] != expected:
        raise EngineError(f"the snapshot {cut(reference)} does not lie on its base image")
    return str(found["Id"]), _warn(plan)


def _warn(plan: LayerPlan) -> tuple[str, ...]:
    return tuple(
        f"{text}: {show_paths(paths)}"
        for paths, text in (
            (plan.lfs, "Git LFS pointers, whose content is not in the repository"),
            (plan.tree.submodules, "submodules, which are empty folders here"),
        )
        if paths
    )


# The image archive


def _write_image(
    plan: LayerPlan, base: Mapping[str, Any], reference: str, labels: Mapping[str, str]
) -> Iterator[bytes]:
    """An archive for ``docker load``: the layer first, then what can only be known once it was written."""
    digest = hashlib.sha256()
    size = _measure_layer(plan)
    yield make_header(b"layer.tar", Kind.FILE, mode=0o644, size=size)
    written = 0
    for piece in _write_layer(plan):
        digest.update(piece)
        written += len(piece)
        yield piece
    if written != size:
        raise EngineError(
            f"a snapshot of {size} bytes came out with {written}: the repository changed meanwhile"
        )
    yield bytes(pad(size))
    labels = dict(labels) | {Label.BYTES: str(size)}
    diff_ids = [*(base["RootFS"].get("Layers") or []), f"sha256:{digest.hexdigest()}"]
    config = json.dumps(_make_config(base, diff_ids, labels, _warn(plan)), sort_keys=True).encode()
    yield from wrap(b"config.json", config)
    # The engine has the base's layers; their files in the archive are never looked for.
    names = [f"absent-{index}.tar" for index in range(len(diff_ids) - 1)] + ["layer.tar"]
    manifest = [{"Config": "config.json", "RepoTags": [reference], "Layers": names}]
    yield from wrap(b"manifest.json", json.dumps(manifest).encode())
    yield END


def _make_config(
    base: Mapping[str, Any], diff_ids: list[str], labels: Mapping[str, str], warnings: tuple[str, ...]
) -> dict[str, Any]:
    """The base's environment and nothing else of its settings: no entrypoint, volumes, healthcheck or triggers."""
    settings = base.get("Config") or {}
    return {
        "architecture": base["Architecture"],
        "os": base["Os"],
        **({"variant": base["Variant"]} if base.get("Variant") else {}),
        "created": "2000-01-01T00:00:00Z",
        "config": {
            "Env": list(settings.get("Env") or []),
            "WorkingDir": WORKSPACE,
            "Labels": dict(labels) | {Label.WARNINGS: json.dumps(warnings)},
        },
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
    }


# The layer


def _is_whiteout(path: bytes) -> bool:
    return any(part.startswith(_WHITEOUT) for part in path.split(b"/"))


def _iterate_folders(plan: LayerPlan) -> Iterator[bytes]:
    yield _ROOT
    for folder in plan.tree.folders:
        if not _is_whiteout(folder):
            yield _ROOT + b"/" + folder
    if plan.git_files:
        yield _ROOT + b"/.git"
        for folder in plan.git_folders:
            yield _ROOT + b"/.git/" + folder


def _list_entries(plan: LayerPlan) -> list[TreeEntry]:
    return [entry for entry in plan.tree.entries if not _is_whiteout(entry.path)]


_ROOT = WORKSPACE[1:].encode()
_HOME = HOME[1:].encode()


def _measure_layer(plan: LayerPlan) -> int:
    size = sum(measure(folder, Kind.FOLDER) for folder in _iterate_folders(plan))
    size += measure(_HOME.rpartition(b"/")[0], Kind.FOLDER) + measure(_HOME, Kind.FOLDER)
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


def _write_layer(plan: LayerPlan, top: bytes = b"") -> Iterator[bytes]:
    """The tar of the layer; ``top`` goes before every name (``b"tree/"``)."""
    yield make_header(top + _HOME.rpartition(b"/")[0], Kind.FOLDER, mode=0o755)
    yield make_header(top + _HOME, Kind.FOLDER, mode=0o755, owner=plan.owner)
    for folder in _iterate_folders(plan):
        yield make_header(top + folder, Kind.FOLDER, mode=0o755, owner=plan.owner)
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
            plan.lfs.append(entry.path)
        yield _make_file_header(plan, entry, root)
        yield content
        yield bytes(pad(len(content)))


def _make_file_header(plan: LayerPlan, entry: TreeEntry, root: bytes) -> bytes:
    mode = 0o755 if entry.mode & _EXECUTABLE else 0o644
    return make_header(root + entry.path, Kind.FILE, mode=mode, owner=plan.owner, size=entry.size or 0)


def _archive_extras(repository: GitRepo, entries: list[TreeEntry], tree: SnapshotTree) -> bytes:
    """What a layer would take for the removal of other files, as a tar for the created container."""
    size = sum(entry.size or 0 for entry in entries)
    if size > _EXTRAS_BYTES:
        raise InputError(
            f"the files whose names begin with .wh. are larger than {_EXTRAS_BYTES >> 20} MiB together"
        )
    plan = LayerPlan(repository, tree)
    output = io.BytesIO()
    for folder in tree.folders:
        if _is_whiteout(folder):
            output.write(make_header(folder, Kind.FOLDER, mode=0o755, owner=USER_ID))
    with repository.read_blobs() as blobs:
        output.writelines(_write_entries(plan, blobs, entries, b""))
    output.write(END)
    return output.getvalue()


# The ordinary build


def _build_by_copy(
    client: EngineClient, plan: LayerPlan, base_id: str, reference: str, labels: Mapping[str, str]
) -> None:
    """The same content through a Dockerfile; the tree lies in a subfolder, so no ``.dockerignore`` of it counts."""
    client.tag_image(base_id, "codeboost/base", base_id.rpartition(":")[2])
    lines = (
        f"FROM codeboost/base:{base_id.rpartition(':')[2]}\n"
        f"COPY --chown={plan.owner}:{plan.owner} tree/home /home/\n"
        f"COPY --chown={plan.owner}:{plan.owner} tree/workspace {WORKSPACE}/\n"
        f"WORKDIR {WORKSPACE}\nENTRYPOINT []\nCMD []\nHEALTHCHECK NONE\n"
    )

    def write() -> Iterator[bytes]:
        yield from wrap(b"Dockerfile", lines.encode())
        yield from _write_layer(plan, b"tree/")

    client.build_image(gather(write()), reference, dict(labels) | {Label.WARNINGS: json.dumps(_warn(plan))})
