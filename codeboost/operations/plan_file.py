"""Reads a plan file from disk or standard input; what is in it is for the checker to say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal, NamedTuple

from codeboost.errors import UsageError
from codeboost.visible import cut

__all__ = ["PlanFile", "read_plan_file"]

# One byte more than a plan may have: the reader then says that it is too large (plan-rules.md §1).
_READ_LIMIT = (1 << 20) + 1


class PlanFile(NamedTuple):
    """The bytes of a plan, the format they are read as, and the name to show."""

    name: str
    data: bytes
    format: Literal["json", "yaml"]


def read_plan_file(path: str) -> PlanFile:
    """Read ``path``, ``-`` being standard input. The format follows the name, else the first character.

    UsageError when the file cannot be read.
    """
    if not path:
        # For Python an empty path is the current folder.
        raise UsageError("the name of a plan's file is empty")
    try:
        if path == "-":
            data = sys.stdin.buffer.read(_READ_LIMIT)
        else:
            with Path(path).open("rb") as file:
                data = file.read(_READ_LIMIT)
    except OSError as error:
        raise UsageError(f"{cut(path, 200)} cannot be read: {error.strerror}") from error
    return PlanFile("standard input" if path == "-" else path, data, _find_format(path, data))


def _find_format(path: str, data: bytes) -> Literal["json", "yaml"]:
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        return "json"
    if suffix in {".yaml", ".yml"}:
        return "yaml"
    return "json" if data.lstrip()[:1] in {b"{", b"["} else "yaml"
