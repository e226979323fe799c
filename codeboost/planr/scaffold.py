"""``planr init``: the files of a new planning root. Nothing that exists is overwritten (planr-contract.md, "CLI")."""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from codeboost.errors import GitError, InfrastructureError, InputError, UsageError
from codeboost.gitrepo import GitRepo
from codeboost.planr.config import CONFIG_NAME, Config, is_inside, load_config
from codeboost.planr.plainfile import open_plain
from codeboost.visible import cut

__all__ = ["Scaffold", "init"]

_ASSETS = Path(__file__).parent / "assets" / "scaffold"
IGNORED = ".planr/board.html"
_IN_REPO = Config(tasks_dir=".planr/tasks", goals_dir=".planr/plans")


@dataclass(frozen=True, slots=True)
class Scaffold:
    """What ``init`` did. ``written`` and ``kept`` are paths, relative to the root where they lie below it; ``notes`` are
    sentences about what it could not do."""

    root: Path
    written: tuple[str, ...]
    kept: tuple[str, ...]
    notes: tuple[str, ...]


def init(root: Path, *, in_repo: bool = False) -> Scaffold:
    """Make ``root`` a planning root, or complete one.

    ``in_repo`` puts tasks and goals below ``.planr/`` of the code repository that ``root`` lies in. UsageError when there is
    no such folder or repository, InputError when an existing configuration is broken, InfrastructureError when the disk
    does not take a file.
    """
    if not root.is_dir():
        raise UsageError(f"{cut(str(root))} is no folder")
    repo, notes = _find_repo(root)
    if in_repo:
        if repo is None or repo.is_bare:
            raise UsageError(
                "--in-repo needs a git repository with a work tree", hint="make one with `git init`"
            )
        root = repo.top
    wanted = _IN_REPO if in_repo else Config()
    maker = _Maker(root)
    try:
        maker.add(root / CONFIG_NAME, _render_config(wanted))
        config, errors = load_config(root)
        if errors:
            raise InputError(str(errors[0]))
        maker.add(root / config.tasks_dir / "README.md", _read("tasks-README.md"))
        maker.add(root / config.goals_dir / "goal-template.md", _read("goal-template.md"))
        notes += maker.ignore(root / ".gitignore", config.board_out)
        if repo is not None:
            notes += maker.add_hook(repo)
    except OSError as error:
        where = cut(str(error.filename or root), 300)
        raise InfrastructureError(f"{where} cannot be written: {error.strerror}") from error
    return Scaffold(root, tuple(maker.written), tuple(maker.kept), tuple(notes))


def _find_repo(root: Path) -> tuple[GitRepo | None, list[str]]:
    try:
        repo = GitRepo.find(root)
    except GitError as error:
        return None, [f"no pre-commit hook: {error}"]
    return repo, [] if repo else ["no pre-commit hook: this is no git repository"]


def _render_config(config: Config) -> str:
    keys = {
        "tasksDir": config.tasks_dir,
        "goalsDir": config.goals_dir,
        "goalSuffix": config.goal_suffix,
        "boardOut": config.board_out,
    }
    return json.dumps(keys, indent=2) + "\n"


def _read(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8")


def _read_plain(path: Path) -> bytes:
    with open(path, "rb", opener=open_plain) as file:
        return file.read()


class _Maker:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.written: list[str] = []
        self.kept: list[str] = []

    def add(self, path: Path, content: str, mode: int = 0o666) -> bool:
        """Whether the file was made; one that exists, a broken link included, is kept."""
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # The hook names the root's folder, whose name need not be UTF-8.
            file = path.open("x", encoding="utf-8", errors="surrogateescape", newline="\n")
        except FileExistsError:
            self.kept.append(self._show(path))
            return False
        try:
            with file:
                file.write(content)
        except OSError as error:
            # Half a file would be kept the next time.
            path.unlink()
            error.filename = str(path)
            raise
        if mode & 0o111:
            path.chmod(path.stat().st_mode | 0o111)
        self.written.append(self._show(path))
        return True

    def ignore(self, path: Path, entry: str) -> list[str]:
        """Add a line to ``.gitignore``, unless it is there; what is there stays. The answer says why there is none."""
        if entry.startswith(("#", "!")):
            entry = "\\" + entry
        if self.add(path, entry + "\n"):
            return []
        if path.is_symlink() and not is_inside(path, self.root):
            return [
                ".gitignore is a link that leads out of here and was left alone: add the board to it if you like"
            ]
        old = _read_plain(path)
        if entry.encode() in (line.strip().removeprefix(b"/") for line in old.splitlines()):
            return []
        ending = b"\r\n" if old.endswith(b"\r\n") else b"\n"
        gap = b"" if not old or old.endswith(b"\n") else b"\n"
        with path.open("ab") as file:
            file.write(gap + entry.encode() + ending)
        self.kept.remove(self._show(path))
        self.written.append(self._show(path))
        return []

    def add_hook(self, repo: GitRepo) -> list[str]:
        """Add the pre-commit hook; the answer says why there is none."""
        folder, is_own = repo.find_hooks()
        if not is_own:
            where = f"your own core.hooksPath, {cut(str(folder))}, serves all your repositories"
            return [f"no pre-commit hook: {where}; add `planr check` there if you like"]
        below = self.root.resolve().relative_to(repo.top.resolve()).as_posix()
        script = _read("pre-commit").replace("@ROOT@", shlex.quote(below))
        if self.add(folder / "pre-commit", script, 0o777):
            return []
        with suppress(OSError):
            # No plain file, or one that cannot be read: it is somebody else's.
            if b"planr check" in _read_plain(folder / "pre-commit"):
                return []
        return ["the repository has a pre-commit hook of its own: add `planr check` to it if you like"]

    def _show(self, path: Path) -> str:
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)
