"""Renders the board: one HTML file that needs nothing else (planr-contract.md, "Board data").

The template and its parts are ours and trusted; the data is not. Placeholders are replaced in one pass by a function,
so nothing in the data is ever looked at again, and ``<`` never appears in it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["encode_data", "render_page"]

_ASSETS = Path(__file__).parent / "assets" / "board"
_PART = re.compile(r"/\*(INCLUDE|FONT):([a-z0-9.-]+)\*/")
_VALUE = re.compile(r"/\*DATA\*/null|/\*LIVE\*/|/\*CSP\*/")
# What closes a script block, what ends a line in old JavaScript, and what UTF-8 cannot carry: the folder name of
# a project may hold bytes that no character stands for.
_UNSAFE = re.compile("[<\u2028\u2029\ud800-\udfff]")


def render_page(data: Mapping[str, object], *, live: str = "") -> str:
    """The board of ``data`` (BoardData) as one HTML document without any reference to the outside.

    ``live`` is the version that the server gives this state; with it the page listens for changes, without it the
    Content-Security-Policy allows no connection at all.
    """
    shell, policy = _read_shell()
    values = {
        "/*DATA*/null": encode_data(data),
        "/*LIVE*/": live,
        "/*CSP*/": policy + ("connect-src 'self'" if live else "connect-src 'none'"),
    }
    return _VALUE.sub(lambda match: values[match.group()], shell)


def encode_data(data: Mapping[str, object]) -> str:
    """``data`` as compact JSON that is safe inside a script block."""
    text = json.dumps(dict(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


@lru_cache(maxsize=1)
def _read_shell() -> tuple[str, str]:
    """The template with its parts and fonts in place, and the policy that admits exactly these."""
    shell = _insert_parts((_ASSETS / "template.html").read_text(encoding="utf-8"))
    scripts = " ".join(_hash_source(text) for text in re.findall(r"<script>(.*?)</script>", shell, re.DOTALL))
    styles = " ".join(_hash_source(text) for text in re.findall(r"<style>(.*?)</style>", shell, re.DOTALL))
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; font-src data:; img-src data:; "
        "base-uri 'none'; form-action 'none'; "
    )
    return shell, policy


def _insert_parts(text: str) -> str:
    return _PART.sub(lambda match: _read_part(match[1], match[2]), text)


def _read_part(kind: str, name: str) -> str:
    if kind == "FONT":
        encoded = base64.b64encode((_ASSETS / "fonts" / name).read_bytes()).decode("ascii")
        return f"data:font/woff2;base64,{encoded}"
    return _insert_parts((_ASSETS / name).read_text(encoding="utf-8"))


def _hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"
