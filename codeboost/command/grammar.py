"""The command grammar (plan-rules.md §4): text in, argv out, never a shell.

``grammar/command.lark`` is the only definition. This module loads it, and says in plain words why it refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from codeboost.errors import CommandSyntaxError
from codeboost.resources import find_resource
from codeboost.visible import escape

if TYPE_CHECKING:
    from lark import Lark, UnexpectedCharacters, UnexpectedToken

__all__ = ["Argv", "draw_error", "format_command", "parse_command"]

Argv = tuple[str, ...]


def parse_command(text: str) -> Argv:
    """The argv that ``text`` stands for: at least one argument, the first of them not empty.

    Raises CommandSyntaxError with the column (1-based, in code points) of the offending character, the reason, and
    what to do instead. 400 characters take 2 ms at most; the first call loads the grammar (about 90 ms).
    """
    from lark import UnexpectedCharacters, UnexpectedToken  # noqa: PLC0415 - 57 ms, only when a command is parsed

    try:
        # The transformer makes a tuple of strings of it; lark's stubs know only trees.
        argv: Argv = _load_grammar().parse(text)  # type: ignore[assignment]
    except (UnexpectedCharacters, UnexpectedToken) as error:
        raise _explain(text, error) from None
    return argv


def format_command(argv: Sequence[str]) -> str:
    """A text that ``parse_command`` turns into ``argv`` again, with no more quotes than needed.

    ValueError with a sentence when no text can: no argument, an empty program, a control character, a backslash.
    """
    if not argv or not argv[0]:
        raise ValueError("a command needs a program: its first argument must not be empty")
    return " ".join(_quote(argument) for argument in argv)


def draw_error(error: CommandSyntaxError, *, width: int = 100) -> tuple[str, str]:
    """Two lines for a person: the command around the fault (escaped, shortened) and a caret under the character."""
    at = error.column - 1
    start = max(0, at - width * 2 // 3)
    end = min(len(error.text), start + width)
    before = ("…" if start else "") + escape(error.text[start:at])
    after = escape(error.text[at:end]) + ("…" if end < len(error.text) else "")
    return before + after, " " * sum(map(_measure, before)) + "^"


@cache
def _load_grammar() -> Lark:
    from lark import Lark, Transformer  # noqa: PLC0415 - see parse_command

    class Build(Transformer[str, Argv]):
        """Joins the parts of each argument while the parser runs, so that no tree is ever made."""

        def argument(self, parts: list[str]) -> str:
            return "".join(parts)

        program = argument

        def start(self, arguments: list[str]) -> Argv:
            return tuple(arguments)

    return Lark(
        find_resource("grammar/command.lark").read_text("utf-8"),
        parser="lalr",
        lexer="contextual",
        transformer=Build(),
        maybe_placeholders=False,
    )


# Why it was refused


class _Refusal(NamedTuple):
    reason: str
    hint: str


_SCRIPT = "there is no shell: {} cannot run; put it in a script in the repository and call that"
_ONE_EACH = (
    "there is no shell: write each command as a check of its own, or put them in a script in the repository"
)
_LITERAL = "there is no shell, so nothing is expanded; if the character itself is meant, put it inside quotes"

# The longest operator first: the message names the whole of it.
_OPERATORS: tuple[tuple[str, _Refusal], ...] = (
    ("&&", _Refusal("the operator && joins two commands", _ONE_EACH)),
    ("&>", _Refusal("&> is a redirection, which is not supported", _SCRIPT.format("a redirection"))),
    ("&", _Refusal("the operator & starts a command in the background", _ONE_EACH)),
    ("||", _Refusal("the operator || joins two commands", _ONE_EACH)),
    ("|&", _Refusal("the operator |& makes a pipeline", _SCRIPT.format("a pipeline"))),
    ("|", _Refusal("the operator | makes a pipeline", _SCRIPT.format("a pipeline"))),
    (";", _Refusal("the operator ; joins two commands", _ONE_EACH)),
    ("<(", _Refusal("<( is a process substitution", _SCRIPT.format("a substitution"))),
    (">(", _Refusal(">( is a process substitution", _SCRIPT.format("a substitution"))),
    ("<<", _Refusal("<< is a redirection, which is not supported", _SCRIPT.format("a redirection"))),
    (">>", _Refusal(">> is a redirection, which is not supported", _SCRIPT.format("a redirection"))),
    (">&", _Refusal(">& is a redirection, which is not supported", _SCRIPT.format("a redirection"))),
    ("<", _Refusal("< is a redirection, which is not supported", _SCRIPT.format("a redirection"))),
    (">", _Refusal("> is a redirection, which is not supported", _SCRIPT.format("a redirection"))),
    ("$(", _Refusal("$( is a command substitution", _SCRIPT.format("a substitution"))),
    ("${", _Refusal("${ is a variable of a shell", _LITERAL)),
    ("$", _Refusal("$ is a variable of a shell", _LITERAL)),
    ("`", _Refusal("` is a command substitution", _SCRIPT.format("a substitution"))),
    ("(", _Refusal("( groups commands in a shell", _LITERAL)),
    (")", _Refusal(") groups commands in a shell", _LITERAL)),
    ("*", _Refusal("* is a file pattern of a shell", _LITERAL)),
    ("?", _Refusal("? is a file pattern of a shell", _LITERAL)),
    ("[", _Refusal("[ is a file pattern of a shell", _LITERAL)),
    ("]", _Refusal("] is a file pattern of a shell", _LITERAL)),
    ("{", _Refusal("{ is a brace expansion of a shell", _LITERAL)),
    ("}", _Refusal("} is a brace expansion of a shell", _LITERAL)),
    ("!", _Refusal("! negates or recalls a command in a shell", _LITERAL)),
    ("~", _Refusal("~ is a home folder in a shell", _LITERAL)),
    (
        "#",
        _Refusal(
            "# starts a comment in a shell, and comments are not supported",
            "leave the comment out; if the character itself is meant, put it inside quotes",
        ),
    ),
)
_BACKSLASH = _Refusal(
    "a backslash is refused everywhere, inside quotes too: there are no escapes",
    "quotes hold the other kind of quote as it is: '\"' or \"'\"; anything else belongs in a script in the repository",
)
_CONTROL_NAMES = {
    "\0": "null",
    "\t": "tab",
    "\n": "line feed",
    "\r": "carriage return",
    "\x1b": "escape",
    "\x7f": "delete",
    "\x85": "next line",
}


def _explain(text: str, error: UnexpectedCharacters | UnexpectedToken) -> CommandSyntaxError:
    from lark import UnexpectedToken  # noqa: PLC0415 - see parse_command

    if isinstance(error, UnexpectedToken):
        at_end = error.token.type == "$END"
        at = len(text) if at_end else error.token.start_pos or 0
        expected = error.expected
    else:
        at_end = False
        at = error.pos_in_stream
        expected = error.allowed
    if at_end and "PLAIN" not in expected:
        # The innermost quote that the parser has read and not reduced is the one that was left open.
        opening = next(token for token in reversed(error.state.value_stack) if "QUOTE" in token.type)
        reason = f"the quote {opening} is never closed"
        return CommandSyntaxError(text, opening.start_pos + 1, reason, hint="close it, or leave it out")
    if at_end or text[at] == " ":
        return _explain_empty(text)
    refusal = _judge(text, at)
    return CommandSyntaxError(text, at + 1, refusal.reason, hint=refusal.hint)


def _explain_empty(text: str) -> CommandSyntaxError:
    words = text.strip(" ")
    if not words:
        return CommandSyntaxError(text, 1, "the command is empty", hint="name a program")
    column = len(text) - len(text.lstrip(" ")) + 1
    reason = "the first argument is empty, and it has to name a program"
    return CommandSyntaxError(text, column, reason, hint="leave the empty quotes out")


def _judge(text: str, at: int) -> _Refusal:
    if text[at] == "\\":
        return _BACKSLASH
    for operator, refusal in _OPERATORS:
        if text.startswith(operator, at):
            return refusal
    code = f"U+{ord(text[at]):04X}"
    name = _CONTROL_NAMES.get(text[at])
    what = f"{code} ({name})" if name else code
    hint = "separate arguments with plain spaces" if text[at] == "\t" else "leave it out"
    if text[at] in "\n\r":
        hint = "a command is one line: write each command as a check of its own"
    return _Refusal(f"{what} is a control character; they are refused everywhere, inside quotes too", hint)


# Showing

_PLAIN = re.compile(r"""[^ '"\\\x00-\x1f\x7f-\x9f;&|<>$`()*?\[\]{}!#~]+""")


def _quote(argument: str) -> str:
    refused = next((char for char in argument if char == "\\" or unicodedata.category(char) == "Cc"), None)
    if refused is not None:
        what = "a backslash" if refused == "\\" else f"the control character U+{ord(refused):04X}"
        raise ValueError(f"no command can hold {what}: {escape(argument)}")
    if _PLAIN.fullmatch(argument):
        return argument
    if "'" not in argument:
        return f"'{argument}'"
    return "".join(
        f'"{part}"' if part.startswith("'") else f"'{part}'" for part in re.findall("'+|[^']+", argument)
    )


def _measure(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
