"""``planr.config.json`` and the search for the planning root (planr-contract.md, top)."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from codeboost.planr.model import Finding, name_word
from codeboost.planr.plainfile import open_plain

__all__ = ["CONFIG_NAME", "Config", "find_root", "is_inside", "load_config"]

CONFIG_NAME = "planr.config.json"
_SIZE_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Config:
    """Folders and files of a planning root, as relative paths with ``/``, without ``.`` and ``..``."""

    tasks_dir: str = "tasks"
    goals_dir: str = "plans"
    goal_suffix: str = "-goal.md"
    board_out: str = ".planr/board.html"


def find_root(start: Path) -> Path | None:
    """The first folder from ``start`` upwards that holds ``tasks/`` or ``planr.config.json``; None when there is none."""
    start = Path(os.path.abspath(start))  # noqa: PTH100 - without following links, as a person sees the path
    for folder in (start, *start.parents):
        if (folder / "tasks").is_dir() or (folder / CONFIG_NAME).is_file():
            return folder
    return None


def is_inside(path: Path, root: Path) -> bool:
    """Whether ``path``, once links are resolved, is below ``root`` (and not ``root`` itself)."""
    real, real_root = os.path.realpath(path), os.path.realpath(root)
    return real.startswith(real_root.rstrip("/") + "/")


def load_config(root: Path) -> tuple[Config, list[Finding]]:
    """The configuration of a planning root, and what is wrong with it. Unknown and legacy keys mean nothing."""
    try:
        with open(root / CONFIG_NAME, "rb", opener=open_plain) as file:
            data = file.read(_SIZE_LIMIT + 1)
    except FileNotFoundError:
        data = b"{}"
    except OSError as error:
        return Config(), [Finding("config", f"cannot be read: {error.strerror}", CONFIG_NAME)]
    if len(data) > _SIZE_LIMIT:
        return Config(), [Finding("config", "is larger than 1 MiB", CONFIG_NAME)]
    try:
        loaded = json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        return Config(), [Finding("config", f"is no valid JSON: {error.msg}", CONFIG_NAME, error.lineno)]
    except (ValueError, RecursionError):
        message = "is no valid JSON: it is not UTF-8, nests too deep, or has a number of thousands of digits"
        return Config(), [Finding("config", message, CONFIG_NAME)]
    if not isinstance(loaded, dict):
        return Config(), [Finding("config", "must be a JSON object, such as {}", CONFIG_NAME)]
    return _read_keys(loaded, root)


def _read_keys(loaded: dict[str, object], root: Path) -> tuple[Config, list[Finding]]:
    defaults = Config()
    errors: list[Finding] = []
    paths: dict[str, str] = {}
    for key, default in (
        ("tasksDir", defaults.tasks_dir),
        ("goalsDir", defaults.goals_dir),
        ("boardOut", defaults.board_out),
    ):
        value = loaded.get(key, default)
        path, complaint = _read_path(value, root)
        paths[key] = path
        if complaint:
            errors.append(Finding("config-dir", f"{key} {complaint}", CONFIG_NAME))
    suffix = loaded.get("goalSuffix", defaults.goal_suffix)
    if not isinstance(suffix, str) or "/" in suffix or not _is_nameable(suffix):
        errors.append(
            Finding("config", 'goalSuffix must be the end of a file name, such as "-goal.md"', CONFIG_NAME)
        )
        suffix = defaults.goal_suffix
    if not errors and paths["tasksDir"] == paths["goalsDir"]:
        errors.append(Finding("config-dir", "tasksDir and goalsDir must be two folders", CONFIG_NAME))
    return Config(paths["tasksDir"], paths["goalsDir"], suffix, paths["boardOut"]), errors


def _read_path(value: object, root: Path) -> tuple[str, str | None]:
    """The normal form of a configured path, and what is wrong with it."""
    if not isinstance(value, str) or not _is_nameable(value):
        return "", 'must be a path in double quotes, such as "tasks"'
    path = os.path.normpath(value)
    if PurePosixPath(path).is_absolute():
        return "", f"{name_word(value)} must be relative to the planning root"
    if path == "." or path.startswith("../") or path == ".." or not is_inside(root / path, root):
        return "", f"{name_word(value)} must lead to a place below the planning root"
    if _leads_into_git(path) or _leads_into_git(
        os.path.relpath(os.path.realpath(root / path), os.path.realpath(root))
    ):
        return "", f"{name_word(value)} must not lead into a .git folder"
    return path, None


def _leads_into_git(path: str) -> bool:
    """Where a file more or less changes what git does. Some file systems do not tell ``.GIT`` from ``.git``."""
    return ".git" in path.lower().split("/")


def _is_nameable(text: str) -> bool:
    """Whether a file may have this name: JSON can spell texts that no file system takes."""
    return bool(text) and "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
