"""Podman's Docker-compatible service, where it can start containers: a real one, with everything of its own."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codeboost.errors import EngineError
from codeboost.limits import Limits
from codeboost.sandbox import probe
from codeboost.sandbox.archive import END, Kind, make_header, wrap
from codeboost.sandbox.base import CommandSpec, ImageUse, Owner, SetupSpec, SnapshotSpec
from codeboost.sandbox.engine import open_executor
from codeboost.sandbox.executor import DockerExecutor
from codeboost.sandbox.owner import Label
from codeboost.sandbox.podman import PodmanClient
from codeboost.sandbox.probe import ProbeResult
from codeboost.sandbox.snapshot import make_bare_image
from codeboost.sandbox.sweep import sweep_images
from codeboost.sandbox.weakening import KILLS, PROBES
from codeboost.verdict import Verdict

SMALL = Limits(timeout_s=60.0, memory_bytes=128 << 20, cpus=1.0, pids=64, disk_bytes=64 << 20)
NAMES = (b"sh", b"true", b"sleep", b"cat", b"head", b"mkdir", b"touch", b"id", b"yes", b"ls", b"test", b"rm")
PROFILE = Path("/usr/share/containers/seccomp.json")


class Service:
    """Podman's service in a folder of its own; ``settings`` are lines of its containers.conf, by table."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"unix://{folder}/p.sock"
        self.process: subprocess.Popen[bytes] | None = None
        runtime = shutil.which("runc") or shutil.which("crun")
        # Neither systemd nor a journal is taken for granted.
        self._engine = {
            "cgroup_manager": "cgroupfs",
            "events_logger": "file",
            "runtime": Path(runtime or "").name,
        }
        self._containers = {"init_path": shutil.which("catatonit") or ""}

    def call(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*self._command(), *arguments], env=self._environment(), capture_output=True, check=check
        )

    def start(self, **settings: Any) -> None:
        tables = {"containers": self._containers | settings, "engine": self._engine}
        lines = [
            line
            for table, entries in tables.items()
            for line in (f"[{table}]", *(f"{key} = {json.dumps(value)}" for key, value in entries.items()))
        ]
        (self.folder / "containers.conf").write_text("\n".join(lines))
        (self.folder / "p.sock").unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self._command(), "system", "service", "--time=0", self.address],
                env=self._environment(),
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + 30
        while subprocess.run(
            ["docker", "-H", self.address, "info"], capture_output=True, check=False
        ).returncode:
            assert time.monotonic() < deadline, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.1)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def restart(self, **settings: Any) -> None:
        self.kill()
        self.start(**settings)

    def stop(self) -> None:
        self.kill()
        self.call("rm", "-a", "-f", check=False)
        self.call("rmi", "-a", "-f", check=False)
        for line in reversed(Path("/proc/self/mountinfo").read_text("utf-8").splitlines()):
            place = line.split()[4]
            if place.startswith(f"{self.folder}/"):
                subprocess.run(["umount", "-l", place], check=False)

    def _command(self) -> list[str]:
        places = {"--root": "root", "--runroot": "run", "--tmpdir": "tmp"}
        return ["podman", *(text for key, name in places.items() for text in (key, str(self.folder / name)))]

    def _environment(self) -> dict[str, str]:
        return os.environ | {"CONTAINERS_CONF": str(self.folder / "containers.conf")}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    missing = [name for name in ("podman", "conmon", "catatonit") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; `scripts/podman` does it")
    # Unix sockets have short names.
    found = Service(tmp_path_factory.mktemp("p", numbered=True))
    found.start()
    try:
        _import_busybox(found)
        limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=512:512"]
        tried = found.call("run", "--rm", "--network=none", *limits, "busybox:test", "true", check=False)
        if tried.returncode:
            pytest.skip(f"podman cannot start containers here: {tried.stderr.decode()[-300:]}")
        yield found
    finally:
        found.stop()


def _import_busybox(service: Service) -> None:
    content = Path("/bin/busybox").read_bytes()
    pieces = [
        make_header(b".", Kind.FOLDER, mode=0o755),
        make_header(b"bin", Kind.FOLDER, mode=0o755),
        *wrap(b"bin/busybox", content, mode=0o755),
        make_header(b"etc", Kind.FOLDER, mode=0o755),
        make_header(b"etc/link", Kind.SYMLINK, mode=0o777, target=b"../../../bin/true"),
        *wrap(b"bin/closed", content, mode=0o700),
    ]
    pieces += [make_header(b"bin/" + name, Kind.SYMLINK, mode=0o777, target=b"busybox") for name in NAMES]
    archive = service.folder / "busybox.tar"
    archive.write_bytes(b"".join([*pieces, END]))
    service.call("import", str(archive), "busybox:test")


class Bench:
    """Runs commands on one small tree, with Podman."""

    def __init__(self, executor: DockerExecutor, store: str, repo: Any) -> None:
        self.executor = executor
        self.client = executor._client
        self.store = store
        self.image = str((self.client.inspect_image("busybox:test") or {})["Id"])
        self.repo = repo
        repo.write("a.txt", "hello\n").write("empty", executable=True).write("dir/.wh.odd", "kept\n")
        repo.link("true", "/etc/link")
        self.commit = repo.commit()
        self.snapshot = executor.take_snapshot(SnapshotSpec(repo.path, self.commit, self.image, git=True))

    def run(self, *argv: str, **changes: Any) -> Any:
        runtime = changes.pop("runtime", None)
        spec = CommandSpec(
            uuid.uuid4().hex,
            Owner(self.store, "run"),
            argv,
            self.snapshot,
            replace(SMALL, **changes),
            runtime=runtime,
        )
        return self.executor.execute(spec, threading.Event())

    def list_containers(self) -> list[dict[str, Any]]:
        return self.client.list_containers(f"{Label.STORE}={self.store}")


@pytest.fixture
def bench(service: Service, repo: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("DOCKER_HOST", service.address)
    executor = open_executor(store := f"test-{uuid.uuid4().hex}")
    assert isinstance(executor, DockerExecutor)
    assert isinstance(executor._client, PodmanClient)
    yield Bench(executor, store, repo)
    executor.close()


def test_every_verdict_it_can_tell(bench: Bench) -> None:
    passed = bench.run("cat", "a.txt", "dir/.wh.odd")
    assert (passed.verdict, passed.stdout.head) == (Verdict.PASSED, b"hello\nkept\n")
    assert passed.limits_in_force == {
        "timeout": "1m00s",
        "memory": "128 MiB, no swap, kills may go untold",
        "cpus": "1",
        "pids": "64",
        "disk": "64 MiB, watched",
    }
    both = bench.run("sh", "-c", "yes | head -c 3000000; yes no | head -c 2000000 >&2; id")
    assert (both.stdout.total, both.stderr.total) == (
        3000000 + len(b"uid=10001 gid=10001 groups=10001\n"),
        2000000,
    )
    for code in (3, 126, 127, 137, 143):
        failed = bench.run("sh", "-c", f"exit {code}")
        assert (failed.verdict, failed.exit_code) == (Verdict.FAILED, code)
    late = bench.run("sh", "-c", "trap '' TERM; echo begun; sleep 60", timeout_s=1.0)
    assert (late.verdict, late.exit_code, late.stdout.head) == (Verdict.TIMED_OUT, 137, b"begun\n")
    willing = bench.run("sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done", timeout_s=1.0)
    assert (willing.verdict, willing.exit_code) == (Verdict.TIMED_OUT, 0)
    full = bench.run("sh", "-c", "for n in 1 2 3 4; do head -c 31457280 /dev/zero > f$n; done; sleep 30")
    assert full.verdict is Verdict.DISK_LIMIT
    assert bench.list_containers() == []


def test_what_does_not_start_is_known_before(bench: Bench) -> None:
    assert bench.run("./true").verdict is Verdict.PASSED
    for program, words in (
        ("nothing", "not found"),
        ("./empty", "is empty"),
        ("./a.txt", "not executable"),
        ("closed", "not executable"),
        ("./none", "does not exist"),
    ):
        outcome = bench.run(program)
        assert outcome.verdict is Verdict.NOT_STARTED
        assert words in outcome.reason
    assert bench.list_containers() == []


def test_a_path_that_it_cannot_walk_is_no_way_around_the_disk_limit(bench: Bench) -> None:
    # It says 0 for what it could not add up.
    name = "d" * 200
    text = f"for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23; do mkdir {name}; cd -P {name}; done"
    outcome = bench.run("sh", "-c", f"{text}; cd /workspace; head -c 31457280 /dev/zero > f; sleep 3; :")
    assert outcome.verdict is Verdict.DISK_LIMIT
    assert "cannot be measured" in outcome.reason


def test_setup_makes_an_image_that_checks_lie_on(bench: Bench) -> None:
    def prepare(*commands: tuple[str, ...]) -> Any:
        return bench.executor.prepare_setup(
            SetupSpec(inputs=("a.txt",), run=commands, network=False, limits=SMALL),
            bench.repo.path,
            bench.commit,
            bench.image,
            Owner(bench.store, "run"),
        )

    commands = (("sh", "-c", "mkdir made; touch made/by-root"), ("sh", "-c", "cat a.txt > made/copy"))
    outcome = prepare(*commands)
    assert outcome.image_id, outcome.message
    assert prepare(*commands) == replace(outcome, reused=True)
    failed = prepare(("sh", "-c", "echo no; exit 3"))
    assert (failed.image_id, failed.output) == (None, b"no\n")
    bench.snapshot = bench.executor.take_snapshot(
        SnapshotSpec(bench.repo.path, bench.commit, outcome.image_id, git=False)
    )
    done = bench.run("sh", "-c", "touch made/mine && cat made/copy && test ! -w made/by-root")
    assert (done.verdict, done.stdout.head) == (Verdict.PASSED, b"hello\n")


def test_snapshots_are_made_once_and_go(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        bench.client, "build_image", lambda *_: pytest.fail("the engine takes layers on what it has")
    )
    bench.repo.write("b.txt", uuid.uuid4().hex)
    commit = bench.repo.commit()
    spec = SnapshotSpec(bench.repo.path, commit, bench.image, git=True)
    first, again = bench.executor.take_snapshot(spec), bench.executor.take_snapshot(spec)
    assert again == replace(first, reused=True)
    uses = {first.image_id: ImageUse(time.time() - 30 * 86400, held=False)}
    # What another store uses it does not tell, so only what this one knows goes.
    swept = sweep_images(bench.client, uses)
    assert [(thing.id, thing.failure) for thing in swept] == [(first.image_id, "")]
    assert bench.client.inspect_image(first.image_id) is None


def test_what_it_takes_and_does_otherwise_never_starts(
    bench: Bench, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It knows the name, takes it, and goes on with its own.
    outcome = bench.run("true", runtime="runsc")
    assert outcome.verdict is Verdict.INFRASTRUCTURE
    assert "Runtime: asked for 'runsc'" in outcome.reason
    # What its own settings add to every container.
    service.restart(devices=["/dev/fuse:/dev/fuse:rwm"], env=["SECRET=1"])
    try:
        outcome = bench.run("true")
        assert outcome.verdict is Verdict.INFRASTRUCTURE
        assert "/dev/fuse" in outcome.reason
        assert "SECRET was added" in outcome.reason
        service.restart(seccomp_profile="unconfined")
        with pytest.raises(EngineError, match="no seccomp"):
            open_executor(bench.store)
    finally:
        service.restart()
    assert bench.run("true").verdict is Verdict.PASSED


# The library leaves the sockets of failed calls to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_death_and_return_of_the_service(
    bench: Bench, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = []
    worker = threading.Thread(target=lambda: outcomes.append(bench.run("sh", "-c", "sleep 4; exit 0")))
    worker.start()
    time.sleep(2.0)
    service.kill()
    worker.join(60)
    assert [outcome.verdict for outcome in outcomes] == [Verdict.INFRASTRUCTURE]
    gc.collect()
    service.start()
    assert len(bench.list_containers()) == 1
    monkeypatch.setattr("codeboost.sandbox.sweep.judge", lambda labels, *_: "its engine was restarted")
    assert len(bench.executor.sweep(bench.store)) == 1
    assert bench.list_containers() == []
    assert bench.run("true").verdict is Verdict.PASSED


@pytest.fixture
def example(service: Service, image_id: str, tmp_path: Path) -> str:
    """The image with python3 that the other engine has, here."""
    archive = tmp_path / "image.tar"
    subprocess.run(["docker", "save", "-o", archive, image_id], check=True)
    service.call("load", "-i", str(archive))
    archive.unlink()
    return image_id


def test_doctor_is_green_but_for_what_podmans_own_seccomp_profile_allows(
    example: str, service: Service, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", service.address)

    def look(**settings: Any) -> tuple[set[str], tuple[ProbeResult, ...]]:
        """What is wrong in the sandbox itself; and, under settings of its own, all that doctor finds."""
        service.restart(**settings)
        executor = open_executor(store)
        assert isinstance(executor, DockerExecutor)
        client, record = executor._client, executor.describe()
        try:
            bare = make_bare_image(client, example)
            prober = probe._Prober(client, record, bare, store, None, threading.Event())
            wrong = prober.look([entry.name for entry in PROBES]).wrong
            results = probe.run_probes(client, record, bare, store) if settings else ()
            return {name for name, text in wrong.items() if text}, results
        finally:
            executor.close()

    try:
        wrong = look()[0]
        # Whether it tells depends on its version and its conmon's.
        assert wrong - {KILLS} == {"namespaces", "keyring", "mounting"}
        strict = service.folder / "seccomp.json"
        strict.write_text(json.dumps(_tighten(json.loads(PROFILE.read_text("utf-8")))))
        wrong, results = look(seccomp_profile=str(strict))
        assert wrong - {KILLS} == set()
        red = [f"{result.name}: {result.detail}" for result in results if not result.is_green]
        assert [line for line in red if not line.startswith(f"{KILLS}:")] == []
        assert len(results) > len(PROBES)
    finally:
        service.restart()


def _tighten(profile: dict[str, Any]) -> dict[str, Any]:
    """The profile without new namespaces, mounts and the keyring."""
    forbidden = {
        *("unshare", "setns", "mount", "umount", "umount2", "clone", "clone3"),
        *("add_key", "keyctl", "request_key"),
    }
    rules = [rule | {"names": sorted(set(rule["names"]) - forbidden)} for rule in profile["syscalls"]]
    # A clone without any flag that makes a namespace; the newer call, whose flags a filter cannot see, is "not known".
    old = {"index": 0, "value": 0x7E020000, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    rules += [
        {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [old]},
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38, "args": []},
    ]
    return profile | {"syscalls": [rule for rule in rules if rule["names"]]}
