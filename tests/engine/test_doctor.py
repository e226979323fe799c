"""``codeboost doctor``: green here, and red wherever a protection is missing (B39 and the whole of design §5.4)."""

from __future__ import annotations

from typing import Any

import pytest

from codeboost.operations import run_doctor as operation
from codeboost.reporting.doctor import describe_doctor, render_doctor
from codeboost.sandbox import probe
from codeboost.sandbox.base import PullPolicy
from codeboost.sandbox.snapshot import make_bare_image


def test_every_promise_holds_and_every_probe_was_red_without_it(image_id: str, store: str) -> None:
    assert image_id
    report = operation.run_doctor("codeboost/example:1", PullPolicy.NEVER, store, lambda _: None)
    red = [(result.name, result.detail) for result in report.probes if not result.is_green]
    assert red == []
    assert report.exit_code == 0
    proven = {result.name for result in report.probes if result.proof is probe.Proof.WEAKENED}
    assert proven == {entry.name for entry in probe.PROBES}
    text = render_doctor(report)
    assert f"all {len(report.probes)} promises hold" in text
    assert all(result.promise in text for result in report.probes)
    data = describe_doctor(report)
    assert {row["name"] for row in data["probes"]} == {result.name for result in report.probes}
    assert all(row["ok"] for row in data["probes"])


@pytest.mark.parametrize("missing", ["capabilities", "user", "zone", "home"])
def test_a_sandbox_without_a_protection_is_red(
    client: Any, executor: Any, image_id: str, store: str, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    weakening = next(entry for entry in probe.PROBES if entry.name == missing)
    make = probe.make_config

    def weakened(settings: Any) -> Any:
        config = make(settings)
        weakening.weaken(config)
        return config

    monkeypatch.setattr(probe, "make_config", weakened)
    monkeypatch.setattr(probe, "PROBES", (weakening,))
    results = probe.run_probes(client, executor.describe(), make_bare_image(client, image_id), store)
    found = next(result for result in results if result.name == missing)
    assert not found.holds
    assert not found.is_green


def test_a_probe_that_cannot_fail_is_not_green(
    client: Any, executor: Any, image_id: str, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = probe.Probe("capabilities", "nothing is taken away", lambda _: None)
    monkeypatch.setattr(probe, "PROBES", (idle,))
    result = probe.run_probes(client, executor.describe(), make_bare_image(client, image_id), store)[0]
    assert (result.holds, result.proof, result.is_green) == (True, probe.Proof.NONE, False)


def test_an_image_without_python_is_told(client: Any, store: str, image_id: str) -> None:
    from codeboost.sandbox.archive import END, Kind, make_header

    archive = make_header(b"bin", Kind.FOLDER, mode=0o755) + END
    reference = "codeboost/test-empty:1"
    client._stream(
        "/images/create", params={"fromSrc": "-", "repo": "codeboost/test-empty", "tag": "1"}, data=archive
    )
    try:
        with pytest.raises(Exception, match="python3") as caught:
            operation.run_doctor(reference, PullPolicy.NEVER, store, lambda _: None)
        assert caught.value.exit_code == 4
        assert "--image" in caught.value.hint
    finally:
        client.remove_image(reference)
