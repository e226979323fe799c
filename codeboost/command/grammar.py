"""The command grammar (plan-rules.md §4): text in, argv out, never a shell."""

from __future__ import annotations

Argv = tuple[str, ...]
