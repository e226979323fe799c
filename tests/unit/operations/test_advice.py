"""What a person is told to type next has to be what helps."""

from __future__ import annotations

from typing import Any

from codeboost.operations.approve_commands import approve_command, find_pending
from codeboost.operations.show_status import show_status
from codeboost.reporting.runs import render_run
from codeboost.reporting.status import render_status


def change_program(site: Any, build: Any) -> str:
    """An approved ``./check.sh``, and a commit that holds another one: the id of that commit."""
    program = site.top / "check.sh"
    program.write_text("#!/bin/sh\ntrue\n")
    program.chmod(0o755)
    site.commit()
    site.git("switch", "-q", "-c", "work")
    site.adopt(build.make_plan(build.make_item("P1", "./check.sh")))
    program.write_text("#!/bin/sh\nfalse\n")
    return str(site.commit())


def test_a_changed_program_is_looked_at_where_it_changed(site: Any, build: Any) -> None:
    tip = change_program(site, build)
    # At the base commit nothing is left to approve, so naming the issue alone would lead nowhere.
    assert find_pending(site.project, 412).commands == ()
    advice = f"codeboost allow approve 412 --rev {tip[:12]}"
    assert advice in [wait.command for wait in show_status(site.project, 412).waits]
    result = site.run()
    assert render_run(result, color=False, width=None).rstrip().endswith(advice)
    pending = find_pending(site.project, 412, rev=tip)
    approve_command(site.project, pending, pending.commands[0])
    assert site.run().exit_code == 0


def test_a_program_that_the_work_adds_is_looked_at_where_it_is(site: Any, build: Any) -> None:
    site.git("switch", "-q", "-c", "work")
    site.adopt(build.make_plan(build.make_item("P1", "./check.sh")), allow=[])
    program = site.top / "check.sh"
    program.write_text("#!/bin/sh\ntrue\n")
    program.chmod(0o755)
    advice = f"codeboost allow approve 412 --rev {site.commit()[:12]}"
    assert advice in [wait.command for wait in show_status(site.project, 412).waits]


def test_evidence_of_an_older_revision_says_so(site: Any, build: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true")))
    site.run()
    assert "  evidence  at " in render_status(show_status(site.project, 412))
    site.import_plan(build.make_plan(build.make_item("P1", "true", "true 2")))
    assert "  evidence  of r1 at " in render_status(show_status(site.project, 412))
