"""Attestations checked against keys, checkout and store; whatever is changed in one is found."""

from __future__ import annotations

import copy
import json
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codeboost.errors import InputError, UsageError
from codeboost.gitrepo import GitRepo
from codeboost.operations.attestation import build_statement
from codeboost.operations.envelope import read_trusted_key, sign_statement
from codeboost.operations.give_verdict import give_verdict
from codeboost.operations.make_report import make_report
from codeboost.operations.verify_attestation import Answer, Verification, verify_attestation
from codeboost.reporting.attestation import describe_verification, render_verification
from codeboost.sandbox.fake import FakeExecutor, ScriptedRun
from codeboost.store.verdicts import Answer as Said
from codeboost.verdict import Verdict


def make_key(folder: Path, name: str, *options: str) -> tuple[Path, Path]:
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    kind = options or ("-algorithm", "ed25519")
    subprocess.run(["openssl", "genpkey", *kind, "-out", private], check=True, capture_output=True)
    subprocess.run(
        ["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True, capture_output=True
    )
    return private, public


@pytest.fixture
def statement(site: Any, build: Any) -> dict[str, Any]:
    """A true statement: one item with a command and a judged check, all passed."""
    from dataclasses import replace

    from codeboost.plan.model import Check, CheckType

    item = build.make_item("P1", "true 1")
    item = replace(item, acceptance=(*item.acceptance, Check(CheckType.CHECK, "It is right.")))
    site.adopt(build.make_plan(item))
    assert site.run(FakeExecutor({("true", "1"): ScriptedRun(stdout=b"1 passed\n")})).exit_code == 0
    give_verdict(site.project, "GH412-P1", 2, Said.PASS, note="read it")
    return build_statement(make_report(site.project, 412), str(site.project.repository))


@pytest.fixture
def verify(site: Any, tmp_path: Path) -> Callable[..., Verification]:
    def call(document: Any, *keys: Path, git: Any = ..., project: Any = ...) -> Verification:
        path = tmp_path / "attestation.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        trusted = [read_trusted_key(key) for key in keys]
        return verify_attestation(
            path,
            trusted,
            site.project.git if git is ... else git,
            site.project if project is ... else project,
        )

    return call


def answers(found: Verification) -> dict[str, Answer]:
    return {check.name: check.answer for check in found.checks}


def test_a_true_one_holds_and_says_that_no_signature_was_checked(statement: Any, verify: Any) -> None:
    found = verify(statement)
    assert found.holds
    assert found.is_vouched_for
    assert answers(found).pop("signature") is Answer.UNKNOWN
    assert {answer for name, answer in answers(found).items() if name != "signature"} == {Answer.HOLDS}
    assert "signature not verified" in render_verification(found)
    assert describe_verification(found)["result"] == "PASSED"


def test_signed_with_a_trusted_key(statement: Any, verify: Any, tmp_path: Path) -> None:
    private, public = make_key(tmp_path, "one")
    _, other = make_key(tmp_path, "two")
    envelope = sign_statement(statement, private)
    assert set(envelope) == {"payloadType", "payload", "signatures"}
    assert json.loads(b64decode(envelope["payload"])) == statement
    found = verify(envelope, other, public)
    assert found.holds
    assert found.signer == envelope["signatures"][0]["keyid"]
    assert not verify(envelope, other).holds
    assert verify(envelope).checks[0].text == "signature not verified"
    assert not verify(statement, public).holds, "it is not signed"
    # With a trusted key nothing else is needed.
    assert verify(envelope, public, git=None, project=None).holds
    assert not verify(envelope, git=None, project=None).holds


def test_openssl_agrees_about_what_was_signed(statement: Any, tmp_path: Path) -> None:
    private, public = make_key(tmp_path, "one")
    envelope = sign_statement(statement, private)
    payload = b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode()
    (tmp_path / "signed").write_bytes(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
    (tmp_path / "sig").write_bytes(b64decode(envelope["signatures"][0]["sig"]))
    subprocess.run(
        [
            "openssl",
            "pkeyutl",
            "-verify",
            "-pubin",
            "-inkey",
            public,
            "-rawin",
            "-in",
            tmp_path / "signed",
            "-sigfile",
            tmp_path / "sig",
        ],
        check=True,
        capture_output=True,
    )


def test_keys_of_openssh_work_too(statement: Any, verify: Any, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private, public = tmp_path / "id_ed25519", tmp_path / "id_ed25519.pub"
    private.write_bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH))
    assert verify(sign_statement(statement, private), public).holds


def test_a_changed_envelope_is_not_signed_any_more(statement: Any, verify: Any, tmp_path: Path) -> None:
    private, public = make_key(tmp_path, "one")
    envelope = sign_statement(statement, private)
    forged = copy.deepcopy(statement)
    forged["predicate"]["passedTests"] = []
    for change in (
        {"payload": b64encode(json.dumps(forged).encode()).decode()},
        {"payload": envelope["payload"].rstrip("=") + "=" * (-len(envelope["payload"].rstrip("=")) % 4)},
        {"signatures": []},
        {"signatures": [{"keyid": envelope["signatures"][0]["keyid"], "sig": b64encode(b"x" * 64).decode()}]},
    ):
        changed = envelope | change
        assert verify(changed, public).holds is (changed == envelope)


def edit(statement: dict[str, Any], prefix: str, **changes: Any) -> None:
    resources = statement["predicate"]["configuration"]
    resource = next(one for one in resources if one["name"].startswith(prefix))
    resource.update(changes)


def rewrite(statement: dict[str, Any], name: str, **changes: Any) -> None:
    """Change a content and its digest with it, as a careful forger would."""
    import hashlib

    resources = statement["predicate"]["configuration"]
    resource = next(one for one in resources if one["name"].startswith(name))
    content = json.loads(b64decode(resource["content"])) | changes
    data = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    resource |= {"content": b64encode(data).decode(), "digest": {"sha256": hashlib.sha256(data).hexdigest()}}


def drop(statement: dict[str, Any], name: str) -> None:
    predicate = statement["predicate"]
    predicate["configuration"] = [r for r in predicate["configuration"] if not r["name"].startswith(name)]


FORGERIES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "result": (lambda s: s["predicate"].update(failedTests=["P1.1 true 1"]), "form"),
    "content": (lambda s: edit(s, "attempt:", content=b64encode(b"{}").decode()), "form"),
    "content no base64": (lambda s: edit(s, "attempt:", content="%"), "form"),
    "content no text": (lambda s: edit(s, "attempt:", content=7), "form"),
    "attempt": (lambda s: rewrite(s, "attempt:", exit_code=1), "records"),
    "attempt of nobody": (lambda s: edit(s, "attempt:", name="attempt:P1.1:0000"), "records"),
    "attempt without": (lambda s: drop(s, "attempt:"), "tests"),
    "run": (lambda s: rewrite(s, "run:", exit_code=7), "records"),
    "run of nobody": (lambda s: edit(s, "run:", name="run:99"), "records"),
    "run odd": (lambda s: edit(s, "run:", name="run:\u00b2"), "records"),
    "verdict": (lambda s: rewrite(s, "verdict:", by="Somebody"), "records"),
    "verdict without": (lambda s: drop(s, "verdict:"), "tests"),
    "tree": (lambda s: edit(s, "tree", digest={"gitTree": "0" * 40}), "tree"),
    "tree without": (lambda s: drop(s, "tree"), "tree"),
    "policy": (lambda s: edit(s, "policy", digest={"sha256": "0" * 64}), "policy"),
    "approvals": (lambda s: edit(s, "approvals", digest={"sha256": "f" * 64}), "approvals"),
    "approvals without": (lambda s: drop(s, "approvals"), "records"),
    "image": (lambda s: edit(s, "image", digest={"sha256": "0" * 64}), "records"),
    "image without": (lambda s: drop(s, "image"), "records"),
    "approver": (lambda s: edit(s, "plan", annotations={"approvedBy": "base"}), "records"),
    "short commit": (
        lambda s: s["subject"][0]["digest"].update(gitCommit=s["subject"][0]["digest"]["gitCommit"][:12]),
        "commit",
    ),
    "a test less": (lambda s: s["predicate"].update(passedTests=["P1.1 true 1"]), "tests"),
    "a test more": (lambda s: s["predicate"]["passedTests"].append("P9.1 more"), "tests"),
}


def test_each_forgery_is_found(statement: Any, verify: Any) -> None:
    for name, (forge, where) in FORGERIES.items():
        forged = copy.deepcopy(statement)
        forge(forged)
        found = verify(forged)
        assert answers(found)[where] is Answer.WRONG, (name, found.checks)
        assert not found.holds
        assert "do not rely" in render_verification(found)


def test_a_base_beside_the_commit_is_found(statement: Any, verify: Any, site: Any) -> None:
    head = site.git("rev-parse", "HEAD")
    site.git("checkout", "-q", "--orphan", "elsewhere")
    other = site.commit("No common history")
    site.git("checkout", "-q", head)
    edit(statement, "base", digest={"gitCommit": other})
    assert answers(verify(statement))["base"] is Answer.WRONG


def test_a_pass_from_pieces_is_found(site: Any, build: Any, verify: Any) -> None:
    site.adopt(build.make_plan(build.make_item("P1", "true 1"), build.make_item("P2", "true 2")))
    site.run(items=("P1",))
    site.run(items=("P2",))
    statement = build_statement(make_report(site.project, 412), str(site.project.repository))
    assert verify(statement).holds, "it says FAILED, which is true"
    statement["predicate"]["result"] = "PASSED"
    assert answers(verify(statement))["tests"] is Answer.WRONG


def test_a_pass_in_an_image_that_nobody_reviewed_is_found(site: Any, build: Any, verify: Any) -> None:
    (site.top / "codeboost.toml").unlink()
    site.commit("No policy")
    site.adopt(build.make_plan(build.make_item("P1", "true 1")))
    assert site.run(image="other:1").exit_code == 0
    statement = build_statement(make_report(site.project, 412), str(site.project.repository))
    assert verify(statement).holds, "it says FAILED, which is true"
    statement["predicate"]["result"] = "PASSED"
    assert answers(verify(statement))["tests"] is Answer.WRONG


def test_changed_output_is_found(statement: Any, verify: Any, site: Any) -> None:
    (output,) = (site.store.home / "output").glob("*/*.stdout")
    output.write_bytes(b"2 passed\n")
    assert answers(verify(statement))["outputs"] is Answer.WRONG
    output.unlink()
    assert answers(verify(statement))["outputs"] is Answer.UNKNOWN


def test_the_output_of_a_reused_pass_is_looked_at(statement: Any, verify: Any, site: Any) -> None:
    site.run()
    reused = build_statement(make_report(site.project, 412), str(site.project.repository))
    assert reused != statement
    assert answers(verify(reused))["outputs"] is Answer.HOLDS
    (output,) = (site.store.home / "output").glob("*/*.stdout")
    output.write_bytes(b"2 passed\n")
    assert answers(verify(reused))["outputs"] is Answer.WRONG


def test_a_later_verdict_does_not_make_an_older_attestation_wrong(
    statement: Any, verify: Any, site: Any
) -> None:
    give_verdict(site.project, "GH412-P1", 2, Said.FAIL)
    assert verify(statement).holds


def test_a_pass_that_a_later_failure_followed_is_no_current_pass(
    statement: Any, verify: Any, site: Any
) -> None:
    """Otherwise anybody could pick the one good run of a flaky command and leave the others out."""
    failed = ScriptedRun(Verdict.FAILED, 1, reason="exit 1")
    assert site.run(FakeExecutor({("true", "1"): failed}), fresh=True).exit_code == 1
    found = verify(statement)
    assert answers(found)["current"] is Answer.WRONG
    assert "P1.1" in render_verification(found)
    assert site.run(fresh=True).exit_code == 0
    assert answers(verify(statement))["current"] is Answer.HOLDS, "another pass of the same tree"


def test_with_the_checkout_alone_only_the_digests_are_vouched_for(
    statement: Any, verify: Any, site: Any
) -> None:
    found = verify(statement, project=None)
    assert found.holds
    assert not found.is_vouched_for
    assert "only the file's own word" in render_verification(found)


def test_elsewhere_nothing_speaks_for_it(statement: Any, verify: Any, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    subprocess.run(["git", "init", "-q", other], check=True)
    found = verify(statement, git=GitRepo.open(other), project=None)
    assert not found.holds
    assert "Nothing here speaks for it" in render_verification(found)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[]",
        "{}",
        "null",
        "\ufeff{}",
        '{"_type": 1, "_type": 2}',
        "[" * 100_000,
        '{"payload": 7, "payloadType": "x", "signatures": []}',
        '{"payload": "", "payloadType": "text/plain", "signatures": []}',
        '{"payload": "%%", "payloadType": "application/vnd.in-toto+json", "signatures": []}',
        '{"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": [7]}',
        '{"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": [{"sig": 7}]}',
        '{"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": []}',
    ],
)
def test_what_is_no_attestation_is_one_line(verify: Any, text: str) -> None:
    with pytest.raises(InputError) as caught:
        verify(text)
    assert "\n" not in str(caught.value)


SHAPES: list[dict[str, Any]] = [
    {"subject": []},
    {"subject": [{"name": "x", "digest": {"gitCommit": 7}}]},
    {"predicateType": "https://slsa.dev/provenance/v1"},
    {"predicate": {"result": "GREAT", "configuration": []}},
    {"predicate": {"result": "PASSED"}},
    {"predicate": {"result": "PASSED", "configuration": [7]}},
    {"predicate": {"result": "PASSED", "configuration": [{"name": "x", "digest": {"sha256": None}}]}},
    {"predicate": {"result": "PASSED", "configuration": [], "passedTests": [{}]}},
    {"predicate": {"result": "PASSED", "configuration": [], "passedTests": 7}},
]


def test_a_statement_of_another_shape_is_one_line(statement: Any, verify: Any) -> None:
    for change in SHAPES:
        with pytest.raises(InputError, match="is no attestation"):
            verify(statement | change)


def test_keys_that_cannot_be_used_are_told(statement: Any, tmp_path: Path) -> None:
    private, public = make_key(tmp_path, "one")
    rsa, rsa_public = make_key(tmp_path, "rsa", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
    secret = tmp_path / "secret.pem"
    subprocess.run(
        ["openssl", "pkey", "-in", private, "-aes256", "-passout", "pass:x", "-out", secret],
        check=True,
        capture_output=True,
    )
    nothing = tmp_path / "nothing"
    nothing.write_text("no key\n")
    for path, words in (
        (rsa, "another kind"),
        (secret, "encrypted"),
        (nothing, "no private key"),
        (public, "no private key"),
        (tmp_path / "absent", "cannot be read"),
        (tmp_path, "cannot be read"),
    ):
        with pytest.raises(UsageError, match=words):
            sign_statement(statement, path)
    for path, words in (
        (rsa_public, "another kind"),
        (private, "is a private key"),
        (nothing, "no public key"),
    ):
        with pytest.raises(UsageError, match=words):
            read_trusted_key(path)
