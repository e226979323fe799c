"""Finds the engine as docker's own tools do (DOCKER_HOST, context, TLS, ssh), and connects to it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import docker
import docker.tls
import docker.utils

from codeboost.errors import EngineError
from codeboost.sandbox.base import PODMAN, name_engine
from codeboost.sandbox.client import CALL_S, FAULTS, EngineClient, explain
from codeboost.visible import cut

__all__ = ["connect"]

DEFAULT_ADDRESS = "unix:///var/run/docker.sock"


def connect(*, connections: int = 256) -> EngineClient:
    """The engine that docker's own tools would use; EngineError with one line when it does not answer."""
    settings = _find_settings()
    address = str(settings.setdefault("base_url", DEFAULT_ADDRESS))
    path = address.removeprefix("unix://") if address.startswith("unix://") else None

    def dial(version: str) -> docker.APIClient:
        return docker.APIClient(
            version=version,
            timeout=int(CALL_S),
            max_pool_size=connections,
            user_agent="codeboost",
            **settings,
        )

    def ping() -> None:
        if path is not None:
            _ping(path)
            return
        with closing(dial(str(api.api_version))) as fresh:
            fresh.ping()

    try:
        if path is not None:
            _knock(path)
        api = dial("auto")
    except FAULTS as error:
        raise EngineError(
            f"no container engine answers at {cut(address, 200)}: {explain(error)}",
            hint="start Docker, or point DOCKER_HOST at an engine that runs",
        ) from error
    client = EngineClient(api, address, ping)
    try:
        found = name_engine(client.read_version())
    except BaseException:
        client.close()
        raise
    if found != PODMAN:
        return client
    from codeboost.sandbox.podman import PodmanClient  # noqa: PLC0415 - few need it

    return PodmanClient(api, address, ping)


def _knock(path: str) -> None:
    # Before the library does: its own attempt leaves an open socket behind when nobody is there.
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(CALL_S)
        probe.connect(path)


def _ping(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(CALL_S)
        probe.connect(path)
        probe.sendall(b"HEAD /_ping HTTP/1.0\r\nHost: docker\r\n\r\n")
        if not probe.recv(16).startswith(b"HTTP/"):
            raise ConnectionResetError(errno.ECONNRESET, "it hung up")


def _find_settings() -> dict[str, Any]:
    """The order of docker's own tools: DOCKER_HOST, DOCKER_CONTEXT, the context chosen in their settings."""
    try:
        settings: dict[str, Any] = dict(docker.utils.kwargs_from_env())
        if "base_url" in settings:
            return settings
        folder = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
        name = os.environ.get("DOCKER_CONTEXT") or _read_json(folder / "config.json").get("currentContext")
        return settings if name in (None, "", "default") else settings | _read_context(folder, str(name))
    except (*FAULTS, ValueError, TypeError, AttributeError, KeyError) as error:
        raise EngineError(f"docker's settings cannot be read: {explain(error)}") from error


def _read_context(folder: Path, name: str) -> dict[str, Any]:
    # By hand: the library looks beside config.json only where that file exists.
    key = hashlib.sha256(name.encode()).hexdigest()
    meta = folder / "contexts" / "meta" / key / "meta.json"
    if not meta.exists():
        raise EngineError(
            f"the docker context '{cut(name)}' does not exist",
            hint="choose one that `docker context ls` shows, or set DOCKER_HOST",
        )
    endpoint = _read_json(meta)["Endpoints"]["docker"]
    settings = {"base_url": endpoint.get("Host") or DEFAULT_ADDRESS}
    keys = folder / "contexts" / "tls" / key / "docker"
    if keys.is_dir():
        found = {
            stem: str(keys / f"{stem}.pem")
            for stem in ("ca", "cert", "key")
            if (keys / f"{stem}.pem").exists()
        }
        pair = (found["cert"], found["key"]) if {"cert", "key"} <= found.keys() else None
        verify = not endpoint.get("SkipTLSVerify")
        settings["tls"] = docker.tls.TLSConfig(client_cert=pair, ca_cert=found.get("ca"), verify=verify)
    return settings


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return {}
