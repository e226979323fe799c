"""Why a person should look twice at a command: warnings of code ``suspicious-command``, never a refusal.

The grammar decides what a command is, the list whether it may run. These sentences are for the person in between.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from codeboost.visible import cut, is_invisible

__all__ = ["find_suspicions"]

_BUILTINS = frozenset(
    [
        ".",
        ":",
        "alias",
        "bg",
        "break",
        "builtin",
        "cd",
        "command",
        "continue",
        "declare",
        "dirs",
        "disown",
        "eval",
        "exec",
        "exit",
        "export",
        "fc",
        "fg",
        "function",
        "getopts",
        "hash",
        "help",
        "history",
        "if",
        "jobs",
        "let",
        "local",
        "logout",
        "popd",
        "pushd",
        "read",
        "readonly",
        "return",
        "set",
        "shift",
        "shopt",
        "source",
        "then",
        "times",
        "trap",
        "type",
        "typeset",
        "ulimit",
        "umask",
        "unalias",
        "unset",
        "until",
        "wait",
        "while",
        "for",
        "do",
        "done",
        "case",
        "esac",
    ]
)
_SHELLS = frozenset(
    ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "pwsh", "powershell"]
)
# What takes code as an argument, and the options that announce it.
_INTERPRETERS = {
    "python": r"-\w*c",
    "pypy": r"-\w*c",
    "perl": r"-\w*[eE]",
    "ruby": r"-\w*e",
    "node": r"-[ep]|-pe|--eval|--print",
    "nodejs": r"-[ep]|-pe|--eval|--print",
    "bun": r"-[ep]|--eval|--print",
    "deno": r"eval",
    "php": r"-r",
    "lua": r"-e",
    "rscript": r"-e",
    "r": r"-e",
    "julia": r"-[eE]",
}
_WRAPPERS = frozenset(
    [
        "env",
        "xargs",
        "sudo",
        "doas",
        "su",
        "timeout",
        "nice",
        "ionice",
        "nohup",
        "setsid",
        "stdbuf",
        "time",
        "watch",
        "parallel",
        "chroot",
        "unshare",
        "nsenter",
        "flock",
        "script",
        "strace",
        "ltrace",
        "busybox",
        "toybox",
        "setarch",
        "taskset",
        "chrt",
        "runuser",
        "ssh",
        "docker",
        "podman",
        "systemd-run",
    ]
)
_OPERATORS = frozenset(["&&", "||", "|", "|&", ";", "&", ">", ">>", "<", "<<", "2>&1", "2>", "&>"])

_TYPOGRAPHIC = {
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\uff02", 'no quote: type "'),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a\u2032\u00b4\uff07", "no quote: type '"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d\ufe63", "no hyphen: type - or --"),
}
# Letters of other scripts that nobody can tell from ASCII ones.
_CONFUSABLE = frozenset(
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0430\u0435\u043e\u0440\u0441\u0443\u0445"
    "\u0405\u0406\u0408\u0455\u0456\u0458\u04bb\u0501\u051b\u051d\u04cf\u0501"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd\u03b9\u03c1"
    "\u0131\u0237\u0251\u0261\u0578\u057d\u0585\u0581\u0566"
)
_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def find_suspicions(text: str, argv: Sequence[str]) -> tuple[str, ...]:
    """One sentence for each reason to look twice at ``argv``, which ``text`` was parsed into; ``()`` when there is none.

    What the text holds from outside is escaped and cut in the sentences.
    """
    found = [*_judge_program(argv[0]), *_judge_code(argv), *_judge_operators(argv)]
    for position, argument in enumerate(argv):
        found += (f"{_name(position)} {sentence}" for sentence in _judge_characters(argument))
    if len(text) > len(text.strip(" ")) + 8:
        found.append("it is padded with spaces, which may have pushed something out of sight")
    return tuple(dict.fromkeys(found))


def _name(position: int) -> str:
    return "the program" if position == 0 else f"argument {position}"


def _judge_program(program: str) -> Iterator[str]:
    shown = cut(program)
    if re.match(r"[^/]*=", program):
        yield (
            f"{shown} is the name of a program here: without a shell nothing is assigned (variables belong into"
            " [sandbox] env of codeboost.toml)"
        )
    if program in _BUILTINS:
        yield f"{shown} is a builtin of the shell, and there is no shell: it will not be found, or do nothing"
    if " " in program:
        yield f"the program's name holds a space: {shown} is one name, not a program and its arguments"
    if program.startswith("-"):
        yield f"the program's name begins with a dash: {shown}"
    if re.match(r"/+(proc|dev)/", program):
        yield f"{shown} leads through a system folder, so its content cannot be pinned"


def _judge_code(argv: Sequence[str]) -> Iterator[str]:
    """Shells and wrappers, wherever they stand: ``timeout 5 sh -c …`` is a wrapper around a shell."""
    for position, argument in enumerate(argv):
        name = argument.rsplit("/", 1)[-1].lower().removesuffix(".exe")
        rest = argv[position + 1 :]
        if position == 0 and name in _WRAPPERS:
            yield f"{cut(argument)} runs what its arguments say: read them as the command"
        if name in _SHELLS and any(
            re.fullmatch(r"[-+]\w*c|-(?i:command|encodedcommand)", word) for word in rest[:4]
        ):
            yield f"{cut(argument)} takes code as text and runs it in a shell: read that text as a program"
        option = _INTERPRETERS.get(re.sub(r"[\d.]+$", "", name))
        if option and any(re.fullmatch(option, word) for word in _list_options(rest)):
            yield f"{cut(argument)} takes code as text and runs it: read that text as a program"
        if position == 0 and name in ("awk", "gawk", "mawk", "nawk", "sed") and rest:
            yield f"{cut(argument)} takes a program as text: it can write files and run commands"
        if position == 0 and name == "find" and {"-exec", "-execdir", "-ok", "-delete"} & set(rest):
            yield "find runs a command or deletes files"


def _list_options(rest: Sequence[str]) -> Sequence[str]:
    """The few words after an interpreter that are its own: what follows -m belongs to the module."""
    return rest[: rest.index("-m")][:4] if "-m" in rest else rest[:4]


def _judge_operators(argv: Sequence[str]) -> Iterator[str]:
    for position, argument in enumerate(argv[1:], 1):
        if argument in _OPERATORS:
            yield f"argument {position} is {argument} as plain text: there is no shell to act on it"


def _judge_characters(argument: str) -> Iterator[str]:
    if argument.isascii():
        return
    for char in dict.fromkeys(argument):
        code = f"U+{ord(char):04X}"
        if char in _TYPOGRAPHIC:
            yield f"holds {char} ({code}), which is {_TYPOGRAPHIC[char]}"
        elif char in _BIDIRECTIONAL:
            yield f"holds {code}, which changes the order in which the text around it is shown"
        elif is_invisible(char):
            yield f"holds {code}, which nobody can see"
        elif not char.isascii() and unicodedata.normalize("NFKC", char).isascii():
            yield f"holds {char} ({code}), which looks like {unicodedata.normalize('NFKC', char)}"
    for word in re.findall(r"[^\W\d_]+", argument):
        letters = [char for char in word if char in _CONFUSABLE]
        # A word of another language has letters of its own as well; a disguise has none, or mixes the scripts.
        if letters and (any(char.isascii() for char in word) or len(letters) == len(word)):
            codes = ", ".join(f"U+{ord(char):04X}" for char in dict.fromkeys(letters))
            yield f"holds letters of another script that look like ASCII ones ({codes}) in {cut(word)}"
    if unicodedata.normalize("NFC", argument) != argument:
        yield "holds a letter made of several characters: another text can look exactly the same"
