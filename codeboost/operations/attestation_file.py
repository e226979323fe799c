"""Reads an attestation, bare or in an envelope. Whoever wrote the file chose everything in it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeboost.errors import InputError, UsageError
from codeboost.operations.attestation import PREDICATE_TYPE, STATEMENT_TYPE
from codeboost.operations.envelope import PAYLOAD_TYPE, Envelope, parse_envelope
from codeboost.operations.make_report import Result
from codeboost.visible import cut

__all__ = ["Facts", "read_attestation"]

_MOST_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Facts:
    """What a statement says, its shape checked. ``resources`` are its descriptors; names may repeat."""

    subject: str
    commit: str
    result: Result
    passed: tuple[str, ...]
    warned: tuple[str, ...]
    failed: tuple[str, ...]
    resources: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, statement: Any, path: Path) -> Facts:
        try:
            if (statement["_type"], statement["predicateType"]) != (STATEMENT_TYPE, PREDICATE_TYPE):
                raise ValueError
            (subject,) = statement["subject"]
            predicate = statement["predicate"]
            passed, warned, failed = (
                tuple(predicate.get(f"{word}Tests", [])) for word in ("passed", "warned", "failed")
            )
            resources = predicate["configuration"]
            facts = cls(
                subject=subject["name"],
                commit=subject["digest"]["gitCommit"],
                result=Result(predicate["result"]),
                passed=passed,
                warned=warned,
                failed=failed,
                resources=tuple(resources),
            )
            texts = [facts.subject, facts.commit, *facts.passed, *facts.warned, *facts.failed]
            texts += [resource["name"] for resource in resources]
            texts += [value for resource in resources for value in resource["digest"].values()]
            if not all(isinstance(text, str) for text in texts):
                raise TypeError
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{cut(str(path), 200)} is no attestation of codeboost: an in-toto statement v1 about one commit,"
                " with the test-result predicate, was expected"
            ) from error
        return facts

    def find(self, name: str, algorithm: str) -> str | None:
        """The digest of the one resource of this name."""
        found = [r["digest"].get(algorithm) for r in self.resources if r["name"] == name]
        return found[0] if len(found) == 1 else None

    def list_named(self, prefix: str) -> list[Mapping[str, Any]]:
        return [resource for resource in self.resources if resource["name"].startswith(prefix)]


def read_attestation(path: Path) -> tuple[Envelope | None, Facts]:
    """The envelope, if there is one, and what the statement says; ``-`` is standard input.

    UsageError when the file cannot be read, InputError when it is no attestation.
    """
    try:
        with nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{cut(str(path), 200)} cannot be read: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise InputError(f"{cut(str(path), 200)} is larger than {_MOST_BYTES >> 20} MiB")
    document = _parse(data, path)
    if not (isinstance(document, dict) and "payload" in document):
        return None, Facts.of(document, path)
    envelope = parse_envelope(document, str(path))
    if envelope.payload_type != PAYLOAD_TYPE:
        raise InputError(
            f"{cut(str(path), 200)} holds {cut(envelope.payload_type)}, not an in-toto statement"
        )
    return envelope, Facts.of(_parse(envelope.payload, path), path)


def _parse(data: bytes, path: Path) -> Any:
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_refuse_twins)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{cut(str(path), 200)} is no attestation: it is not strict JSON") from error


def _refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Two readers may see two documents in one that says a thing twice.
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found
