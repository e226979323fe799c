"""The temporary folder in which a snapshot's one commit is packed: nobody's is left for ever, and no living one's is taken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from codeboost.gitrepo import GitRepo

HOLDER = """
import sys, time
from pathlib import Path
from codeboost.gitrepo import GitRepo
with GitRepo.open(Path(sys.argv[1])).open_scratch() as scratch:
    print(scratch.folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    place = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", place], check=True)
    return place


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


def age(place: Path) -> None:
    os.utime(place, (time.time() - 3600,) * 2)


def test_what_a_killed_process_left_goes_and_a_living_ones_stays(checkout: Path, temporary: Path) -> None:
    environment = os.environ | {"TMPDIR": str(temporary)}
    holders = [
        subprocess.Popen(
            [sys.executable, "-c", HOLDER, checkout], stdout=subprocess.PIPE, text=True, env=environment
        )
        for _ in "ab"
    ]
    dead, living = holders
    try:
        places = [Path((holder.stdout or sys.stdin).readline().strip()) for holder in holders]
        dead.send_signal(signal.SIGKILL)
        dead.wait()
        # One that is just being made has nothing to tell it apart from one that was left, but for its age.
        (fresh := temporary / "codeboost-git-fresh").mkdir()
        (old := temporary / "codeboost-git-old").mkdir()
        age(old)
        (foreign := temporary / "something-else").mkdir()
        (link := temporary / "codeboost-git-link").symlink_to(foreign)
        age(foreign)
        with GitRepo.open(checkout).open_scratch() as scratch:
            assert set(temporary.iterdir()) == {places[1], fresh, foreign, link, scratch.folder}
        assert set(temporary.iterdir()) == {places[1], fresh, foreign, link}
    finally:
        for holder in holders:
            holder.kill()
            holder.communicate()
    assert living.returncode == -signal.SIGKILL
