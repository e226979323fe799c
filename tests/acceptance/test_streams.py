"""A process without one of its streams, on a full disk, in a folder that is gone: a plain answer, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = {"codeboost": "codeboost", "planr": "codeboost.cli.planr"}


def start(
    tmp_path: Path, words: str, redirection: str = "", before: str = ""
) -> subprocess.CompletedProcess[str]:
    program, *arguments = words.split()
    done = subprocess.run(
        [
            "sh",
            "-c",
            f'{before} exec "$@" {redirection}',
            "sh",
            sys.executable,
            "-m",
            MODULES[program],
            *arguments,
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "CODEBOOST_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "bug" not in done.stderr, done.stderr
    return done


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/A-1.md").write_text("---\nid: A-1\ntitle: t\nstatus: open\ntrack: c\n---\n")
    return tmp_path


@pytest.mark.parametrize(
    "words", ["codeboost plan schema", "codeboost --version", "planr list", "planr list --json"]
)
@pytest.mark.parametrize("redirection", [">&-", "<&-", "2>&-"])
def test_without_a_stream(root: Path, words: str, redirection: str) -> None:
    done = start(root, words, redirection)
    assert done.returncode == 0
    assert bool(done.stdout) is (redirection != ">&-")


def test_without_stdin_there_is_nothing_to_read(root: Path) -> None:
    done = start(root, "codeboost plan check - --json", "<&-")
    assert done.returncode == 1
    assert json.loads(done.stdout)["data"][0]["diagnostics"][0]["reason"] == "empty-value"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("codeboost plan schema", 4),
        ("codeboost command parse x --json", 4),
        ("codeboost --version", 4),
        ("planr list", 1),
        ("planr list --json", 1),
    ],
)
def test_an_answer_that_nobody_got_is_no_success(root: Path, words: str, code: int) -> None:
    done = start(root, words, ">/dev/full")
    assert done.returncode == code
    assert "No space left" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", ["codeboost plan list --json", "planr list --json", "planr init --json"])
def test_a_folder_that_is_gone(tmp_path: Path, words: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = start(tmp_path, words, before=f"cd '{gone}' && rmdir '{gone}' &&")
    assert done.returncode == 2
    assert "the current folder is gone" in json.dumps(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("plan schema", 0),
        ("--help", 0),
        ("run --help", 0),
        ("--version", 0),
        ("plan check missing.yaml", 2),
        ("plan check missing.yaml --json", 2),
        ("plan check broken.yaml", 1),
        ("plan check broken.yaml --json", 1),
        ("nonsense", 2),
    ],
)
@pytest.mark.parametrize("left", [("stdout",), ("stderr",), ("stdout", "stderr")])
def test_a_reader_who_left_changes_no_exit_code(
    tmp_path: Path, words: str, code: int, left: tuple[str, ...]
) -> None:
    (tmp_path / "broken.yaml").write_text("a: 1\n")
    reading, writing = os.pipe()
    os.close(reading)
    streams: dict[str, int] = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE) | dict.fromkeys(
        left, writing
    )
    done = subprocess.run(
        [sys.executable, "-m", "codeboost", *words.split()],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "CODEBOOST_HOME": str(tmp_path / "home")},
        **streams,
        timeout=60,
        check=False,
    )
    os.close(writing)
    assert done.returncode == code
    assert "Traceback" not in str(done.stderr)
