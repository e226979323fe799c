from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeboost.parsing.numbers import JSON_NUMBER, MAX_SAFE_INTEGER, NumberRangeError, read_number

SPELLINGS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
).filter(str.isascii)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("-0.0e5", 0),
        ("1.0", 1),
        ("1e0", 1),
        ("10.50e1", 105),
        ("1E+3", 1000),
        ("9007199254740991", MAX_SAFE_INTEGER),
        ("-9007199254740991.000", -MAX_SAFE_INTEGER),
        ("900719925474099.1e1", MAX_SAFE_INTEGER),
        ("0.5", 0.5),
        ("1e-3", 0.001),
        ("4503599627370495.5", 4503599627370495.5),
    ],
)
def test_value(text: str, value: float) -> None:
    read = read_number(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "9007199254740992",
        "-9007199254740993",
        "1e400",
        "1e23",
        "1.5e300",
        "1e-400",
        "1.00000000000000001",
        "9007199254740991.5",
        "1" * 400 + ".5",
        "1e" + "9" * 5000,
        "1e-" + "9" * 5000,
        "0." + "0" * 5000 + "1",
        "1." + "0" * 5000 + "1",
    ],
)
def test_out_of_range(text: str) -> None:
    with pytest.raises(NumberRangeError):
        read_number(text)


@given(SPELLINGS)
def test_agrees_with_exact_arithmetic(text: str) -> None:
    assert JSON_NUMBER.fullmatch(text)
    exact = Fraction(text)
    if exact.denominator == 1:
        allowed, value = abs(exact) <= MAX_SAFE_INTEGER, int(exact) if abs(exact) < 10**30 else 0
    else:
        nearest = float(text)
        allowed, value = math.isfinite(nearest) and not nearest.is_integer(), nearest
    try:
        read = read_number(text)
    except NumberRangeError:
        assert not allowed
    else:
        assert allowed
        assert read == value
        assert isinstance(read, int) == (exact.denominator == 1)
