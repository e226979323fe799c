"""``plan check`` inside a checkout: what of the base commit it asks, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codeboost.errors import InputError, UsageError
from codeboost.operations.check_plan_files import check_plan_files
from codeboost.plan.canonical import encode_plan


@pytest.fixture
def plan(site: Any, build: Any, tmp_path: Path) -> str:
    file = tmp_path / "plan.json"
    file.write_bytes(encode_plan(build.make_plan(build.make_item("P1", "true 1", "true 2"))))
    return str(file)


def list_unapproved(plan: str, site: Any) -> list[str]:
    (checked,) = check_plan_files([plan], site.top, issue=None, base="HEAD", use_tree=True)
    assert checked.base_commit == site.git("rev-parse", "HEAD")
    assert not checked.has_errors
    return [found.message for found in checked.diagnostics if found.code == "command-not-allowed"]


def test_the_policy_at_the_base_approves(site: Any, plan: str) -> None:
    policy = site.top / "codeboost.toml"
    policy.write_text(policy.read_text() + '\n[allow]\ncommands = ["true 1"]\n')
    # In the work tree alone it says nothing.
    assert len(list_unapproved(plan, site)) == 2
    site.commit()
    (message,) = list_unapproved(plan, site)
    assert '"2"' in message


def test_without_a_policy_nothing_is_approved(site: Any, plan: str) -> None:
    site.git("rm", "-q", "codeboost.toml")
    site.commit()
    assert len(list_unapproved(plan, site)) == 2


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_policy_that_is_no_file_is_refused_as_by_an_import(site: Any, plan: str, kind: str) -> None:
    policy = site.top / "codeboost.toml"
    policy.unlink()
    if kind == "folder":
        policy.mkdir()
        (policy / "inner").write_text("")
    else:
        policy.symlink_to("elsewhere")
    site.commit()
    with pytest.raises(InputError, match="has to be a regular file"):
        list_unapproved(plan, site)


def test_without_a_policy_none_is_loaded(site: Any, plan: str) -> None:
    """It would cost every check a tenth of its time."""
    site.git("rm", "-q", "codeboost.toml")
    site.commit()
    code = (
        "import sys\nfrom codeboost.cli.app import build_app\nfrom codeboost.cli.console import run_app\n"
        f"arguments = ['plan', 'check', '--base', 'HEAD', {plan!r}]\n"
        "assert run_app(build_app(arguments), 'codeboost', arguments) == 0\n"
        "loaded = {'codeboost.policy', 'tomllib', 'sqlite3'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=site.top, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_an_empty_name_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the name of a plan's file is empty"):
        check_plan_files([""], tmp_path, issue=None, base=None, use_tree=False)


def test_a_file_cut_off_by_the_reader_is_not_said_to_end_there(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(b" " * 2_000_000)
    (checked,) = check_plan_files([str(file)], tmp_path, issue=None, base=None, use_tree=False)
    (found,) = checked.diagnostics
    assert (found.code, found.reason) == ("parse", "too-large")
    assert found.message == "the file is longer than 1,048,576 bytes (1 MiB), and no plan may be"
