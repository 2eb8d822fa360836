"""Numbers, durations and words as users write them."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuefs import values
from queuefs.errors import BadValue
from queuefs.message import MAX_PRIORITY, MIN_PRIORITY

if TYPE_CHECKING:
    from collections.abc import Callable

READERS = [values.whole, values.priority, values.seconds, values.some_seconds, values.factor]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-",
        "+1",
        "1e18",
        "1E3",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "text",
        "0x1",
        "1_0",
        "1,5",
        "٣",
        "1 ",
        "1\n",
        "1" * 99,
    ],
)
def test_what_is_no_number_is_refused(read: Callable[[str], Any], text: str) -> None:
    with pytest.raises(BadValue):
        read(text)


@given(st.text())
@pytest.mark.parametrize("read", READERS)
def test_any_text_is_read_or_refused_and_what_is_read_is_finite(read: Callable[[str], Any], text: str) -> None:
    try:
        found = read(text)
    except BadValue as error:
        assert str(error)
    else:
        assert math.isfinite(found)


@given(st.integers(MIN_PRIORITY, MAX_PRIORITY))
def test_a_priority_within_bounds_is_read(number: int) -> None:
    assert number == values.priority(str(number))


@given(st.integers().filter(lambda number: not MIN_PRIORITY <= number <= MAX_PRIORITY))
def test_a_priority_out_of_bounds_is_refused(number: int) -> None:
    with pytest.raises(BadValue):
        values.priority(str(number))


@given(st.integers(0, values.MAX_NUMBER))
def test_a_whole_number_is_read(number: int) -> None:
    assert number == values.whole(str(number))


@given(st.decimals(0, values.MAX_SECONDS, places=9))
def test_seconds_are_read_with_their_fraction(number: object) -> None:
    assert values.seconds(f"{number:f}") == float(str(number))


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (values.whole, "-1"),
        (values.whole, "1.5"),
        (values.whole, str(values.MAX_NUMBER + 1)),
        (values.seconds, "-0"),
        (values.seconds, "-1"),
        (values.seconds, ".5"),
        (values.seconds, "5."),
        (values.seconds, str(values.MAX_SECONDS + 1)),
        (values.some_seconds, "0"),
        (values.some_seconds, "0.000000000"),
        (values.factor, "0.999999999"),
        (values.factor, "1000.1"),
        (values.priority, "1.5"),
        (values.priority, "--1"),
        (values.truth, "True"),
        (values.truth, "1"),
        (values.truth, ""),
        (values.words, ""),
    ],
)
def test_bounds_are_kept(read: Callable[[str], Any], text: str) -> None:
    with pytest.raises(BadValue):
        read(text)


def test_a_choice_is_one_of_its_words() -> None:
    class Colour(StrEnum):
        RED = "red"
        BLUE = "blue"

    read = values.one_of(Colour)

    assert Colour.RED is read("red")
    with pytest.raises(BadValue, match="'green' is none of red, blue"):
        read("green")


def test_truth_has_two_words() -> None:
    assert (True, False) == (values.truth("true"), values.truth("false"))
