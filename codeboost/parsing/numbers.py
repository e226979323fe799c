"""Numbers of plan-rules.md §1: spelled as JSON spells them, finite, and exactly what a double can hold."""

from __future__ import annotations

import math
import re

__all__ = ["JSON_NUMBER", "MAX_SAFE_INTEGER", "SMALL_INTEGER", "NumberRangeError", "read_number"]

MAX_SAFE_INTEGER = 2**53 - 1
JSON_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")

# What nearly every number is, and surely within range.
SMALL_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,14}")
_SMALL_FRACTION = re.compile(r"-?(?:0|[1-9][0-9]{0,6})\.[0-9]{0,6}[1-9]")
# A mantissa has at most 1,048,576 digits (the size limit), so any exponent beyond this decides by itself.
_HUGE_EXPONENT = 10_000_000
# Digits after these can no longer change a double, except that some follow: one non-zero digit stands for them.
_DECISIVE_DIGITS = 800
_SAFE_DIGITS = 16


class NumberRangeError(ValueError):
    """``str()`` says what is wrong with the number; it names no value, since that may be very long."""


def read_number(text: str) -> int | float:
    """The number that ``text``, which must match ``JSON_NUMBER``, stands for: an int if its exact value is whole.

    NumberRangeError when it is not finite, an integer beyond ±(2^53 - 1), or a fraction whose nearest double is whole.
    Linear in the length of ``text``: no big integer is ever built from an exponent or from thousands of digits.
    """
    if SMALL_INTEGER.fullmatch(text):
        return int(text)
    if _SMALL_FRACTION.fullmatch(text):
        return float(text)
    match = JSON_NUMBER.fullmatch(text)
    if match is None:
        raise ValueError("not a JSON number")
    sign, whole, fraction, exponent_text = match[1], match[2], match[3] or "", match[4] or "0"
    mantissa = (whole + fraction).lstrip("0")
    digits = mantissa.rstrip("0")
    if not digits:
        return 0
    exponent = _read_exponent(exponent_text) - len(fraction) + len(mantissa) - len(digits)
    if exponent >= 0:
        # Sixteen digits at most before they are made a number: 1e999999999 must cost nothing.
        number = int(digits + "0" * exponent) if len(digits) + exponent <= _SAFE_DIGITS else None
        if number is None or number > MAX_SAFE_INTEGER:
            raise NumberRangeError(
                "integers go from -(2^53 - 1) to 2^53 - 1, so that a double holds them exactly"
            )
        return -number if sign else number
    if len(digits) > _DECISIVE_DIGITS:
        exponent += len(digits) - _DECISIVE_DIGITS - 1
        digits = digits[:_DECISIVE_DIGITS] + "1"
    value = float(f"{sign}{digits}e{exponent}")
    if not math.isfinite(value) or value.is_integer():
        raise NumberRangeError(
            "it is not whole, and the nearest double is: it cannot be kept as it is written"
        )
    return value


def _read_exponent(text: str) -> int:
    digits = text.lstrip("+-").lstrip("0")
    size = int(digits or "0") if len(digits) < 9 else _HUGE_EXPONENT
    size = min(size, _HUGE_EXPONENT)
    return -size if text.startswith("-") else size
