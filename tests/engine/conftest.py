"""What every engine test needs: an engine that answers (its absence fails, never skips), an image, a laboratory."""

# Names of any bytes need os.path.
# ruff: noqa: PTH101, PTH103, PTH114, PTH115, PTH118, PTH120, PTH123

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from codeboost.errors import EngineError
from codeboost.limits import Limits
from codeboost.sandbox.base import CommandSpec, Owner, SnapshotSpec
from codeboost.sandbox.client import EngineClient
from codeboost.sandbox.connection import connect
from codeboost.sandbox.engine import open_executor
from codeboost.sandbox.executor import DockerExecutor
from codeboost.sandbox.owner import Label

ROOT = Path(__file__).parents[2]
IMAGE = "codeboost/example:1"
SMALL = Limits(timeout_s=60.0, memory_bytes=256 << 20, cpus=1.0, pids=128, disk_bytes=256 << 20)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.engine)


@pytest.fixture(scope="session")
def client() -> Iterator[EngineClient]:
    try:
        found = connect()
    except EngineError as error:
        pytest.fail(
            f"these tests need a container engine: {error}; `scripts/engine` starts one", pytrace=False
        )
    yield found
    found.close()


@pytest.fixture(scope="session")
def image_id(client: EngineClient) -> str:
    if client.inspect_image(IMAGE) is None:
        subprocess.run([ROOT / "scripts" / "image"], check=True, timeout=900)
    found = client.inspect_image(IMAGE)
    assert found is not None
    return str(found["Id"])


@pytest.fixture(scope="session")
def store(client: EngineClient) -> Iterator[str]:
    """A store of our own, so that nothing here touches what others run on the same engine."""
    name = f"test-{uuid.uuid4().hex}"
    yield name
    for container in client.list_containers(f"{Label.STORE}={name}"):
        client.remove(container["Id"])


@pytest.fixture(scope="session")
def executor(client: EngineClient, store: str) -> Iterator[DockerExecutor]:
    found = open_executor(store)
    assert isinstance(found, DockerExecutor)
    yield found
    for image in found._laid:
        with contextlib.suppress(EngineError):
            client.remove_image(image)
    found.close()


@dataclass
class Repo:
    """A real repository; ``write`` and ``commit`` return it for chaining."""

    path: Path
    object_format: str = "sha1"

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", f"--object-format={self.object_format}", ".")

    def git(self, *arguments: str, stdin: bytes | None = None) -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.com",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@example.com",
        }
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=self.path,
            env=environment,
            input=stdin,
            capture_output=True,
            check=True,
            timeout=120,
        )
        return done.stdout.decode().strip()

    def write(self, name: str | bytes, content: str | bytes = "", *, executable: bool = False) -> Repo:
        path = os.path.join(os.fsencode(self.path), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(path, 0o755 if executable else 0o644)
        return self

    def link(self, name: str, target: str) -> Repo:
        (self.path / name).symlink_to(target)
        return self

    def commit(self) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        return self.git("rev-parse", "HEAD")

    def digest(self) -> str:
        """Everything below the checkout, ``.git`` included, byte for byte."""
        digest = hashlib.sha256()
        for folder, folders, files in os.walk(os.fsencode(self.path)):
            folders.sort()
            for name in sorted(
                files + [entry for entry in folders if os.path.islink(os.path.join(folder, entry))]
            ):
                path = os.path.join(folder, name)
                info = os.lstat(path)
                digest.update(b"%s %o %d " % (path, info.st_mode, info.st_mtime_ns))
                digest.update(
                    os.readlink(path) if os.path.islink(path) else Path(os.fsdecode(path)).read_bytes()
                )
        return digest.hexdigest()


@dataclass
class Lab:
    """Runs commands on the tree of a repository, as ``codeboost run`` does."""

    executor: DockerExecutor
    image_id: str
    store: str
    repo: Repo
    git: bool = True
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    digest: str | None = None
    """Of the whole checkout, just before the first command."""
    _snapshots: dict = field(default_factory=dict)

    def snapshot(self) -> Any:
        commit = self.repo.commit() if not self._snapshots else self.repo.git("rev-parse", "HEAD")
        if commit not in self._snapshots:
            spec = SnapshotSpec(self.repo.path, commit, self.image_id, self.git)
            self._snapshots[commit] = self.executor.take_snapshot(spec)
        return self._snapshots[commit]

    def spec(self, *argv: str, **changes: Any) -> CommandSpec:
        limits = replace(SMALL, **{key: changes.pop(key) for key in list(changes) if key in Limits.__slots__})
        env = {"CODEBOOST_TEST_MARK": self.mark, **changes.pop("env", {})}
        owner = Owner(self.store, f"run-{self.mark[:8]}")
        snapshot = self.snapshot()
        self.digest = self.digest or (self.repo.digest() if isinstance(self.repo, Repo) else None)
        return CommandSpec(uuid.uuid4().hex, owner, argv, snapshot, limits, env=env, **changes)

    def run(self, *argv: str, cancelled: threading.Event | None = None, **changes: Any) -> Any:
        return self.executor.execute(self.spec(*argv, **changes), cancelled or threading.Event())

    def python(self, text: str, **changes: Any) -> Any:
        return self.run("python3", "-c", text, **changes)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


@pytest.fixture
def make_repo(tmp_path: Path) -> Any:
    return lambda name, **options: Repo(tmp_path / name, **options)


@pytest.fixture
def lab(executor: DockerExecutor, image_id: str, store: str, repo: Repo) -> Lab:
    return Lab(executor, image_id, store, repo)


@pytest.fixture(scope="session")
def plain(
    executor: DockerExecutor, image_id: str, store: str, tmp_path_factory: pytest.TempPathFactory
) -> Lab:
    """A laboratory on one small tree, shared: for tests to which the tree does not matter."""
    made = (
        Repo(tmp_path_factory.mktemp("plain") / "repo")
        .write("a.txt", "hello\n")
        .write("sub/b.txt", uuid.uuid4().hex)
    )
    made.write("run.sh", "#!/bin/sh\necho ran\n", executable=True)
    return Lab(executor, image_id, store, made)


def list_marked(mark: str) -> list[int]:
    """Processes of this host that carry the laboratory's mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def list_processes() -> set[tuple[int, str]]:
    """Every process of this host: its number, and when it started, because numbers are used again."""
    found = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                started = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
                found.add((int(entry.name), started))
    return found


def find_strays(known: set[tuple[int, str]], containers: set[str]) -> list[int]:
    """Processes that came since and are of these containers, whatever they did to their environment.

    Those in a cgroup of such a container; and those in other process and mount namespaces than ours that are in the
    cgroup of no container at all: what left its cgroup, too. Containers of others are nobody's business here.
    """
    ours = [os.readlink(f"/proc/self/ns/{name}") for name in ("pid", "mnt")]
    found = []
    for pid, _ in list_processes() - known:
        place = Path("/proc") / str(pid)
        try:
            owners = set(re.findall(r"[0-9a-f]{64}", (place / "cgroup").read_text()))
            spaces = [os.readlink(place / "ns" / name) for name in ("pid", "mnt")]
        except OSError:
            continue
        foreign = all(space != own for space, own in zip(spaces, ours, strict=True))
        if owners & containers or (foreign and not owners):
            found.append(pid)
    return found


@pytest.fixture
def host_check() -> SimpleNamespace:
    """What the attacks are judged by, so that it is judged itself."""
    return SimpleNamespace(list_processes=list_processes, find_strays=find_strays, list_marked=list_marked)


@pytest.fixture
def unchanged_host(client: EngineClient, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After an attack the host is as before: processes, containers, mounts, volumes, networks, room, the checkout.

    Room is told by the folders that the engine kept each container's files in: others write on the same disk.
    """
    layers: set[Path] = set()
    containers: set[str] = set()
    inspect = EngineClient.inspect

    def remember(self: EngineClient, container: str, **options: Any) -> dict[str, Any]:
        found = inspect(self, container, **options)
        layers.add(Path(found["GraphDriver"]["Data"]["UpperDir"]))
        containers.add(found["Id"])
        return found

    monkeypatch.setattr(EngineClient, "inspect", remember)
    volumes, networks = _list_names(client, "volumes"), _list_names(client, "networks")
    known = list_processes()
    with _kept_volume(lab.mark) as kept:
        yield
        assert kept in _list_names(client, "volumes")
    labels = (f"{Label.STORE}={lab.store}", f"{Label.RUN}=run-{lab.mark[:8]}")
    assert client.list_containers(*labels) == []
    assert list_marked(lab.mark) == []
    assert find_strays(known, containers) == []
    _wait_for_none(lambda: _list_names(client, "volumes") - volumes)
    assert _list_names(client, "networks") == networks
    assert lab.digest is not None, "nothing was run"
    assert lab.repo.digest() == lab.digest
    assert layers
    assert [layer for layer in layers if layer.exists()] == []
    mounts = Path("/proc/self/mountinfo").read_text("utf-8", "replace")
    assert [layer for layer in layers if str(layer.parent) in mounts] == []


@contextlib.contextmanager
def _kept_volume(mark: str) -> Iterator[str]:
    """A volume of our own, which no attack may touch."""
    name = f"{_KEPT}{mark}"
    subprocess.run(["docker", "volume", "create", name], check=True, stdout=subprocess.DEVNULL)
    try:
        yield name
    finally:
        subprocess.run(["docker", "volume", "rm", "-f", name], check=True, stdout=subprocess.DEVNULL)


_KEPT = "codeboost-test-kept-"


def _wait_for_none(find: Callable[[], set[str]]) -> None:
    """Tests beside this one build images that declare volumes, which the engine makes for a moment; ours would stay."""
    deadline = time.monotonic() + 60
    while found := {name for name in find() if not name.startswith(_KEPT)}:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


def _list_names(client: EngineClient, kind: str) -> set[str]:
    found = client._get(f"/{kind}")
    return {entry["Name"] for entry in (found["Volumes"] or [] if kind == "volumes" else found)}
