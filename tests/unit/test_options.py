"""The options after a comma, as text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuefs.errors import BadValue
from queuefs.options import (
    DequeueOptions,
    EnqueueOptions,
    EventsOptions,
    ExtendOptions,
    MessagesOptions,
    NackOptions,
    Options,
    PeekOptions,
    WaitOptions,
)

ALL = [
    Options,
    EnqueueOptions,
    DequeueOptions,
    PeekOptions,
    NackOptions,
    ExtendOptions,
    WaitOptions,
    EventsOptions,
    MessagesOptions,
]


@pytest.mark.parametrize("kind", ALL)
def test_without_a_comma_there_are_the_defaults(kind: type[Options]) -> None:
    assert kind() == kind.parse(None)


@pytest.mark.parametrize("kind", ALL)
def test_a_comma_alone_is_refused(kind: type[Options]) -> None:
    with pytest.raises(BadValue):
        kind.parse("")


@given(st.text())
@pytest.mark.parametrize("kind", ALL)
def test_any_text_is_read_or_refused(kind: type[Options], text: str) -> None:
    try:
        kind.parse(text)
    except BadValue as error:
        assert str(error)


@pytest.mark.parametrize("text", ["empty,lines", "lines,empty", "empty,size=1", "empty=1"])
def test_an_empty_message_is_neither_lines_nor_bytes(text: str) -> None:
    with pytest.raises(BadValue):
        EnqueueOptions.parse(text)


def test_every_other_option_may_stand_beside_empty() -> None:
    expected = EnqueueOptions(empty=True, priority=1, delay=2, ttl=3, timeout=4, key="k", strict=True, size=0)

    assert expected == EnqueueOptions.parse("empty,priority=1,delay=2,ttl=3,timeout=4,key=k,strict,size=0")


def test_all_options_of_enqueue_are_read_in_any_order() -> None:
    expected = EnqueueOptions(lines=True, priority=-3, delay=1.5, ttl=0, timeout=2, key="a=b", strict=True, size=0)

    assert expected == EnqueueOptions.parse("lines,priority=-3,delay=1.5,ttl=0,timeout=2,key=a=b,strict,size=0")
    assert expected == EnqueueOptions.parse("size=0,strict,key=a=b,timeout=2,ttl=0,delay=1.5,priority=-3,lines")


def test_wait_alone_is_as_long_as_it_takes() -> None:
    assert math.inf == DequeueOptions.parse("wait").wait
    assert 2.5 == DequeueOptions.parse("wait=2.5").wait
    assert 0 == DequeueOptions.parse("wait=0").wait == DequeueOptions().wait


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (Options, "x", r"no option 'x' \(there are: none\)"),
        (PeekOptions, "x=1", r"no option 'x' \(there are: count, raw\)"),
        (PeekOptions, "raw,raw", "'raw' is given twice"),
        (PeekOptions, "raw=1", "'raw' takes no value"),
        (PeekOptions, "raw=", "'raw' takes no value"),
        (PeekOptions, "count", "'count' needs a value"),
        (PeekOptions, "count=0", "'count': '0' is not a whole number from 1 to 10000"),
        (DequeueOptions, "raw,id", "'raw' and 'id' exclude each other"),
        (NackOptions, "dead,delay=0", "'dead' and 'delay' exclude each other"),
        (EnqueueOptions, "strict", "'strict' needs option 'key'"),
    ],
)
def test_what_is_refused_is_named(kind: type[Options], text: str, reason: str) -> None:
    with pytest.raises(BadValue, match=reason):
        kind.parse(text)
