"""The engine that answers, what it can do, and the executor on top of it (design §5.4).

Nothing heavy is imported before ``open_executor`` is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from codeboost.errors import EngineError
from codeboost.sandbox.base import PODMAN, EngineRecord, Executor, name_engine

if TYPE_CHECKING:
    from codeboost.sandbox.client import EngineClient

__all__ = ["open_engine", "open_executor", "read_record", "refuse_unsafe"]


def open_executor(store: str) -> Executor:
    """Connects to the engine that docker's own tools would use (DOCKER_HOST, context, TLS) and checks it.

    ``store`` names the store whose containers these are: labels carry it, and ``sweep`` removes nothing of another's.
    EngineError, exit code 4, in one line that names the address: when no engine answers, or when one lacks what the
    sandbox cannot do without.
    """
    from codeboost.sandbox.executor import DockerExecutor  # noqa: PLC0415

    client, record = open_engine()
    return DockerExecutor(client, record, store)


def open_engine() -> tuple[EngineClient, EngineRecord]:
    """The connection and what is known of the engine, checked as ``open_executor`` says. The caller closes it."""
    from codeboost.sandbox.connection import connect  # noqa: PLC0415 - 110 ms

    client = connect()
    try:
        info = client.read_info()
        record = read_record(client.read_version(), info, client.address, client.api_version)
        refuse_unsafe(info, record)
    except BaseException:
        client.close()
        raise
    return client, record


def read_record(
    version: Mapping[str, Any], info: Mapping[str, Any], address: str, api_version: str
) -> EngineRecord:
    """The record, from the engine's answers to ``/version`` and ``/info``."""
    options = _read_options(info.get("SecurityOptions") or [])
    seccomp = options.get("seccomp")
    swap = info.get("SwapLimit") is not False
    cpus = info.get("CpuCfsQuota") is not False and info.get("CpuCfsPeriod") is not False
    podman = name_engine(version) == PODMAN
    # It asks for none of its own on the old hierarchy, whatever it is told.
    cgroups = not podman or str(info.get("CgroupVersion")) == "2"
    return EngineRecord(
        name=name_engine(version),
        version=str(version.get("Version") or info.get("ServerVersion") or "unknown"),
        api_version=api_version,
        address=address,
        cgroup_version=str(info.get("CgroupVersion") or "1"),
        seccomp=seccomp is not None and seccomp.get("profile", "default") != "unconfined",
        rootless="rootless" in options,
        userns="userns" in options,
        disk="watched",
        runtimes=tuple(sorted(info.get("Runtimes") or {})),
        swap=swap,
        cpus=cpus,
        processors=max(0, int(info.get("NCPU") or 0)),
        cgroups=cgroups,
        kills=not podman,
        limitations=tuple(_find_limitations(swap=swap, cpus=cpus, cgroups=cgroups, podman=podman)),
    )


def refuse_unsafe(info: Mapping[str, Any], record: EngineRecord) -> None:
    """EngineError when the engine lacks what the sandbox cannot do without: seccomp, a bound on memory and on processes."""
    missing = [] if record.seccomp else ["seccomp"]
    # An engine without cgroups takes every limit and keeps none. What is not said is no promise either.
    no_cgroups = info.get("CgroupDriver") == "none"
    missing += [
        words
        for key, words in (("MemoryLimit", "limit on memory"), ("PidsLimit", "limit on processes"))
        if no_cgroups or info.get(key) is not True
    ]
    if str(info.get("OSType") or "linux") != "linux":
        missing.append("Linux containers")
    if missing:
        raise EngineError(
            f"the engine at {record.address} cannot keep commands in: it has no " + ", no ".join(missing),
            hint="use an engine with its default seccomp profile, on a kernel with memory and pids cgroups",
        )


def _find_limitations(*, swap: bool, cpus: bool, cgroups: bool, podman: bool) -> Iterator[str]:
    """What is asked for and cannot be enforced hard, a sentence each; every attempt says it of its own limits."""
    yield "disk: watched twice a second and once after the end, not a hard quota"
    if not swap:
        yield "memory: the kernel accounts no swap, so a program may use the host's swap beyond its memory"
    if not cpus:
        yield "cpus: the kernel has no CPU quota"
    if not cgroups:
        yield "cgroups: the names of this host's cgroups can be read"
    if podman:
        yield (
            "memory: Podman may not tell what was killed for memory, which shows as failed then, "
            "or as passed where its parent goes on; `codeboost doctor` tries"
        )
        yield "TMPDIR: Podman bounds its bytes, and not the number of files in it"
        yield "masks: Podman does not tell which parts of /proc it covers; `codeboost doctor` looks from inside"
        yield (
            "seccomp: Podman's own profile allows user namespaces, mounts in them, and the kernel's keyring; "
            "seccomp_profile in containers.conf names a stricter one"
        )


def _read_options(options: Sequence[str]) -> dict[str, dict[str, str]]:
    """``["name=seccomp,profile=default"]`` → ``{"seccomp": {"profile": "default"}}``."""
    found = {}
    for option in options:
        fields = dict(part.partition("=")[::2] for part in option.split(","))
        name = fields.pop("name", option)
        found[name] = fields
    return found
