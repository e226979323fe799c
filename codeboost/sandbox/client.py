"""The one door to the engine: its HTTP API, each call with a deadline, each fault as an EngineError.

The docker library speaks the transports and negotiates the version of the API (``connection``). Requests are written by
hand as the API documents them: the library's own helpers split strings with shlex, keep the image's entrypoint, copy
proxies from the user's settings into containers and drop what they do not know (facts). Importing this module costs
110 ms, so only ``engine`` does, and late.
"""

from __future__ import annotations

import base64
import json
import secrets
import tarfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPException
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import docker
import docker.auth
import docker.errors
import docker.utils
import requests
import urllib3.exceptions

from codeboost.errors import EngineError
from codeboost.sandbox.life import Life, find_stream
from codeboost.visible import cut

__all__ = [
    "CALL_S",
    "FAULTS",
    "ConflictError",
    "EngineClient",
    "MissingError",
    "PathStat",
    "RefusedError",
    "explain",
]

CALL_S = 60.0
"""How long an ordinary call may take before the engine counts as gone."""
TRANSFER_S = 600.0
"""How long the engine may be silent while it loads, builds, pulls or commits."""

FAULTS = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    HTTPException,
    docker.errors.DockerException,
    OSError,
)


class RefusedError(EngineError):
    """The engine answered, and said no."""


class MissingError(RefusedError):
    """What was asked for is not there (404)."""


class ConflictError(RefusedError):
    """Something else is in the way (409)."""


class PathStat(NamedTuple):
    """One file in a container; ``mode`` has Go's bits (``is_folder`` and ``is_link`` read them)."""

    size: int
    mode: int
    target: str = ""
    """Where a link leads in the end, all others on the way followed."""

    @property
    def is_folder(self) -> bool:
        return bool(self.mode & 1 << 31)

    @property
    def is_link(self) -> bool:
        return bool(self.mode & 1 << 27)

    @property
    def is_regular(self) -> bool:
        # ModeType of Go: folder, link, device, pipe, socket, character device, irregular.
        return not self.mode & (1 << 31 | 1 << 27 | 1 << 26 | 1 << 25 | 1 << 24 | 1 << 21 | 1 << 19)


class ByteStream(Protocol):
    def read1(self, size: int = ..., /) -> bytes: ...
    def close(self) -> None: ...


class EngineClient:
    """One engine. Safe to use from several threads at once."""

    tells_owners: ClassVar[bool] = True
    """Whether archives name the users that files in them belong to."""

    def __init__(self, api: docker.APIClient, address: str, ping: Callable[[], None]) -> None:
        """``ping`` raises when a new connection is not answered."""
        self._api = api
        self._ping = ping
        self._life: Life | None = None
        self._guard = threading.Lock()
        self.address = address
        self.api_version = str(api.api_version)
        self._base = f"{api.base_url}/v{self.api_version}"

    def close(self) -> None:
        if self._life is not None:
            self._life.leave()
        self._api.close()

    def find_life(self) -> Life:
        """The engine's present life, to be confirmed later."""
        with self._guard:
            if self._life is None or self._life.is_over():
                # Of what nothing has, there is no news.
                nothing = json.dumps({"label": [f"io.codeboost.nothing={secrets.token_hex(8)}"]})
                params = {"filters": nothing}
                self._life = Life(self._call("GET", "/events", params=params, stream=True))
            return self._life

    def confirm_life(self, life: Life) -> None:
        """EngineError unless the engine takes new connections, and is still in that ``life``."""
        with self._watch("ping"):
            self._ping()
        if life.is_over():
            raise EngineError("the engine was restarted while the program ran")

    # What it is

    def read_version(self) -> dict[str, Any]:
        return dict(self._get("/version"))

    def read_info(self) -> dict[str, Any]:
        return dict(self._get("/info"))

    # Images

    def inspect_image(self, reference: str) -> dict[str, Any] | None:
        try:
            return dict(self._get(f"/images/{reference}/json"))
        except MissingError:
            return None

    def pull_image(self, reference: str, platform: str) -> None:
        """Pulls one image, never every tag of a name. RefusedError with the registry's own words."""
        name, tag = docker.utils.parse_repository_tag(reference)
        registry, _ = docker.auth.resolve_repository_name(name)
        header = docker.auth.get_config_header(self._api, registry)
        self._stream(
            "/images/create",
            params={"fromImage": name, "tag": tag or "latest", "platform": platform},
            headers={"X-Registry-Auth": header} if header else {},
        )

    def load_image(self, archive: Iterable[bytes]) -> None:
        """Loads an image archive as it is generated. RefusedError when the engine's store will not take it."""
        self._stream(
            "/images/load",
            params={"quiet": "1"},
            data=iter(archive),
            headers={"Content-Type": "application/x-tar"},
        )

    def build_image(self, context: Iterable[bytes], tag: str, labels: Mapping[str, str]) -> None:
        self._stream(
            "/build",
            params={
                "t": tag,
                "rm": "1",
                "forcerm": "1",
                "networkmode": "none",
                "labels": json.dumps(dict(labels)),
                "q": "1",
            },
            data=iter(context),
            headers={"Content-Type": "application/x-tar"},
        )

    def tag_image(self, image: str, repository: str, tag: str) -> None:
        self._call("POST", f"/images/{image}/tag", params={"repo": repository, "tag": tag}).close()

    def remove_image(self, reference: str) -> None:
        """Removes a tag, and the image with its last one. ConflictError while a container uses it."""
        with suppress(MissingError):
            self._call("DELETE", f"/images/{reference}", timeout=TRANSFER_S).close()

    def list_images(self, *labels: str) -> list[dict[str, Any]]:
        found = self._get("/images/json", params={"filters": json.dumps({"label": list(labels)})})
        return cast("list[dict[str, Any]]", found)

    def commit(self, container: str, repository: str, tag: str, config: Mapping[str, Any]) -> str:
        params = {"container": container, "repo": repository, "tag": tag, "pause": "true"}
        response = self._call("POST", "/commit", params=params, body=config, timeout=TRANSFER_S)
        return str(response.json()["Id"])

    # Containers

    def create(self, name: str, config: Mapping[str, Any], platform: str | None = None) -> str:
        params = {"name": name} | ({"platform": platform} if platform else {})
        return str(self._call("POST", "/containers/create", params=params, body=config).json()["Id"])

    def start(self, container: str) -> None:
        self._call("POST", f"/containers/{container}/start").close()

    def inspect(self, container: str, *, size: bool = False, timeout: float = CALL_S) -> dict[str, Any]:
        """What the engine knows of a container; ``size`` adds what it wrote, which takes the longer the more files."""
        params = {"size": "1"} if size else None
        return dict(self._get(f"/containers/{container}/json", params=params, timeout=timeout))

    def kill(self, container: str, signal: str, *, timeout: float = CALL_S) -> None:
        """Sends a signal. That the container is no longer running is not an error."""
        place, params = f"/containers/{container}/kill", {"signal": signal}
        with suppress(MissingError, ConflictError):
            self._call("POST", place, params=params, timeout=timeout).close()

    def remove(self, container: str) -> None:
        """Removes a container with its anonymous volumes, running or not; MissingError when it is gone already."""
        self._call("DELETE", f"/containers/{container}", params={"force": "1", "v": "1"}).close()

    def list_containers(self, *labels: str) -> list[dict[str, Any]]:
        """Every container, running or not, that carries all ``labels`` (``name`` or ``name=value``)."""
        params = {"all": "1", "filters": json.dumps({"label": list(labels)})}
        return cast("list[dict[str, Any]]", self._get("/containers/json", params=params))

    def wait(self, container: str, registered: Callable[[], None]) -> int:
        """Blocks until the container's next exit and gives its status; no deadline of its own: run it in a thread.

        ``registered`` is called once the engine has taken note, so that an exit right after cannot be missed. The
        answer comes over a connection that breaks when the engine does: EngineError then, never a status.
        """
        response = self._call(
            "POST",
            f"/containers/{container}/wait",
            params={"condition": "next-exit"},
            stream=True,
            timeout=None,
        )
        registered()
        with self._watch("wait"), response:
            answer = json.loads(response.content)
        if answer.get("Error"):
            raise EngineError(f"the engine could not wait: {cut(str(answer['Error']), 200)}")
        return int(answer["StatusCode"])

    @contextmanager
    def attach(self, container: str) -> Iterator[ByteStream]:
        """Both output streams as the engine multiplexes them, from the start on if opened before it."""
        response = self._call(
            "POST",
            f"/containers/{container}/attach",
            params={"stream": "1", "stdout": "1", "stderr": "1"},
            headers={"Connection": "Upgrade", "Upgrade": "tcp"},
            stream=True,
        )
        # A silent program is no fault, so the deadline of the call must not become one of the stream.
        stream, sock = find_stream(response)
        sock.settimeout(None)
        try:
            yield cast("ByteStream", stream)
        finally:
            with suppress(OSError):
                sock.shutdown(2)
            response.close()

    # Files of a container

    def stat_path(self, container: str, path: str) -> PathStat | None:
        """What is at ``path``, a last link not followed; links on the way are, within the container's own root."""
        try:
            response = self._call("HEAD", f"/containers/{container}/archive", params={"path": path})
        except MissingError:
            return None
        with self._watch("stat"), response:
            header = response.headers.get("X-Docker-Container-Path-Stat", "")
            # Podman writes the alphabet for addresses; this reads both.
            stat = json.loads(base64.b64decode(header, altchars="-_"))
            return PathStat(int(stat["size"]), int(stat["mode"]), str(stat.get("linkTarget") or ""))

    @contextmanager
    def read_archive(self, container: str, path: str) -> Iterator[Iterator[bytes]]:
        """The tar archive of ``path``, in pieces; stop reading at any time."""
        response = self._call(
            "GET", f"/containers/{container}/archive", params={"path": path}, stream=True, timeout=TRANSFER_S
        )
        with self._watch("archive"), response:
            yield cast("Iterator[bytes]", response.iter_content(1 << 16))

    def put_archive(self, container: str, path: str, archive: bytes) -> None:
        self._call(
            "PUT",
            f"/containers/{container}/archive",
            params={"path": path, "noOverwriteDirNonDir": "1"},
            data=archive,
            timeout=TRANSFER_S,
        ).close()

    def count_changes(self, container: str, limit: int, *, timeout: float = TRANSFER_S) -> int:
        """How many files the container has written or removed; counts no further than ``limit``."""
        response = self._call("GET", f"/containers/{container}/changes", stream=True, timeout=timeout)
        count, rest = 0, b""
        with self._watch("changes"), response:
            for chunk in response.iter_content(1 << 18):
                text = rest + chunk
                count += text.count(b'"Path":')
                rest = text[-6:]
                if count > limit:
                    break
        return count

    # The door

    def _get(self, path: str, params: Mapping[str, str] | None = None, timeout: float = CALL_S) -> Any:
        with self._watch(path):
            return self._call("GET", path, params=params, timeout=timeout).json()

    def _stream(self, path: str, **request: Any) -> None:
        # These answer 200 at once, and then say how it went in a stream of JSON documents.
        response = self._call("POST", path, stream=True, timeout=TRANSFER_S, **request)
        with self._watch(path), response:
            for line in response.iter_lines():
                if not line:
                    continue
                message = json.loads(line)
                if "error" in message or "errorDetail" in message:
                    said = message.get("error") or message["errorDetail"].get("message")
                    raise RefusedError(cut(str(said), 300))

    def _call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        data: Iterable[bytes] | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        stream: bool = False,
        timeout: float | None = CALL_S,
    ) -> requests.Response:
        with self._watch(f"{method} {path}"):
            response = self._api.request(
                method,
                self._base + path,
                params=dict(params or {}),
                json=body,
                data=data,
                headers=dict(headers or {}),
                stream=stream,
                timeout=timeout,
                allow_redirects=False,
            )
        if response.status_code < 400:
            return response
        with self._watch(path), response:
            try:
                said = str(response.json()["message"])
            except (ValueError, KeyError, TypeError):
                said = response.text or str(response.status_code)
        kind = {404: MissingError, 409: ConflictError}.get(response.status_code, RefusedError)
        raise kind(cut(said.strip(), 300))

    @contextmanager
    def _watch(self, doing: str) -> Iterator[None]:
        try:
            yield
        except (*FAULTS, ValueError, KeyError, tarfile.TarError) as error:
            raise EngineError(
                f"the engine at {cut(self.address)} failed ({cut(doing, 60)}): {explain(error)}",
                hint="see whether it still runs, and try again",
            ) from error


def explain(error: BaseException) -> str:
    """The innermost reason in one line; the library nests it several times over."""
    seen: set[int] = set()
    inner: BaseException | None = error
    while inner is not None and id(inner) not in seen:
        seen.add(id(inner))
        error, inner = inner, inner.__cause__ or inner.__context__
    if isinstance(error, OSError) and error.strerror:
        return cut(error.strerror)
    text = str(error).strip() or type(error).__name__
    return cut(text.splitlines()[0], 200)
