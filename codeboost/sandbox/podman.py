"""Podman's Docker-compatible service, spoken to and understood in Docker's words.

It takes the same calls, and some of what they say means something else to it, or comes back in other words. This is the
only place that knows which (seen on 4.3.1). What the compatible half does not tell is read from Podman's own half, which
the same socket answers; what neither tells is left out of the inspection, and named by ``engine`` as a limitation.
"""

from __future__ import annotations

import posixpath
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from codeboost.sandbox.archive import END, Kind, make_header
from codeboost.sandbox.client import CALL_S, EngineClient, MissingError, RefusedError

__all__ = ["PodmanClient"]

# The kernel counts the processes of a user over all containers; this many may use up their own bound at once.
_WORKERS = 8
# What has no registry in its name is taken for Docker's own, but when it is loaded.
_OWN = "localhost/"


class PodmanClient(EngineClient):
    """See ``EngineClient``."""

    tells_owners = False

    def read_info(self) -> dict[str, Any]:
        return _read_info(super().read_info(), self._get("/libpod/info"))

    def inspect_image(self, reference: str) -> dict[str, Any] | None:
        try:
            found = super().inspect_image(reference)
        except RefusedError as error:
            # It vanished under the look.
            if "image not known" in str(error):
                return None
            raise
        if found is None:
            return None
        return found | {"RepoTags": [str(tag).removeprefix(_OWN) for tag in found.get("RepoTags") or []]}

    def build_image(self, context: Iterable[bytes], tag: str, labels: Mapping[str, str]) -> None:
        super().build_image(context, _OWN + tag, labels)

    def tag_image(self, image: str, repository: str, tag: str) -> None:
        super().tag_image(image, _OWN + repository, tag)

    def remove_image(self, reference: str) -> None:
        super().remove_image(reference if reference.startswith("sha256:") else _OWN + reference)

    def commit(self, container: str, repository: str, tag: str, config: Mapping[str, Any]) -> str:
        return f"sha256:{super().commit(container, _OWN + repository, tag, config).removeprefix('sha256:')}"

    def create(self, name: str, config: Mapping[str, Any], platform: str | None = None) -> str:
        return super().create(name, _write_config(config), platform)

    def inspect(self, container: str, *, size: bool = False, timeout: float = CALL_S) -> dict[str, Any]:
        made = super().inspect(container, size=size, timeout=timeout)
        if size:
            # Asked for again and again while a program runs, and the words that matter then are the same.
            return made if made.get("SizeRw") or self._can_walk(container, timeout) else made | {"SizeRw": -1}
        return _read_inspection(made, self._get(f"/libpod/containers/{container}/json", timeout=timeout))

    def _can_walk(self, container: str, timeout: float) -> bool:
        """Whether a size of 0 is one. It also means that adding up was given up, and only another walk fails aloud."""
        try:
            self.count_changes(container, 0, timeout=timeout)
        except MissingError:
            raise
        except RefusedError:
            return False
        return True

    @contextmanager
    def read_archive(self, container: str, path: str) -> Iterator[Iterator[bytes]]:
        """As everywhere, but for links: Podman hands out what they lead to. Here they lead straight to it."""
        stat = self.stat_path(container, path)
        if stat is not None and stat.is_link:
            name = posixpath.basename(path.rstrip("/")).encode("utf-8", "surrogateescape")
            target = stat.target.encode("utf-8", "surrogateescape")
            yield iter((make_header(name, Kind.SYMLINK, mode=0o777, target=target), END))
            return
        with super().read_archive(container, path) as pieces:
            yield pieces


def _read_info(info: Mapping[str, Any], native: Mapping[str, Any]) -> dict[str, Any]:
    """Podman tells Docker's clients that seccomp is on, and limits are kept, wherever the kernel could do it."""
    host = native.get("host") or {}
    security = host.get("security") or {}
    options = list(info.get("SecurityOptions") or [])
    if not security.get("seccompEnabled") or security.get("seccompProfilePath") in (None, "", "unconfined"):
        options = [option for option in options if not option.startswith("name=seccomp")]
    controllers = host.get("cgroupControllers") or []
    # Without rights of its own over cgroups it takes limits and drops them; the old hierarchy hands none on.
    is_bound = not security.get("rootless") or host.get("cgroupVersion") == "v2"
    return dict(info) | {
        "SecurityOptions": options,
        "MemoryLimit": info.get("MemoryLimit") is True and is_bound and "memory" in controllers,
        "PidsLimit": info.get("PidsLimit") is True and is_bound and "pids" in controllers,
        "CpuCfsQuota": info.get("CpuCfsQuota") is not False and is_bound and "cpu" in controllers,
    }


def _write_config(config: Mapping[str, Any]) -> dict[str, Any]:
    host = dict(config.get("HostConfig") or {})
    if "Ulimits" in host:
        # Else it asks the kernel for a million, which a service with bounds of its own may not.
        most = host["PidsLimit"] * _WORKERS
        host["Ulimits"] = [*host["Ulimits"], {"Name": "nproc", "Soft": most, "Hard": most}]
    if "Tmpfs" in host:
        # Else it fills the folder with what the image has there.
        host["Tmpfs"] = {place: f"{options},notmpcopyup" for place, options in host["Tmpfs"].items()}
    if str(host.get("PidMode", "")).startswith("container:"):
        # That namespace has an init; of a second one, Podman makes an error.
        host["Init"] = False
    if [] in (host.get("MaskedPaths"), host.get("ReadonlyPaths")):
        # Only doctor's weakened containers.
        host["SecurityOpt"] = [*host.get("SecurityOpt", ()), "unmask=ALL"]
    return dict(config) | ({"HostConfig": host} if host else {})


def _read_inspection(made: Mapping[str, Any], native: Mapping[str, Any]) -> dict[str, Any]:
    config, host = dict(made.get("Config") or {}), dict(made.get("HostConfig") or {})
    own = native.get("HostConfig") or {}
    if (config.get("Healthcheck") or {}).get("Test") == ["NONE"]:
        # With the times of a check that never comes.
        config["Healthcheck"] = {"Test": ["NONE"]}
    config["StopSignal"] = _name_signal(str(config.get("StopSignal") or ""))
    if host.get("IpcMode") == "shareable":
        # A namespace of its own. Others come in only when they are made to, and nobody makes such.
        host["IpcMode"] = "private"
    host["CgroupnsMode"] = own.get("CgroupMode")
    if own.get("Cgroups") == "disabled":
        # By its own settings: then it repeats these, and nobody keeps them.
        host |= {"Memory": 0, "PidsLimit": 0}
    if not native.get("BoundingCaps") and not native.get("EffectiveCaps"):
        # It lists what it dropped one by one; what counts is that none is left.
        host["CapDrop"] = ["ALL"]
    log = host.get("LogConfig") or {}
    host["LogConfig"] = {"Type": log.get("Type"), "Config": log.get("Config") or {}}
    host["Ulimits"] = [
        limit for limit in map(_read_ulimit, host.get("Ulimits") or []) if limit["Name"] != "nproc"
    ]
    host["Tmpfs"] = {
        place: options.removesuffix(",rprivate") for place, options in (host.get("Tmpfs") or {}).items()
    }
    host["Runtime"] = native.get("OCIRuntime")
    for untold in ("MaskedPaths", "ReadonlyPaths"):
        host.pop(untold, None)
    return dict(made) | {"Config": config, "HostConfig": host}


def _name_signal(number: str) -> str:
    known = {str(int(entry)): entry.name for entry in signal.Signals}
    return known.get(number, number)


def _read_ulimit(limit: Mapping[str, Any]) -> dict[str, Any]:
    return dict(limit) | {"Name": str(limit.get("Name")).removeprefix("RLIMIT_").lower()}
