"""What `queuefs ls` and `queuefs top` are made of: names and numbers in columns, keys, the order of rows."""

from __future__ import annotations

from typing import Any

import pytest

from queuefs.view.board import Board, Order, Row, Sample
from queuefs.view.keys import Decoder, Key
from queuefs.view.queues import Look
from queuefs.view.sparks import spark
from queuefs.view.text import age, cut, short, shown, table, width

# Text ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("two words", "two words"),
        ("日本語 é", "日本語 é"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b2J", "\\x9b2J"),
        ("\x7f", "\\x7f"),
        ("\u202egnp", "\\u202egnp"),
        ("\u2028", "\\u2028"),
        ("\\n", "\\\\n"),
        ("\udcff", "\\udcff"),
    ],
)
def test_a_name_is_shown_without_harm(text: str, expected: str) -> None:
    assert expected == shown(text)


def test_different_names_are_shown_differently() -> None:
    assert shown("a\nb") != shown("a\\nb")


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("", 0)])
def test_a_width_is_that_on_the_terminal(text: str, columns: int) -> None:
    assert columns == width(text)


def test_a_text_is_cut_to_its_columns() -> None:
    assert ["abc", "ab…", "日…", "日本"] == [cut("abc", 3), cut("abcd", 3), cut("日本", 3), cut("日本", 4)]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (None, "-"),
        (-1, "0s"),
        (0.9, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (3599, "59m"),
        (3600, "1h"),
        (86400, "1d"),
        (1e9, "31y"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(seconds: float | None, expected: str) -> None:
    assert expected == age(seconds)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0"),
        (0.25, "0.2"),
        (7.0, "7"),
        (99.99, "99.9"),
        (123.4, "123"),
        (9999, "9999"),
        (10_000, "10k"),
        (12_345, "12.3k"),
        (999_999, "999k"),
        (1_000_000, "1M"),
        (4_567_890_123, "4.5G"),
        (2**63, "9223372T"),
    ],
)
def test_a_number_takes_little_room(number: float, expected: str) -> None:
    assert expected == short(number)
    assert len(expected) <= 5 or number > 1e15


def test_columns_are_aligned() -> None:
    rows: list[tuple[str, ...]] = [("NAME", "N"), ("日本", "10"), ("abc", "2")]

    assert ["NAME   N", "日本  10", "abc    2"] == table(rows, right=frozenset({1}))


def test_a_sparkline_shows_the_latest_at_the_right() -> None:
    assert "  ▁▁▅█" == spark([0, 0, 5, 10], 6)
    assert "▂█" == spark([100, 0, 1, 10], 2)
    assert "_+#" == spark([0, 6, 10], 3, ascii_only=True)
    assert "   " == spark([], 3)
    assert "▁▁" == spark([0, 0], 2)


# Keys ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"q", ["q"]),
        (b"\x1b[A\x1b[B", [Key.UP, Key.DOWN]),
        (b"\x1bOA", [Key.UP]),
        (b"\x1b[5~\x1b[6~", [Key.PAGE_UP, Key.PAGE_DOWN]),
        (b"\r\n", [Key.ENTER, Key.ENTER]),
        (b"\x1b[1;5Cq", ["q"]),
        (b"\x1bq", [Key.ESCAPE, "q"]),
        (b"\x1b\x1b[A", [Key.ESCAPE, Key.UP]),
    ],
)
def test_bytes_are_keys_whole_or_in_pieces(data: bytes, keys: list[str]) -> None:
    decoder = Decoder()
    assert keys == decoder.feed(data)
    assert keys == [key for byte in data for key in decoder.feed(bytes([byte]))]
    assert not decoder.is_amid


def test_the_escape_key_is_told_when_nothing_follows() -> None:
    decoder = Decoder()

    assert [] == decoder.feed(b"\x1b")
    assert decoder.is_amid
    assert [Key.ESCAPE] == decoder.give_up()
    assert [] == decoder.give_up()
    assert ["j"] == decoder.feed(b"j")


# The board ----------------------------------------------------------------------------------------------------------


def sample(at: float, *, paused: bool | None = False, **numbers: Any) -> Sample:
    """Return a look at a queue."""
    totals = {"enqueued": numbers.pop("enqueued", 0), "acked": numbers.pop("acked", 0)}
    counts = {"pending": 0, "processing": 0, "dead": 0, "oldest_pending_seconds": None}
    return Sample(at, Look({**counts, **numbers, "totals": totals}), paused)


def board_of(*names: str, room: int = 3) -> Board:
    """Return a board with rows of these names."""
    board = Board()
    board.room = room
    board.keep({f"/{name}": name for name in names})
    board.sort()
    return board


def names_of(rows: list[Row]) -> list[str]:
    """Return the names of rows."""
    return [row.name for row in rows]


def test_rates_are_what_happened_between_two_looks() -> None:
    row = Row("/a", "a")
    row.take(sample(10.0, enqueued=5, acked=1), patience=5)
    assert (None, None) == (row.rate_in, row.rate_out)

    row.take(sample(12.0, enqueued=9, acked=2), patience=5)
    assert (2.0, 0.5) == (row.rate_in, row.rate_out)

    row.take(sample(13.0, enqueued=0, acked=0), patience=5)  # another store is mounted there
    assert (None, None) == (row.rate_in, row.rate_out)


def test_sparklines_begin_anew_after_a_while_out_of_sight() -> None:
    row = Row("/a", "a")
    for at in (1.0, 2.0, 3.0):
        row.take(sample(at, pending=int(at)), patience=5)
    row.take(sample(4.0, pending=9, paused=None), patience=5)  # not shown
    assert [1, 2, 3] == list(row.depths)

    row.take(sample(20.0, pending=4), patience=5)
    assert [4] == list(row.depths)


def test_rows_are_sorted_by_each_column_the_highest_first() -> None:
    board = board_of("a", "b", "c")
    board.take(
        {
            "/a": sample(1, pending=1, processing=2, dead=0, oldest_pending_seconds=5),
            "/b": sample(1, pending=3, processing=0, dead=1, oldest_pending_seconds=None),
        },
        patience=1,
    )
    found = {}
    for _ in Order:
        board.next_order()
        found[board.order] = "".join(names_of(board.rows))

    assert "abc" == found[Order.NAME]
    assert "bac" == found[Order.PENDING]
    assert "abc" == found[Order.PROCESSING]
    assert "bac" == found[Order.DEAD]
    assert "abc" == found[Order.OLDEST]
    assert Order.NAME is board.order


def test_the_selection_stays_with_its_queue() -> None:
    board = board_of("b", "c", "d")
    board.move(1)
    assert "c" == board.selected.name if board.selected else None

    board.keep({"/a": "a", "/b": "b", "/c": "c", "/d": "d"})
    board.sort()
    assert board.selected is board.row("/c")

    board.keep({"/a": "a", "/b": "b", "/d": "d"})
    board.sort()
    assert board.selected is board.row("/d")


def test_before_anything_was_selected_the_first_row_is() -> None:
    board = board_of("c", "d")
    board.keep({"/a": "a", "/c": "c", "/d": "d"})
    board.sort()

    assert board.selected is board.row("/a")


def test_the_selected_row_is_always_shown_and_no_room_is_wasted() -> None:
    board = board_of(*"abcdefg")
    assert "abc" == "".join(names_of(board.shown))
    board.move(4)
    assert "cde" == "".join(names_of(board.shown))
    board.move(-1)
    assert "cde" == "".join(names_of(board.shown))
    board.move(-100)
    assert "abc" == "".join(names_of(board.shown))
    board.move(100)
    assert "efg" == "".join(names_of(board.shown))
    board.room = 5
    board.scroll()
    assert "cdefg" == "".join(names_of(board.shown))
    board.keep({"/b": "b"})
    board.sort()
    assert ["b"] == names_of(board.shown)
    board.keep({})
    board.sort()
    assert board.selected is None
    board.move(1)
    assert [] == board.shown
