"""``codeboost init``: once per repository, a person says what it is, and gets a place for tasks and a policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from codeboost.errors import InfrastructureError, UsageError
from codeboost.gitrepo import GitRepo
from codeboost.operations.project import parse_slug
from codeboost.planr import scaffold
from codeboost.planr.config import find_root, load_config
from codeboost.policy import POLICY_FILE
from codeboost.policy.values import read_image
from codeboost.store.database import Store
from codeboost.store.plans import RepositoryRecord, bind_checkout, find_checkout, find_repository
from codeboost.visible import cut

__all__ = ["InitResult", "guess_image", "init_project"]

# What a repository of this kind needs at least, by a file at its top. The first that fits is taken.
_IMAGES = (
    ("pyproject.toml", "python:3.12-slim"),
    ("setup.py", "python:3.12-slim"),
    ("requirements.txt", "python:3.12-slim"),
    ("package.json", "node:22-slim"),
    ("go.mod", "golang:1.24"),
    ("Cargo.toml", "rust:1-slim"),
    ("Gemfile", "ruby:3.4-slim"),
    ("build.gradle.kts", "gradle:8-jdk21"),
    ("build.gradle", "gradle:8-jdk21"),
    ("pom.xml", "maven:3-eclipse-temurin-21"),
    ("composer.json", "php:8.4-cli"),
    ("mix.exs", "elixir:1.18-slim"),
)
_BY_SUFFIX = ((".py", "python:3.12-slim"), (".js", "node:22-slim"), (".go", "golang:1.24"))
_FALLBACK = "debian:bookworm-slim"

_POLICY = """\
# What codeboost may do with this repository. It counts as it stands at a plan's base commit, so a change of it has to be
# reviewed and merged like any other. Every key but the image may be left out; these are the defaults.

[sandbox]
image = "{image}"     # pulled once if missing; name@sha256:… is better than a tag
# workdir = "."
# timeout = "10m"
# memory = "2GiB"
# cpus = 2
# pids = 512
# disk = "4GiB"
# git = true
# env = {{ PYTHONHASHSEED = "0" }}

# [setup]                        # dependencies, prepared once: the only step that may have network
# inputs = ["requirements.txt"]
# run = ["pip install -r requirements.txt"]
# network = true

# [allow]                        # commands approved by review, each exactly as it stands here
# commands = ["python3 -m pytest -q"]
"""


@dataclass(frozen=True, slots=True)
class InitResult:
    """What this checkout is now. ``created`` holds the files that were made, relative to the top of the checkout."""

    repository: RepositoryRecord
    top: Path
    planning_root: Path
    tasks_dir: Path
    goals_dir: Path
    created: tuple[str, ...]
    image: str | None
    """The image of a policy that was made now; None when there was one already."""
    warnings: tuple[str, ...]


def init_project(
    store: Store, start: Path, *, slug: str | None = None, image: str | None = None
) -> InitResult:
    """Bind the checkout around ``start`` to its repository, and make what is missing. Nothing is ever overwritten.

    The repository is ``slug``, else what ``origin`` says; UsageError when neither says it.
    """
    if image is not None:
        try:
            read_image(image)
        except ValueError as error:
            raise UsageError(f"--image: {error}") from error
    git = GitRepo.open(start)
    if git.is_bare:
        raise UsageError(
            f"{cut(str(git.top), 200)} is a bare repository",
            hint="run this in a checkout, where files have a place",
        )
    origin = git.find_remote()
    remote = parse_slug(slug) if slug is not None else origin
    if remote is None:
        raise UsageError(
            "which repository is this? There is no `origin` that says so",
            hint="name it: `codeboost init --repo OWNER/NAME`",
        )
    repository = find_repository(store, remote.host, remote.owner, remote.name)
    before = find_checkout(store, str(git.common_dir))
    bind_checkout(store, str(git.common_dir), repository, str(origin) if origin else None)
    root = find_root(git.top)
    created: list[str] = []
    warnings: list[str] = []
    if before is not None and before.repository.id != repository.id:
        warnings.append(
            f"this checkout belonged to {before.repository} before; its plans and approvals stay there"
        )
    if root is None:
        made = scaffold.init(git.top, in_repo=True)
        created += made.written
        warnings += made.notes
        root = made.root
    policy = git.top / POLICY_FILE
    chosen: str | None = None
    if not policy.exists() and not policy.is_symlink():
        chosen = image or guess_image(git.top)
        try:
            policy.write_text(_POLICY.format(image=chosen), "utf-8")
        except OSError as error:
            raise InfrastructureError(f"{POLICY_FILE} cannot be written: {error.strerror}") from error
        created.append(POLICY_FILE)
    elif image is not None:
        warnings.append(f"{POLICY_FILE} exists and decides the image; --image changed nothing")
    config, errors = load_config(root)
    warnings += [str(error) for error in errors]
    return InitResult(
        repository,
        git.top,
        root,
        root / config.tasks_dir,
        root / config.goals_dir,
        tuple(created),
        chosen,
        tuple(warnings),
    )


def guess_image(top: Path) -> str:
    """An image for the checks of a repository, by the files at its top."""
    for name, image in _IMAGES:
        if (top / name).exists():
            return image
    for suffix, image in _BY_SUFFIX:
        if any(
            path.suffix == suffix
            for folder in (top, top / "src", *_first_folders(top))
            for path in _list(folder)
        ):
            return image
    return _FALLBACK


def _first_folders(top: Path) -> list[Path]:
    return sorted(path for path in _list(top) if path.is_dir() and not path.name.startswith("."))[:20]


def _list(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []
