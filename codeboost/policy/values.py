"""The values of ``codeboost.toml``: each function gives the value, or raises ValueError with a sentence."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from codeboost.command.grammar import Argv, parse_command
from codeboost.errors import CommandSyntaxError
from codeboost.limits import format_size, parse_duration, parse_size
from codeboost.visible import cut

__all__ = [
    "name_type",
    "read_boolean",
    "read_commands",
    "read_cpus",
    "read_disk",
    "read_duration",
    "read_env",
    "read_image",
    "read_memory",
    "read_paths",
    "read_pids",
    "read_prefix",
    "read_runtime",
    "read_timeouts",
    "read_workdir",
    "show_command",
]

_MEMORY = (16 << 20, 1 << 40)
_DISK = (16 << 20, 4 << 40)
_CPUS = (0.1, 512.0)
_PIDS = (8, 1 << 16)

# The sandbox sets these itself: they decide which program is found, and what a check sees on every machine.
_RESERVED_ENV = frozenset(
    [
        "PATH",
        "HOME",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "USER",
        "LOGNAME",
        "SHELL",
        "PWD",
        "OLDPWD",
        "HOSTNAME",
        "TERM",
    ]
)
_RESERVED_PREFIXES = ("LC_", "CODEBOOST_")
_MAX_ENV_BYTES = 64 << 10

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}")
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,15}")
_RUNTIME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

T = TypeVar("T")


def _expect(value: Any, kind: type[T], what: str) -> T:
    # bool is an int to Python, and not to a person who writes `cpus = true`.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"it is {name_type(value)}; it has to be {what}")
    return value


def read_boolean(value: Any) -> bool:
    return _expect(value, bool, "true or false")


def read_duration(value: Any) -> float:
    return parse_duration(_expect(value, str, "a duration like 90s, 10m or 1h30m"))


def read_memory(value: Any) -> int:
    return _read_size(value, _MEMORY)


def read_disk(value: Any) -> int:
    return _read_size(value, _DISK)


def _read_size(value: Any, bounds: tuple[int, int]) -> int:
    size = parse_size(_expect(value, str, "a size like 512MiB or 2GiB"))
    low, high = bounds
    if not low <= size <= high:
        raise ValueError(f"{cut(value)} is out of range: {format_size(low)} to {format_size(high)}")
    return size


def read_cpus(value: Any) -> float:
    low, high = _CPUS
    number = (
        float(value) if type(value) is int and abs(value) < 1 << 53 else _expect(value, float, "a number")
    )
    if not low <= number <= high:
        raise ValueError(f"{number:g} is out of range: {low:g} to {high:g}")
    return number


def read_pids(value: Any) -> int:
    low, high = _PIDS
    if not low <= _expect(value, int, "a whole number") <= high:
        raise ValueError(f"it is out of range: {low} to {high}")
    return int(value)


def read_image(value: Any) -> str:
    return _match(_IMAGE, value, "the name of an image, like python:3.12-slim")


def read_runtime(value: Any) -> str:
    return _match(_RUNTIME, value, "the name of a runtime, like runsc")


def read_prefix(value: Any) -> str:
    return _match(_PREFIX, value, "a prefix of task ids: a letter, then letters, digits, - or _, 16 at most")


def _match(pattern: re.Pattern[str], value: Any, what: str) -> str:
    text = _expect(value, str, what)
    if not pattern.fullmatch(text):
        raise ValueError(f"'{cut(text)}' is not {what}")
    return text


def read_workdir(value: Any) -> str:
    return _check_workdir(_expect(value, str, "a folder, like . or packages/core"))


def read_env(value: Any) -> dict[str, str]:
    table: dict[str, Any] = _expect(value, dict, 'a table of strings: { NAME = "value" }')
    for name, text in table.items():
        if not _ENV_NAME.fullmatch(name):
            raise ValueError(f"'{cut(name)}' is no name of a variable: letters, digits and _ only")
        if name in _RESERVED_ENV or name.startswith(_RESERVED_PREFIXES):
            raise ValueError(f"{cut(name)} is set by the sandbox and cannot be replaced")
        if not isinstance(text, str) or "\0" in text:
            raise ValueError(f"the value of {cut(name)} has to be a string without null characters")
    if sum(len(name) + len(text.encode()) + 2 for name, text in table.items()) > _MAX_ENV_BYTES:
        raise ValueError(f"all variables together take more than {format_size(_MAX_ENV_BYTES)}")
    return table


def read_paths(value: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_check_path(path) for path in _read_list(value, "files")))


def read_commands(value: Any) -> tuple[Argv, ...]:
    return tuple(_parse(text) for text in _read_list(value, "commands"))


def _read_list(value: Any, what: str) -> list[str]:
    elements: list[Any] = _expect(value, list, f"a list of {what}")
    return [_expect(element, str, f"a list of {what}, each a string") for element in elements]


def read_timeouts(value: Any) -> dict[Argv, float]:
    timeouts: dict[Argv, float] = {}
    table: dict[str, Any] = _expect(value, dict, 'a table: { "command" = "20m" }')
    for text, duration in table.items():
        argv = _parse(text)
        if argv in timeouts:
            raise ValueError(f"{show_command(argv)} has two timeouts")
        timeouts[argv] = read_duration(duration)
    return timeouts


def _parse(text: str) -> Argv:
    try:
        return parse_command(text)
    except CommandSyntaxError as error:
        hint = f" ({error.hint})" if error.hint else ""
        raise ValueError(f"the command '{cut(text)}', {error}{hint}") from None


def _check_path(path: str) -> str:
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError(
            f"'{cut(path)}' has to be a plain path below the repository root, without empty, . or .. parts"
        )
    if re.search(r"[\\:\x00-\x1f\x7f-\x9f]", path):
        raise ValueError(f"'{cut(path)}' holds a backslash, a colon or a control character")
    if any(part.lower() == ".git" for part in parts):
        raise ValueError(f"'{cut(path)}' lies in .git")
    return path


def show_command(argv: Argv) -> str:
    return cut(" ".join(argv))


def name_type(value: Any) -> str:
    names = {
        bool: "a boolean",
        str: "a string",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "a table",
    }
    return names.get(type(value), "a date or time")


def _check_workdir(path: str) -> str:
    """``path`` if it is ``.`` or a canonical path below the repository root; ValueError with a sentence if not."""
    return path if path == "." else _check_path(path)
