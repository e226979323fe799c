"""The exact tree of a commit as one more layer on the base image (design §5.4, facts).

The layer's bytes follow from the tree alone, so the engine's own content addressing is the cache: the same base, tree
and options never build twice. Everything is streamed; sizes come from the tree's listing, so a tree of a gigabyte needs
no gigabyte of memory.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack
from dataclasses import dataclass, replace

from codeboost.gitrepo import GitRepo
from codeboost.sandbox.base import Snapshot
from codeboost.sandbox.client import EngineClient
from codeboost.sandbox.layer import LayerPlan, archive_extras, is_whiteout
from codeboost.sandbox.layered_image import build_layered_image, read_labels
from codeboost.sandbox.lock import hold_lock
from codeboost.sandbox.onecommit import make_git_folder, pack_commit
from codeboost.sandbox.owner import Label
from codeboost.sandbox.tree import SnapshotTree, read_tree

__all__ = ["FORMAT", "REPOSITORY", "LaidTree", "make_bare_image", "note_use", "take_snapshot"]

FORMAT = 3
"""Raised whenever the same input would give other bytes."""
REPOSITORY = "codeboost/snapshot"


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
    key = _make_key(image_id, content, git=git)
    # Two runs at once build it once, and whoever removes old images takes the same lock: what is found here stays.
    with hold_lock(f"snapshot-{key}"):
        found = _find(client, key)
        if found is not None:
            note_use(client, found.id, key)
            if not found.extras:
                return _reuse(found, content), laid
        with ExitStack() as stack:
            # git packs while the tree is read and checked, which takes as long.
            packing = stack.enter_context(pack_commit(repository, content)) if git and not found else None
            tree = read_tree(repository, commit)
            extras = [entry for entry in tree.entries if is_whiteout(entry.path)]
            if extras:
                laid = replace(laid, extras=archive_extras(repository, extras, tree))
            if found is not None:
                return _reuse(found, content), laid
            folders, files = make_git_folder(tree, packing) if packing else ([], [])
            plan = LayerPlan(repository, tree, git_folders=tuple(folders), git_files=tuple(files))
            labels: dict[str, str] = {
                Label.KIND: "snapshot",
                Label.KEY: key,
                Label.EXTRAS: "1" if extras else "",
            }
            built, warnings = build_layered_image(client, plan, image_id, f"{REPOSITORY}:{key}", labels)
        return Snapshot(built, key, content, reused=False, warnings=warnings), laid


def note_use(client: EngineClient, image_id: str, key: str) -> None:
    """Sets the snapshot's tag again for its time, which is that of the last use to every store of the engine."""
    client.tag_image(image_id, REPOSITORY, key)


def _reuse(found: _Image, content: str) -> Snapshot:
    return Snapshot(found.id, found.key, content, reused=True, warnings=found.warnings)


def make_bare_image(client: EngineClient, image_id: str) -> str:
    """The id of an image with the sandbox's folders and no tree in them: where the sandbox itself is looked at."""
    key = _make_key(image_id, "", git=False)
    with hold_lock(f"snapshot-{key}"):
        found = _find(client, key)
        if found is not None:
            note_use(client, found.id, key)
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
    labels = read_labels(found or {})
    if found is None or labels.get(Label.KEY) != key:
        return None
    try:
        warnings = tuple(str(text) for text in json.loads(labels.get(Label.WARNINGS) or "[]"))
    except ValueError:
        warnings = ()
    return _Image(str(found["Id"]), key, warnings, bool(labels.get(Label.EXTRAS)))
