"""A run writes down which images it uses, holds them to its end, and hears of leftovers without stopping at them."""

from __future__ import annotations

from typing import Any

from codeboost.operations.hold_images import read_image_uses
from codeboost.sandbox.base import SweptThing
from codeboost.sandbox.fake import FakeExecutor
from codeboost.store.images import add_image_use


def test_what_a_run_uses_is_held_while_it_sweeps_and_no_longer(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    add_image_use(site.project.store, "old", {})
    executor = FakeExecutor(old_images=[SweptThing("image", "old", "not used for 15 days")])
    assert site.run(executor).exit_code == 0
    used = executor.executed[0].snapshot.image_id
    assert executor.uses[used].held
    found = read_image_uses(site.project.store)
    # What is gone is forgotten, what was used is known.
    assert {name: use.held for name, use in found.items()} == {used: False}


def test_an_image_that_stayed_is_not_forgotten(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    add_image_use(site.project.store, "old", {})
    site.run(FakeExecutor(old_images=[SweptThing("image", "old", "too old", failure="read-only")]))
    assert "old" in read_image_uses(site.project.store)


def test_a_leftover_that_cannot_be_removed_is_a_note(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    leftovers = [
        SweptThing("container", "c" * 64, "its owner is gone", failure="device busy"),
        SweptThing("container", "d" * 64, "its owner is gone"),
    ]
    recorder = build.Recorder()
    result = site.run(FakeExecutor(leftovers=leftovers), listener=recorder)
    assert result.exit_code == 0
    notes = [text for text in recorder.notes if "leftover" in text]
    assert notes == [
        f"a leftover container {'c' * 12} cannot be removed: device busy",
        f"removed a leftover container {'d' * 12}: its owner is gone",
    ]
