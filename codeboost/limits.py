"""The bounds that every command runs within, and how a person writes them (``10m``, ``2GiB``)."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Limits", "format_duration", "format_size", "parse_duration", "parse_size"]

_DURATION = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?")
_SIZE = re.compile(r"(\d{1,15})(B|KiB|MiB|GiB|TiB)")
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
LONGEST_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class Limits:
    """Time in seconds, memory and disk in bytes, processors as a number, processes as a count."""

    timeout_s: float = 600.0
    memory_bytes: int = 2 << 30
    cpus: float = 2.0
    pids: int = 512
    disk_bytes: int = 4 << 30


def parse_duration(text: str) -> float:
    """Seconds in ``90s``, ``10m``, ``1h30m``. ValueError with a sentence when it is none, zero, or over a day."""
    match = _DURATION.fullmatch(text)
    if not text or match is None:
        raise ValueError(f"{text!r} is no duration: write it like 90s, 10m or 1h30m")
    hours, minutes, seconds = (int(group or 0) for group in match.groups())
    total = hours * 3600 + minutes * 60 + seconds
    if not 0 < total <= LONGEST_S:
        raise ValueError(f"{text!r} is out of range: a duration is between 1s and 24h")
    return float(total)


def parse_size(text: str) -> int:
    """Bytes in ``512MiB``, ``2GiB``. ValueError with a sentence when it is none."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no size: write it like 512MiB or 2GiB")
    return int(match[1]) * _UNITS[match[2]]


def format_duration(seconds: float) -> str:
    """``0.4s``, ``12s``, ``3m05s``, ``1h02m``: short enough for a column."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def format_size(size: int) -> str:
    """``17 B``, ``2 GiB``, ``1.5 MiB``."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} B"
