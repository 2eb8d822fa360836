"""Ids and receipts as text, and what a message says of itself."""

from __future__ import annotations

import dataclasses
import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queuefs.backend import SUCCEEDED
from queuefs.errors import BadValue
from queuefs.lifecycle import State
from queuefs.message import (
    MAX_MESSAGE_ID,
    Counts,
    Ended,
    Message,
    MessageId,
    Outcome,
    Place,
    Record,
    Ref,
    Status,
)

NUMBERS = st.integers(1, MAX_MESSAGE_ID)


@given(st.builds(Ref, NUMBERS.map(MessageId), st.none() | NUMBERS))
def test_what_is_written_is_read_again(ref: Ref) -> None:
    assert Ref.parse(str(ref).encode()) == ref


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        (b"1", Ref(MessageId(1))),
        (b"42.3", Ref(MessageId(42), 3)),
        (b"9223372036854775807", Ref(MessageId(MAX_MESSAGE_ID))),
        (b"1.9223372036854775807", Ref(MessageId(1), MAX_MESSAGE_ID)),
    ],
)
def test_an_id_or_a_receipt_is_read(text: bytes, ref: Ref) -> None:
    assert Ref.parse(text) == ref


@pytest.mark.parametrize(
    "text",
    [
        b"", b"0", b"00", b"01", b"1.0", b"1.01", b"1.", b".1", b"1.2.3", b"-1", b"+1", b"1e3", b"0x1", b" 1", b"1 ",
        b"1\n", b"1\r", b"1\0", b"1_000", b"a", b"\xff", "\uff11".encode(), "\u0663".encode(), b"1,2",
        b"9223372036854775808", b"9999999999999999999", b"10000000000000000000",
        b"1.9223372036854775808", b"1.10000000000000000000", b"9" * 100_000,
    ],
    ids=lambda text: repr(text[:24]),
)  # fmt: skip
def test_anything_else_is_refused(text: bytes) -> None:
    with pytest.raises(BadValue) as caught:
        Ref.parse(text)
    assert caught.value.errno == errno.EINVAL
    assert len(str(caught.value)) < 500  # it goes to the log


def a_message() -> Message:
    return Message(
        id=MessageId(42),
        state=State.PROCESSING,
        data=b"x",
        size=1,
        priority=0,
        enqueued_at=1.0,
        attempt=1,
        claims=3,
        lease_until=2.0,
        due=None,
        expires_at=None,
        paused=False,
        cancelled=False,
        key=None,
        reason=None,
        extra=b"",
    )


def test_a_receipt_is_of_the_claim() -> None:
    assert a_message().receipt == Ref(MessageId(42), 3)
    assert str(a_message().receipt) == "42.3"


def test_a_message_is_a_value() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        a_message().attempt = 2  # type: ignore[misc]  # what it is about
    assert a_message() == a_message()


def test_a_place_is_the_priority_and_the_id() -> None:
    assert dataclasses.replace(a_message(), priority=-7).place == Place(-7, MessageId(42))


def test_a_record_stands_where_it_ended() -> None:
    record = Record(
        id=MessageId(42),
        status=Status.SUCCEEDED,
        size=1,
        priority=0,
        attempt=1,
        enqueued_at=1.0,
        claimed_at=None,
        finished_at=3.0,
        key=None,
        reason=None,
        extra=b"",
        detail=b"",
    )
    assert record.ended == Ended(3.0, MessageId(42))
    assert record.ended < dataclasses.replace(record, finished_at=4.0, id=MessageId(1)).ended


def test_what_nobody_says_anything_of_has_succeeded() -> None:
    assert Outcome() == Outcome(status=Status.SUCCEEDED, detail=b"") == SUCCEEDED


def test_unacknowledged_is_the_sum() -> None:
    assert Counts(pending=3, processing=2).unacked == 5
