"""Owners, profiles and engines, judged from plain data."""

from __future__ import annotations

import os
import subprocess
import time
from copy import deepcopy
from typing import Any

import pytest

from codeboost.errors import EngineError
from codeboost.limits import Limits
from codeboost.sandbox.container import describe_limits
from codeboost.sandbox.engine import read_record, refuse_unsafe
from codeboost.sandbox.owner import Label, find_process, is_alive, judge, make_labels
from codeboost.sandbox.profile import (
    ContainerSettings,
    find_bounds,
    find_differences,
    make_config,
    make_environment,
)

VERSION = {"Version": "20.10.24", "Components": [{"Name": "Engine"}]}
INFO = {
    "SecurityOptions": ["name=seccomp,profile=default"],
    "MemoryLimit": True,
    "PidsLimit": True,
    "SwapLimit": True,
    "CpuCfsQuota": True,
    "CgroupVersion": "2",
    "OSType": "linux",
    "Runtimes": {"runc": {}, "runsc": {}},
}


def record(**changes: Any) -> Any:
    return read_record(VERSION, INFO | changes, "unix:///x", "1.41")


def test_an_engine_that_can_do_everything() -> None:
    found = record()
    refuse_unsafe(INFO, found)
    assert (found.name, found.seccomp, found.rootless, found.userns) == ("Docker Engine", True, False, False)
    assert found.runtimes == ("runc", "runsc")
    assert len(found.limitations) == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"SecurityOptions": []}, "no seccomp"),
        ({"SecurityOptions": ["name=seccomp,profile=unconfined"]}, "no seccomp"),
        ({"MemoryLimit": False}, "no limit on memory"),
        ({"PidsLimit": False}, "no limit on processes"),
        ({"PidsLimit": None}, "no limit on processes"),
        ({"CgroupDriver": "none"}, "no limit on memory, no limit on processes"),
        ({"OSType": "windows"}, "no Linux containers"),
    ],
)
def test_what_must_not_be_missing_stops_everything(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(EngineError) as caught:
        refuse_unsafe(INFO | changes, record(**changes))
    assert words in str(caught.value)
    assert "unix:///x" in str(caught.value)
    assert caught.value.exit_code == 4


def test_what_cannot_be_enforced_is_said() -> None:
    found = record(
        SwapLimit=False, CpuCfsQuota=False, SecurityOptions=["name=seccomp", "name=rootless", "name=userns"]
    )
    assert (found.seccomp, found.rootless, found.userns) == (True, True, True)
    assert any("swap" in text for text in found.limitations)
    assert any("CPU quota" in text for text in found.limitations)


@pytest.mark.parametrize(
    ("changes", "swap", "cpus"),
    [
        ({}, True, True),
        ({"SwapLimit": False}, False, True),
        ({"CpuCfsQuota": False}, True, False),
        ({"CpuCfsPeriod": False}, True, False),
    ],
)
def test_each_limit_is_asked_for_only_where_the_engine_keeps_it(
    changes: dict[str, Any], swap: bool, cpus: bool
) -> None:
    bounds = find_bounds(record(**changes))
    assert (bounds.swap, bounds.cpus) == (swap, cpus)
    limits = Limits(memory_bytes=64 << 20, cpus=1.5)
    host = make_config(ContainerSettings("image", ["true"], limits, {}, {}, bounds=bounds))["HostConfig"]
    assert host["Memory"] == 64 << 20
    assert host["MemorySwap"] == (64 << 20 if swap else -1)
    assert host.get("NanoCpus") == (1_500_000_000 if cpus else None)
    said = describe_limits(limits, bounds)
    assert said["memory"] == ("64 MiB, no swap" if swap else "64 MiB, no hard bound on swap")
    assert said["cpus"] == ("1.5" if cpus else "no bound: the kernel has no CPU quota")


def test_this_process_is_alive_and_its_number_alone_is_not_enough() -> None:
    me = find_process()
    assert is_alive(me.pid, me.started)
    assert not is_alive(me.pid, "1")
    child = subprocess.Popen(["true"])
    child.wait()
    assert not is_alive(child.pid, "1")
    child = os.fork()
    if child == 0:
        os._exit(0)
    time.sleep(0.2)
    # Dead, and not yet collected.
    assert not is_alive(child, me.started)
    os.waitpid(child, 0)


def test_labels_are_judged_by_their_own_store_only() -> None:
    labels = make_labels("store", "run", "attempt", "command", 60.0)
    me, now = find_process(), time.time()
    assert judge(labels, "store", me, now) is None
    assert judge(labels, "other", me, now + 1e6) is None
    assert judge(labels, "store", me, now + 120) == "its deadline has passed"
    assert "is gone" in (judge(labels | {Label.PID: "0"}, "store", me, now) or "")
    assert "is gone" in (judge(labels | {Label.PID: "nonsense"}, "store", me, now) or "")
    assert judge({}, "store", me, now) is None


def test_the_policys_environment_wins_and_the_image_comes_first() -> None:
    found = make_environment(
        ["PATH=/image/bin", "LANG=C", "A=1", "EMPTY=", "B=x=y"], {"A": "2", "TZ": "Asia/Tokyo"}
    )
    assert found["PATH"] == "/image/bin"
    assert (found["LANG"], found["A"], found["EMPTY"], found["B"], found["TZ"]) == (
        "C.UTF-8",
        "2",
        "",
        "x=y",
        "Asia/Tokyo",
    )
    assert make_environment([], {})["PATH"].startswith("/usr/local/sbin:")


def asked() -> dict[str, Any]:
    settings = ContainerSettings("image", ["prog", "a b", ""], Limits(), {"l": "1"}, {"A": "1"})
    return make_config(settings)


def made(config: dict[str, Any]) -> dict[str, Any]:
    """What an honest engine's inspection says."""
    copy = deepcopy(config)
    host = copy.pop("HostConfig")
    return {
        "Config": copy,
        "HostConfig": host | {"MaskedPaths": ["/proc/kcore"], "ReadonlyPaths": ["/proc/sys"]},
        "Mounts": [],
    }


def test_an_honest_engine_shows_no_difference() -> None:
    found = made(asked())
    assert find_differences(asked(), found) == []
    found["Config"]["Env"].append("container=podman")
    found["Config"]["Labels"]["more"] = "2"
    found["HostConfig"]["SecurityOpt"] = ["no-new-privileges:true"]
    assert find_differences(asked(), found) == []


@pytest.mark.parametrize(
    ("place", "key", "value"),
    [
        ("Config", "Entrypoint", ["/bin/sh", "-c", "prog"]),
        ("Config", "Cmd", ["a", "b", ""]),
        ("Config", "User", ""),
        ("Config", "WorkingDir", "/"),
        ("Config", "Tty", True),
        ("Config", "OpenStdin", True),
        ("Config", "Env", ["A=2"]),
        ("Config", "Env", ["A=1", "A=2"]),
        ("Config", "Labels", {}),
        ("Config", "Healthcheck", None),
        ("HostConfig", "NetworkMode", "bridge"),
        ("HostConfig", "CapDrop", []),
        ("HostConfig", "CapAdd", ["SYS_ADMIN"]),
        ("HostConfig", "SecurityOpt", ["no-new-privileges", "seccomp=unconfined"]),
        ("HostConfig", "SecurityOpt", None),
        ("HostConfig", "Privileged", True),
        ("HostConfig", "Memory", 0),
        ("HostConfig", "MemorySwap", -1),
        ("HostConfig", "NanoCpus", 0),
        ("HostConfig", "PidsLimit", None),
        ("HostConfig", "Ulimits", []),
        ("HostConfig", "Tmpfs", {}),
        ("HostConfig", "Init", False),
        ("HostConfig", "LogConfig", {"Type": "json-file", "Config": {}}),
        ("HostConfig", "IpcMode", "host"),
        ("HostConfig", "PidMode", "host"),
        ("HostConfig", "UsernsMode", "host"),
        ("HostConfig", "UTSMode", "host"),
        ("HostConfig", "Binds", ["/:/host"]),
        ("HostConfig", "Mounts", [{"Type": "bind"}]),
        ("HostConfig", "Devices", [{"PathOnHost": "/dev/sda"}]),
        ("HostConfig", "GroupAdd", ["0"]),
        ("HostConfig", "PortBindings", {"80/tcp": []}),
        ("HostConfig", "MaskedPaths", []),
        ("HostConfig", "ReadonlyPaths", None),
        ("HostConfig", "AutoRemove", True),
        ("HostConfig", "OomKillDisable", True),
    ],
)
def test_every_difference_is_found(place: str, key: str, value: object) -> None:
    found = made(asked())
    found[place][key] = value
    assert find_differences(asked(), found) != []


def test_a_mount_that_nobody_asked_for_is_found() -> None:
    found = made(asked())
    found["Mounts"] = [{"Type": "volume", "Destination": "/data"}]
    assert find_differences(asked(), found) == ["mount: /data"]


@pytest.mark.parametrize(
    ("there", "asked", "given", "said"),
    [
        (1, 2.0, 1_000_000_000, "1, all that the engine has"),
        (2, 2.0, 2_000_000_000, "2"),
        (8, 1.5, 1_500_000_000, "1.5"),
        (None, 2.0, 2_000_000_000, "2"),
    ],
)
def test_no_more_processors_are_asked_for_than_there_are(
    there: int | None, asked: float, given: int, said: str
) -> None:
    bounds, limits = find_bounds(record(NCPU=there)), Limits(cpus=asked)
    host = make_config(ContainerSettings("image", ["true"], limits, {}, {}, bounds=bounds))["HostConfig"]
    assert host["NanoCpus"] == given
    assert describe_limits(limits, bounds)["cpus"] == said
