"""What messages and records look like as text."""

from __future__ import annotations

import json
from typing import Any

from queuefs.clock import Clock
from queuefs.lifecycle import State
from queuefs.message import Message, MessageId, Record, Status
from queuefs.render import message_facts, record_text

CLOCK = Clock(None)


def record(**changes: Any) -> dict[str, Any]:
    """Return the fields of a record's text."""
    fields: dict[str, Any] = {
        "id": MessageId(7),
        "status": Status.SUCCEEDED,
        "size": 3,
        "priority": 0,
        "attempt": 1,
        "enqueued_at": 100.0,
        "claimed_at": 101.5,
        "finished_at": 104.0,
        "key": None,
        "reason": None,
        "extra": b"",
        "detail": b"",
    }
    text = record_text(Record(**(fields | changes)), CLOCK)
    assert text.endswith(b"}\n")
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_record_has_durations() -> None:
    found = record()

    assert (found["queued_for"], found["ran_for"]) == (1.5, 2.5)
    assert found["finished_at"] - found["claimed_at"] == 2.5
    assert {"key", "reason"}.isdisjoint(found)


def test_durations_are_never_negative() -> None:
    found = record(claimed_at=99.0, finished_at=98.0)

    assert (found["queued_for"], found["ran_for"]) == (0.0, 0.0)


def test_what_is_not_known_is_absent() -> None:
    assert {"claimed_at", "queued_for", "ran_for"}.isdisjoint(record(claimed_at=None, status=Status.CANCELLED))


def test_what_was_asked_for_and_what_was_said_are_shown() -> None:
    found = record(extra=b'{"timeout":30.0}', detail=b'{"exit_code":3}', key="k", reason="r")

    assert found.items() >= {"timeout": 30.0, "exit_code": 3, "key": "k", "reason": "r"}.items()


def test_facts_of_a_message_are_texts() -> None:
    message = Message(
        id=MessageId(42),
        state=State.PROCESSING,
        data=None,
        size=1,
        priority=-3,
        enqueued_at=100.0,
        attempt=2,
        claims=5,
        lease_until=200.0,
        due=None,
        expires_at=None,
        paused=False,
        cancelled=True,
        key="ü",
        reason=None,
        extra=b'{"timeout":30.0}',
        claimed_at=150.0,
    )
    facts = message_facts(message, CLOCK)

    assert (
        facts.items()
        >= {
            "id": "42",
            "state": "processing",
            "receipt": "42.5",
            "attempt": "2",
            "priority": "-3",
            "cancelled": "true",
            "key": "ü",
            "timeout": "30.0",
        }.items()
    )
    assert {"paused", "reason", "due"}.isdisjoint(facts)
