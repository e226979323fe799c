"""``codeboost.toml``: the repository's reviewed policy, read only from a plan's base commit (design §4).

What an agent writes cannot loosen its own cage, so the file of the work tree or of the tested commit means nothing.
Without one at the base commit the defaults hold. A file that cannot be understood whole stops everything: nothing
falls back to a default because of a typing error.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from codeboost.command.grammar import Argv, parse_command
from codeboost.diagnostics import Diagnostic, Position, Severity
from codeboost.errors import CommandSyntaxError, InputError
from codeboost.gitrepo import GitRepo
from codeboost.limits import Limits, format_size, parse_duration, parse_size
from codeboost.visible import cut

__all__ = [
    "POLICY_FILE",
    "Policy",
    "PolicyEntry",
    "SandboxPolicy",
    "SetupPolicy",
    "parse_policy",
    "read_policy",
]

POLICY_FILE = "codeboost.toml"
MAX_BYTES = 1 << 20
_SETUP_TIMEOUT_S = 1800.0

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
_NO_COMMANDS: tuple[Argv, ...] = ()


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """``[sandbox]``. ``image`` is None when the policy names none; ``workdir`` is relative to the repository root."""

    image: str | None = None
    workdir: str = "."
    limits: Limits = field(default_factory=Limits)
    git: bool = True
    env: Mapping[str, str] = field(default_factory=dict)
    runtime: str | None = None


@dataclass(frozen=True, slots=True)
class SetupPolicy:
    """``[setup]``: the only step that may have network, and all that it may see of the tree."""

    inputs: tuple[str, ...]
    run: tuple[Argv, ...]
    network: bool = False
    timeout_s: float = _SETUP_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """One command of ``[allow]``, approved by review; ``timeout_s`` replaces the limit for it."""

    argv: Argv
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything ``codeboost.toml`` says. ``digest`` is the SHA-256 of its bytes (of none when it is not there)."""

    sandbox: SandboxPolicy
    setup: SetupPolicy | None
    allow: tuple[PolicyEntry, ...]
    digest: str
    present: bool
    task_prefix: str = "GH"
    """``[tasks] prefix``: the tasks of issue 412 are named ``GH412-P1`` and so on."""


def read_policy(repo: GitRepo, commit: str) -> Policy:
    """The policy at ``commit`` (a full id), the defaults when it has none.

    InputError, with a diagnostic of code ``policy`` for each fault, when the file cannot be understood.
    """
    entry = repo.find_entry(commit, POLICY_FILE)
    where = f"{POLICY_FILE} at {commit[:12]}"
    if entry is None:
        return Policy(SandboxPolicy(), None, (), hashlib.sha256(b"").hexdigest(), present=False)
    if entry.kind != "blob" or entry.is_symlink:
        kind = "a symbolic link" if entry.is_symlink else "a submodule" if entry.is_gitlink else "a folder"
        raise _refuse(where, [(None, f"it is {kind}, and has to be a regular file")])
    size = int(repo.run("cat-file", "-s", entry.oid))
    if size > MAX_BYTES:
        raise _refuse(where, [(None, f"it has {size} bytes; at most {MAX_BYTES} are read")])
    return parse_policy(repo.read_blob(entry.oid), where)


def parse_policy(data: bytes, where: str = POLICY_FILE) -> Policy:
    """The policy that these bytes say; ``where`` names them in errors. InputError like ``read_policy``."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refuse(where, [(line, "it is not UTF-8")]) from None
    if text.startswith("\ufeff"):
        raise _refuse(where, [(1, "it starts with a byte order mark, which TOML does not allow")])
    import tomllib  # noqa: PLC0415 - most checks of a plan find no policy to read

    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise _refuse(where, [(None, "it is nested too deeply")]) from None
    except ValueError as error:
        raise _refuse(where, [_locate(str(error))]) from None
    reader = _Reader(text)
    policy = reader.read(document, hashlib.sha256(data).hexdigest())
    if reader.faults:
        raise _refuse(where, sorted(reader.faults, key=lambda fault: fault[0] or 0))
    return policy


def check_workdir(path: str) -> str:
    """``path`` if it is ``.`` or a canonical path below the repository root; ValueError with a sentence if not."""
    return path if path == "." else _check_path(path)


_Fault = tuple[int | None, str]


def _refuse(where: str, faults: list[_Fault]) -> InputError:
    lines = [f"{where}, line {line}: {text}" if line else f"{where}: {text}" for line, text in faults]
    diagnostics = [
        Diagnostic("policy", Severity.ERROR, text, position=Position(line, 1) if line else None)
        for line, text in faults
    ]
    return InputError(
        "\n".join(lines),
        hint="it counts as it stands at the base commit: correct it there, and nothing runs until then",
        diagnostics=diagnostics,
    )


def _locate(message: str) -> _Fault:
    """tomllib says ``… (at line 3, column 7)``."""
    match = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
    if match is None:
        return None, f"it is not TOML: {cut(message, 200)}"
    return int(match[2]), f"it is not TOML: {cut(match[1], 200)} (column {match[3]})"


class _Reader:
    """Takes the parsed document apart and collects every fault instead of stopping at the first."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self.faults: list[_Fault] = []

    def read(self, document: Mapping[str, Any], digest: str) -> Policy:
        self._check_keys(document, "", ("sandbox", "setup", "allow", "tasks"))
        sandbox = self._take_table(document, "sandbox")
        setup = self._take_table(document, "setup")
        allow = self._take_table(document, "allow")
        tasks = self._take_table(document, "tasks")
        self._check_keys(tasks, "tasks", ("prefix",))
        return Policy(
            self._read_sandbox(sandbox),
            self._read_setup(setup) if "setup" in document else None,
            self._read_allow(allow),
            digest,
            present=True,
            task_prefix=self._take(tasks, "tasks", "prefix", "GH", _read_prefix),
        )

    def _read_sandbox(self, table: Mapping[str, Any]) -> SandboxPolicy:
        name = "sandbox"
        default = Limits()
        known = ["image", "workdir", "timeout", "memory", "cpus", "pids", "disk", "git", "env", "runtime"]
        self._check_keys(table, name, known)
        limits = Limits(
            timeout_s=self._take(table, name, "timeout", default.timeout_s, _read_duration),
            memory_bytes=self._take(table, name, "memory", default.memory_bytes, _read_memory),
            cpus=self._take(table, name, "cpus", default.cpus, _read_cpus),
            pids=self._take(table, name, "pids", default.pids, _read_pids),
            disk_bytes=self._take(table, name, "disk", default.disk_bytes, _read_disk),
        )
        return SandboxPolicy(
            image=self._take(table, name, "image", None, _read_image),
            workdir=self._take(table, name, "workdir", ".", _read_workdir),
            limits=limits,
            git=self._take(table, name, "git", True, _read_boolean),  # noqa: FBT003 - the default of the key
            env=self._take(table, name, "env", {}, _read_env),
            runtime=self._take(table, name, "runtime", None, _read_runtime),
        )

    def _read_setup(self, table: Mapping[str, Any]) -> SetupPolicy:
        name = "setup"
        self._check_keys(table, name, ("inputs", "run", "network", "timeout"))
        if "run" not in table:
            self._fault(name, None, "[setup] needs `run`, a list of commands")
        return SetupPolicy(
            inputs=self._take(table, name, "inputs", (), _read_paths),
            run=self._take(table, name, "run", _NO_COMMANDS, _read_commands),
            network=self._take(table, name, "network", False, _read_boolean),  # noqa: FBT003 - see above
            timeout_s=self._take(table, name, "timeout", _SETUP_TIMEOUT_S, _read_duration),
        )

    def _read_allow(self, table: Mapping[str, Any]) -> tuple[PolicyEntry, ...]:
        name = "allow"
        self._check_keys(table, name, ("commands", "timeouts"))
        commands = self._take(table, name, "commands", _NO_COMMANDS, _read_commands)
        none: dict[Argv, float] = {}
        timeouts = self._take(table, name, "timeouts", none, _read_timeouts)
        for argv in timeouts:
            if argv not in commands:
                self._fault(name, "timeouts", f"{_show(argv)} has a timeout but is not listed in `commands`")
        # The same command twice says nothing new.
        return tuple(PolicyEntry(argv, timeouts.get(argv)) for argv in dict.fromkeys(commands))

    def _check_keys(self, table: Mapping[str, Any], section: str, known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                place = f"[{section}]" if section else "the top"
                self._fault(
                    section or key,
                    key if section else None,
                    f"unknown key {cut(key)} in {place}; known are {', '.join(known)}",
                )

    def _take_table(self, document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        value = document.get(name, {})
        if isinstance(value, dict):
            return value
        self._fault("", name, f"{name} is {_name_type(value)}; it has to be a table: [{name}]")
        return {}

    def _take(
        self, table: Mapping[str, Any], section: str, key: str, default: T, read: Callable[[Any], T]
    ) -> T:
        if key not in table:
            return default
        try:
            return read(table[key])
        except ValueError as error:
            self._fault(section, key, f"[{section}] {key}: {error}")
            return default

    def _fault(self, section: str, key: str | None, text: str) -> None:
        self.faults.append((self._find_line(section, key), text))

    def _find_line(self, section: str, key: str | None) -> int | None:
        """Where the key stands, as a person would look for it; tomllib keeps no positions."""
        wanted = ".".join(part for part in (section, key) if part)
        table, fallback = "", None
        for number, line in enumerate(self._lines, 1):
            if header := _HEADER.fullmatch(line):
                table = name = _normalize(header[1])
            elif assignment := _ASSIGNMENT.match(line):
                name = ".".join(filter(None, (table, _normalize(assignment[1]))))
            else:
                continue
            if name == wanted or name.startswith(f"{wanted}."):
                return number
            if name == section:
                fallback = fallback or number
        return fallback


_HEADER = re.compile(r"\s*\[\[?([^\]=,]+)\]\]?\s*(?:#.*)?")
_ASSIGNMENT = re.compile(r"([^=#\[{]+)=")


def _normalize(name: str) -> str:
    return re.sub(r"[\s\"']", "", name)


# Values: each reader gives the value or raises ValueError with a sentence.


def _expect(value: Any, kind: type[T], what: str) -> T:
    # bool is an int to Python, and not to a person who writes `cpus = true`.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"it is {_name_type(value)}; it has to be {what}")
    return value


def _read_boolean(value: Any) -> bool:
    return _expect(value, bool, "true or false")


def _read_duration(value: Any) -> float:
    return parse_duration(_expect(value, str, "a duration like 90s, 10m or 1h30m"))


def _read_memory(value: Any) -> int:
    return _read_size(value, _MEMORY)


def _read_disk(value: Any) -> int:
    return _read_size(value, _DISK)


def _read_size(value: Any, bounds: tuple[int, int]) -> int:
    size = parse_size(_expect(value, str, "a size like 512MiB or 2GiB"))
    low, high = bounds
    if not low <= size <= high:
        raise ValueError(f"{cut(value)} is out of range: {format_size(low)} to {format_size(high)}")
    return size


def _read_cpus(value: Any) -> float:
    low, high = _CPUS
    number = (
        float(value) if type(value) is int and abs(value) < 1 << 53 else _expect(value, float, "a number")
    )
    if not low <= number <= high:
        raise ValueError(f"{number:g} is out of range: {low:g} to {high:g}")
    return number


def _read_pids(value: Any) -> int:
    low, high = _PIDS
    if not low <= _expect(value, int, "a whole number") <= high:
        raise ValueError(f"it is out of range: {low} to {high}")
    return int(value)


def _read_image(value: Any) -> str:
    return _match(_IMAGE, value, "the name of an image, like python:3.12-slim")


def _read_runtime(value: Any) -> str:
    return _match(_RUNTIME, value, "the name of a runtime, like runsc")


def _read_prefix(value: Any) -> str:
    return _match(_PREFIX, value, "a prefix of task ids: a letter, then letters, digits, - or _, 16 at most")


def _match(pattern: re.Pattern[str], value: Any, what: str) -> str:
    text = _expect(value, str, what)
    if not pattern.fullmatch(text):
        raise ValueError(f"'{cut(text)}' is not {what}")
    return text


def _read_workdir(value: Any) -> str:
    return check_workdir(_expect(value, str, "a folder, like . or packages/core"))


def _read_env(value: Any) -> dict[str, str]:
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


def _read_paths(value: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_check_path(path) for path in _read_list(value, "files")))


def _read_commands(value: Any) -> tuple[Argv, ...]:
    return tuple(_parse(text) for text in _read_list(value, "commands"))


def _read_list(value: Any, what: str) -> list[str]:
    elements: list[Any] = _expect(value, list, f"a list of {what}")
    return [_expect(element, str, f"a list of {what}, each a string") for element in elements]


def _read_timeouts(value: Any) -> dict[Argv, float]:
    timeouts: dict[Argv, float] = {}
    table: dict[str, Any] = _expect(value, dict, 'a table: { "command" = "20m" }')
    for text, duration in table.items():
        argv = _parse(text)
        if argv in timeouts:
            raise ValueError(f"{_show(argv)} has two timeouts")
        timeouts[argv] = _read_duration(duration)
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


def _show(argv: Argv) -> str:
    return cut(" ".join(argv))


def _name_type(value: Any) -> str:
    names = {
        bool: "a boolean",
        str: "a string",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "a table",
    }
    return names.get(type(value), "a date or time")
