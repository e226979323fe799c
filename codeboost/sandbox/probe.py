"""Proves the sandbox on this engine, from inside a container (the heart of ``codeboost doctor``).

Each probe first runs in a container that lacks just its protection, and must fail there: a probe that cannot fail proves
nothing. Then all of them run in a container made as every command's is. What no weakening can show is told by the
engine's own inspection, and named so.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from codeboost.errors import EngineError
from codeboost.limits import Limits
from codeboost.sandbox.base import EngineRecord, Outcome
from codeboost.sandbox.client import EngineClient
from codeboost.sandbox.container import Run, make_name, run_container
from codeboost.sandbox.owner import make_labels
from codeboost.sandbox.profile import (
    OPEN_FILES,
    USER_ID,
    WORKSPACE,
    ContainerSettings,
    make_config,
    make_environment,
    size_tmp,
)
from codeboost.sandbox.program import ContainerFiles, check_program
from codeboost.visible import cut

__all__ = ["PROBES", "Probe", "ProbeResult", "Proof", "run_probes"]

Config = dict[str, Any]
_LIMITS = Limits(timeout_s=60.0, memory_bytes=128 << 20, cpus=0.5, pids=64, disk_bytes=64 << 20)
_SCRIPT = Path(__file__).with_name("inside.py")
_NULL = {"Type": "bind", "Source": "/dev/null", "ReadOnly": True}


class Proof(StrEnum):
    WEAKENED = "weakened"
    """The probe failed in a container without the protection."""
    INSPECTED = "inspected"
    """No weakening can show it; the engine says that it is so."""
    NONE = "none"
    """The probe did not fail where it had to: it proves nothing here."""


@dataclass(frozen=True, slots=True)
class Probe:
    """``name`` is the function in ``inside.py``; ``weaken`` takes away the one protection that it looks for."""

    name: str
    promise: str
    weaken: Callable[[Config], None]


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """``holds``: whether the sandbox keeps the promise here. ``detail`` says what is wrong, if anything is."""

    name: str
    promise: str
    holds: bool
    proof: Proof
    detail: str = ""

    @property
    def is_green(self) -> bool:
        return self.holds and self.proof is not Proof.NONE


def run_probes(
    client: EngineClient, record: EngineRecord, image_id: str, store: str
) -> tuple[ProbeResult, ...]:
    """Every probe on ``image_id``, an image with the sandbox's folders and a python3. EngineError when none can run."""
    prober = _Prober(client, record, image_id, store)
    with ThreadPoolExecutor(4) as pool:
        weakened = list(pool.map(prober.weaken, PROBES))
    inside, inspected = prober.look()
    results = []
    for probe, shown in zip(PROBES, weakened, strict=True):
        wrong = inside.get(probe.name, "the probe gave no answer")
        detail = wrong or shown
        results.append(
            ProbeResult(probe.name, probe.promise, not wrong, Proof.NONE if shown else Proof.WEAKENED, detail)
        )
    return (*results, *inspected)


class _Prober:
    def __init__(self, client: EngineClient, record: EngineRecord, image_id: str, store: str) -> None:
        self._client = client
        self._store = store
        found = client.inspect_image(image_id)
        if found is None:
            raise EngineError("the image of the probes is gone")
        self._architecture = str(found.get("Architecture") or "")
        self._environment = make_environment((found.get("Config") or {}).get("Env") or [], {})
        self._image = image_id
        self._tmp_inodes = record.name == "Docker Engine"
        self._made: dict[str, Any] = {}

    def weaken(self, probe: Probe) -> str:
        """Why this probe proves nothing here; empty when it failed without its protection, as it must."""
        config = self._make_config([probe.name])
        probe.weaken(config)
        outcome = self._run(config, compare=False)
        try:
            wrong = _read_answer(outcome).get(probe.name, "")
        except EngineError as error:
            return f"the weakened container did not run: {error}"
        if not wrong or wrong.startswith("the probe failed"):
            return f"the probe passes without the protection, too {cut(wrong)}".strip()
        return ""

    def look(self) -> tuple[dict[str, str], list[ProbeResult]]:
        """What is wrong in the sandbox itself, by probe; and what the engine says about the rest."""
        outcome = self._run(self._make_config([probe.name for probe in PROBES]), compare=True)
        return _read_answer(outcome), [
            ProbeResult(name, promise, holds, Proof.INSPECTED, "" if holds else "the engine says otherwise")
            for name, promise, holds in _read_inspection(self._made)
        ]

    def _make_config(self, names: list[str]) -> Config:
        expected = {
            "cpus": _LIMITS.cpus,
            "environment": sorted(self._environment),
            "limits": {"open files": OPEN_FILES, "core": 0, "file size": _LIMITS.disk_bytes},
            "memory": _LIMITS.memory_bytes,
            "pids": _LIMITS.pids,
            "tmp": size_tmp(_LIMITS),
            "user": USER_ID,
            "workspace": WORKSPACE,
        }
        settings = ContainerSettings(
            image=self._image,
            argv=["python3", "-c", _SCRIPT.read_text(encoding="utf-8"), json.dumps(expected), *names],
            limits=_LIMITS,
            labels=make_labels(self._store, "doctor", "doctor", "probe", 600.0),
            environment=self._environment,
            tmp_inodes=self._tmp_inodes,
        )
        return deepcopy(make_config(settings))

    def _run(self, config: Config, *, compare: bool) -> Outcome:
        def prepare(container: str) -> str | None:
            if compare:
                self._made = self._client.inspect(container)
                path = self._environment["PATH"]
                files = ContainerFiles(self._client, container)
                return check_program(
                    files, "python3", folder=WORKSPACE, path=path, architecture=self._architecture
                )
            return None

        run = Run(make_name(), config, _LIMITS, prepare, compare=compare)
        return run_container(self._client, run, threading.Event())


def _read_answer(outcome: Outcome) -> dict[str, str]:
    printed = outcome.stdout.head.decode("utf-8", "replace") if outcome.stdout else ""
    try:
        answer = json.loads(printed.strip().splitlines()[-1])
    except (ValueError, IndexError):
        said = outcome.stderr.head.decode("utf-8", "replace").strip() if outcome.stderr else ""
        raise EngineError(f"{outcome.verdict}: {outcome.reason} {cut(said, 200)}".strip()) from None
    return {str(name): cut(str(text), 200) for name, text in answer.items()}


def _read_inspection(made: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    host, config = made.get("HostConfig") or {}, made.get("Config") or {}
    return [
        ("ipc", "shared memory is its own", host.get("IpcMode") == "private"),
        ("privileged", "it is not privileged", not host.get("Privileged")),
        ("terminal", "it has no terminal", not config.get("Tty")),
        (
            "logs",
            "the engine keeps no copy of the output",
            (host.get("LogConfig") or {}).get("Type") == "none",
        ),
        (
            "restart",
            "it is never started again",
            (host.get("RestartPolicy") or {}).get("Name") in ("", "no", None),
        ),
        (
            "healthcheck",
            "the image's healthcheck does not run",
            (config.get("Healthcheck") or {}).get("Test") == ["NONE"],
        ),
    ]


# The weakenings


def _set(*keys: str, value: object) -> Callable[[Config], None]:
    def weaken(config: Config) -> None:
        place = config
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return weaken


def _add_variable(name: str, value: str) -> Callable[[Config], None]:
    def weaken(config: Config) -> None:
        config["Env"] = [entry for entry in config["Env"] if not entry.startswith(name + "=")] + [
            f"{name}={value}"
        ]

    return weaken


def _both(*weakenings: Callable[[Config], None]) -> Callable[[Config], None]:
    def weaken(config: Config) -> None:
        for step in weakenings:
            step(config)

    return weaken


_ROOT = _set("User", value="0:0")
_CAPABLE = _both(_ROOT, _set("HostConfig", "CapDrop", value=[]))
_NO_SECCOMP = _set("HostConfig", "SecurityOpt", value=["no-new-privileges", "seccomp=unconfined"])
_HOST_NETWORK = _both(_set("HostConfig", "NetworkMode", value="host"), _set("NetworkDisabled", value=False))
_ADMIN = _both(_CAPABLE, _NO_SECCOMP, _set("HostConfig", "CapAdd", value=["SYS_ADMIN"]))
_ASCII = _both(_add_variable("LC_ALL", "C"), _add_variable("LANG", "C"))
_DEVICE = {"PathOnHost": "/dev/zero", "PathInContainer": "/dev/codeboost-probe", "CgroupPermissions": "r"}

PROBES = (
    Probe("capabilities", "no capability at all", _set("HostConfig", "CapDrop", value=[])),
    Probe("new-privileges", "no new privileges by setuid files", _set("HostConfig", "SecurityOpt", value=[])),
    Probe("seccomp", "the engine's seccomp filter is on", _NO_SECCOMP),
    Probe("namespaces", "no new user namespaces", _NO_SECCOMP),
    Probe("keyring", "no use of the kernel's keyring", _NO_SECCOMP),
    Probe("network", "no network, no route, no DNS", _HOST_NETWORK),
    Probe(
        "engine-socket",
        "the engine's socket is not there",
        _set("HostConfig", "Mounts", value=[{**_NULL, "Target": "/run/docker.sock"}]),
    ),
    Probe(
        "mounts",
        "nothing of the host is mounted",
        _set("HostConfig", "Mounts", value=[{**_NULL, "Target": "/mnt/codeboost-probe"}]),
    ),
    Probe("user", f"it runs as user {USER_ID}", _ROOT),
    Probe("groups", "in no other group", _set("HostConfig", "GroupAdd", value=["0"])),
    Probe("root-files", "root's files cannot be written", _ROOT),
    Probe("pids", "processes are bounded", _set("HostConfig", "PidsLimit", value=0)),
    Probe(
        "memory",
        "memory is bounded",
        _both(_set("HostConfig", "Memory", value=0), _set("HostConfig", "MemorySwap", value=0)),
    ),
    Probe("swap", "no swap beyond it", _set("HostConfig", "MemorySwap", value=_LIMITS.memory_bytes * 4)),
    Probe("processors", "processor time is bounded", _set("HostConfig", "NanoCpus", value=0)),
    Probe(
        "limits", "open files, file size and core files are bounded", _set("HostConfig", "Ulimits", value=[])
    ),
    Probe("environment", "nothing of the caller's environment", _add_variable("CODEBOOST_SECRET", "1")),
    Probe("locale", "the character set is UTF-8", _ASCII),
    Probe("zone", "the time zone is UTC", _add_variable("TZ", "ABC-9")),
    Probe("kernel-settings", "/proc/sys cannot be written", _set("HostConfig", "ReadonlyPaths", value=[])),
    Probe("masked", "the kernel's memory and keys are masked", _set("HostConfig", "MaskedPaths", value=[])),
    Probe("processes", "no process of the host is seen", _set("HostConfig", "PidMode", value="host")),
    Probe("init", "dead children are collected", _set("HostConfig", "Init", value=False)),
    Probe("tmp", "TMPDIR is writable, runs programs, is bounded", _set("HostConfig", "Tmpfs", value={})),
    Probe("home", "HOME is writable and runs programs", _add_variable("HOME", "/nonexistent")),
    Probe("work-folder", "the work folder is writable", _set("WorkingDir", value="/")),
    Probe("raw-sockets", "no raw sockets", _CAPABLE),
    Probe("device-nodes", "no device nodes can be made", _CAPABLE),
    Probe("devices", "no devices but the usual ones", _set("HostConfig", "Devices", value=[_DEVICE])),
    Probe("mounting", "nothing can be mounted", _ADMIN),
    Probe("input", "standard input is empty", _set("OpenStdin", value=True)),
)
