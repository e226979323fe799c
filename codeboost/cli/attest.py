"""``codeboost attest``: check what somebody attested. ``codeboost report --format attestation`` makes one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codeboost.cli.console import emit, say
from codeboost.cli.options import CommandGroup, JsonFlag

if TYPE_CHECKING:
    from codeboost.operations.project import Project
    from codeboost.store.database import Store

__all__ = ["attest_app"]

attest_app = typer.Typer(
    cls=CommandGroup, help="Check attestations; `report --format attestation` makes them."
)


@attest_app.callback()
def _root() -> None:
    pass


@attest_app.command("verify")
def verify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An attestation, signed or not; - reads standard input.")
    ],
    key: Annotated[
        list[Path] | None,
        typer.Option(
            "--key", metavar="FILE", help="A trusted ed25519 public key, PEM or OpenSSH; may be given again."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> int:
    """Check signature and digests against trusted keys, this checkout and the store."""
    from codeboost.gitrepo import GitRepo  # noqa: PLC0415
    from codeboost.operations.envelope import read_trusted_key  # noqa: PLC0415
    from codeboost.operations.verify_attestation import verify_attestation  # noqa: PLC0415
    from codeboost.reporting.attestation import describe_verification, render_verification  # noqa: PLC0415
    from codeboost.store.database import Store  # noqa: PLC0415

    trusted = [read_trusted_key(path) for path in key or ()]
    with Store.open() as store:
        found = verify_attestation(file, trusted, GitRepo.find(Path.cwd()), _find_project(store))
    exit_code = 0 if found.holds else 1
    if as_json:
        emit("attest verify", describe_verification(found), exit_code=exit_code)
    else:
        say(render_verification(found))
    return exit_code


def _find_project(store: Store) -> Project | None:
    """The project here, if this is one: an attestation can be checked anywhere, with less to check it against."""
    from codeboost.errors import UsageError  # noqa: PLC0415
    from codeboost.operations.project import open_project  # noqa: PLC0415

    try:
        return open_project(store, Path.cwd())
    except UsageError:
        return None
