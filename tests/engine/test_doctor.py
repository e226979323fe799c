"""``codeboost doctor``: green here, and red wherever a protection is missing (B39 and the whole of design §5.4)."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from codeboost.operations import run_doctor as operation
from codeboost.reporting.doctor import describe_doctor, render_doctor
from codeboost.sandbox import probe
from codeboost.sandbox.base import ImageRecord, PullPolicy
from codeboost.sandbox.client import EngineClient
from codeboost.sandbox.owner import Label
from codeboost.sandbox.snapshot import make_bare_image
from codeboost.sandbox.weakening import PROBES, Probe

# One container for all probes that the same weakening turns red.
GROUPS = probe._group_by_weakening(PROBES)
RUNTIME = "io.containerd.runc.v2"
ANY_IMAGE = ImageRecord("x:1", "sha256:0", None, "linux/amd64")


@pytest.fixture(scope="module")
def bare(client: Any, image_id: str) -> str:
    return make_bare_image(client, image_id)


@pytest.fixture(scope="module")
def prober(client: Any, executor: Any, bare: str, store: str) -> Any:
    return probe._Prober(client, executor.describe(), bare, store, None, threading.Event())


@pytest.fixture(scope="module")
def weakened(prober: Any) -> dict[str, Any]:
    """Every probe in a sandbox that lacks one protection, for each of them; by the first probe of the group."""
    names = [entry.name for entry in PROBES]
    with ThreadPoolExecutor(4) as pool:
        looks = pool.map(lambda group: prober.look(names, group[0]), GROUPS)
        return {group[0].name: look for group, look in zip(GROUPS, looks, strict=True)}


def examine(image: str, store: str, runtime: str | None = None, **options: Any) -> Any:
    said: list[str] = []
    patient = operation.Patient(image, runtime, "--image")
    report = operation.run_doctor(patient, PullPolicy.NEVER, store, said.append, **options)
    return report, said


@pytest.fixture(scope="module")
def examined(image_id: str, store: str) -> Any:
    """What ``doctor`` found with another runtime than the default, what it said before, and all that it asked for."""
    asked: list[dict[str, Any]] = []
    create = EngineClient.create

    def remember(self: Any, name: str, config: Any, *rest: Any) -> str:
        asked.append(config)
        return create(self, name, config, *rest)

    assert image_id
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(EngineClient, "create", remember)
        report, said = examine("codeboost/example:1", store, runtime=RUNTIME)
    return SimpleNamespace(report=report, said=said, asked=asked)


def test_every_promise_holds_and_every_probe_was_red_without_it(examined: Any, image_id: str) -> None:
    report = examined.report
    assert any("codeboost/example:1" in line and image_id[:19] in line for line in examined.said)
    red = [(result.name, result.detail) for result in report.probes if not result.is_green]
    assert red == []
    assert report.exit_code == 0
    proven = {result.name for result in report.probes if result.proof is probe.Proof.WEAKENED}
    assert proven == {entry.name for entry in PROBES}
    assert all(config["HostConfig"]["Runtime"] == RUNTIME for config in examined.asked)
    text = render_doctor(report)
    assert f"all {len(report.probes)} promises hold" in text
    assert all(result.promise in text for result in report.probes)
    assert f"runtime {RUNTIME}" in text
    data = describe_doctor(report)
    assert data["runtime"] == RUNTIME
    assert {row["name"] for row in data["probes"]} == {result.name for result in report.probes}
    assert all(row["ok"] for row in data["probes"])


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: "+".join(entry.name for entry in group))
def test_a_sandbox_without_a_protection_is_red(weakened: Any, executor: Any, group: list[Probe]) -> None:
    """The whole sandbox lacks it: what every command would get, and not only the container that has to fail."""
    results = probe._judge(weakened[group[0].name], {entry.name: "" for entry in PROBES})
    found = {result.name: result for result in results}
    for entry in group:
        assert not found[entry.name].is_green
        assert found[entry.name].detail
        assert not found[entry.name].detail.startswith("the probe "), found[entry.name].detail
    report = operation.DoctorReport(executor.describe(), ANY_IMAGE, results)
    assert report.exit_code == 4
    red = [result for result in results if not result.is_green]
    verb = "does" if len(red) == 1 else "do"
    assert f"{len(red)} of {len(results)} promises {verb} not hold here" in render_doctor(report)
    # It is not that nothing at all works there.
    untouched = [entry.name for entry in PROBES if found[entry.name].is_green]
    assert len(untouched) > len(PROBES) / 2, [(result.name, result.detail) for result in red]


def test_what_the_engine_made_otherwise_than_asked_is_a_red_promise(
    client: Any, executor: Any, bare: str, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = type(client).create

    def make_other(self: Any, name: str, config: Any, *rest: Any) -> str:
        other = {**config, "HostConfig": {**config["HostConfig"], "IpcMode": "shareable", "Init": False}}
        return str(create(self, name, other, *rest))

    monkeypatch.setattr(type(client), "create", make_other)
    monkeypatch.setattr(probe, "PROBES", tuple(entry for entry in PROBES if entry.name == "user"))
    results = {found.name: found for found in probe.run_probes(client, executor.describe(), bare, store)}
    assert results["user"].is_green
    assert not results["ipc"].is_green
    assert not results["profile"].is_green
    assert "HostConfig.Init" in results["profile"].detail


def test_a_clock_that_is_not_the_hosts_is_red(
    prober: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No container can be given another clock, so its program is: it adds ten seconds to what it reads."""
    assert prober.look([]).clock == ""
    text = probe._SCRIPT.read_text()
    assert text.count("\nmain()\n") == 1
    script = tmp_path / "inside.py"
    monkeypatch.setattr(probe, "_SCRIPT", script)
    for ahead in (10, -10):
        shift = f"\nreal = time.time\ntime.time = lambda: real() + {ahead}\nmain()\n"
        script.write_text(text.replace("\nmain()\n", shift))
        assert "10 s away from the host's" in prober.look([]).clock


def test_a_probe_that_cannot_fail_is_not_green(
    client: Any, executor: Any, bare: str, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = probe.Probe("capabilities", "nothing is taken away", lambda _: None)
    told = probe.Probe("network", "the host forbids it anyway", lambda _: None, bool)
    untold = probe.Probe("network", "and the engine says otherwise", lambda _: None, lambda made: not made)
    monkeypatch.setattr(probe, "PROBES", (idle, told))
    results = probe.run_probes(client, executor.describe(), bare, store)
    assert (results[0].holds, results[0].proof, results[0].is_green) == (True, probe.Proof.NONE, False)
    assert (results[1].holds, results[1].proof, results[1].is_green) == (True, probe.Proof.INSPECTED, True)
    monkeypatch.setattr(probe, "PROBES", (untold,))
    results = probe.run_probes(client, executor.describe(), bare, store)
    assert (results[0].proof, results[0].is_green) == (probe.Proof.NONE, False)


def test_weakened_containers_get_no_more_than_their_probe_needs(examined: Any) -> None:
    """An image runs in them: none may be root of the host by what it lacks, or go without a bound."""
    assert len(examined.asked) == len(GROUPS) + 2
    for config in examined.asked:
        host = config["HostConfig"]
        assert host["CapDrop"] == ["ALL"]
        assert (config["User"], host["CapAdd"]) in [
            ("10001:10001", []),
            ("10001:10001", ["KILL"]),
            ("0:0", []),
            ("0:0", ["NET_RAW"]),
            ("0:0", ["MKNOD"]),
        ]
        unconfined = any("seccomp" in option for option in host["SecurityOpt"])
        assert not unconfined or config["User"] != "0:0"
        assert "no-new-privileges" in host["SecurityOpt"] or config["User"] != "0:0"
        modes = [host.get(key) for key in ("NetworkMode", "PidMode", "IpcMode", "UTSMode", "UsernsMode")]
        assert "host" not in modes
        assert not host["Privileged"]
        assert 0 < host["Memory"] <= 512 << 20
        assert 0 < host["MemorySwap"] <= 512 << 20
        assert 0 < host["PidsLimit"] <= 256
        assert 0 < host["NanoCpus"] <= 10**9
        assert {limit["Name"] for limit in host["Ulimits"]} == {"nofile", "fsize", "core"}
        assert "size=" in host["Tmpfs"]["/tmp"]
        assert all(mount["Source"] == "/dev/null" and mount["ReadOnly"] for mount in host.get("Mounts", []))


def test_an_image_without_python_is_told(client: Any, store: str, image_id: str) -> None:
    from codeboost.sandbox.archive import END, Kind, make_header

    assert image_id
    archive = make_header(b"bin", Kind.FOLDER, mode=0o755) + END
    reference = "codeboost/test-empty:1"
    client._stream(
        "/images/create", params={"fromSrc": "-", "repo": "codeboost/test-empty", "tag": "1"}, data=archive
    )
    try:
        with pytest.raises(Exception, match="python3") as caught:
            examine(reference, store)
        assert caught.value.exit_code == 4
        assert "--image" in caught.value.hint
    finally:
        client.remove_image(reference)


def test_a_runtime_that_the_engine_lacks_is_told(store: str) -> None:
    with pytest.raises(Exception, match="has no runtime no-such") as caught:
        examine("codeboost/example:1", store, runtime="no-such")
    assert caught.value.exit_code == 4
    assert "runc" in caught.value.hint


def test_it_can_be_cancelled(client: Any, image_id: str, store: str) -> None:
    assert image_id
    cancelled = threading.Event()
    timer = threading.Timer(1.5, cancelled.set)
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        examine("codeboost/example:1", store, cancelled=cancelled)
    timer.join()
    assert time.monotonic() - begin < 20
    assert client.list_containers(f"{Label.STORE}={store}", f"{Label.RUN}=doctor") == []
