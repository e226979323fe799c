"""Where an operation works: a checkout, the repository it belongs to, and the store (design §4)."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from codeboost.errors import UsageError
from codeboost.gitrepo import GitRepo, Remote
from codeboost.store.database import Store
from codeboost.store.plans import RepositoryRecord, StoredPlan, find_checkout, find_latest_plan, find_plan
from codeboost.visible import cut

__all__ = [
    "Approver",
    "Project",
    "find_approver",
    "open_project",
    "parse_slug",
    "require_plan",
]

DEFAULT_HOST = "github.com"


@dataclass(frozen=True, slots=True)
class Project:
    """A checkout that a person bound to its repository with ``codeboost init``."""

    store: Store
    git: GitRepo
    repository: RepositoryRecord


@dataclass(frozen=True, slots=True)
class Approver:
    """Who is at the terminal: the user of the operating system, and the identity that git is set up with."""

    user: str
    git_identity: str | None


def open_project(store: Store, start: Path, slug: str | None = None) -> Project:
    """The project around ``start``.

    UsageError when it is no checkout, was never bound, its ``origin`` changed since, or ``slug`` (``--repo``) names
    another repository than the one it is bound to.
    """
    git = GitRepo.open(start)
    bound = find_checkout(store, str(git.common_dir))
    if bound is None:
        raise UsageError(
            f"{cut(str(git.top), 200)} is not set up for codeboost yet",
            hint=f"run `codeboost init` here once: it records which repository this is, in the store at {store.home}",
        )
    origin = git.find_remote()
    if str(origin or "") != (bound.origin or ""):
        raise UsageError(
            f"origin is {origin or 'gone'} now, and was {bound.origin or 'absent'} when this checkout was set up",
            hint="if that is right, confirm it with `codeboost init`",
        )
    if slug is not None and parse_slug(slug) != _remote_of(bound.repository):
        raise UsageError(
            f"this checkout belongs to {bound.repository}, not to {cut(slug)}",
            hint="if that is wrong, say so with `codeboost init --repo OWNER/NAME`",
        )
    return Project(store, git, bound.repository)


def _remote_of(repository: RepositoryRecord) -> Remote:
    return Remote(repository.host, repository.owner, repository.name)


def parse_slug(slug: str) -> Remote:
    """``owner/name`` or ``host/owner/name``. UsageError when it is neither."""
    parts = slug.split("/")
    if len(parts) == 2:
        parts.insert(0, DEFAULT_HOST)
    usable = len(parts) == 3 and all(
        part.strip(".") and part.isprintable() and not set(part) & set(" \\:") for part in parts
    )
    if not usable:
        raise UsageError(f"'{cut(slug)}' is no repository: write it like owner/name or host/owner/name")
    return Remote(parts[0].lower(), parts[1], parts[2])


def require_plan(project: Project, issue: int, revision: int | None = None) -> StoredPlan:
    """The newest revision of an issue's plan, or the one named. UsageError when there is none."""
    if revision is None:
        stored = find_latest_plan(project.store, project.repository.id, issue)
    else:
        stored = find_plan(project.store, project.repository.id, issue, revision)
    if stored is None:
        latest = find_latest_plan(project.store, project.repository.id, issue)
        if latest is not None:
            # Revisions are numbered without a gap.
            has = "revision 1 alone" if latest.revision == 1 else f"revisions 1 to {latest.revision}"
            raise UsageError(
                f"there is no revision {revision} for issue {issue} of {project.repository.slug}",
                hint=f"it has {has}",
            )
        raise UsageError(
            f"there is no plan for issue {issue} of {project.repository.slug}",
            hint=f"import one with `codeboost plan import FILE --issue {issue}`",
        )
    return stored


def find_approver(git: GitRepo) -> Approver:
    try:
        # By number: the names in the environment are whatever a caller likes.
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = f"uid {os.getuid()}"
    return Approver(user, git.read_identity())
