"""The places of a listing, by offset."""

from __future__ import annotations

from queuefs.fs.positions import KEPT_BYTES, Positions
from queuefs.message import MAX_MESSAGE_ID, Ended, MessageId, Place


def test_each_offset_has_the_place_before_it() -> None:
    positions = Positions(lambda first, message: Place(int(first), message))
    places = [Place(100_000, MessageId(1)), Place(0, MessageId(MAX_MESSAGE_ID)), Place(-100_000, MessageId(7))]
    positions.note(0, places[:2])
    positions.note(2, places[2:])

    assert [None, *places] == [positions.before(offset) for offset in range(4)]
    assert positions.before(99) == places[-1]
    assert positions.before(-1) is None
    positions.close()


def test_an_offset_can_come_again_with_another_place() -> None:
    positions = Positions(Ended)
    positions.note(0, [Ended(1.25, MessageId(5)), Ended(1.0, MessageId(4))])
    positions.note(0, [Ended(9.5, MessageId(6))])

    assert positions.before(1) == Ended(9.5, MessageId(6))
    assert positions.before(2) == Ended(1.0, MessageId(4))
    positions.close()


def test_many_places_are_kept() -> None:
    count = KEPT_BYTES // 16 + 1000
    positions = Positions(lambda first, message: Place(int(first), message))
    positions.note(0, [Place(-offset, MessageId(offset)) for offset in range(1, count + 1)])

    assert all(positions.before(offset) == Place(-offset, MessageId(offset)) for offset in (1, 5000, count))
    positions.close()
