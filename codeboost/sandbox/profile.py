"""How every container is made: the one hardened profile (design §5.4), and the proof that the engine took it.

Engines accept some settings silently and do not apply them (facts), so what was created is inspected and compared
field by field before anything starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from codeboost.limits import Limits
from codeboost.sandbox.base import HARD, EngineRecord

__all__ = [
    "HOME",
    "OPEN_FILES",
    "TMP",
    "USER_ID",
    "WORKSPACE",
    "Bounds",
    "ContainerSettings",
    "find_bounds",
    "find_differences",
    "make_config",
    "make_environment",
    "size_tmp",
]

USER_ID = 10001
WORKSPACE = "/workspace"
HOME = "/home/codeboost"
TMP = "/tmp"  # noqa: S108
OPEN_FILES = 8192
_SHM_BYTES = 64 << 20
_TMP_INODES = 1 << 18
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Bounds(NamedTuple):
    """Which of the limits that an engine may lack this one keeps. What it lacks is not asked for, and said each time."""

    tmp_inodes: bool = True
    """The number of files in /tmp; podman refuses it."""
    quota: bool = False
    """The writable layer, by the engine's storage itself."""
    swap: bool = True
    cpus: bool = True
    processors: int = 0
    """How many there are, which an engine takes for the most that may be asked; 0 when it does not say."""
    cgroups: bool = True
    """A cgroup namespace of its own."""
    kills: bool = True
    """That it is told when something was killed for memory: nothing to ask for, only to say."""

    def bound_cpus(self, limits: Limits) -> float | None:
        """What to ask for; None when nothing."""
        if not self.cpus:
            return None
        return min(limits.cpus, self.processors or limits.cpus)


def find_bounds(record: EngineRecord) -> Bounds:
    """What may be asked of the engine that ``record`` tells of."""
    docker = record.name == "Docker Engine"
    return Bounds(
        tmp_inodes=docker,
        quota=record.disk == HARD,
        swap=record.swap,
        cpus=record.cpus,
        processors=record.processors,
        cgroups=record.cgroups,
        kills=record.kills,
    )


@dataclass(frozen=True, slots=True)
class ContainerSettings:
    """What differs from one container to the next; everything else is the profile."""

    image: str
    argv: Sequence[str]
    limits: Limits
    labels: Mapping[str, str]
    environment: Mapping[str, str]
    folder: str = WORKSPACE
    runtime: str | None = None
    root: bool = False
    network: bool = False
    bounds: Bounds = field(default_factory=Bounds)
    seccomp: tuple[str, ...] = field(default=())


def make_environment(image: Sequence[str], policy: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a program: the image's, ours, then the policy's. Nothing of the caller's."""
    inherited = dict(entry.partition("=")[::2] for entry in image)
    promised = {"CI": "true", "HOME": HOME, "LANG": "C.UTF-8", "TMPDIR": TMP, "TZ": "UTC"}
    return {"PATH": _PATH} | inherited | promised | dict(policy)


def size_tmp(limits: Limits) -> int:
    """Bytes of /tmp. Its pages count as memory, so half of that: full is an ordinary error, not an end by the kernel."""
    return limits.memory_bytes // 2


def make_config(settings: ContainerSettings) -> dict[str, Any]:
    """The body of the engine's create call."""
    limits = settings.limits
    user = "0:0" if settings.root else f"{USER_ID}:{USER_ID}"
    cpus = settings.bounds.bound_cpus(limits)
    tmp = f"rw,exec,nosuid,nodev,mode=1777,size={size_tmp(limits)}"
    return {
        "Image": settings.image,
        # Lists, always: a string would be split, an absent entrypoint would be the image's.
        "Entrypoint": [settings.argv[0]],
        "Cmd": list(settings.argv[1:]),
        "Env": [f"{name}={value}" for name, value in sorted(settings.environment.items())],
        "WorkingDir": settings.folder,
        "User": user,
        "Hostname": "codeboost",
        "Labels": dict(settings.labels),
        "Healthcheck": {"Test": ["NONE"]},
        "Tty": False,
        "OpenStdin": False,
        "AttachStdin": False,
        "AttachStdout": True,
        "AttachStderr": True,
        "NetworkDisabled": not settings.network,
        "StopSignal": "SIGTERM",
        "HostConfig": {
            "NetworkMode": "bridge" if settings.network else "none",
            "IpcMode": "private",
            "CgroupnsMode": "private" if settings.bounds.cgroups else "host",
            "CapDrop": ["ALL"],
            "CapAdd": [],
            "SecurityOpt": ["no-new-privileges", *settings.seccomp],
            "Privileged": False,
            "ReadonlyRootfs": False,
            "Binds": [],
            "Init": True,
            "AutoRemove": False,
            "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
            "LogConfig": {"Type": "none", "Config": {}},
            "Memory": limits.memory_bytes,
            # Without a way to account swap an engine makes this "no limit" whatever is asked.
            "MemorySwap": limits.memory_bytes if settings.bounds.swap else -1,
            **({"NanoCpus": int(cpus * 1_000_000_000)} if cpus is not None else {}),
            "PidsLimit": limits.pids,
            "ShmSize": min(_SHM_BYTES, limits.memory_bytes),
            "Ulimits": [
                {"Name": "nofile", "Soft": OPEN_FILES, "Hard": OPEN_FILES},
                {"Name": "core", "Soft": 0, "Hard": 0},
                {"Name": "fsize", "Soft": limits.disk_bytes, "Hard": limits.disk_bytes},
            ],
            "Tmpfs": {TMP: tmp + (f",nr_inodes={_TMP_INODES}" if settings.bounds.tmp_inodes else "")},
            **({"StorageOpt": {"size": str(limits.disk_bytes)}} if settings.bounds.quota else {}),
            **({"Runtime": settings.runtime} if settings.runtime else {}),
        },
    }


def find_differences(asked: Mapping[str, Any], made: Mapping[str, Any]) -> list[str]:
    """Where the container differs from what was asked for, a line each; ``made`` is the engine's inspection.

    Also names what nobody asked for: devices, mounts, ports, links, groups, capabilities.
    """
    config, host = made.get("Config") or {}, made.get("HostConfig") or {}
    lines = []
    for key, value in asked.items():
        if key in ("HostConfig", "Image", "AttachStdin", "AttachStdout", "AttachStderr"):
            continue
        found = config.get(key)
        if key == "Env":
            # An engine may add its own marks, never take away or change.
            missing = sorted(set(value) - set(found or ()))
            names = {entry.partition("=")[0] for entry in value}
            others = [entry for entry in found or () if entry not in value]
            doubled = [entry for entry in others if entry.partition("=")[0] in names]
            # A name and no value, which may be a secret.
            added = {entry.partition("=")[0] for entry in others} - names - _MARKS
            lines += [f"Env: {entry!r}" for entry in missing + doubled]
            lines += [f"Env: {name} was added" for name in sorted(added)]
        elif key == "Labels":
            lines += [f"Labels: {name}" for name, text in value.items() if (found or {}).get(name) != text]
        elif _differs(key, value, found):
            lines.append(f"{key}: asked for {value!r}, got {found!r}")
    for key, value in asked["HostConfig"].items():
        if _differs(key, value, host.get(key)):
            lines.append(f"HostConfig.{key}: asked for {value!r}, got {host.get(key)!r}")
    lines += [f"HostConfig.{key}: {host[key]!r}" for key in _UNWANTED if host.get(key)]
    lines += [
        f"HostConfig.{key}: {host[key]!r}"
        for key in _NAMESPACES
        if host.get(key) == "host" != asked["HostConfig"].get(key)
    ]
    lines += [
        f"mount: {mount.get('Destination')}"
        for mount in made.get("Mounts") or ()
        if mount.get("Type") != "tmpfs"
    ]
    for key in ("MaskedPaths", "ReadonlyPaths"):
        if key in host and not host[key]:
            lines.append(f"HostConfig.{key}: empty")
    return lines


_UNWANTED = (
    "Devices",
    "DeviceRequests",
    "DeviceCgroupRules",
    "GroupAdd",
    "VolumesFrom",
    "Mounts",
    "PortBindings",
    "PublishAllPorts",
    "Links",
    "ExtraHosts",
    "CgroupParent",
    "Sysctls",
    "OomKillDisable",
)
# The variables that engines set by themselves.
_MARKS = {"HOSTNAME", "TERM", "container"}
_NAMESPACES = ("PidMode", "UTSMode", "UsernsMode", "IpcMode", "NetworkMode", "CgroupnsMode")


def _differs(key: str, asked: Any, found: Any) -> bool:
    if key == "Ulimits":
        return _read_ulimits(asked) != _read_ulimits(found or [])
    if key == "SecurityOpt":
        return sorted(asked) != sorted(
            option.removesuffix("=true").removesuffix(":true") for option in found or []
        )
    if key == "NetworkDisabled":
        # Only the network mode counts where an engine does not know this older switch.
        return bool(found) and not asked
    if isinstance(asked, (list, dict)) or asked is False:
        return (asked or None) != (found or None)
    return bool(asked != found)


def _read_ulimits(limits: Sequence[Mapping[str, Any]]) -> set[tuple[str, int, int]]:
    return {(str(limit["Name"]), int(limit["Soft"]), int(limit["Hard"])) for limit in limits}
