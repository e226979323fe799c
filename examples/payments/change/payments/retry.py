"""Tries again when the network failed, and only then."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar
from urllib.error import HTTPError

Answer = TypeVar("Answer")


def retry(send: Callable[[], Answer], attempts: int, wait_s: float = 0.05) -> Answer:
    """The answer of the first ``send`` that gets one; the last failure when none of ``attempts`` does.

    An HTTP status is an answer: the server has spoken, and asking again changes nothing.
    """
    for left in reversed(range(attempts)):
        try:
            return send()
        except HTTPError:
            raise
        except OSError:
            if not left:
                raise
            time.sleep(wait_s)
    raise ValueError("attempts must be at least 1")
