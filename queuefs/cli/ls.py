"""`queuefs ls`: lists queues with their counts, or the messages of a queue."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import click

from queuefs.cli.arguments import QueuePath, find
from queuefs.cli.exits import Exit, UserError
from queuefs.cli.refusals import refusal, refusals
from queuefs.cli.signals import be_a_plain_tool
from queuefs.view.messages import newest_messages
from queuefs.view.mounts import NotInAMount, Place, mounts, place_of
from queuefs.view.queues import Look, below, children, is_paused, look
from queuefs.view.text import age, shown, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from queuefs.view.messages import Facts

_QUEUES = ("QUEUE", "PENDING", "PROCESSING", "DELAYED", "PAUSED", "DEAD", "DONE", "OLDEST")
_MESSAGES = ("ID", "STATE", "SIZE", "PRIORITY", "ATTEMPT", "AGE", "REMARKS")

#: Which columns hold numbers.
_RIGHT = frozenset(range(1, len(_QUEUES)))
_RIGHT_OF_MESSAGES = frozenset({0, 2, 3, 4, 5})


@click.command(short_help="List queues, or the messages of a queue.")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=QueuePath(root=True))
@click.option("-r", "--recursive", is_flag=True, help="List the queues below as well.")
@click.option("-m", "--messages", is_flag=True, help="List the messages of each queue instead.")
@click.option(
    "-n",
    "count",
    metavar="N",
    type=click.IntRange(min=0),
    default=64,
    show_default=True,
    help="With -m: at most N messages of each queue; 0: all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON objects, one a line.")
def ls(paths: tuple[Place, ...], count: int, *, recursive: bool, messages: bool, as_json: bool) -> None:
    """List the queues of a mount, or the queue at PATH, a line each.

    PATH is the root of a mount or a queue in one; without it, it is the mount that the working directory is in.

    OLDEST is for how long the oldest pending message has been there. PAUSED counts messages that were paused by id;
    it is "all" where the queue itself is paused.

    With -m, the messages in processing come first, then the pending ones, the newest first, then the dead ones and at
    last the records of those that are done, the newest first.
    """
    be_a_plain_tool()
    listing = _Listing(paths or (_here(),), recursive=recursive)
    if messages:
        _list_messages(listing, count or None, as_json=as_json)
    else:
        _list_queues(listing, as_json=as_json)
    sys.stdout.flush()
    for failure in listing.failures[:-1]:
        failure.show()
    if listing.failures:
        raise listing.failures[-1]


def _here() -> Place:
    try:
        with refusals("the working directory"):
            place = place_of(".")
    except NotInAMount:
        known = ", ".join(shown(one.path) for one in mounts()) or "none"
        sentence = f"the working directory is in no mount of QueueFS; name a PATH (mounts: {known})"
        raise UserError(sentence, Exit.NO_MOUNT_POINT) from None
    return find(place.mount.path)


class _Row(NamedTuple):
    path: str
    #: The path in the mount.
    name: str


class _Listing:
    """The queues that were asked for, and what could not be listed."""

    def __init__(self, places: tuple[Place, ...], *, recursive: bool) -> None:
        """Find the queues at *places*, each once."""
        self.failures: list[UserError] = []
        self._places = places
        self._recursive = recursive
        #: Whether names alone would not tell which queue is meant.
        self._in_full = len({place.mount.path for place in places}) > 1

    def __iter__(self) -> Iterator[_Row]:
        seen = set()
        for place in self._places:
            try:
                for path in self._paths(place):
                    if path not in seen:
                        seen.add(path)
                        yield _Row(path, f"{place.name}{path[len(place.path) :]}".lstrip("/"))
            except OSError as error:
                self.failures.append(refusal(place.path, error))

    def _paths(self, place: Place) -> Iterator[str]:
        if place.name:
            yield place.path
        if self._recursive:
            yield from below(place.path)
        elif not place.name:
            yield from (f"{place.path}/{name}" for name in children(place.path))

    def called(self, row: _Row) -> str:
        """Return how *row* is called in a table."""
        return shown(row.path if self._in_full else row.name)

    def missed(self, row: _Row, error: OSError) -> None:
        """Remember that *row* could not be looked at, unless it was removed since it was listed."""
        if not isinstance(error, FileNotFoundError):
            self.failures.append(refusal(row.path, error))


def _list_queues(listing: _Listing, *, as_json: bool) -> None:
    lines: list[tuple[str, ...]] = [_QUEUES]
    for row in listing:
        try:
            found, paused = look(row.path), is_paused(row.path)
        except OSError as error:
            listing.missed(row, error)
            continue
        if as_json:
            _print_json({"queue": row.name, "path": row.path, "queue_paused": paused, **found.stats})
        else:
            lines.append((listing.called(row), *_counts(found, paused=paused)))
    if not as_json:
        _print_table(lines, _RIGHT)


def _counts(found: Look, *, paused: bool) -> tuple[str, ...]:
    stats = found.stats
    of_each = [str(stats[name]) for name in ("pending", "processing", "delayed", "paused", "dead", "done")]
    if paused:
        of_each[3] = "all"
    return (*of_each, age(found.oldest))


def _list_messages(listing: _Listing, count: int | None, *, as_json: bool) -> None:
    rows = list(listing)
    for row in rows:
        try:
            found = newest_messages(row.path, count)
            if as_json:
                for message in found:
                    _print_json({"queue": row.name, **message})
            else:
                _print_messages(found, heading=f"{listing.called(row)}:" if len(rows) > 1 else None)
        except OSError as error:
            listing.missed(row, error)


def _print_messages(messages: Iterable[Facts], *, heading: str | None) -> None:
    now = time.time()
    lines: list[tuple[str, ...]] = [_MESSAGES]
    for message in messages:
        came = message["finished_at"] if message["state"] == "done" else message["enqueued_at"]
        numbers = [str(message[name]) for name in ("size", "priority", "attempt")]
        lines.append((message["id"], message["state"], *numbers, age(now - came), _remarks(message, now)))
    if heading is not None:
        sys.stdout.write(f"{heading}\n")
    _print_table(lines, _RIGHT_OF_MESSAGES)


def _remarks(message: Facts, now: float) -> str:
    """Return in words what few messages have."""
    remarks = []
    if "status" in message:
        remarks.append(message["status"])
    if "lease_until" in message:
        remarks.append(f"lease {age(message['lease_until'] - now)}")
    if "due" in message:
        remarks.append(f"due in {age(message['due'] - now)}")
    remarks += [flag for flag in ("paused", "cancelled") if message.get(flag) == "true"]
    remarks += [f"{name} {shown(str(message[name]))}" for name in ("key", "reason") if name in message]
    return ", ".join(remarks)


def _print_table(lines: list[tuple[str, ...]], right: frozenset[int]) -> None:
    if len(lines) > 1:
        sys.stdout.write("".join(f"{line}\n" for line in table(lines, right=right)))


def _print_json(fields: object) -> None:
    sys.stdout.write(f"{json.dumps(fields)}\n")
