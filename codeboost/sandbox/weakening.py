"""What ``doctor`` looks for, and how each protection is taken away to see that its probe notices.

A weakened container runs the image's own python3, so it gets no more than its probe needs to fail: at most one
capability, and none that means anything outside of the container; limits are raised and never lifted; no namespace is
the host's. docs/sandbox.md lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codeboost.limits import Limits
from codeboost.sandbox.profile import OPEN_FILES, USER_ID, size_tmp

__all__ = ["KILLS", "LIMITS", "PROBES", "Config", "Probe"]

Config = dict[str, Any]
"""The body of the engine's create call."""

LIMITS = Limits(timeout_s=60.0, memory_bytes=128 << 20, cpus=0.5, pids=64, disk_bytes=64 << 20)
"""What every container of ``doctor`` may use. Probes look for them, so they are small."""

KILLS = "kills"
_RAISED = 4
_NULL = {"Type": "bind", "Source": "/dev/null", "ReadOnly": True}
_DEVICE = {"PathOnHost": "/dev/zero", "PathInContainer": "/dev/codeboost-probe", "CgroupPermissions": "r"}


@dataclass(frozen=True, slots=True)
class Probe:
    """``name`` is the function in ``inside.py`` (but for ``KILLS``); ``weaken`` takes away the one protection that it looks for.

    Probes with the same ``weaken`` share a container. ``told`` reads the engine's inspection of the sandbox: where the
    host forbids by itself what a weakening allows, the engine's word has to do.
    """

    name: str
    promise: str
    weaken: Callable[[Config], None]
    told: Callable[[Mapping[str, Any]], bool] | None = None
    companion: bool = False
    """Whether it shares the processes of a second container, which stands for what is outside."""


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


def _add_capability(name: str) -> Callable[[Config], None]:
    # As root of the container: nobody else would hold it. All others stay dropped.
    return _both(_ROOT, _set("HostConfig", "CapAdd", value=[name]))


def _raise_limit(name: str, bound: int) -> Callable[[Config], None]:
    def weaken(config: Config) -> None:
        limits = [limit for limit in config["HostConfig"]["Ulimits"] if limit["Name"] != name]
        config["HostConfig"]["Ulimits"] = [*limits, {"Name": name, "Soft": bound, "Hard": bound}]

    return weaken


def _raise_memory(config: Config) -> None:
    host = config["HostConfig"]
    host["Memory"] = host["MemorySwap"] = LIMITS.memory_bytes * _RAISED


def _raise_tmp(config: Config) -> None:
    tmpfs = config["HostConfig"]["Tmpfs"]
    bound = f"size={size_tmp(LIMITS)}"
    tmpfs["/tmp"] = tmpfs["/tmp"].replace(bound, f"size={size_tmp(LIMITS) * 2}")  # noqa: S108


def _both(*weakenings: Callable[[Config], None]) -> Callable[[Config], None]:
    def weaken(config: Config) -> None:
        for step in weakenings:
            step(config)

    return weaken


def _options(*options: str) -> Callable[[Config], None]:
    return _set("HostConfig", "SecurityOpt", value=list(options))


_ROOT = _set("User", value="0:0")
# Of no use without new privileges, and harmless with them: it signals processes, of which there are none but its own.
_CAPABLE = _set("HostConfig", "CapAdd", value=["KILL"])
_NO_SECCOMP = _options("no-new-privileges", "seccomp=unconfined")
# Mounting needs a capability over the mount namespace. One in a user namespace of its own has it, and nothing of the
# host's; SYS_ADMIN itself would be root of the host. An engine with AppArmor forbids mounts a second time.
_MOUNTING = _options("no-new-privileges", "seccomp=unconfined", "apparmor=unconfined")
_BRIDGE = _both(_set("HostConfig", "NetworkMode", value="bridge"), _set("NetworkDisabled", value=False))
_ASCII = _both(_add_variable("LC_ALL", "C"), _add_variable("LANG", "C"))


def _has_no_network(made: Mapping[str, Any]) -> bool:
    return bool(_read(made, "NetworkMode") == "none")


def _has_seccomp(made: Mapping[str, Any]) -> bool:
    options: Sequence[str] = _read(made, "SecurityOpt") or ()
    return not _read(made, "Privileged") and not any("unconfined" in option for option in options)


def _read(made: Mapping[str, Any], key: str) -> Any:
    return (made.get("HostConfig") or {}).get(key)


PROBES = (
    Probe("capabilities", "no capability at all", _CAPABLE),
    Probe("new-privileges", "no new privileges by setuid files", _options()),
    Probe("seccomp", "the engine's seccomp filter is on", _NO_SECCOMP),
    Probe("namespaces", "no new user namespaces", _NO_SECCOMP, _has_seccomp),
    Probe("keyring", "no use of the kernel's keyring", _NO_SECCOMP),
    Probe("mounting", "nothing can be mounted", _MOUNTING, _has_seccomp),
    Probe("network", "no network, no route, no DNS", _BRIDGE, _has_no_network),
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
    Probe("root-files", "root's files cannot be written", _ROOT),
    Probe("groups", "in no other group", _set("HostConfig", "GroupAdd", value=["0"])),
    Probe("pids", "processes are bounded", _set("HostConfig", "PidsLimit", value=LIMITS.pids * _RAISED)),
    Probe("memory", "memory is bounded", _raise_memory),
    # Judged from outside, by what the probe of memory did: here nothing is killed, so nothing is told.
    Probe(KILLS, "what is killed for memory is told", _raise_memory),
    Probe("swap", "no swap beyond it", _set("HostConfig", "MemorySwap", value=LIMITS.memory_bytes * _RAISED)),
    Probe("processors", "processor time is bounded", _set("HostConfig", "NanoCpus", value=1_000_000_000)),
    Probe("open-files", "open files are bounded", _raise_limit("nofile", OPEN_FILES * 2)),
    Probe("file-size", "the size of a file is bounded", _raise_limit("fsize", LIMITS.disk_bytes * 2)),
    Probe("core-files", "no core files are written", _raise_limit("core", 1 << 20)),
    Probe("environment", "nothing of the caller's environment", _add_variable("CODEBOOST_SECRET", "1")),
    Probe("locale", "the character set is UTF-8", _ASCII),
    Probe("zone", "the time zone is UTC", _add_variable("TZ", "ABC-9")),
    Probe("kernel-settings", "/proc/sys cannot be written", _set("HostConfig", "ReadonlyPaths", value=[])),
    Probe("masked", "the kernel's memory and keys are masked", _set("HostConfig", "MaskedPaths", value=[])),
    # The second container's processes are named when it runs.
    Probe("processes", "no process from outside is seen", lambda _: None, companion=True),
    Probe("init", "dead children are collected", _set("HostConfig", "Init", value=False)),
    Probe("tmp", "TMPDIR is writable, runs programs, is bounded", _raise_tmp),
    Probe("home", "HOME is writable and runs programs", _add_variable("HOME", "/nonexistent")),
    Probe("work-folder", "the work folder is writable", _set("WorkingDir", value="/")),
    Probe("raw-sockets", "no raw sockets", _add_capability("NET_RAW")),
    Probe("device-nodes", "no device nodes can be made", _add_capability("MKNOD")),
    Probe("devices", "no devices but the usual ones", _set("HostConfig", "Devices", value=[_DEVICE])),
    Probe("input", "standard input is empty", _set("OpenStdin", value=True)),
)
