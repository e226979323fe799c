"""What the planr commands load: only what they need, so that they start quickly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
HEAVY = ["jsonschema", "regress", "lark", "yaml", "docker", "sqlite3", "rich", "requests", "platformdirs"]
# typer itself brings subprocess; our modules that start git are another matter.
GIT = ["codeboost.gitrepo", "codeboost.planr.history"]
COMMANDS = [
    (["--help"], HEAVY + GIT),
    (["--version"], HEAVY + GIT),
    (["nonsense"], HEAVY + GIT),
    (["list"], HEAVY + GIT),
    (["list", "--json"], HEAVY + GIT),
    (["next", "--goal", "g"], HEAVY + GIT),
    (["goal", "g"], HEAVY + GIT),
    (["goal", "g", "approved"], HEAVY + GIT),
    (["set", "A-1", "done"], HEAVY + GIT),
    (["check"], HEAVY),
    (["board"], HEAVY),
    (["init"], HEAVY),
]


@pytest.mark.parametrize(("arguments", "forbidden"), COMMANDS, ids=[" ".join(words) for words, _ in COMMANDS])
def test_no_command_loads_what_it_does_not_need(
    arguments: list[str], forbidden: list[str], tmp_path: Path
) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "plans").mkdir()
    (tmp_path / "tasks/A-1.md").write_text("---\nid: A-1\ntitle: t\nstatus: open\ntrack: c\n---\n")
    (tmp_path / "plans/g-goal.md").write_text("---\ntitle: g\nstate: draft\nscope: [A-1]\n---\n")
    script = (
        "import sys; from codeboost.cli.planr import run;"
        f"code = run({arguments!r}); print(); print(code, *sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        check=True,
        text=True,
    )
    code, *modules = done.stdout.splitlines()[-1].split()
    assert code == ("2" if arguments == ["nonsense"] else "0"), done.stderr
    assert "typer" in modules
    assert not set(forbidden) & set(modules)
