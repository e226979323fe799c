"""Tells a test runner that ran no test and still ended with 0: such a pass stands, and a person should know."""

from __future__ import annotations

import re

from codeboost.sandbox.base import Outcome

__all__ = ["NO_TESTS_RAN", "ran_no_tests"]

NO_TESTS_RAN = "no tests ran"

# What runners say when nothing was selected. Each speaks for the whole run of that runner.
_NOTHING = re.compile(
    rb"""(?im)
    ^=*\s*no\ tests\ ran\b                                # pytest
    | ^collected\ 0\ items\b
    | ^no\ tests\ ran$ | ^Ran\ 0\ tests\ in\              # unittest
    | ^no\ tests?\ found,\ exiting\ with\ code\ 0         # jest
    | ^no\ test\ files\ found,\ exiting\ with\ code\ 0    # vitest
    | ^\s*0\ passing\b                                    # mocha
    | ^0\ examples,\ 0\ failures                          # rspec
    | ^no\ tests\ executed!                               # phpunit
    | ^no\ tests\ were\ found!!!                          # ctest
    | ^no\ test\ (?:is\ available|matches\ the\ given)    # dotnet
    | ^(?:\#|\xe2\x84\xb9)\ tests\ 0$                     # node --test
    | ^0\ tests?\ completed                               # karma
    """,
    re.VERBOSE,
)
# Runners that answer for each package or binary: one with tests is enough.
_PARTLY_EMPTY = re.compile(
    rb"(?m)\[no tests? (?:to run|files)\]|^testing: warning: no tests to run|^running 0 tests$"
)
_PARTLY_FULL = re.compile(
    rb"(?m)^ok\s+\S+\s+(?:\(cached\)|[\d.]+s)(?!.*\[no tests to run\])|^running [1-9]\d* tests?$"
    rb"|^--- (?:PASS|SKIP)\b|^=== RUN\b"
)


def ran_no_tests(outcome: Outcome) -> bool:
    """Whether what was kept of the output says so. Only looked at for a pass; the verdict never depends on it."""
    text = b"\n".join(
        part for stream in (outcome.stdout, outcome.stderr) if stream for part in (stream.head, stream.tail)
    )
    text = text.replace(b"\r\n", b"\n")
    if _NOTHING.search(text):
        return True
    return _PARTLY_EMPTY.search(text) is not None and _PARTLY_FULL.search(text) is None
