"""Which image and runtime ``codeboost doctor`` looks at: what an agent can commit has no say (design §4)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from codeboost.errors import UsageError
from codeboost.operations.run_doctor import choose_patient


def git(folder: Path, *arguments: str) -> None:
    environment = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    people = [f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
    subprocess.run(
        ["git", *arguments], cwd=folder, env=environment | dict.fromkeys(people, "a@example.org"), check=True
    )


def commit(folder: Path, policy: str) -> None:
    (folder / "codeboost.toml").write_text(policy)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """``main`` names a reviewed image; the branch that is checked out, and the work tree, name others."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, '[sandbox]\nimage = "reviewed:1"\nruntime = "runsc"\n')
    git(folder, "checkout", "-q", "-b", "work")
    commit(folder, '[sandbox]\nimage = "evil:1"\nruntime = "evil"\n')
    (folder / "codeboost.toml").write_text('[sandbox]\nimage = "uncommitted:1"\n')
    return folder


def test_the_policy_at_head_names_nothing(checkout: Path) -> None:
    patient = choose_patient(None, None, checkout)
    assert (patient.image, patient.runtime) == ("reviewed:1", "runsc")
    assert "base commit" in patient.source


def test_a_damaged_policy_at_head_is_not_even_read(checkout: Path) -> None:
    commit(checkout, "no toml at all")
    assert choose_patient(None, None, checkout).image == "reviewed:1"


def test_what_the_caller_names_comes_first(checkout: Path, tmp_path: Path) -> None:
    patient = choose_patient("mine:1", None, checkout)
    assert (patient.image, patient.runtime, patient.source) == ("mine:1", "runsc", "--image")
    assert choose_patient(None, "runc", checkout).runtime == "runc"
    elsewhere = choose_patient("mine:1", None, tmp_path)
    assert (elsewhere.image, elsewhere.runtime) == ("mine:1", None)


def test_where_only_head_names_an_image_there_is_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "x")
    git(tmp_path, "checkout", "-q", "-b", "work")
    commit(tmp_path, '[sandbox]\nimage = "evil:1"\n')
    with pytest.raises(UsageError, match="at the base commit") as caught:
        choose_patient(None, None, tmp_path)
    assert "--image" in str(caught.value.hint)


def test_without_a_repository_or_a_default_branch_an_image_has_to_be_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no repository"):
        choose_patient(None, None, tmp_path)
    git(tmp_path, "init", "-q", "-b", "odd-name")
    commit(tmp_path, '[sandbox]\nimage = "evil:1"\n')
    git(tmp_path, "checkout", "-q", "--detach")
    with pytest.raises(UsageError, match="default branch"):
        choose_patient(None, None, tmp_path)
    assert choose_patient("mine:1", None, tmp_path).image == "mine:1"
