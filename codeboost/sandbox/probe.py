"""Proves the sandbox on this engine, from inside a container (the heart of ``codeboost doctor``).

Each probe first runs in a container that lacks just its protection, and must fail there: a probe that cannot fail proves
nothing. Then all of them run in a container made as every command's is. What no weakening can show is told by the
engine's own inspection, and named so; the clock is compared with the host's.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from codeboost.errors import EngineError
from codeboost.sandbox.base import EngineRecord, Outcome
from codeboost.sandbox.client import EngineClient
from codeboost.sandbox.container import Run, make_name, remove_container, run_container
from codeboost.sandbox.files import ContainerFiles
from codeboost.sandbox.owner import make_labels
from codeboost.sandbox.profile import (
    OPEN_FILES,
    USER_ID,
    WORKSPACE,
    ContainerSettings,
    find_bounds,
    find_differences,
    make_config,
    make_environment,
    size_tmp,
)
from codeboost.sandbox.program import check_program
from codeboost.sandbox.weakening import KILLS, LIMITS, PROBES, Config, Probe
from codeboost.visible import cut

__all__ = ["ProbeResult", "Proof", "run_probes"]

_SCRIPT = Path(__file__).with_name("inside.py")
_CLOCK_S = 3.0
"""How far the clock in a container may be from the host's."""
_COMPANION = "import time; time.sleep(60)"


class Proof(StrEnum):
    WEAKENED = "weakened"
    """The probe failed in a container without the protection."""
    INSPECTED = "inspected"
    """No weakening can show it; the engine says that it is so."""
    COMPARED = "compared"
    """No container can be given another; what it says was compared with the host's own."""
    NONE = "none"
    """The probe did not fail where it had to: it proves nothing here."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """``holds``: whether the sandbox keeps the promise here. ``detail`` says what is wrong, if anything is."""

    name: str
    promise: str
    holds: bool
    proof: Proof
    detail: str = ""

    @property
    def is_green(self) -> bool:
        return self.holds and self.proof is not Proof.NONE


def run_probes(
    client: EngineClient,
    record: EngineRecord,
    image_id: str,
    store: str,
    *,
    runtime: str | None = None,
    cancelled: threading.Event | None = None,
) -> tuple[ProbeResult, ...]:
    """Every probe on ``image_id``, an image with the sandbox's folders and a python3. EngineError when none can run.

    Setting ``cancelled`` ends it soon, with every container removed: as KeyboardInterrupt.
    """
    stop = cancelled or threading.Event()
    prober = _Prober(client, record, image_id, store, runtime, stop)
    with ThreadPoolExecutor(4) as pool:
        shown = {
            name: text
            for answers in pool.map(prober.weaken, _group_by_weakening(PROBES))
            for name, text in answers.items()
        }
    _stop_if(stop)
    look = prober.look([probe.name for probe in PROBES])
    _stop_if(stop)
    return _judge(look, shown)


class _Look(NamedTuple):
    """What one container showed: what is wrong by probe, and by the clock; what the engine says that it made."""

    wrong: Mapping[str, str]
    clock: str
    made: Mapping[str, Any]
    differences: Sequence[str]


def _group_by_weakening(probes: Sequence[Probe]) -> list[list[Probe]]:
    groups: dict[object, list[Probe]] = {}
    for probe in probes:
        groups.setdefault(probe.weaken, []).append(probe)
    return list(groups.values())


def _judge(look: _Look, shown: Mapping[str, str]) -> tuple[ProbeResult, ...]:
    """``shown`` says why a probe proves nothing, and nothing where it failed without its protection, as it must."""
    return (
        *(_judge_probe(probe, look, shown[probe.name]) for probe in PROBES),
        _result("clock", "the clock is the host's", Proof.COMPARED, look.clock),
        *(
            _result(name, promise, Proof.INSPECTED, "" if holds else "the engine says otherwise")
            for name, promise, holds in _read_inspection(look.made)
        ),
        _result(
            "profile", "the engine made what it was asked for", Proof.INSPECTED, "; ".join(look.differences)
        ),
    )


def _judge_probe(probe: Probe, look: _Look, shown: str) -> ProbeResult:
    wrong = look.wrong.get(probe.name, "the probe gave no answer")
    if not shown:
        return _result(probe.name, probe.promise, Proof.WEAKENED, wrong)
    if probe.told is not None and not wrong and probe.told(look.made):
        return ProbeResult(probe.name, probe.promise, holds=True, proof=Proof.INSPECTED, detail=shown)
    return ProbeResult(probe.name, probe.promise, not wrong, Proof.NONE, wrong or shown)


def _result(name: str, promise: str, proof: Proof, wrong: str) -> ProbeResult:
    return ProbeResult(name, promise, not wrong, proof, cut(wrong, 300))


def _stop_if(cancelled: threading.Event) -> None:
    if cancelled.is_set():
        raise KeyboardInterrupt


class _Prober:
    def __init__(
        self,
        client: EngineClient,
        record: EngineRecord,
        image_id: str,
        store: str,
        runtime: str | None,
        cancelled: threading.Event,
    ) -> None:
        self._client = client
        self._store = store
        found = client.inspect_image(image_id)
        if found is None:
            raise EngineError("the image of the probes is gone")
        self._architecture = str(found.get("Architecture") or "")
        self._environment = make_environment((found.get("Config") or {}).get("Env") or [], {})
        self._image = image_id
        self._runtime = runtime
        self._bounds = find_bounds(record)
        self._cancelled = cancelled

    def weaken(self, group: Sequence[Probe]) -> dict[str, str]:
        """Why each of these probes proves nothing here; empty when it failed without its protection, as it must."""
        try:
            wrong = self.look([probe.name for probe in group], group[0]).wrong
        except EngineError as error:
            return {probe.name: f"the weakened container did not run: {error}" for probe in group}
        return {probe.name: _find_idle(wrong.get(probe.name, "")) for probe in group}

    def look(self, names: Sequence[str], weakness: Probe | None = None) -> _Look:
        """What is wrong in the sandbox itself, or in one that lacks a protection."""
        config = self._make_config(
            ["python3", "-c", _SCRIPT.read_text(encoding="utf-8"), json.dumps(self._expect())]
            + [name for name in names if name != KILLS]
        )
        made: list[dict[str, Any]] = []

        def prepare(container: str) -> str | None:
            made.append(self._client.inspect(container))
            return check_program(
                ContainerFiles(self._client, container, user=USER_ID),
                "python3",
                folder=WORKSPACE,
                path=self._environment["PATH"],
                architecture=self._architecture,
                user=USER_ID,
            )

        with ExitStack() as stack:
            if weakness is not None:
                weakness.weaken(config)
            if weakness is not None and weakness.companion:
                other = stack.enter_context(self._keep_companion())
                config["HostConfig"]["PidMode"] = f"container:{other}"
            # A difference is shown beside what the probes found, instead of ending everything.
            run = Run(make_name(), config, LIMITS, prepare, compare=False)
            outcome = run_container(self._client, run, self._cancelled)
        answer = _read_answer(outcome)
        wrong = {str(name): cut(str(text), 200) for name, text in answer["found"].items()}
        if KILLS in names:
            wrong[KILLS] = (
                "" if outcome.out_of_memory else "the engine tells of nothing that was killed for memory"
            )
        return _Look(
            wrong, _compare_clock(outcome, answer["now"]), made[0], find_differences(config, made[0])
        )

    @contextmanager
    def _keep_companion(self) -> Iterator[str]:
        """A second container, made as every command's is, that waits until it is removed."""
        name = make_name()
        try:
            self._client.create(name, self._make_config(["python3", "-c", _COMPANION]))
            self._client.start(name)
            yield name
        finally:
            remove_container(self._client, name)

    def _make_config(self, argv: Sequence[str]) -> Config:
        settings = ContainerSettings(
            image=self._image,
            argv=argv,
            limits=LIMITS,
            labels=make_labels(self._store, "doctor", "doctor", "probe", 600.0),
            environment=self._environment,
            runtime=self._runtime,
            bounds=self._bounds,
        )
        return deepcopy(make_config(settings))

    def _expect(self) -> dict[str, Any]:
        return {
            "cpus": LIMITS.cpus,
            "environment": sorted(self._environment),
            "files": OPEN_FILES,
            "file_bytes": LIMITS.disk_bytes,
            "memory": LIMITS.memory_bytes,
            "pids": LIMITS.pids,
            "tmp": size_tmp(LIMITS),
            "user": USER_ID,
            "workspace": WORKSPACE,
        }


def _find_idle(wrong: str) -> str:
    if not wrong or wrong.startswith("the probe failed"):
        return f"the probe passes without the protection, too {cut(wrong)}".strip()
    return ""


def _read_answer(outcome: Outcome) -> dict[str, Any]:
    printed = outcome.stdout.head.decode("utf-8", "replace") if outcome.stdout else ""
    try:
        answer = json.loads(printed.strip().splitlines()[-1])
        return {"found": dict(answer["found"]), "now": float(answer["now"])}
    except (ValueError, IndexError, KeyError, TypeError):
        said = outcome.stderr.head.decode("utf-8", "replace").strip() if outcome.stderr else ""
        raise EngineError(f"{outcome.verdict}: {outcome.reason} {cut(said, 200)}".strip()) from None


def _compare_clock(outcome: Outcome, now: float) -> str:
    """What is wrong with a clock that said ``now`` while the program ran, as the host's clock says when that was."""
    if outcome.started is None or outcome.ended is None:
        return "the program did not run"
    ahead = max(now - outcome.ended.timestamp(), outcome.started.timestamp() - now)
    return f"its clock is {ahead:.0f} s away from the host's" if ahead > _CLOCK_S else ""


def _read_inspection(made: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    host, config = made.get("HostConfig") or {}, made.get("Config") or {}
    return [
        ("ipc", "shared memory is its own", host.get("IpcMode") == "private"),
        ("privileged", "it is not privileged", not host.get("Privileged")),
        ("terminal", "it has no terminal", not config.get("Tty")),
        (
            "logs",
            "the engine keeps no copy of the output",
            (host.get("LogConfig") or {}).get("Type") == "none",
        ),
        (
            "restart",
            "it is never started again",
            (host.get("RestartPolicy") or {}).get("Name") in ("", "no", None),
        ),
        (
            "healthcheck",
            "the image's healthcheck does not run",
            (config.get("Healthcheck") or {}).get("Test") == ["NONE"],
        ),
    ]
