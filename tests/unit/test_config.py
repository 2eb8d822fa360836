"""A config as text: read, merged, shown and kept."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuefs.config import Config, Kind, OnFull, Order, kept
from queuefs.errors import BadValue
from queuefs.values import MAX_NUMBER, MAX_SECONDS

SECONDS = st.integers(0, MAX_SECONDS * 1000).map(lambda number: number / 1000)
SOME_SECONDS = st.integers(1, MAX_SECONDS * 1000).map(lambda number: number / 1000)
NUMBERS = st.integers(0, MAX_NUMBER)

CONFIGS = st.builds(
    Config,
    order=st.sampled_from(Order),
    lease=SOME_SECONDS,
    max_attempts=NUMBERS,
    retry_delay=SECONDS,
    retry_backoff=st.integers(1000, 1_000_000).map(lambda number: number / 1000),
    max_messages=NUMBERS,
    max_bytes=NUMBERS,
    max_message_bytes=st.integers(1, 1024**3),
    on_full=st.sampled_from(OnFull),
    ttl=SECONDS,
    retention=SECONDS,
    retain=NUMBERS,
    dedup_window=SECONDS,
    paused=st.booleans(),
    kind=st.sampled_from(Kind),
    timeout=SOME_SECONDS,
    forward=st.sampled_from(["", "a", "a/b c"]),
)


@given(CONFIGS)
def test_what_is_shown_is_read_again(config: Config) -> None:
    assert config == Config().merged(config.text())
    assert config == Config().merged(kept(b"", config.text()))


@given(CONFIGS, CONFIGS)
def test_what_is_kept_goes_before_the_defaults(config: Config, defaults: Config) -> None:
    assert config == defaults.merged(kept(b"", config.text()))
    assert defaults == defaults.merged(b"")


def test_only_what_was_set_is_kept_and_all_of_that() -> None:
    first = kept(b"", b"lease = 300\n# a comment\nttl=1")
    assert b"lease = 300\nttl = 1\n" == first
    assert b"lease = 300\nttl = 2\nretain = 5\n" == kept(first, b"ttl = 1.5\nretain = 5\nttl = 2")
    found = Config(lease=7, retain=9).merged(first)
    assert (300, 1, 9) == (found.lease, found.ttl, found.retain)


@given(st.binary())
def test_any_bytes_are_read_whole_or_refused(text: bytes) -> None:
    try:
        Config().merged(text)
    except BadValue as error:
        assert str(error)


def test_every_key_is_shown_once() -> None:
    shown = [line.partition(" = ")[0] for line in Config().text().decode().splitlines()]

    assert [one.name for one in dataclasses.fields(Config)] == shown


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (b"", {}),
        (b"\n \n#x\n  # lease = x\n", {}),
        (b"lease=5", {"lease": 5.0}),
        (b"  lease \t=  5  \r\n", {"lease": 5.0}),
        (b"lease = 5\nlease = 6\n", {"lease": 6.0}),
        (b"forward =", {"forward": ""}),
        (b"forward =  a   b/c ", {"forward": "a b/c"}),
    ],
)
def test_lines_are_read_loosely(text: bytes, changed: dict[str, Any]) -> None:
    assert Config(**changed) == Config().merged(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"lease", "'lease' is not `key = value`"),
        (b"colour = red", "config has no key 'colour'"),
        (b"lease = -1", "lease: '-1' is not a number of seconds"),
        (b"forward = a/dead", "forward: 'dead' is reserved"),
        (b"forward = " + b"x" * 256, "forward: "),
        (b"\xff", "UTF-8"),
        (b"#" * 70_000, "65536 bytes at most"),
    ],
)
def test_what_is_refused_is_named(text: bytes, reason: str) -> None:
    for call in Config().merged, lambda text: kept(b"", text):
        with pytest.raises(BadValue, match=reason):
            call(b"retain = 1\n" + text)
