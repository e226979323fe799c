"""Makes text from outside harmless to look at.

Plans, task files, git and containers print what they like: escape sequences, carriage returns, bidirectional
overrides, invisible letters. Whatever reaches a person goes through here first (design §5.6).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["count", "cut", "escape", "is_invisible"]

_PLAIN = re.compile(r"[\x20-\x7e]*")
# Letters, marks, numbers, punctuation, symbols and the ordinary space are shown as they are.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Not in those categories, and still nothing to see: fillers, and the blank Braille pattern.
_HIDDEN_OTHERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")


@lru_cache(maxsize=4096)
def is_invisible(char: str) -> bool:
    """Whether a person looking at ``char`` would not see it, or would see it change what stands around it."""
    if char == " ":
        return False
    if unicodedata.category(char) in _HIDDEN_CATEGORIES or char in _HIDDEN_OTHERS:
        return True
    # Variation selectors: a mark that changes nothing a person could name.
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def escape(text: str, *, keep: str = "") -> str:
    r"""``text`` with everything invisible as ``\n``, ``\t``, ``\x1b`` or ``\u{202e}``; ``keep`` names exceptions.

    A backslash stays as it is: this is for people, not for reading back.
    """
    if _PLAIN.fullmatch(text):
        return text
    return "".join(_escape_char(char) if char not in keep and is_invisible(char) else char for char in text)


def _escape_char(char: str) -> str:
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char)
    if short:
        return short
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:04x}}}"


def cut(text: str, limit: int = 80) -> str:
    """``text`` escaped and, if longer than ``limit`` code points, shortened with an ellipsis."""
    if len(text) <= limit:
        return escape(text)
    return escape(text[: limit - 1]) + "…"


def count(number: int, noun: str) -> str:
    """``1 item``, ``2 items``: for nouns that take an s."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
