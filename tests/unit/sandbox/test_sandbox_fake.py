"""The executor without an engine keeps the same contract."""

from __future__ import annotations

import threading
from pathlib import Path

from codeboost.limits import Limits
from codeboost.sandbox.base import (
    CommandSpec,
    Executor,
    Owner,
    PullPolicy,
    SetupOutcome,
    SetupSpec,
    SnapshotSpec,
)
from codeboost.sandbox.fake import FakeExecutor, ScriptedRun
from codeboost.verdict import Verdict


def make_spec(executor: Executor, *argv: str) -> CommandSpec:
    image = executor.find_image("x", PullPolicy.MISSING, lambda _: None)
    snapshot = executor.take_snapshot(SnapshotSpec(Path(), "1" * 40, image.id, git=True))
    return CommandSpec("attempt", Owner("store", "run"), argv, snapshot, Limits())


def test_it_answers_from_its_script_and_records_its_calls() -> None:
    fake = FakeExecutor({("false",): ScriptedRun(Verdict.FAILED, 1, stdout=b"out")})
    executor: Executor = fake
    spec = make_spec(executor, "false")
    outcome = executor.execute(spec, threading.Event())
    assert (outcome.verdict, outcome.exit_code) == (Verdict.FAILED, 1)
    assert outcome.stdout is not None
    assert outcome.stdout.head == b"out"
    assert executor.execute(make_spec(executor, "true"), threading.Event()).verdict is Verdict.PASSED
    assert [entry.argv for entry in fake.executed] == [("false",), ("true",)]
    assert executor.digest_spec(spec) == executor.digest_spec(spec)
    assert executor.digest_spec(spec) != executor.digest_spec(make_spec(executor, "true"))


def test_cancelling_ends_a_long_command() -> None:
    fake = FakeExecutor({("sleep",): ScriptedRun(seconds=60.0)})
    cancelled = threading.Event()
    threading.Timer(0.05, cancelled.set).start()
    assert fake.execute(make_spec(fake, "sleep"), cancelled).verdict is Verdict.CANCELLED


def test_setup_and_sweep_are_scripted_too() -> None:
    fake = FakeExecutor(setup=SetupOutcome(None, reused=False, message="no"))
    spec = SetupSpec(("a",), (("true",),), network=False)
    assert fake.prepare_setup(spec, Path(), "1" * 40, "x", Owner("s", "r")).image_id is None
    assert fake.sweep("s", dry_run=True) == ()
    fake.close()
    assert (fake.closed, fake.swept) == (True, [("s", True)])
