"""Whether it is still the same engine: one that stops ends every program by TERM, and tells the exit as if it were theirs.

It takes no new connection from then on, but those that it has go on; and where the system holds its socket, the next
engine answers what comes later. So an exit counts only when a new connection was answered after it, and the engine of
before lived on meanwhile.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any, cast

import requests

__all__ = ["Life", "find_stream"]


def find_stream(response: requests.Response) -> tuple[Any, Any]:
    """The stream below an answer, and its socket."""
    stream: Any = cast("Any", response.raw)._fp.fp  # noqa: SLF001 - http.client has no public way to it
    return stream, getattr(stream.raw, "_sock", stream.raw)


class Life:
    """A stream on which the engine has nothing to say, and which ends when it does."""

    def __init__(self, silence: requests.Response) -> None:
        self._over = threading.Event()
        self._silence = silence
        _, self._socket = find_stream(silence)
        # The deadline of the call must not become one of the silence.
        self._socket.settimeout(None)
        threading.Thread(target=self._listen, daemon=True, name="codeboost-life").start()

    def is_over(self) -> bool:
        return self._over.is_set()

    def leave(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(2)
        self._over.wait(1.0)

    def _listen(self) -> None:
        with suppress(Exception):
            for _ in self._silence.iter_content(1):
                pass
        self._silence.close()
        self._over.set()
