"""What a running program writes, watched from outside, and when it ended (design §5.4, §7).

How long a look at the disk takes is in the program's hands, so looks have a thread of their own: the clock never waits
for one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from codeboost.errors import EngineError
from codeboost.limits import format_size
from codeboost.sandbox.client import EngineClient, MissingError

__all__ = ["PATIENCE_S", "DiskLimit", "DiskWatch", "Waiter"]

PATIENCE_S = 30.0
"""How long the engine may take for what follows at once: an exit after KILL, the end of the output, a removal."""
_LOOK_EVERY_S = 0.5
_LOOK_S = 5.0
"""How long one look may take."""
_BLIND_S = 10.0
"""How long looks may fail before the program counts as one that cannot be measured."""
_SLOW_LOOK_S = 0.15
_COUNT_S = 60.0
_INODE_LIMIT = 1_000_000
_QUOTA_SLACK = 2 << 20
_UNMEASURED = "what it wrote cannot be measured, so the disk limit counts as reached"


class DiskLimit:
    """The limit of a container's writable layer, and what the engine's inspection says about it."""

    def __init__(self, limit_bytes: int, *, quota: bool) -> None:
        self._limit = limit_bytes
        # A quota counts blocks: what fills it stays a little below.
        self._full = limit_bytes - (_QUOTA_SLACK if quota else 0)

    def find_excess(self, inspection: Mapping[str, Any]) -> str | None:
        """Why the limit is reached, as a sentence; None when it is not.

        A path longer than the kernel's bound makes an engine give up adding up sizes, and say -1 or nothing.
        """
        used = inspection.get("SizeRw")
        if not isinstance(used, int) or used < 0:
            return _UNMEASURED
        if used < self._full:
            return None
        return f"it wrote {format_size(used)}; the disk limit is {format_size(self._limit)}"


class DiskWatch:
    """Looks twice a second from ``with`` to its end; ``excess`` says why the limit is reached, once it is."""

    def __init__(self, client: EngineClient, container: str, limit: DiskLimit) -> None:
        self.excess: str | None = None
        self._client = client
        self._container = container
        self._limit = limit
        self._over = threading.Event()
        self._watcher = _start(self._watch, "codeboost-disk")
        self._counter: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        # A look that still waits for the engine ends by itself.
        self._watcher.join(1.0)

    def is_full(self) -> bool:
        return self.excess is not None

    def _watch(self) -> None:
        seen = time.monotonic()
        while self.excess is None and not self._over.wait(_LOOK_EVERY_S):
            begin = time.monotonic()
            try:
                # On some engines a file that vanishes under a look spoils it: what holds is what the next one says, too.
                excess = self._look() and self._look()
            except MissingError:
                return
            except Exception:  # noqa: BLE001 - a watcher that dies silently would be no watcher
                # An engine that is lost is noticed by whoever waits for the exit.
                if time.monotonic() - seen > _BLIND_S:
                    self.excess = _UNMEASURED
                continue
            seen = time.monotonic()
            if excess is not None:
                self.excess = excess
            elif seen - begin > _SLOW_LOOK_S and (self._counter is None or not self._counter.is_alive()):
                # Empty files have no size, but a look at very many files is slow: then they are counted.
                self._counter = _start(self._count, "codeboost-count")

    def _look(self) -> str | None:
        found = self._client.inspect(self._container, size=True, timeout=_LOOK_S)
        return self._limit.find_excess(found)

    def _count(self) -> None:
        # Too many to be counted in time are too many for a look, too, and that is noticed there.
        with suppress(Exception):
            if self._client.count_changes(self._container, _INODE_LIMIT, timeout=_COUNT_S) > _INODE_LIMIT:
                self.excess = f"it made more than {_INODE_LIMIT} files"


class Waiter:
    """Waits for the exit over a connection that was open before the start, and so cannot outlive the engine."""

    def __init__(self) -> None:
        self.finished = threading.Event()
        self.status: int | None = None
        self.ended: float | None = None
        """When the exit was told, by the monotonic clock; None when it was not."""
        self.error = ""
        self._registered = threading.Event()

    def begin(self, client: EngineClient, container: str) -> None:
        """Returns once the engine has taken note; EngineError when it does not."""
        _start(lambda: self._wait(client, container), "codeboost-wait")
        if not self._registered.wait(PATIENCE_S):
            raise EngineError("the engine does not answer")
        if self.error:
            raise EngineError(self.error)

    def _wait(self, client: EngineClient, container: str) -> None:
        try:
            self.status = client.wait(container, self._registered.set)
            self.ended = time.monotonic()
        except EngineError as error:
            self.error = str(error)
        except Exception as error:  # noqa: BLE001 - a thread that dies silently would look like a program that runs on
            self.error = f"{type(error).__name__}: {error}"
        finally:
            self._registered.set()
            self.finished.set()


def _start(work: Callable[[], None], name: str) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True, name=name)
    thread.start()
    return thread
