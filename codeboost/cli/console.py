"""How the command line talks: answers on stdout, everything else on stderr, one handler for every way to fail."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from codeboost.cli.streams import finish_answer
from codeboost.errors import CodeboostError, InfrastructureError, InputError, UsageError
from codeboost.visible import cut, escape

__all__ = [
    "emit",
    "find_cause",
    "is_terminal",
    "note",
    "render_document",
    "report_bug",
    "run_app",
    "say",
    "wants_color",
]

INTERRUPTED = 130
# A bug of ours exits differently from everything a user can cause (sysexits.h: EX_SOFTWARE).
BUG = 70
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})


def say(text: str = "") -> None:
    """A line of the answer, on stdout. What comes from outside must have been escaped."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """A line beside the answer, on stderr: progress, warnings, advice."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def is_terminal(stream: Any) -> bool:
    return bool(stream.isatty())


def wants_color(stream: Any) -> bool:
    """NO_COLOR and FORCE_COLOR are heard, whatever their value as long as it is not empty."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def emit(
    command: str,
    data: object,
    *,
    exit_code: int = 0,
    diagnostics: Sequence[Mapping[str, object]] = (),
) -> None:
    """Print the one document of ``--json`` (design §7)."""
    say(render_document(command, data, exit_code=exit_code, diagnostics=diagnostics).rstrip("\n"))


def render_document(
    command: str,
    data: object,
    *,
    exit_code: int = 0,
    diagnostics: Sequence[Mapping[str, object]] = (),
) -> str:
    """That document as text, ending with a newline."""
    document = {
        "format": 1,
        "command": command,
        "ok": exit_code == 0,
        "exit_code": exit_code,
        "data": data,
        "diagnostics": list(diagnostics),
    }
    # Escaped to ASCII: no terminal, log or pipe can take offence at what a plan holds.
    return json.dumps(document, indent=2) + "\n"


def run_app(app: typer.Typer, program: str, arguments: Sequence[str]) -> int:
    """Run a command line and give its exit code. Nothing that can go wrong shows a traceback."""
    as_json = "--json" in _before_dashes(arguments)
    return finish_answer(program, _invoke(app, program, arguments, as_json=as_json))


def _invoke(app: typer.Typer, program: str, arguments: Sequence[str], *, as_json: bool) -> int:
    try:
        code = typer.main.get_command(app).main(
            args=list(arguments), prog_name=program, standalone_mode=False
        )
    except CodeboostError as error:
        return _report(error, program, _name_command(app, arguments), as_json=as_json)
    except typer.TyperException as error:
        command = _name_command(app, arguments)
        return _report(_explain_call(app, error, program, arguments), program, command, as_json=as_json)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last door: a person gets one line, a maintainer the log
        command = _name_command(app, arguments)
        cause = find_cause(error, arguments)
        if cause is not None:
            return _report(cause, program, command, as_json=as_json)
        if as_json:
            found = _describe_failure("bug", f"{type(error).__name__}: {error}", None)
            emit(command, None, exit_code=BUG, diagnostics=[found])
        return report_bug(error, program, arguments)
    return code if isinstance(code, int) else 0


def _explain_call(
    app: typer.Typer, error: typer.TyperException, program: str, arguments: Sequence[str]
) -> UsageError:
    command = _name_command(app, arguments)
    at = len(command.split())
    meant = _name_command(app, [*arguments[:at], *arguments[at + 1 :]])
    if meant != command and arguments[at] == "--json":
        return UsageError(
            "--json stands before the command", hint=f"write it after: {program} {meant} … --json"
        )
    # What the parser calls a number within limits is no word for a person.
    message = error.format_message().replace("a valid int range", "a whole number")
    return UsageError(message, hint=f"see `{f'{program} {command}'.strip()} --help`")


def _report(error: CodeboostError, program: str, command: str, *, as_json: bool) -> int:
    found = error.diagnostics if isinstance(error, InputError) else ()
    if as_json:
        from codeboost.reporting.diagnostics import to_json  # noqa: PLC0415

        described = [to_json(diagnostic) for diagnostic in found]
        kind = {2: "usage", 3: "approval", 4: "infrastructure"}.get(error.exit_code, "input")
        described = described or [_describe_failure(kind, str(error), error.hint)]
        emit(command, None, exit_code=error.exit_code, diagnostics=described)
    note(f"{program}: {escape(str(error), keep=chr(10))}")
    if error.hint:
        note(f"  {escape(error.hint)}")
    return error.exit_code


def find_cause(error: Exception, arguments: Sequence[str]) -> CodeboostError | None:
    """What the caller or the machine did, when ``error`` says that and not that we made a mistake."""
    if isinstance(error, UnicodeEncodeError):
        # A file may have a name that is not UTF-8; nothing else may.
        odd = [argument for argument in arguments if any("\udc80" <= char <= "\udcff" for char in argument)]
        return UsageError(f"{cut(odd[0])} is not UTF-8") if odd else None
    if isinstance(error, FileNotFoundError) and not _has_folder():
        return UsageError("the current folder is gone", hint="change into one that exists")
    if isinstance(error, OSError) and error.errno in _FULL:
        place = f" at {cut(str(error.filename), 200)}" if error.filename else ""
        return InfrastructureError(f"the disk takes no more{place}: {error.strerror}")
    return None


def _describe_failure(kind: str, message: str, hint: str | None) -> dict[str, object]:
    from codeboost.diagnostics import Diagnostic, Severity  # noqa: PLC0415
    from codeboost.reporting.diagnostics import to_json  # noqa: PLC0415

    return to_json(Diagnostic(kind, Severity.ERROR, message, hint=hint))


def report_bug(error: Exception, program: str, arguments: Sequence[str]) -> int:
    from codeboost import __version__  # noqa: PLC0415
    from codeboost.store.database import find_home  # noqa: PLC0415

    lines = [
        f"{program} {__version__}, Python {sys.version}",
        f"arguments: {list(arguments)!r}",
        "".join(traceback.format_exception(error)),
    ]
    note(f"{program}: this is a bug in codeboost: {type(error).__name__}: {escape(str(error))[:300]}")
    try:
        where = find_home() / "error.log"
        where.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The call may hold what nobody else should read.
        with open(where, "w", encoding="utf-8", errors="backslashreplace", opener=_open_privately) as file:
            file.write("\n".join(lines))
        note(f"  the details are in {where}; please report them")
    except (OSError, UsageError):
        note("  " + "\n  ".join("\n".join(lines).splitlines()))
    return BUG


def _has_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _open_privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _before_dashes(arguments: Sequence[str]) -> Sequence[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _name_command(app: typer.Typer, arguments: Sequence[str]) -> str:
    """The words of the call that name a command: ``plan import``."""
    command: Any = typer.main.get_command(app)
    words = []
    for word in arguments:
        found = getattr(command, "commands", {}).get(word)
        if found is None:
            break
        words.append(word)
        command = found
    return " ".join(words)
