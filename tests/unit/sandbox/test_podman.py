"""Docker's words for what Podman 4.3.1 says, from its own answers as they were recorded."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from codeboost.errors import EngineError
from codeboost.limits import Limits
from codeboost.sandbox.container import describe_limits
from codeboost.sandbox.engine import read_record, refuse_unsafe
from codeboost.sandbox.podman import _read_info, _read_inspection, _write_config
from codeboost.sandbox.profile import ContainerSettings, find_bounds, find_differences, make_config

VERSION = {"Version": "4.3.1", "Components": [{"Name": "Podman Engine"}, {"Name": "Conmon"}]}
INFO = {
    "SecurityOptions": ["name=seccomp,profile=default"],
    "MemoryLimit": True,
    "PidsLimit": True,
    "SwapLimit": True,
    "CpuCfsQuota": True,
    "CpuCfsPeriod": True,
    "CgroupDriver": "cgroupfs",
    "CgroupVersion": "1",
    "NCPU": 2,
    "Runtimes": {"crun": {}, "runc": {}, "runsc": {}},
}
HOST: dict[str, Any] = {
    "cgroupVersion": "v1",
    "cgroupControllers": ["cpuset", "cpu", "cpuacct", "blkio", "memory", "devices", "freezer", "pids"],
    "security": {
        "rootless": False,
        "seccompEnabled": True,
        "seccompProfilePath": "/usr/share/containers/seccomp.json",
    },
}
LIMITS = Limits(memory_bytes=2 << 30, cpus=2.0, pids=512, disk_bytes=4 << 30)
ENV = {"CI": "true", "PATH": "/usr/bin:/bin"}
CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_RAW", "SETFCAP", "SETGID", "SETUID"]


def record(**host: Any) -> Any:
    info = _read_info(INFO, {"host": HOST | host})
    return info, read_record(VERSION, info, "unix:///x", "1.41")


def ask() -> dict[str, Any]:
    labels = {"io.codeboost.store": "s"}
    bounds = find_bounds(record()[1])
    return make_config(ContainerSettings("sha256:1", ["true", "x"], LIMITS, labels, ENV, bounds=bounds))


def answer() -> tuple[dict[str, Any], dict[str, Any]]:
    """What both halves of its service say of a container that was asked for by ``ask``."""
    made = {
        "Config": {
            "Hostname": "codeboost",
            "User": "10001:10001",
            "Tty": False,
            "OpenStdin": False,
            "AttachStdin": False,
            "Env": ["CI=true", "PATH=/usr/bin:/bin", "TERM=xterm", "container=podman", "HOSTNAME=codeboost"],
            "Cmd": ["x"],
            "Entrypoint": ["true"],
            "Healthcheck": {"Test": ["NONE"], "Interval": 30000000000, "Timeout": 30000000000, "Retries": 3},
            "WorkingDir": "/workspace",
            "Labels": {"io.codeboost.store": "s"},
            "StopSignal": "15",
        },
        "HostConfig": {
            "Binds": [],
            "LogConfig": {"Type": "none", "Config": None},
            "NetworkMode": "none",
            "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
            "AutoRemove": False,
            "CapAdd": [],
            "CapDrop": CAPABILITIES,
            "CgroupnsMode": "",
            "GroupAdd": [],
            "IpcMode": "shareable",
            "PidMode": "private",
            "Privileged": False,
            "ReadonlyRootfs": False,
            "SecurityOpt": ["no-new-privileges"],
            "Tmpfs": {"/tmp": "rw,exec,nosuid,nodev,mode=1777,size=1073741824,rprivate"},
            "UTSMode": "private",
            "UsernsMode": "",
            "ShmSize": 67108864,
            "Runtime": "oci",
            "Memory": 2147483648,
            "NanoCpus": 2000000000,
            "Devices": [],
            "MemorySwap": 2147483648,
            "OomKillDisable": False,
            "PidsLimit": 512,
            "Ulimits": [
                {"Name": "RLIMIT_NOFILE", "Hard": 8192, "Soft": 8192},
                {"Name": "RLIMIT_CORE", "Hard": 0, "Soft": 0},
                {"Name": "RLIMIT_FSIZE", "Hard": 4294967296, "Soft": 4294967296},
                {"Name": "RLIMIT_NPROC", "Hard": 4096, "Soft": 4096},
            ],
            "MaskedPaths": None,
            "ReadonlyPaths": None,
            "Init": True,
        },
        "Mounts": [],
    }
    native = {
        "OCIRuntime": "runc",
        "EffectiveCaps": None,
        "BoundingCaps": None,
        "HostConfig": {"CgroupMode": "host", "Cgroups": "default"},
    }
    return made, native


def test_a_container_as_asked_for_has_no_difference() -> None:
    made, native = answer()
    before = deepcopy(made)
    found = _read_inspection(made, native)
    assert find_differences(ask(), found) == []
    assert made == before
    # Without the translation there are many.
    assert len(find_differences(ask(), made)) > 5


@pytest.mark.parametrize(
    ("half", "place", "value", "words"),
    [
        ("native", ("BoundingCaps",), ["CAP_KILL"], "CapDrop"),
        ("native", ("EffectiveCaps",), ["CAP_KILL"], "CapDrop"),
        ("native", ("HostConfig", "CgroupMode"), "private", "CgroupnsMode"),
        ("native", ("HostConfig", "Cgroups"), "disabled", "0"),
        ("made", ("HostConfig", "IpcMode"), "host", "IpcMode"),
        ("made", ("HostConfig", "PidMode"), "host", "PidMode"),
        ("made", ("HostConfig", "Tmpfs"), {"/tmp": "rw,rprivate"}, "Tmpfs"),
        ("made", ("HostConfig", "LogConfig"), {"Type": "k8s-file", "Config": None}, "LogConfig"),
        ("made", ("HostConfig", "SecurityOpt"), ["no-new-privileges", "seccomp=unconfined"], "SecurityOpt"),
        ("made", ("HostConfig", "Devices"), [{"PathOnHost": "/dev/fuse"}], "Devices"),
        ("made", ("HostConfig", "Ulimits"), [], "Ulimits"),
        ("made", ("HostConfig", "PidsLimit"), 0, "PidsLimit"),
        ("made", ("Config", "Healthcheck"), {"Test": ["CMD", "true"]}, "Healthcheck"),
        ("made", ("Config", "StopSignal"), "9", "StopSignal"),
        ("made", ("Config", "Env"), ["CI=true", "PATH=/usr/bin:/bin", "SECRET=hush"], "SECRET was added"),
        ("made", ("Mounts",), [{"Type": "bind", "Destination": "/mnt"}], "/mnt"),
    ],
)
def test_what_differs_stays_a_difference(half: str, place: tuple[str, ...], value: Any, words: str) -> None:
    made, native = answer()
    inner: dict[str, Any] = {"made": made, "native": native}[half]
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    found = find_differences(ask(), _read_inspection(made, native))
    assert found
    assert all(words in line and "hush" not in line for line in found)


def test_the_runtime_is_the_one_that_runs_it_and_not_the_one_it_was_told() -> None:
    asked = ask()
    asked["HostConfig"]["Runtime"] = "runsc"
    found = find_differences(asked, _read_inspection(*answer()))
    assert found == ["HostConfig.Runtime: asked for 'runsc', got 'runc'"]


def test_what_it_is_asked_in_its_own_words() -> None:
    asked = ask()
    before = deepcopy(asked)
    host = _write_config(asked)["HostConfig"]
    assert asked == before
    assert {"Name": "nproc", "Soft": 4096, "Hard": 4096} in host["Ulimits"]
    assert host["Tmpfs"]["/tmp"].endswith(",notmpcopyup")
    assert "nr_inodes" not in host["Tmpfs"]["/tmp"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    asked["HostConfig"] |= {"MaskedPaths": [], "PidMode": "container:x"}
    weak = _write_config(asked)["HostConfig"]
    assert weak["SecurityOpt"] == ["no-new-privileges", "unmask=ALL"]
    assert weak["Init"] is False
    # What is never started needs none of it.
    assert _write_config({"Image": "x"}) == {"Image": "x"}


def test_what_it_cannot_do_is_said() -> None:
    info, found = record()
    refuse_unsafe(info, found)
    assert (found.name, found.cgroups, found.kills) == ("Podman Engine", False, False)
    said = {text.partition(":")[0] for text in found.limitations}
    assert said == {"disk", "cgroups", "memory", "TMPDIR", "masks", "seccomp"}
    assert describe_limits(LIMITS, find_bounds(found))["memory"] == "2 GiB, no swap, kills may go untold"
    modern = read_record(VERSION, INFO | {"CgroupVersion": "2"}, "unix:///x", "1.41")
    assert modern.cgroups


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ({"security": HOST["security"] | {"seccompProfilePath": "unconfined"}}, "no seccomp"),
        ({"security": HOST["security"] | {"seccompProfilePath": ""}}, "no seccomp"),
        ({"security": HOST["security"] | {"seccompEnabled": False}}, "no seccomp"),
        ({"security": HOST["security"] | {"rootless": True}}, "no limit on memory, no limit on processes"),
        ({"cgroupControllers": ["memory"]}, "no limit on processes"),
        ({"cgroupControllers": None}, "no limit on memory, no limit on processes"),
    ],
)
def test_what_it_only_says_it_has_stops_everything(host: dict[str, Any], words: str) -> None:
    info, found = record(**host)
    with pytest.raises(EngineError, match=words):
        refuse_unsafe(info, found)


def test_rootless_with_the_unified_hierarchy_keeps_what_was_handed_to_it() -> None:
    security = HOST["security"] | {"rootless": True}
    info, found = record(security=security, cgroupVersion="v2", cgroupControllers=["memory", "pids"])
    refuse_unsafe(info, found)
    assert not found.cpus
