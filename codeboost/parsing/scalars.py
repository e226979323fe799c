"""Plain scalars of YAML: which are strings, and which the core schema of YAML 1.2 reads as something else.

plan-rules.md §1: what JSON spells the same is taken, what it spells otherwise is refused, the rest is text.
"""

from __future__ import annotations

import re

from codeboost.parsing.numbers import JSON_NUMBER

__all__ = ["MAY_BE_TYPED", "WORDS", "is_foreign", "is_typed", "suggest_spelling"]

WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_FOREIGN_WORDS = frozenset({"~", "Null", "NULL", "True", "TRUE", "False", "FALSE", ".nan", ".NaN", ".NAN"})
# What the core schema reads as a number though JSON spells none so, and the forms of YAML 1.1 (§1, non-json-scalar).
_FOREIGN_NUMBER = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO][0-9]+|0[bB][0-9]+|\.(?:inf|Inf|INF)"
    r"|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_DIGIT_FIRST = re.compile(r"[-+]?[0-9]")
# First characters of all of these, and that of a missing value.
MAY_BE_TYPED = frozenset(["", *"0123456789+-.~nNtTfF"])


def is_typed(text: str) -> bool:
    return text in WORDS or bool(JSON_NUMBER.fullmatch(text)) or is_foreign(text)


def is_foreign(text: str) -> bool:
    """Whether a plain scalar is one of the spellings of plan-rules.md §1, ``non-json-scalar``."""
    if text in _FOREIGN_WORDS:
        return True
    if "_" in text:
        if not _DIGIT_FIRST.match(text):
            return False
        text = text.replace("_", "")
    return _FOREIGN_NUMBER.fullmatch(text) is not None


def suggest_spelling(text: str) -> str:
    lower = text.lower()
    spelled = "null" if text == "~" else lower if lower in WORDS else None
    return (
        f"write {spelled}, or put it in quotes if the text is meant"
        if spelled
        else "put it in quotes if the text is meant"
    )
