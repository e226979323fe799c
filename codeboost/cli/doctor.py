"""``codeboost doctor`` and ``codeboost sweep``: the engine seen from both ends."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codeboost.cli.console import emit, note, say
from codeboost.cli.options import JsonFlag, read_pull, refuse_empty
from codeboost.cli.stop import report_stop, stop_on_signals

__all__ = ["doctor", "sweep"]


def doctor(
    image: Annotated[
        str | None,
        typer.Option(
            "--image",
            callback=refuse_empty,
            metavar="REF",
            help="An image with python3; by default that of codeboost.toml at the base commit.",
        ),
    ] = None,
    runtime: Annotated[
        str | None,
        typer.Option(
            "--runtime",
            callback=refuse_empty,
            metavar="NAME",
            help="A runtime of the engine; by default that of codeboost.toml.",
        ),
    ] = None,
    pull: Annotated[
        str, typer.Option("--pull", callback=refuse_empty, metavar="WHEN", help="never, missing or always.")
    ] = "missing",
    as_json: JsonFlag = False,
) -> int:
    """Prove the sandbox on this engine: weaken each protection, see its probe fail, then look at the real thing."""
    from codeboost.operations.run_doctor import choose_patient, run_doctor  # noqa: PLC0415 - docker costs 110 ms
    from codeboost.reporting.doctor import describe_doctor, render_doctor  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    policy = read_pull(pull)
    with Store.open() as store, stop_on_signals() as stop:
        try:
            patient = choose_patient(image, runtime, Path.cwd())
            report = run_doctor(patient, policy, store.id, note, stop.event, stop.interruptible)
        except KeyboardInterrupt:
            return report_stop("doctor", stop, "stopped; its containers are removed", as_json=as_json)
    if as_json:
        emit("doctor", describe_doctor(report), exit_code=report.exit_code)
    else:
        say(render_doctor(report).rstrip("\n"))
    return report.exit_code


def sweep(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    as_json: JsonFlag = False,
) -> int:
    """Remove containers that killed runs left behind, and snapshots that nobody used for long; nothing else."""
    from codeboost.operations.sweep import sweep as sweep_engine  # noqa: PLC0415
    from codeboost.reporting.doctor import describe_sweep, render_sweep  # noqa: PLC0415
    from codeboost.sandbox.engine import open_executor  # noqa: PLC0415 - docker costs 110 ms
    from codeboost.store.database import Store  # noqa: PLC0415

    with Store.open() as store:
        executor = open_executor(store.id)
        try:
            result = sweep_engine(executor, store, dry_run=dry_run)
        finally:
            executor.close()
    if as_json:
        emit("sweep", describe_sweep(result))
    else:
        say(render_sweep(result).rstrip("\n"))
    return 0
