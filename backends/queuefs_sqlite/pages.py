"""Lists the messages of one state, page by page: each page is some ranges of an index, whatever lies around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.errors import BadValue
from queuefs.lifecycle import State
from queuefs.message import MAX_MESSAGE_ID, MessageId, Place

if TYPE_CHECKING:
    from queuefs.message import Message, QueueId
    from queuefs_sqlite.rows import Row
    from queuefs_sqlite.store import Store

#: The most messages in one answer: some milliseconds' work, in which nobody else is served.
_PAGE = 1000

#: Below every rank.
_NO_RANK = -(2**62)

#: The two indexes that pending messages are in: those that are ready, and those that are delayed or paused.
_KINDS = ("ready", "held")
_NEXT_RANKS = ("next_rank", "next_held_rank")


def page(store: Store, queue: QueueId, state: State, *, after: Place | None, limit: int, lifo: bool) -> list[Message]:
    """See `Backend.page`."""
    return [row.message(None) for row in _rows(store, queue, state, after, limit, lifo=lifo)]


def places(store: Store, queue: QueueId, state: State, *, after: Place | None, limit: int, lifo: bool) -> list[Place]:
    """See `Backend.places`."""
    return [Place(-row.rank, MessageId(row.id)) for row in _rows(store, queue, state, after, limit, lifo=lifo)]


def _rows(store: Store, queue: QueueId, state: State, after: Place | None, limit: int, *, lifo: bool) -> list[Row]:
    account = store.ledger.account(queue)
    limit = min(limit, _PAGE)
    match state:
        case State.PENDING if lifo:
            rows = _newest_first(store, account.box, after, limit)
        case State.PENDING:
            found = [row for kind in _KINDS for row in _ahead(store, kind, account.box, after, limit)]
            rows = sorted(found, key=lambda row: (row.rank, row.id))[:limit]
        case State.PROCESSING:
            rows = _ahead(store, "processing", account.box, after, limit)
        case State.DEAD:
            rows = store.rows("dead_after", account.dead_box, 0 if after is None else after.id, limit)
        case _:
            raise BadValue(f"messages that are {state} are not listed")
    return rows


def _ahead(store: Store, kind: str, box: int, after: Place | None, limit: int) -> list[Row]:
    """Return messages of a kind by rank and id. SQLite finds a place by both only if the rank is one."""
    rows: list[Row] = []
    rank = _NO_RANK
    if after is not None:
        rank = -after.priority
        rows = store.rows(f"{kind}_at", box, rank, after.id, limit)
    if len(rows) < limit:
        rows += store.rows(f"{kind}_after", box, rank, limit - len(rows))
    return rows


def _newest_first(store: Store, box: int, after: Place | None, limit: int) -> list[Row]:
    """Return pending messages by rank, and of equals the newest first: no index has them so, but for one rank."""
    rows: list[Row] = []
    rank = _NO_RANK
    if after is not None:
        rank = -after.priority
        rows = _newest_of_rank(store, box, rank, after.id - 1, limit)
    while len(rows) < limit:
        found = [row for query in _NEXT_RANKS for row in store.run(query, box, rank).fetchall()]
        if not found:
            break
        (rank,) = min(found)
        rows += _newest_of_rank(store, box, rank, MAX_MESSAGE_ID, limit - len(rows))
    return rows


def _newest_of_rank(store: Store, box: int, rank: int, last: int, limit: int) -> list[Row]:
    found = [row for kind in _KINDS for row in store.rows(f"{kind}_back", box, rank, last, limit)]
    return sorted(found, key=lambda row: -row.id)[:limit]
