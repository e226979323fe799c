"""What a planr command has to say, and how it is written: one document or lines on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from codeboost.cli.streams import silence
from codeboost.errors import InputError, UsageError
from codeboost.visible import escape

if TYPE_CHECKING:
    from codeboost.planr.model import Finding

__all__ = ["PROGRAM", "Answer", "ProblemsError", "explain", "fail", "write"]

PROGRAM = "planr"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has to say: lines for people, or one document; what is worth a line on stderr; the exit code."""

    text: str = ""
    document: object = None
    errors: Sequence[str] = ()
    warnings: Sequence[str] = ()
    remarks: Sequence[str] = ()
    exit_code: int = 0


class ProblemsError(InputError):
    """The planning files have errors, and half a graph is no answer."""

    def __init__(self, errors: Iterable[Finding], warnings: Iterable[Finding]) -> None:
        self.errors = [str(finding) for finding in errors]
        self.warnings = [str(finding) for finding in warnings]
        super().__init__(f"{len(self.errors)} errors")


def explain(error: Exception, arguments: Sequence[str]) -> Answer:
    """What to say of an exception that nobody expected: what the caller or the machine did, else that it is a bug of ours."""
    from codeboost.cli.console import find_cause, report_bug  # noqa: PLC0415 - only when something went wrong

    cause = find_cause(error, arguments)
    if cause is not None:
        return fail([escape(str(cause))], 2 if isinstance(cause, UsageError) else 1)
    # People get its lines; whoever reads the document gets one all the same.
    code = report_bug(error, PROGRAM, arguments)
    return replace(fail([f"{type(error).__name__}: {error}"], code), errors=())


def fail(errors: Sequence[str], exit_code: int, warnings: Sequence[str] = ()) -> Answer:
    """The answer of a command that did not do what it was asked."""
    return Answer(
        document={"ok": False, "errors": errors, "warnings": warnings},
        errors=errors,
        warnings=warnings,
        exit_code=exit_code,
    )


def write(answer: Answer, *, as_json: bool) -> bool:
    """Whether stdout took what it was to get."""
    if as_json and answer.document is not None:
        text = _encode(answer.document)
        says_all = isinstance(answer.document, dict) and "warnings" in answer.document
        lines = [] if says_all else [f"warning: {warning}" for warning in answer.warnings]
    else:
        text = answer.text
        label = "" if answer.exit_code == 2 else "error: "
        lines = [label + error for error in answer.errors]
        lines += [f"warning: {warning}" for warning in answer.warnings]
    lines += answer.remarks
    fault = _put(sys.stdout, f"{text}\n" if text else "")
    if fault:
        lines.append(f"the answer cannot be written: {fault}")
    _put(sys.stderr, "".join(f"{PROGRAM}: {line}\n" for line in lines))
    return fault is None


def _put(stream: Any, text: str) -> str | None:
    """Write to a stream, and say why it takes nothing. That its reader has left, as in ``planr list | head``, is no failure."""
    try:
        stream.flush()
        # Bytes: whatever the terminal's encoding is, we write UTF-8.
        stream.buffer.write(text.encode("utf-8", "backslashreplace"))
        stream.buffer.flush()
    except BrokenPipeError:
        silence(stream)
    except OSError as error:
        silence(stream)
        return str(error.strerror)
    return None


def _encode(document: object) -> str:
    """JSON in ASCII, so that nothing in it can act on a terminal; a list has one object a line."""
    if isinstance(document, list) and document:
        return "[\n" + ",\n".join(map(json.dumps, document)) + "\n]"
    return json.dumps(document)
