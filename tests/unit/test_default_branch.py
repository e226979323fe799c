"""Which branch a plan is measured from, for every kind of clone (design §4)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from codeboost.errors import UsageError
from codeboost.gitrepo import GitRepo
from codeboost.operations.choose_base import choose_base

Git = Callable[..., str]


@pytest.fixture
def upstream(tmp_path: Path, git: Git) -> Path:
    top = tmp_path / "upstream"
    top.mkdir()
    git(top, "init", "-q", "-b", "trunk")
    git(top, "commit", "-q", "--allow-empty", "-m", "One")
    return top


def _clone(git: Git, upstream: Path) -> Path:
    git(upstream.parent, "clone", "-q", str(upstream), "clone")
    return upstream.parent / "clone"


def _head(git: Git, top: Path, rev: str = "HEAD") -> str:
    return git(top, "rev-parse", rev).strip()


def test_the_remote_s_own_default_branch_whatever_its_name(upstream: Path, git: Git) -> None:
    clone = _clone(git, upstream)
    first = _head(git, clone)
    git(clone, "switch", "-q", "-c", "work")
    git(clone, "commit", "-q", "--allow-empty", "-m", "Work")
    branch = GitRepo.open(clone).find_default_branch()
    assert branch is not None
    assert branch == ("refs/remotes/origin/trunk", first)
    assert choose_base(GitRepo.open(clone)) == first


def test_without_a_recorded_head_the_usual_name_of_the_remote(upstream: Path, git: Git) -> None:
    git(upstream, "branch", "master")
    clone = _clone(git, upstream)
    git(clone, "symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
    branch = GitRepo.open(clone).find_default_branch()
    assert branch is not None
    assert branch.name == "refs/remotes/origin/master"


def test_a_recorded_head_that_leads_nowhere_is_passed_over(upstream: Path, git: Git) -> None:
    clone = _clone(git, upstream)
    git(clone, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone")
    git(clone, "branch", "main")
    branch = GitRepo.open(clone).find_default_branch()
    assert branch is not None
    assert branch.name == "refs/heads/main"


def test_branches_of_a_remote_that_is_gone_say_nothing(upstream: Path, git: Git) -> None:
    git(upstream, "branch", "main")
    clone = _clone(git, upstream)
    git(clone, "branch", "main")
    git(clone, "config", "--remove-section", "remote.origin")
    branch = GitRepo.open(clone).find_default_branch()
    assert branch is not None
    assert branch.name == "refs/heads/main"


def test_without_a_remote_the_local_default_branch_or_the_current_one(upstream: Path, git: Git) -> None:
    repo = GitRepo.open(upstream)
    branch = repo.find_default_branch()
    assert branch is not None
    assert branch.name == "refs/heads/trunk"
    git(upstream, "branch", "main")
    branch = repo.find_default_branch()
    assert branch is not None
    assert branch.name == "refs/heads/main"


def test_a_detached_head_without_any_branch_has_to_be_told(upstream: Path, git: Git) -> None:
    git(upstream, "checkout", "-q", "--detach")
    git(upstream, "branch", "-q", "-D", "trunk")
    assert GitRepo.open(upstream).find_default_branch() is None
    with pytest.raises(UsageError, match="no default branch"):
        choose_base(GitRepo.open(upstream))
    assert choose_base(GitRepo.open(upstream), "HEAD") == _head(git, upstream)


def test_a_repository_without_a_commit_says_so(tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(UsageError, match="no commit yet"):
        choose_base(GitRepo.open(tmp_path))


def test_histories_without_a_common_commit_have_no_base(upstream: Path, git: Git) -> None:
    git(upstream, "checkout", "-q", "--orphan", "elsewhere")
    git(upstream, "commit", "-q", "--allow-empty", "-m", "Other")
    git(upstream, "branch", "-m", "trunk", "main")
    with pytest.raises(UsageError, match="no commit in common"):
        choose_base(GitRepo.open(upstream))


def test_the_core_settings_are_read_in_one_go(upstream: Path, git: Git) -> None:
    git(upstream, "config", "core.ignoreCase", "true")
    git(upstream, "config", "core.odd", "a\nb")
    core = GitRepo.open(upstream).read_core_config()
    assert core["ignorecase"] == "true"
    assert core["odd"] == "a\nb"
