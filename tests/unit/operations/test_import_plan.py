"""What an import stores and writes, and what a later revision does to the tasks (design §6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codeboost.errors import InputError, UsageError
from codeboost.operations.approve_plan import record_approval
from codeboost.operations.export_tasks import export_tasks
from codeboost.operations.import_plan import finish_export
from codeboost.operations.init_project import init_project
from codeboost.operations.project import open_project, require_plan
from codeboost.plan.canonical import digest_plan
from codeboost.plan.difference import ItemFate
from codeboost.store.plans import find_exported_plan, find_latest_plan, list_plans


def _plans(site: Any) -> list[int]:
    return [stored.revision for stored in list_plans(site.store, site.project.repository.id)]


def test_an_import_makes_tasks_and_a_draft_goal(site: Any, build: Any) -> None:
    plan = build.make_plan(build.make_item("P1", "true"), build.make_item("P2", "true", after=["P1"]))
    result = site.import_plan(plan)
    assert result.stored is not None
    assert result.stored.revision == 1
    assert result.stored.sha256 == digest_plan(result.stored.plan)
    header = site.task("P2").read_text().split("---")[1]
    assert "status: open" in header
    assert "track: issue-412" in header
    assert "depends: [GH412-P1]" in header
    assert "refs: [example/payments#412, plan:r1]" in header
    goal = site.goal("gh-412")
    assert (goal.state, goal.stream, goal.scope) == ("draft", "gh-412", ("GH412-P1", "GH412-P2"))


def test_any_error_stores_and_writes_nothing(site: Any, build: Any) -> None:
    before = sorted(path for path in site.top.rglob("*") if ".git/" not in str(path))
    plan = build.make_plan(build.make_item("P1", "true | false"))
    result = site.import_plan(plan)
    assert result.stored is None
    assert [found.code for found in result.diagnostics if found.is_error] == ["command-syntax"]
    assert _plans(site) == []
    assert sorted(path for path in site.top.rglob("*") if ".git/" not in str(path)) == before


def test_another_issue_changes_nothing(site: Any, build: Any) -> None:
    from codeboost.operations.import_plan import import_plan
    from codeboost.operations.plan_file import PlanFile
    from codeboost.plan.canonical import encode_plan

    file = PlanFile("p", encode_plan(build.make_plan(build.make_item("P1", "true"))), "json")
    result = import_plan(site.project, file, 7, confirm_reopening=lambda tasks: True)
    assert [found.code for found in result.diagnostics if found.is_error] == ["issue"]
    assert _plans(site) == []


def test_a_later_revision_is_compared_item_by_item(site: Any, build: Any) -> None:
    item = build.make_item
    site.import_plan(build.make_plan(item("P1", "true"), item("P2", "true"), item("P3", "true")))
    for name in ("P1", "P2", "P3"):
        site.set_status(name, "done")
    asked: list[Any] = []
    second = site.import_plan(
        build.make_plan(item("P1", "true"), item("P2", "true", intent="Another reason."), item("P4", "true")),
        confirm_reopening=lambda tasks: asked.append(list(tasks)) or True,
    )
    assert asked == [["GH412-P2"]]
    assert second.stored.revision == 2
    assert {task.task: task.fate for task in second.tasks} == {
        "GH412-P1": ItemFate.UNCHANGED,
        "GH412-P2": ItemFate.CHANGED,
        "GH412-P3": ItemFate.REMOVED,
        "GH412-P4": ItemFate.ADDED,
    }
    assert [site.status(name) for name in ("P1", "P2", "P3", "P4")] == ["done", "open", "dropped", "open"]
    assert "plan:r2" in site.task("P1").read_text()
    assert "Another reason" in site.task("P2").read_text()
    site.import_plan(build.make_plan(item("P1", "true"), item("P3", "true")))
    assert site.status("P3") == "open", "a vanished item that comes back is open again"


def test_saying_no_to_opening_done_tasks_stores_nothing(site: Any, build: Any) -> None:
    site.import_plan(build.make_plan(build.make_item("P1", "true")))
    site.set_status("P1", "done")
    before = site.task("P1").read_bytes()
    result = site.import_plan(
        build.make_plan(build.make_item("P1", "true", intent="New.")), confirm_reopening=lambda tasks: False
    )
    assert result.declined
    assert _plans(site) == [1]
    assert site.task("P1").read_bytes() == before


def test_a_body_that_a_person_edited_is_kept_and_the_new_text_reported(site: Any, build: Any) -> None:
    site.import_plan(build.make_plan(build.make_item("P1", "true")))
    task = site.task("P1")
    task.write_text(task.read_text().replace("Because", "My own words"))
    result = site.import_plan(build.make_plan(build.make_item("P1", "true", intent="New reason.")))
    assert "My own words" in task.read_text()
    assert "New reason" not in task.read_text()
    assert "New reason" in result.tasks[0].kept_body
    assert site.status("P1") == "open"


def test_keys_that_a_person_added_stay(site: Any, build: Any) -> None:
    site.import_plan(build.make_plan(build.make_item("P1", "true")))
    task = site.task("P1")
    task.write_text(task.read_text().replace("track:", "priority: high  # mine\ntrack:"))
    site.import_plan(build.make_plan(build.make_item("P1", "true", intent="New reason.")))
    assert "priority: high  # mine\n" in task.read_text()
    assert "New reason" in task.read_text()


def test_a_broken_task_file_stops_an_import_before_anything_is_stored(site: Any, build: Any) -> None:
    site.import_plan(build.make_plan(build.make_item("P1", "true")))
    site.task("P1").write_text("<<<<<<< HEAD\n")
    with pytest.raises(InputError):
        site.import_plan(build.make_plan(build.make_item("P1", "true", intent="New.")))
    assert _plans(site) == [1]


def test_an_export_that_was_cut_short_is_done_again(
    site: Any, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("codeboost.operations.import_plan.export_tasks", fail)
        with pytest.raises(KeyboardInterrupt):
            site.import_plan(build.make_plan(build.make_item("P1", "true")))
    project = site.project
    assert find_latest_plan(site.store, project.repository.id, 412) is not None
    assert find_exported_plan(site.store, project.repository.id, 412) is None
    assert not site.task("P1").exists()
    assert [task.task for task in finish_export(project, site.top, 412, "GH")] == ["GH412-P1"]
    assert site.status("P1") == "open"
    assert finish_export(project, site.top, 412, "GH") == []


def test_exporting_twice_changes_nothing(site: Any, build: Any) -> None:
    result = site.import_plan(build.make_plan(build.make_item("P1", "true"), build.make_item("P2", "true")))
    files = {path: path.read_bytes() for path in (site.top / ".planr").rglob("*.md")}
    export_tasks(site.project, site.top, "GH", None, result.stored)
    assert {path: path.read_bytes() for path in (site.top / ".planr").rglob("*.md")} == files


def test_approving_sets_the_goal_and_importing_again_makes_it_a_draft(site: Any, build: Any) -> None:
    site.import_plan(build.make_plan(build.make_item("P1", "true")))
    approved, warnings = record_approval(site.project, require_plan(site.project, 412), "--yes")
    assert warnings == []
    assert approved.approval.how == "--yes"
    assert site.goal("gh-412").state == "approved"
    site.import_plan(build.make_plan(build.make_item("P1", "true"), build.make_item("P2", "true")))
    goal = site.goal("gh-412")
    assert (goal.state, goal.scope) == ("draft", ("GH412-P1", "GH412-P2"))
    assert require_plan(site.project, 412).approval is None
    assert require_plan(site.project, 412, 1).approval is not None


def test_the_prefix_of_tasks_is_the_policy_s(site: Any, build: Any) -> None:
    policy = site.top / "codeboost.toml"
    policy.write_text(policy.read_text() + '\n[tasks]\nprefix = "PAY-"\n')
    site.commit("A prefix")
    site.import_plan(build.make_plan(build.make_item("P1", "true")))
    assert (site.top / ".planr/tasks/PAY-412-P1.md").exists()


def test_a_checkout_that_is_not_set_up_says_so(site: Any) -> None:
    with site.store.transaction() as connection:
        connection.execute("DELETE FROM checkout")
    with pytest.raises(UsageError, match="not set up"):
        open_project(site.store, site.top)


def test_a_changed_origin_stops(site: Any) -> None:
    site.git("remote", "set-url", "origin", "https://github.com/somebody/else.git")
    with pytest.raises(UsageError, match="somebody/else"):
        open_project(site.store, site.top)


def test_another_repository_than_the_bound_one_is_refused(site: Any) -> None:
    with pytest.raises(UsageError, match="belongs to"):
        open_project(site.store, site.top, "other/repo")
    assert open_project(site.store, site.top, "example/payments").repository.slug == "example/payments"


def test_a_bare_repository_is_no_place_for_files(tmp_path: Path, site: Any) -> None:
    bare = tmp_path / "bare.git"
    site.git("clone", "-q", "--bare", str(site.top), str(bare))
    before = sorted(bare.rglob("*"))
    with pytest.raises(UsageError, match="bare"):
        init_project(site.store, bare, slug="a/b")
    assert sorted(bare.rglob("*")) == before
