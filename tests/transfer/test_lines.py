"""What can stand in a line of an export, and what can't."""

from __future__ import annotations

import json
from typing import Any

import pytest

from queuefs.errors import BadValue
from queuefs.transfer import lines
from queuefs.transfer.lines import Header, QueueLine, TotalsLine
from queuefs.transfer.messages import GoneLine, MessageLine, PieceLine, RecordLine

HEADER = {
    "queuefs_export": 1,
    "version": "1",
    "exported_at": 1.5,
    "queues": 0,
    "messages": 0,
    "lowest_id": None,
}
OWNER = {"uid": 1, "gid": 2, "mode": "0750"}
QUEUE = {"queue": ["jobs"], "owner": OWNER, "created_at": 1}
MESSAGE = {"id": "42", "state": "pending", "priority": 0, "enqueued_at": 1, "attempt": 0, "claims": 0, "data": "x"}
PIECE = {"id": "42", "at": 0, "data_base64": "AA=="}
RECORD = {
    "id": "42",
    "status": "failed",
    "size": 1,
    "priority": 0,
    "attempt": 1,
    "enqueued_at": 1,
    "finished_at": 2,
}
TOTALS = {"totals": {"queues": 1, "messages": 2, "bytes": 3, "records": 4, "gone": 5, "damaged": 6}, "damaged": ["7"]}


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        (HEADER, Header),
        (QUEUE, QueueLine),
        (MESSAGE, MessageLine),
        (PIECE, PieceLine),
        ({"id": "42", "gone": True}, GoneLine),
        (RECORD, RecordLine),
        (TOTALS, TotalsLine),
    ],
)
def test_each_kind_of_line_is_told_by_its_names(fields: dict[str, Any], kind: type) -> None:
    assert isinstance(lines.read(json.dumps(fields).encode()), kind)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b"[]", "not a line of an export"),
        (b"{}", "not a line of an export"),
        (b'"queue"', "not a line of an export"),
        (b'{"state":"\xff"}', "Invalid UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_line_that_is_none_is_refused(line: bytes, sentence: str) -> None:
    with pytest.raises(BadValue, match=sentence):
        lines.read(line)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (HEADER | {"queuefs_export": 2}, "form 2, and this QueueFS reads form 1"),
        (QUEUE | {"queue": []}, "length >= 1"),
        (QUEUE | {"queue": ["a", "dead"]}, "'dead' is reserved"),
        (QUEUE | {"queue": ["ack,x"]}, "'ack,x' is reserved"),
        (QUEUE | {"queue": ["a/b"]}, "'a/b' is not the name of a file"),
        (QUEUE | {"queue": [""]}, "'' is not the name"),
        (QUEUE | {"queue": [".."]}, "'..' is not the name"),
        (QUEUE | {"queue": ["a\0"]}, "is not the name"),
        (QUEUE | {"queue": ["é" * 128]}, "255 bytes"),
        (QUEUE | {"queue": "jobs"}, "Expected `array`"),
        (QUEUE | {"owner": OWNER | {"mode": "750"}}, "mode"),
        (QUEUE | {"owner": OWNER | {"mode": "0780"}}, "mode"),
        (QUEUE | {"owner": OWNER | {"uid": -1}}, "uid"),
        (QUEUE | {"files": {"a/b": OWNER}}, "'a/b' is not the name of a file"),
        (QUEUE | {"config": "lease = soon\n"}, "lease: 'soon'"),
        (QUEUE | {"config": "what = 1\n"}, "no key 'what'"),
        (QUEUE | {"created_at": "1"}, "created_at"),
        (QUEUE | {"color": 1}, "unknown field `color`"),
        (MESSAGE | {"id": 42}, "Expected `str`"),
        (MESSAGE | {"id": "042"}, "id"),
        (MESSAGE | {"id": "0"}, "id"),
        (MESSAGE | {"id": "42\n"}, "id"),
        (MESSAGE | {"id": str(2**63)}, "9223372036854775808 is no message id"),
        (MESSAGE | {"state": "staged"}, "one of pending, processing, dead, not staged"),
        (MESSAGE | {"state": "lost"}, "state"),
        (MESSAGE | {"priority": 100_001}, "priority"),
        (MESSAGE | {"priority": 1.5}, "priority"),
        (MESSAGE | {"enqueued_at": 1e13}, "enqueued_at"),
        (MESSAGE | {"attempt": -1}, "attempt"),
        (MESSAGE | {"attempt": 2, "claims": 1}, "claimed at least as often"),
        (MESSAGE | {"state": "processing", "lease_until": 1}, "claimed at least as often"),
        (MESSAGE | {"state": "processing", "claims": 1}, "lease_until"),
        (MESSAGE | {"lease_until": 1}, "lease_until"),
        (MESSAGE | {"cancelled": True}, "cancelled"),
        (MESSAGE | {"state": "dead", "paused": True}, "paused"),
        (MESSAGE | {"state": "dead", "due": 5}, "paused or due later"),
        (MESSAGE | {"paused": 1}, "paused"),
        (MESSAGE | {"extra": "x"}, "extra"),
        (MESSAGE | {"size": 1}, "one of data, data_base64 and size"),
        (MESSAGE | {"data": None}, "one of data, data_base64 and size"),
        (MESSAGE | {"data": None, "data_base64": "A"}, "base64"),
        (PIECE | {"at": -1}, "at"),
        (PIECE | {"id": str(2**63)}, "no message id"),
        (RECORD | {"status": "fine"}, "status"),
        (RECORD | {"detail": 3}, "detail"),
        (RECORD | {"id": str(2**63)}, "no message id"),
        ({"id": "42", "gone": False}, "gone"),
    ],
)
def test_every_field_is_checked(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadValue) as refused:
        lines.read(json.dumps(fields).encode())
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(BadValue):
        lines.read(json.dumps(MESSAGE | {"enqueued_at": float("nan")}).encode())
