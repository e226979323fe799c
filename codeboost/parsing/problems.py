"""What libyaml says about a text that it cannot read, for people, with the reason of plan-rules.md §1."""

from __future__ import annotations

import re
from collections.abc import Callable

from yaml.error import MarkedYAMLError

from codeboost.parsing.fault import TOO_DEEP, Fault
from codeboost.visible import cut

__all__ = [
    "FLOW_MAP_GOES_ON",
    "IN_BLOCK_SCALAR",
    "LONE_DASH",
    "SECOND_DOCUMENT",
    "UNEXPECTED_COLON",
    "explain_problem",
]

LONE_DASH = "a lone - cannot stand in a flow collection; put it in quotes"
FLOW_MAP_GOES_ON = "did not find expected ',' or '}'"
IN_BLOCK_SCALAR = "while scanning a block scalar"
UNEXPECTED_COLON = "found unexpected ':'"
SECOND_DOCUMENT = "a second document begins here; a plan is one document"

_PROBLEMS = {
    "mapping values are not allowed in this context": "a colon followed by a space makes a key, and no key may stand "
    "here; put the text in quotes",
    "block sequence entries are not allowed in this context": "a list entry (- ) may not begin here",
    "mapping keys are not allowed in this context": "a key (? ) may not begin here",
    UNEXPECTED_COLON: "a colon needs a space between it and the value",
    "could not find expected ':'": "expected a colon after this key",
    "did not find expected key": "expected a key of the mapping here: the indentation does not fit, or text follows "
    "a value",
    "did not find expected '-' indicator": "expected a list entry (- ) here: the indentation does not fit",
    "did not find expected ',' or ']'": "expected a comma or ] here",
    FLOW_MAP_GOES_ON: "expected a comma or } here",
    "did not find expected node content": "expected a value here",
    "did not find expected <document start>": "nothing may follow the end of the document",
    "found unexpected end of stream": "this is never closed",
    "found unknown escape character": "there is no such escape in double quotes",
    "found a tab character that violates indentation": "a tab cannot indent; use spaces",
    "found a tab character where an indentation space is expected": "a tab cannot indent; use spaces",
}
_REASONS = {
    "while scanning a tag": "tag",
    "while scanning an anchor": "anchor",
    "while scanning an alias": "alias",
    "while scanning a directive": "directive",
}
_DOCUMENT_END = re.compile(r"^\.\.\.(?:\s|\Z)", re.MULTILINE)


def explain_problem(error: MarkedYAMLError, text: str, find: Callable[[int], int]) -> Fault:
    """The fault that ``error`` tells of; ``find`` turns its places into those of ``text``."""
    mark = error.problem_mark or error.context_mark
    problem, context = str(error.problem), str(error.context)
    if problem == "found unexpected end of stream" and error.context_mark:
        mark = error.context_mark
    offset = min(find(mark.index), len(text)) if mark else 0
    reason = _REASONS.get(context, "tag" if problem == "found undefined tag handle" else "syntax")
    if reason != "syntax":
        return Fault(reason, offset, f"no {reason} is allowed here")
    if problem.startswith("exceeded maximum nesting depth") or context.startswith(
        "exceeded maximum nesting depth"
    ):
        return Fault("too-deep", offset, TOO_DEEP)
    if problem == "found invalid Unicode character escape code":
        return Fault("encoding", offset, "this escape stands for no character", hint=_SURROGATE_HINT)
    if problem == "did not find expected <document start>" and _DOCUMENT_END.search(text, 0, offset):
        return Fault("multiple-documents", offset, SECOND_DOCUMENT)
    if problem == "found character that cannot start any token":
        return Fault("syntax", offset, _explain_start(text[offset : offset + 1]))
    return Fault("syntax", offset, _PROBLEMS.get(problem, f"{cut(problem)} {cut(context)}"))


_SURROGATE_HINT = "write the character itself, or all of its code as in \\U0001F600"


def _explain_start(char: str) -> str:
    if char == "\t":
        return "a tab cannot indent; use spaces"
    return f"a plain text cannot begin with {cut(char)}; put it in quotes"
