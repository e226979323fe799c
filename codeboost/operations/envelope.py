"""DSSE envelopes around in-toto statements, signed with ed25519. The only module that needs ``cryptography``."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codeboost.errors import InputError, UsageError
from codeboost.visible import cut

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = ["PAYLOAD_TYPE", "Envelope", "TrustedKey", "parse_envelope", "read_trusted_key", "sign_statement"]

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_MOST_KEY_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A public key that a person named. ``id`` is the SHA-256 of its SubjectPublicKeyInfo in DER."""

    id: str
    key: Ed25519PublicKey


@dataclass(frozen=True, slots=True)
class Envelope:
    """What was signed, and by whom it says so."""

    payload: bytes
    payload_type: str
    signatures: tuple[tuple[str, bytes], ...]

    def find_signer(self, trusted: Sequence[TrustedKey]) -> TrustedKey | None:
        """The trusted key that signed this, whatever key ids the envelope claims; None when none did."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - optional

        signed = _encode(self.payload_type, self.payload)
        for key in trusted:
            for _, signature in self.signatures:
                try:
                    key.key.verify(signature, signed)
                except InvalidSignature:
                    continue
                return key
        return None


def sign_statement(statement: dict[str, Any], key_file: Path) -> dict[str, Any]:
    """The envelope of a statement. UsageError when the key cannot be used."""
    key = _read_private_key(key_file)
    payload = json.dumps(statement, sort_keys=True, separators=(",", ":")).encode()
    signature = key.sign(_encode(PAYLOAD_TYPE, payload))
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": b64encode(payload).decode(),
        "signatures": [{"keyid": _name_key(key.public_key()), "sig": b64encode(signature).decode()}],
    }


def parse_envelope(document: Any, name: str) -> Envelope:
    """The envelope in a JSON document. InputError when it is none."""
    try:
        signatures = tuple(
            (str(entry.get("keyid", "")), _decode(entry["sig"])) for entry in document["signatures"]
        )
        payload_type = document["payloadType"]
        if not isinstance(payload_type, str):
            raise TypeError
        return Envelope(_decode(document["payload"]), payload_type, signatures)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{cut(name, 200)} is no DSSE envelope") from error


def read_trusted_key(path: Path) -> TrustedKey:
    """A public key in PEM or OpenSSH form. UsageError when the file holds none, or one of another kind."""
    data = _read_key_file(path)
    serialization = _import_serialization()
    if b"PRIVATE KEY" in data:
        raise UsageError(f"{cut(str(path), 200)} is a private key: name the public one")
    try:
        key = (
            serialization.load_ssh_public_key(data)
            if data.startswith(b"ssh-")
            else serialization.load_pem_public_key(data)
        )
    except Exception as error:  # the library raises half a dozen kinds
        raise UsageError(f"{cut(str(path), 200)} holds no public key in PEM or OpenSSH form") from error
    _require_ed25519(key, path, "Ed25519PublicKey")
    return TrustedKey(_name_key(key), key)


def _read_private_key(path: Path) -> Ed25519PrivateKey:
    data = _read_key_file(path)
    serialization = _import_serialization()
    try:
        key = (
            serialization.load_ssh_private_key(data, None)
            if b"OPENSSH PRIVATE KEY" in data
            else serialization.load_pem_private_key(data, None)
        )
    except TypeError as error:
        raise UsageError(f"{cut(str(path), 200)} is encrypted: name a key without a passphrase") from error
    except Exception as error:  # the library raises half a dozen kinds
        raise UsageError(f"{cut(str(path), 200)} holds no private key in PEM or OpenSSH form") from error
    _require_ed25519(key, path, "Ed25519PrivateKey")
    signing: Ed25519PrivateKey = key
    return signing


def _require_ed25519(key: object, path: Path, kind: str) -> None:
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - optional

    if not isinstance(key, getattr(ed25519, kind)):
        raise UsageError(
            f"{cut(str(path), 200)} is a key of another kind; only ed25519 is used",
            hint="make one with `openssl genpkey -algorithm ed25519 -out key.pem`",
        )


def _read_key_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_KEY_BYTES)
    except OSError as error:
        raise UsageError(f"the key {cut(str(path), 200)} cannot be read: {error.strerror}") from error


def _import_serialization() -> Any:
    try:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - optional
    except ImportError as error:
        raise UsageError(
            "signatures need the package cryptography, which is not installed",
            hint="pip install cryptography",
        ) from error
    return serialization


def _name_key(key: Ed25519PublicKey) -> str:
    serialization = _import_serialization()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return hashlib.sha256(key.public_bytes(serialization.Encoding.DER, form)).hexdigest()


def _encode(payload_type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: nothing can be moved from one field to the other."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def _decode(text: str) -> bytes:
    # DSSE allows both alphabets of base64.
    return b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
