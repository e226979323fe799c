"""``[setup]``: dependencies prepared once, where only the inputs are seen (design §4)."""

from __future__ import annotations

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from codeboost.errors import EngineError
from codeboost.limits import Limits
from codeboost.sandbox.base import Owner, SetupSpec
from codeboost.sandbox.setup import REPOSITORY
from codeboost.verdict import Verdict


@pytest.fixture
def prepare(lab: Any, client: Any) -> Any:
    made = []

    def call(*run: tuple[str, ...], inputs: tuple[str, ...] = ("needs.txt",), **options: Any) -> Any:
        if not (lab.repo.path / "needs.txt").exists():
            lab.repo.write("needs.txt", f"needed {uuid.uuid4().hex}\n").write("other.txt", "unseen\n")
        commit = lab.repo.commit()
        cancelled = options.pop("cancelled", None)
        spec = SetupSpec(inputs, run, options.pop("network", False), **options)
        outcome = lab.executor.prepare_setup(
            spec, lab.repo.path, commit, lab.image_id, Owner(lab.store, "setup"), cancelled
        )
        if outcome.image_id:
            made.append(outcome.image_id)
        return outcome

    yield call
    for image in dict.fromkeys(made):
        # Snapshots of the same test lie on it and have other names.
        client._call("DELETE", f"/images/{image}", params={"force": "1", "noprune": "1"}).close()


def test_it_sees_only_its_inputs_as_root_without_a_capability(prepare: Any, lab: Any) -> None:
    text = (
        "import os\n"
        "assert sorted(os.listdir('/workspace')) == ['needs.txt'], os.listdir('/workspace')\n"
        "status = open('/proc/self/status').read()\n"
        "assert os.getuid() == 0 and 'CapBnd:\\t0000000000000000' in status and 'NoNewPrivs:\\t1' in status\n"
        "assert os.listdir('/sys/class/net') == ['lo']\n"
        "os.makedirs('/usr/local/lib/dependency'); open('/usr/local/lib/dependency/here', 'w').write('yes')\n"
        "os.makedirs(os.environ['HOME'] + '/.cache/tool'); os.makedirs('node_modules/x')\n"
    )
    outcome = prepare(("python3", "-c", text), ("sh", "-c", "cat /usr/local/lib/dependency/here > second"))
    assert outcome.image_id, outcome.output
    assert not outcome.reused
    lab.image_id = outcome.image_id
    check = "cat /usr/local/lib/dependency/here second other.txt && touch ~/.cache/tool/x node_modules/x/y && id -u"
    done = lab.run("sh", "-c", check)
    assert (done.verdict, done.stdout.head) == (Verdict.PASSED, b"yesyesunseen\n10001\n")


def test_the_same_inputs_and_commands_are_prepared_once(prepare: Any, lab: Any) -> None:
    command = ("sh", "-c", "date +%N > /stamp")
    first = prepare(command)
    again = prepare(command)
    assert (again.image_id, again.reused) == (first.image_id, True)
    lab.repo.write("other.txt", "changed, and no input")
    assert prepare(command).reused
    assert not prepare(("sh", "-c", "date +%s > /stamp")).reused
    lab.repo.write("needs.txt", uuid.uuid4().hex)
    assert not prepare(command).reused


def test_a_failing_command_shows_its_output_and_leaves_nothing(prepare: Any, client: Any) -> None:
    outcome = prepare(("true",), ("sh", "-c", "echo on stdout; echo on stderr >&2; exit 3"))
    assert outcome.image_id is None
    assert "command 2 of [setup]" in outcome.message
    assert "exit status 3" in outcome.message
    assert outcome.output == b"on stdout\non stderr\n"
    tags = [tag for image in client.list_images("io.codeboost.kind=setup") for tag in image["RepoTags"] or []]
    # The step that passed has lost its name, and with it its place.
    assert [tag for tag in tags if tag.startswith(f"{REPOSITORY}:") and tag[-2] == "-"] == []


def test_a_program_that_is_missing_or_too_slow(prepare: Any) -> None:
    assert "not found in the image" in prepare(("no-such-installer",)).message
    assert "timed-out" in prepare(("sleep", "60"), timeout_s=1.0).message


def test_inputs_that_the_commit_lacks_are_named(prepare: Any) -> None:
    outcome = prepare(("true",), inputs=("needs.txt", "gone.txt"))
    assert outcome.image_id is None
    assert "gone.txt" in outcome.message


def test_without_the_policys_word_there_is_no_network(prepare: Any) -> None:
    text = "import os; raise SystemExit(os.listdir('/sys/class/net') != ['lo'])"
    assert prepare(("python3", "-c", text)).image_id


def test_with_it_there_is_one(prepare: Any) -> None:
    outcome = prepare(
        ("python3", "-c", "import os; raise SystemExit('eth0' not in os.listdir('/sys/class/net'))"),
        network=True,
    )
    assert outcome.image_id, outcome


def test_the_policys_limits_hold_here_too(prepare: Any) -> None:
    limits = Limits(memory_bytes=64 << 20, cpus=0.5, pids=32, disk_bytes=16 << 20)
    assert (
        "the disk limit is 16 MiB"
        in prepare(("sh", "-c", "head -c 32M /dev/zero > /big"), limits=limits).message
    )
    hungry = prepare(("python3", "-c", "bytearray(128 << 20)"), limits=limits)
    assert "more than 64 MiB of memory" in hungry.message
    text = (
        "import os, time\n"
        "children = 0\n"
        "try:\n"
        "    while children < 64:\n"
        "        if os.fork() == 0: time.sleep(9)\n"
        "        children += 1\n"
        "except OSError: pass\n"
        "quota = [open(path).read() for path in ('/sys/fs/cgroup/cpu/cpu.cfs_quota_us', '/sys/fs/cgroup/cpu.max')"
        " if os.path.exists(path)]\n"
        "print(children < 32, [text.split()[0] for text in quota], flush=True)\n"
        "os._exit(1)\n"
    )
    assert prepare(("python3", "-c", text), limits=limits).output == b"True ['50000']\n"


def test_the_policys_runtime_runs_it_and_is_part_of_the_key(
    prepare: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []
    create = type(client).create

    def remember(self: Any, name: str, config: Any, *rest: Any) -> str:
        made = str(create(self, name, config, *rest))
        asked.append(self.inspect(made)["HostConfig"]["Runtime"])
        return made

    monkeypatch.setattr(type(client), "create", remember)
    command = ("sh", "-c", "date +%N > /stamp")
    plain = prepare(command)
    other = prepare(command, runtime="io.containerd.runc.v2")
    assert asked == ["runc", "io.containerd.runc.v2"]
    assert not other.reused
    assert other.image_id != plain.image_id
    assert prepare(command, runtime="io.containerd.runc.v2").reused
    with pytest.raises(EngineError, match="no-such"):
        prepare(command, runtime="no-such")


def test_a_wait_for_another_runs_setup_can_be_cancelled(prepare: Any, tmp_path: Any) -> None:
    command = ("sh", "-c", f"sleep 6; echo {tmp_path}")
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(prepare, command)
        time.sleep(3)
        cancelled = threading.Event()
        threading.Timer(0.5, cancelled.set).start()
        begin = time.monotonic()
        outcome = prepare(command, cancelled=cancelled)
        assert time.monotonic() - begin < 2
        assert outcome.image_id is None
        assert "cancelled while another run" in outcome.message
        assert other.result().image_id


def test_it_can_be_cancelled(prepare: Any) -> None:
    cancelled = threading.Event()
    threading.Timer(2.0, cancelled.set).start()
    begin = time.monotonic()
    outcome = prepare(("sleep", "60"), cancelled=cancelled)
    assert outcome.image_id is None
    assert "cancelled" in outcome.message
    assert time.monotonic() - begin < 20
