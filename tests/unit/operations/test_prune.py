"""Pruning beside other processes: a run that goes on, a run that uses an old pass, another prune."""

from __future__ import annotations

from typing import Any

import pytest

from codeboost.errors import StoreError
from codeboost.operations.find_log import read_kept_output
from codeboost.operations.prune import prune
from codeboost.sandbox.fake import FakeExecutor, ScriptedRun
from codeboost.store import output
from codeboost.store.attempts import find_passed_attempt
from codeboost.store.database import Store
from codeboost.store.locks import hold_issue

PLAIN: dict[str, Any] = {"output_days": 30, "output_bytes": 1 << 30, "run_days": 365}
PRINTS = FakeExecutor({("true",): ScriptedRun(stdout=b"x" * 100)})


def age(site: Any, run_id: int, at: str = "2020-01-01T00:00:00.000Z") -> None:
    with site.store.transaction() as connection:
        connection.execute("UPDATE run SET started_at = ?, ended_at = NULL WHERE id = ?", (at, run_id))


def test_the_output_of_a_run_that_is_taken_up_again_stays(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    site.run(PRINTS)
    age(site, 1)
    with hold_issue(site.store, site.project.repository.id, 412):
        assert prune(site.store, **PLAIN).output == ()
    assert [one.run for one in prune(site.store, **PLAIN).output] == [1], "nobody takes it up any more"


def test_a_pass_cannot_be_forgotten_between_finding_and_using_it(
    site: Any, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = build.make_plan(build.make_item("P1", "true"))
    site.adopt(plan)
    site.run(PRINTS)
    site.adopt(plan)
    locked = []

    def find(store: Store, *arguments: Any) -> Any:
        found = find_passed_attempt(store, *arguments)
        with Store.open() as other:
            other.connection.execute("PRAGMA busy_timeout = 1")
            with pytest.raises(StoreError, match="locked"):
                prune(other, **PLAIN | {"run_days": 0})
            locked.append(True)
        return found

    monkeypatch.setattr("codeboost.operations.command_runner.find_passed_attempt", find)
    assert site.run().attempts[0].reused_run == 1
    assert locked
    assert prune(site.store, **PLAIN | {"run_days": 0}).runs == (), "run 2 rests on it"


def test_output_that_goes_while_somebody_looks_is_pruned_output(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    (attempt,) = site.run(PRINTS).attempts
    folder = site.store.home / "output/run-1"
    (folder / f"{attempt.id}.stdout").unlink()
    # What a directory lists and what is there a moment later are two things.
    (folder / "gone.stdout").symlink_to("nowhere")
    assert output.list_output(site.store) == {1: 0}
    (folder / f"{attempt.id}.stdout").symlink_to("nowhere")
    assert read_kept_output(site.project, attempt, "stdout") is None
