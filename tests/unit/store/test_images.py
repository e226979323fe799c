"""The last use of images, and who still uses them."""

from __future__ import annotations

from pathlib import Path

from codeboost.operations.hold_images import hold_images, read_image_uses
from codeboost.sandbox.base import Owner
from codeboost.sandbox.owner import Label, make_labels
from codeboost.store.database import Store
from codeboost.store.images import add_image_use, forget_images, list_image_uses


def test_a_run_holds_what_it_uses_and_its_end_is_the_last_use(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        with hold_images(store, Owner(store.id, "1")) as hold:
            for image in ("setup", "snapshot", "snapshot"):
                hold(image)
            with hold_images(store, Owner(store.id, "2")) as hold_too:
                hold_too("snapshot")
            begun = read_image_uses(store)
            assert {name: use.held for name, use in begun.items()} == {"setup": True, "snapshot": True}
        ended = read_image_uses(store)
        assert {name: use.held for name, use in ended.items()} == {"setup": False, "snapshot": False}
        assert all(ended[name].last_used >= use.last_used for name, use in begun.items())
        forget_images(store, ["setup", "never known"])
        assert set(read_image_uses(store)) == {"snapshot"}


def test_only_live_owners_hold_and_those_that_cannot_be_judged(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        labels = make_labels(store.id, "run", "", "image", 60.0)
        for name, changes, held in (
            ("alive", {}, True),
            ("dead", {Label.PID: "999999999"}, False),
            ("before the boot", {Label.BOOT: "another"}, False),
            ("another host", {Label.HOST: "another", Label.PID: "999999999"}, True),
            ("another namespace", {Label.NAMESPACE: "pid:[1]"}, True),
            ("long past", {Label.NAMESPACE: "pid:[1]", Label.DEADLINE: "1"}, False),
        ):
            add_image_use(store, name, labels | changes)
            assert read_image_uses(store)[name].held is held, name


def test_forgetting_an_image_forgets_who_held_it(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        add_image_use(store, "x", {"a": "b"})
        assert [dict(owner) for row in list_image_uses(store) for owner in row.owners] == [{"a": "b"}]
        forget_images(store, ["x"])
        assert store.connection.execute("SELECT count(*) FROM image_holder").fetchone()[0] == 0
