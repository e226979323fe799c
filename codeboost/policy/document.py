"""The bytes of ``codeboost.toml`` as a policy, or every fault in them with its line."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from codeboost.command.grammar import Argv
from codeboost.diagnostics import Diagnostic, Position, Severity
from codeboost.errors import InputError
from codeboost.limits import Limits
from codeboost.policy.model import (
    POLICY_FILE,
    SETUP_TIMEOUT_S,
    Policy,
    PolicyEntry,
    SandboxPolicy,
    SetupPolicy,
)
from codeboost.policy.values import (
    name_type,
    read_boolean,
    read_commands,
    read_cpus,
    read_disk,
    read_duration,
    read_env,
    read_image,
    read_memory,
    read_paths,
    read_pids,
    read_prefix,
    read_runtime,
    read_timeouts,
    read_workdir,
    show_command,
)
from codeboost.visible import cut

__all__ = ["parse_policy", "refuse_policy"]

T = TypeVar("T")
_NO_COMMANDS: tuple[Argv, ...] = ()


def parse_policy(data: bytes, where: str = POLICY_FILE) -> Policy:
    """The policy that these bytes say; ``where`` names them in errors. InputError like ``read_policy``."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refuse_policy(where, [(line, "it is not UTF-8")]) from None
    if text.startswith("\ufeff"):
        raise refuse_policy(where, [(1, "it starts with a byte order mark, which TOML does not allow")])
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise refuse_policy(where, [(None, "it is nested too deeply")]) from None
    except ValueError as error:
        raise refuse_policy(where, [_locate(str(error))]) from None
    reader = _Reader(text)
    policy = reader.read(document, hashlib.sha256(data).hexdigest())
    if reader.faults:
        raise refuse_policy(where, sorted(reader.faults, key=lambda fault: fault[0] or 0))
    return policy


_Fault = tuple[int | None, str]


def refuse_policy(where: str, faults: list[_Fault]) -> InputError:
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
        # As TOML ends lines: a string may hold what Python takes for other line ends.
        self._lines = text.replace("\r\n", "\n").split("\n")
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
            task_prefix=self._take(tasks, "tasks", "prefix", "GH", read_prefix),
        )

    def _read_sandbox(self, table: Mapping[str, Any]) -> SandboxPolicy:
        name = "sandbox"
        default = Limits()
        known = ["image", "workdir", "timeout", "memory", "cpus", "pids", "disk", "git", "env", "runtime"]
        self._check_keys(table, name, known)
        limits = Limits(
            timeout_s=self._take(table, name, "timeout", default.timeout_s, read_duration),
            memory_bytes=self._take(table, name, "memory", default.memory_bytes, read_memory),
            cpus=self._take(table, name, "cpus", default.cpus, read_cpus),
            pids=self._take(table, name, "pids", default.pids, read_pids),
            disk_bytes=self._take(table, name, "disk", default.disk_bytes, read_disk),
        )
        return SandboxPolicy(
            image=self._take(table, name, "image", None, read_image),
            workdir=self._take(table, name, "workdir", ".", read_workdir),
            limits=limits,
            git=self._take(table, name, "git", True, read_boolean),  # noqa: FBT003 - the default of the key
            env=self._take(table, name, "env", {}, read_env),
            runtime=self._take(table, name, "runtime", None, read_runtime),
        )

    def _read_setup(self, table: Mapping[str, Any]) -> SetupPolicy:
        name = "setup"
        self._check_keys(table, name, ("inputs", "run", "network", "timeout"))
        if "run" not in table:
            self._fault(name, None, "[setup] needs `run`, a list of commands")
        return SetupPolicy(
            inputs=self._take(table, name, "inputs", (), read_paths),
            run=self._take(table, name, "run", _NO_COMMANDS, read_commands),
            network=self._take(table, name, "network", False, read_boolean),  # noqa: FBT003 - see above
            timeout_s=self._take(table, name, "timeout", SETUP_TIMEOUT_S, read_duration),
        )

    def _read_allow(self, table: Mapping[str, Any]) -> tuple[PolicyEntry, ...]:
        name = "allow"
        self._check_keys(table, name, ("commands", "timeouts"))
        commands = self._take(table, name, "commands", _NO_COMMANDS, read_commands)
        none: dict[Argv, float] = {}
        timeouts = self._take(table, name, "timeouts", none, read_timeouts)
        for argv in timeouts:
            if argv not in commands:
                self._fault(
                    name, "timeouts", f"{show_command(argv)} has a timeout but is not listed in `commands`"
                )
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
        self._fault("", name, f"{name} is {name_type(value)}; it has to be a table: [{name}]")
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
