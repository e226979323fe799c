"""Removes what dead owners left behind: containers of this store and host, and snapshots that nobody uses any more."""

from __future__ import annotations

import time
from collections.abc import Sequence

from codeboost.sandbox.base import SweptThing
from codeboost.sandbox.client import EngineClient
from codeboost.sandbox.container import remove_container
from codeboost.sandbox.owner import Label, find_process, judge

__all__ = ["sweep_containers"]


def sweep_containers(client: EngineClient, store: str, *, dry_run: bool = False) -> Sequence[SweptThing]:
    """Removes (or only names) every container whose owner is gone or whose deadline has passed; nothing else."""
    me, now = find_process(), time.time()
    swept = []
    for container in client.list_containers(f"{Label.STORE}={store}"):
        reason = judge(container.get("Labels") or {}, store, me, now)
        if reason is None:
            continue
        if not dry_run:
            remove_container(client, str(container["Id"]))
        swept.append(SweptThing("container", str(container["Id"]), reason))
    return swept
