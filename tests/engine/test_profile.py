"""What a program finds around it (design §5.4; public reports B17, B19, B21, B29, B31, B41)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from codeboost.sandbox.client import MissingError
from codeboost.sandbox.container import Run, make_name, run_container
from codeboost.sandbox.owner import Label
from codeboost.sandbox.profile import ContainerSettings, make_config, make_environment
from codeboost.verdict import Verdict


def test_the_environment_is_the_images_ours_and_the_policys(plain: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("CODEBOOST_CALLERS_SECRET", "s3cret")
    monkeypatch.setenv("HTTP_PROXY", "http://user:password@proxy.invalid")
    outcome = plain.python(
        "import json, os; print(json.dumps(dict(os.environ)))", env={"PYTHONHASHSEED": "0"}
    )
    found = json.loads(outcome.stdout.head)
    assert found.pop("PATH")
    assert found.pop("CODEBOOST_TEST_MARK") == plain.mark
    assert found == {
        "CI": "true",
        "HOME": "/home/codeboost",
        "HOSTNAME": "codeboost",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "TMPDIR": "/tmp",
        "TZ": "UTC",
    }


def test_proxies_of_the_users_docker_settings_stay_outside(
    plain: Any, tmp_path: Any, monkeypatch: Any
) -> None:
    (tmp_path / "config.json").write_text(
        '{"proxies": {"default": {"httpProxy": "http://u:p@proxy.invalid"}}}'
    )
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    from codeboost.sandbox.engine import open_executor

    executor = open_executor(plain.store)
    try:
        lab = type(plain)(executor, plain.image_id, plain.store, plain.repo)
        assert b"proxy" not in lab.run("env").stdout.head.lower()
    finally:
        executor.close()


def test_printing_an_arrow_and_the_time_zone(plain: Any) -> None:
    outcome = plain.python("print('\\u2197')", env={"PYTHONUTF8": "0"})
    assert outcome.stdout.head.decode() == "\u2197\n"
    assert plain.run("date", "+%Z").stdout.head == b"UTC\n"


def test_standard_input_is_empty_and_the_callers_is_not_consumed(plain: Any) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"for the caller")
    saved = os.dup(0)
    os.dup2(reading, 0)
    try:
        begin = time.monotonic()
        assert plain.run("cat", timeout_s=20.0).verdict is Verdict.PASSED
        outcome = plain.python("input()", timeout_s=20.0)
        assert time.monotonic() - begin < 15
        assert os.read(reading, 100) == b"for the caller"
    finally:
        os.dup2(saved, 0)
        for handle in (saved, reading, writing):
            os.close(handle)
    assert outcome.verdict is Verdict.FAILED
    assert b"EOFError" in outcome.stderr.head


def test_dead_children_are_collected(plain: Any) -> None:
    text = (
        "import os, time\n"
        "for n in range(100):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        if os.fork() == 0: time.sleep(0.1)\n"
        "        os._exit(0)\n"
        "    os.waitpid(child, 0)\n"
        "def dead():\n"
        "    found = []\n"
        "    for n in filter(str.isdigit, os.listdir('/proc')):\n"
        "        try: found += [n] if ') Z ' in open(f'/proc/{n}/stat').read() else []\n"
        "        except OSError: pass\n"
        "    return found\n"
        "end = time.time() + 10\n"
        # By now every one of them has ended; one look decides, because another could see what came in between.
        "time.sleep(1)\n"
        "while (left := dead()) and time.time() < end: time.sleep(0.1)\n"
        "raise SystemExit(bool(left))\n"
    )
    assert plain.python(text).verdict is Verdict.PASSED


def test_work_folder_home_and_tmp_take_files_and_run_them(plain: Any) -> None:
    text = (
        "import os, subprocess\n"
        "for place in (os.getcwd(), os.environ['HOME'], os.environ['TMPDIR']):\n"
        "    path = place + '/tool'\n"
        "    open(path, 'w').write('#!/bin/sh\\nexit 0\\n'); os.chmod(path, 0o755)\n"
        "    subprocess.run([path], check=True)\n"
        "print(os.getcwd(), os.getuid(), os.getgid(), os.getgroups())\n"
    )
    assert plain.python(text).stdout.head == b"/workspace 10001 10001 [10001]\n"


def test_the_policys_work_folder(plain: Any) -> None:
    assert plain.run("pwd", workdir="sub").stdout.head == b"/workspace/sub\n"


@pytest.mark.parametrize("workdir", ["no/such", "a.txt", "sub/b.txt", "../etc", "/etc", "sub/.."])
def test_a_work_folder_that_is_none_does_not_start(plain: Any, workdir: Any) -> None:
    outcome = plain.run("true", workdir=workdir)
    assert outcome.verdict is Verdict.NOT_STARTED
    assert "work folder" in outcome.reason


def test_a_work_folder_that_is_a_link_does_not_start(lab: Any) -> None:
    lab.repo.write("real/x").link("linked", "real").link("out", "/etc")
    assert lab.run("true", workdir="linked").verdict is Verdict.NOT_STARTED
    assert lab.run("true", workdir="out").verdict is Verdict.NOT_STARTED


def test_each_command_starts_from_a_fresh_tree(plain: Any) -> None:
    plain.snapshot()
    before = plain.repo.digest()
    first = plain.run("sh", "-c", "mkdir .cache && touch .cache/flag && chmod 0 .cache")
    second = plain.python("import os; raise SystemExit(os.path.exists('.cache/flag'))")
    assert (first.verdict, second.verdict) == (Verdict.PASSED, Verdict.PASSED)
    assert plain.repo.digest() == before


def test_folders_that_nobody_may_read_are_removed_all_the_same(plain: Any, client: Any) -> None:
    text = "umask 077; mkdir -p build/x; echo 1 > build/x/f; mkdir ro; touch ro/f; chmod 555 ro"
    spec = plain.spec("sh", "-c", text)
    assert plain.executor.execute(spec, threading.Event()).verdict is Verdict.PASSED
    assert client.list_containers(f"{Label.ATTEMPT}={spec.attempt}") == []


def test_git_works_in_the_tree_and_is_clean(plain: Any) -> None:
    outcome = plain.run("git", "status", "--porcelain")
    assert (outcome.verdict, outcome.stdout.head) == (Verdict.PASSED, b"")


def test_without_git_there_is_no_git_folder(plain: Any) -> None:
    lab = type(plain)(plain.executor, plain.image_id, plain.store, plain.repo, git=False)
    assert lab.run("ls", "-A").stdout.head == b"a.txt\nrun.sh\nsub\n"


def test_the_runtime_of_the_policy_is_asked_for(plain: Any) -> None:
    assert plain.run("true", runtime="runc").verdict is Verdict.PASSED
    outcome = plain.run("true", runtime="no-such-runtime")
    assert outcome.verdict is Verdict.INFRASTRUCTURE
    assert "no-such-runtime" in outcome.reason


def test_a_fault_of_our_own_ends_that_command_alone(plain: Any, client: Any) -> None:
    limits = plain.spec("true").limits
    image = client.inspect_image(plain.snapshot().image_id)
    environment = make_environment(image["Config"]["Env"], {})
    settings = ContainerSettings(image["Id"], ["true"], limits, {}, environment)
    name = make_name()

    def prepare(_: str) -> str | None:
        raise ZeroDivisionError("by zero")

    outcome = run_container(client, Run(name, make_config(settings), limits, prepare), threading.Event())
    assert outcome.verdict is Verdict.INFRASTRUCTURE
    assert "ZeroDivisionError: by zero" in outcome.reason
    with pytest.raises(MissingError):
        client.inspect(name)


def test_what_this_engine_cannot_keep_is_said_and_runs_all_the_same(plain: Any, monkeypatch: Any) -> None:
    # As on a kernel without swap accounting and CPU quotas: such an engine changes or refuses what it is asked for.
    executor = plain.executor
    record = replace(executor.describe(), swap=False, cpus=False)
    monkeypatch.setattr(executor, "_record", record)
    outcome = plain.run("true")
    assert outcome.verdict is Verdict.PASSED
    assert outcome.limits_in_force["memory"] == "256 MiB, no hard bound on swap"
    assert outcome.limits_in_force["cpus"] == "no bound: the kernel has no CPU quota"
    monkeypatch.setattr(executor, "_record", replace(record, swap=True, cpus=True))
    assert plain.run("true").limits_in_force == {
        "timeout": "1m00s",
        "memory": "256 MiB, no swap",
        "cpus": "1",
        "pids": "128",
        "disk": "256 MiB, watched",
    }


def test_a_container_that_differs_from_what_was_asked_never_starts(
    plain: Any, client: Any, monkeypatch: Any
) -> None:
    # An engine that takes a setting and does not apply it, seen from here: what inspect says is not what was asked.
    limits = plain.spec("true").limits
    settings = ContainerSettings(plain.snapshot().image_id, ["true"], limits, {}, {"PATH": "/bin"})
    config = make_config(settings)
    inspect = client.inspect
    monkeypatch.setattr(
        type(client), "inspect", lambda self, name, **options: _tamper(inspect(name, **options)), raising=True
    )
    started = []
    monkeypatch.setattr(type(client), "start", lambda self, name: started.append(name))
    outcome = run_container(client, Run(make_name(), config, limits, lambda _: None), threading.Event())
    assert outcome.verdict is Verdict.INFRASTRUCTURE
    assert "HostConfig.PidsLimit" in outcome.reason
    assert started == []


def _tamper(found: Any) -> Any:
    found["HostConfig"]["PidsLimit"] = None
    return found


def test_importing_the_engine_module_stays_cheap() -> None:
    text = "import sys, codeboost.sandbox.engine, codeboost.sandbox.fake; raise SystemExit('docker' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", text], check=False).returncode == 0


def test_more_processors_than_the_engine_has_are_no_fault_of_it(plain: Any) -> None:
    # Docker refuses such a container, so on a machine with one processor the default of two would run nothing.
    there = plain.executor.describe().processors
    assert there >= 1
    outcome = plain.run("true", cpus=there + 1.0)
    assert outcome.verdict is Verdict.PASSED
    assert outcome.limits_in_force["cpus"] == f"{there}, all that the engine has"
