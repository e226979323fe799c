"""Which files an approval holds fast: as the container would find them, and nothing outside the tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from codeboost.errors import InputError, UsageError
from codeboost.gitrepo import GitRepo
from codeboost.operations.pins import PinnedTree, compare_pins, find_differences
from codeboost.store.approval_log import Pin


@pytest.fixture
def tree(tmp_path: Path, git: Callable[..., str]) -> PinnedTree:
    git(tmp_path, "init", "-q")
    (tmp_path / "bin").mkdir()
    (tmp_path / "pkg" / "core").mkdir(parents=True)
    for name in ("run.sh", "bin/tool", "pkg/core/run.sh"):
        (tmp_path / name).write_text(f"#!/bin/sh\n# {name}\n")
    for name, target in {
        "link": "bin/tool",
        "chain": "link",
        "dir": "bin",
        "abs": "/workspace/bin/tool",
        "out": "/usr/bin/env",
        "up": "../usr/bin/env",
        "pkg/core/up": "../../bin/tool",
        "loop": "loop",
        "dangling": "nowhere/x",
        "proc": "/proc/self/cwd/run.sh",
    }.items():
        (tmp_path / name).symlink_to(target)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "base")
    repo = GitRepo.open(tmp_path)
    return PinnedTree(repo, repo.resolve_commit("HEAD"))


@pytest.mark.parametrize(
    ("program", "workdir", "paths"),
    [
        ("pytest", ".", []),
        ("./run.sh", ".", ["run.sh"]),
        ("bin/tool", ".", ["bin/tool"]),
        (".//bin/./tool", ".", ["bin/tool"]),
        ("bin/../run.sh", ".", ["run.sh"]),
        ("./run.sh", "pkg/core", ["pkg/core/run.sh"]),
        ("../../run.sh", "pkg/core", ["run.sh"]),
        ("./up", "pkg/core", ["pkg/core/up", "bin/tool"]),
        ("./link", ".", ["link", "bin/tool"]),
        ("./chain", ".", ["chain", "link", "bin/tool"]),
        ("dir/tool", ".", ["dir", "bin/tool"]),
        ("dir/../run.sh", ".", ["dir", "run.sh"]),
        ("./abs", ".", ["abs", "bin/tool"]),
        ("/workspace/run.sh", ".", ["run.sh"]),
        ("//workspace//./run.sh", ".", ["run.sh"]),
        ("../workspace/run.sh", ".", ["run.sh"]),
        ("/usr/../workspace/run.sh", ".", ["run.sh"]),
        ("/usr/bin/env", ".", []),
        ("../usr/bin/env", ".", []),
        ("./out", ".", ["out"]),
        ("./up", ".", ["up"]),
        ("./absent", ".", ["absent"]),
        ("./no/such/tool", ".", ["no/such/tool"]),
        ("./run.sh/x", ".", ["run.sh/x"]),
        ("./dangling", ".", ["dangling", "nowhere/x"]),
        ("./run.sh", "nowhere", ["nowhere/run.sh"]),
        ("./bin", ".", ["bin"]),
    ],
)
def test_a_program_resolves_as_in_the_container(
    tree: PinnedTree, program: str, workdir: str, paths: list[str]
) -> None:
    pins = tree.pin_program((program, "x"), workdir)
    assert [pin.path for pin in pins] == paths
    for pin in pins:
        entry = tree.repo.find_entry(tree.commit, pin.path)
        assert pin.oid == (entry.oid if entry is not None and entry.kind == "blob" else None)


def test_a_loop_of_links_ends(tree: PinnedTree) -> None:
    pins = tree.pin_program(("./loop",), ".")
    assert {pin.path for pin in pins} == {"loop"}


@pytest.mark.parametrize(
    "program", ["/proc/self/cwd/run.sh", "/dev/fd/3", "./proc", "../proc/1/root/workspace/x"]
)
def test_what_nobody_can_tell_is_not_pinned(tree: PinnedTree, program: str) -> None:
    with pytest.raises(InputError, match="nobody can tell which file"):
        tree.pin_program((program,), ".")


def test_a_person_may_pin_more(tree: PinnedTree) -> None:
    assert [pin.path for pin in tree.pin_path("link")] == ["link", "bin/tool"]
    (folder,) = tree.pin_path("bin")
    assert folder.oid
    assert folder.asked
    assert tree.pin_path("Makefile") == (Pin("Makefile", None, asked=True),)
    for path in ("", "/etc/passwd", "../x", "a//b", "./a"):
        with pytest.raises(UsageError, match="below the repository root"):
            tree.pin_path(path)


def test_changes_are_told_path_by_path(tree: PinnedTree, git: Callable[..., str]) -> None:
    argv = ("./link",)
    pins = (*tree.pin_program(argv, "."), *tree.pin_path("bin"), *tree.pin_path("Makefile"))
    assert compare_pins(pins, tree.pin_program(argv, "."), tree) == ()
    top = tree.repo.top
    (top / "bin" / "tool").write_text("changed\n")
    (top / "Makefile").write_text("all:\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "later")
    later = PinnedTree(tree.repo, tree.repo.resolve_commit("HEAD"))
    changes = compare_pins(pins, later.pin_program(argv, "."), later)
    assert [change.path for change in changes] == ["bin/tool", "bin", "Makefile"]
    assert changes[-1].approved is None
    differences = {found.path: found for found in find_differences(pins, tree, later)}
    assert differences["bin/tool"].after == b"changed\n"
    assert differences["Makefile"].before is None


def test_another_work_folder_is_another_program(tree: PinnedTree) -> None:
    pins = tree.pin_program(("./run.sh",), ".")
    assert compare_pins(pins, tree.pin_program(("./run.sh",), "pkg/core"), tree)


def test_a_link_that_points_elsewhere_is_another_program(tree: PinnedTree, git: Callable[..., str]) -> None:
    pins = tree.pin_program(("./link",), ".")
    (tree.repo.top / "link").unlink()
    (tree.repo.top / "link").symlink_to("run.sh")
    git(tree.repo.top, "commit", "-qam", "elsewhere")
    later = PinnedTree(tree.repo, tree.repo.resolve_commit("HEAD"))
    changed = [change.path for change in compare_pins(pins, later.pin_program(("./link",), "."), later)]
    assert changed == ["link", "bin/tool", "run.sh"]
