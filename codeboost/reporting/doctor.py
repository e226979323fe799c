"""What ``doctor`` and ``sweep`` found, as a table for people and as data for machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from codeboost.operations.run_doctor import DoctorReport
from codeboost.operations.sweep import SweepResult
from codeboost.visible import escape

__all__ = ["describe_doctor", "describe_sweep", "render_doctor", "render_sweep"]

_PROOFS = {
    "weakened": "red without it",
    "inspected": "told by the engine",
    "compared": "compared with the host",
    "none": "NOT PROVEN",
}


def render_doctor(report: DoctorReport) -> str:
    """One line a promise: whether it holds, what it is, how that was shown, and what is wrong if anything is."""
    engine = report.engine
    where = f"{escape(engine.name)} {escape(engine.version)} at {escape(engine.address)}"
    lines = [
        f"{where}, API {escape(engine.api_version)}, cgroup v{escape(engine.cgroup_version)}, disk {engine.disk}",
        f"image {escape(report.image.reference)} ({report.image.id[:19]}, {escape(report.image.platform)})"
        + (f", runtime {escape(report.runtime)}" if report.runtime else ""),
        "",
    ]
    width = max(len(probe.promise) for probe in report.probes)
    for probe in report.probes:
        mark = "ok  " if probe.is_green else "FAIL"
        detail = f"  {escape(probe.detail)}" if probe.detail else ""
        lines.append(f"{mark}  {probe.promise:<{width}}  {_PROOFS[probe.proof]}{detail}")
    lines += ["", *(f"note: {escape(text)}" for text in engine.limitations)]
    red = [probe.name for probe in report.probes if not probe.is_green]
    if red:
        do = "does" if len(red) == 1 else "do"
        lines.append(f"{len(red)} of {len(report.probes)} promises {do} not hold here: {', '.join(red)}")
    else:
        lines.append(f"all {len(report.probes)} promises hold")
    return "\n".join(lines) + "\n"


def describe_doctor(report: DoctorReport) -> dict[str, Any]:
    return {
        "engine": asdict(report.engine),
        "image": asdict(report.image),
        "runtime": report.runtime,
        "probes": [asdict(probe) | {"ok": probe.is_green} for probe in report.probes],
    }


def render_sweep(result: SweepResult) -> str:
    verb = "would remove" if result.dry_run else "removed"
    lines = [
        f"{'could not remove' if thing.failure else verb} {thing.kind} {thing.id.removeprefix('sha256:')[:12]}:"
        f" {escape(thing.failure or thing.reason)}"
        for thing in result.swept
    ]
    return "\n".join(lines or ["nothing to remove"]) + "\n"


def describe_sweep(result: SweepResult) -> dict[str, Any]:
    return {"dry_run": result.dry_run, "swept": [asdict(thing) for thing in result.swept]}
