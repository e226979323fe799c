"""Answers that go to a disk without room: exit 4, as docs/exit-codes.md says, and nothing is left half."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeboost.cli.files import write_answer
from codeboost.errors import InfrastructureError


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "full"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", place], check=True)
    try:
        with pytest.raises(OSError, match="No space"), (place / "rest").open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_new_plan(full: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "codeboost", "plan", "new", "7", "--out", full / "plan.yaml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert "No space left" in done.stderr
    assert [path.name for path in full.iterdir()] == ["rest"]


def test_an_answer(full: Path) -> None:
    with pytest.raises(InfrastructureError, match="No space left"):
        write_answer("x" * 9000, full / "report.json")
    assert [path.name for path in full.iterdir()] == ["rest"]
