"""The messages of a queue, as its state directories have them."""

from __future__ import annotations

import heapq
import json
import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PREFIX = "user.queuefs."

#: What is a number among the facts that extended attributes tell.
_NUMBERS = {
    "attempt": int,
    "priority": int,
    "enqueued_at": float,
    "claimed_at": float,
    "lease_until": float,
    "due": float,
    "expires_at": float,
    "timeout": float,
}

#: A message or a record: what its file tells of it, by name, beside its payload.
Facts = dict[str, Any]


def first_messages(queue: str, count: int) -> Iterator[Facts]:
    """Yield at most *count* messages in the order of the queue: in processing, then pending, then dead."""
    return islice(_told(queue, (("processing", _all), ("pending", _all), ("dead", _all)), count), count)


def newest_messages(queue: str, count: int | None) -> Iterator[Facts]:
    """Yield at most *count* messages (None: all), so that none that is alive is hidden by those that are not.

    First what is processed, in the order of the queue; then pending ones, the newest first; then dead ones, the newest
    first; at last the records of those that are done, the latest first.
    """
    order = (("processing", _all), ("pending", _newest), ("dead", _newest), ("done", _all))
    return islice(_told(queue, order, count), count)


def _told(queue: str, order: Iterable[tuple[str, Any]], count: int | None) -> Iterator[Facts]:
    for state, chosen in order:
        directory = f"{queue}/{state}"
        for message in chosen(_ids(directory), count):
            try:
                yield _record(directory, message) if state == "done" else _message(directory, message)
            except FileNotFoundError:  # it has gone to another state, or is gone
                continue


def _ids(directory: str) -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in entries:
            yield entry.name


def _all(messages: Iterator[str], _count: int | None) -> Iterator[str]:
    return messages


def _newest(messages: Iterator[str], count: int | None) -> list[str]:
    """Return those of the highest ids: no more of them are held than are shown, however many there are."""
    return sorted(messages, key=int, reverse=True) if count is None else heapq.nlargest(count, messages, key=int)


def _message(directory: str, message: str) -> Facts:
    path = f"{directory}/{message}"
    facts: Facts = {"id": message, "state": Path(directory).name}
    for name in os.listxattr(path):
        if name.startswith(_PREFIX):
            fact = name.removeprefix(_PREFIX)
            text = os.getxattr(path, name).decode()
            facts[fact] = _NUMBERS.get(fact, str)(text)
    facts["size"] = Path(path).stat().st_size
    return facts


def _record(directory: str, message: str) -> Facts:
    return {**json.loads(Path(directory, message).read_bytes()), "state": "done"}
