"""Files that are written whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from codeboost.cli.files import write_answer
from codeboost.errors import UsageError

# In a process of its own, because of the limit on the size of files.
SCRIPT = """
import resource, sys
from pathlib import Path
from codeboost.cli.files import write_answer
from codeboost.errors import UsageError
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_answer("x" * 5000, Path(sys.argv[1]))
except UsageError as error:
    raise SystemExit(str(error))
"""


@pytest.mark.parametrize("before", [None, "old"])
def test_where_there_is_no_room_everything_stays(tmp_path: Path, before: str | None) -> None:
    target = tmp_path / "report.json"
    if before is not None:
        target.write_text(before)
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, target], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "cannot be written: File too large" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ([target.name] if before else [])
    assert before is None or target.read_text() == before


def test_a_pipe_gets_it_as_it_is(tmp_path: Path) -> None:
    import os
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write_answer("é\n", pipe)
    reader.join(10)
    assert got == ["é\n"]


def test_a_name_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for odd in (tmp_path / "loop", tmp_path / ("x" * 300), tmp_path / "absent" / "x"):
        with pytest.raises(UsageError, match="cannot be written"):
            write_answer("x", odd)
    assert [path.name for path in tmp_path.iterdir()] == ["loop"]


def test_a_new_file_has_the_mode_that_any_new_file_has(tmp_path: Path) -> None:
    write_answer("x", tmp_path / "ours")
    (tmp_path / "usual").write_text("x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode
