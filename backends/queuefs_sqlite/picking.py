"""Finds which messages of a queue are handed out next.

Ready messages lie in an index in that order. A message whose delay has ended becomes ready in the next round of upkeep,
or when a claim meets it; a look has to find it where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queuefs.message import QueueId
    from queuefs_sqlite.ledger import Account
    from queuefs_sqlite.rows import Row
    from queuefs_sqlite.store import Store

#: How many messages a claim makes ready whose delay has ended: some milliseconds' work. Upkeep does the rest.
_RIPEN = 1000

#: Below every rank.
_NO_RANK = -(2**62)


def pick(
    store: Store, account: Account, *, count: int, lifo: bool, now: float, inline: int | None
) -> list[tuple[Row, bytes | None]]:
    """Return the first *count* messages that can be handed out, with payloads of no more than *inline* bytes."""
    # Those that are known to be damaged may stand in front; if there prove to be more of them, it is tried again.
    damaged = store.payloads.damaged
    while True:
        wanted = count + damaged
        rows = _first(store, account, wanted, lifo=lifo, now=now)
        found = store.payloads.readable(rows, count, inline=inline)
        if len(found) == count or len(rows) < wanted:
            return found
        damaged = max(store.payloads.damaged, damaged + 1)


def ripen(store: Store, queue: QueueId, *, now: float) -> None:
    """Make messages of a queue ready whose delay has ended."""
    ripe = store.run("ripe", store.ledger.account(queue).box, now, _RIPEN).fetchall()
    if ripe:
        for (message,) in ripe:
            store.run("ripen", message)
        store.ledger.change(queue).delayed -= len(ripe)
        store.ripe.add(queue)
        store.ripe_told.discard(queue)


def _first(store: Store, account: Account, count: int, *, lifo: bool, now: float) -> list[Row]:
    box = account.box
    ready = _newest(store, box, count, now) if lifo else store.rows("oldest_first", box, now, count)
    if not account.delayed:
        return ready
    ripe = store.rows("ripe_newest_first" if lifo else "ripe_oldest_first", box, now, now, count)
    return sorted(ready + ripe, key=lambda row: (row.rank, -row.id if lifo else row.id))[:count]


def _newest(store: Store, box: int, count: int, now: float) -> list[Row]:
    """Return ready messages of the lowest rank first, and of equals the newest first."""
    rows: list[Row] = []
    rank = _NO_RANK
    while len(rows) < count:
        found = store.first("next_rank", box, rank)
        if found is None:
            break
        (rank,) = found
        rows += store.rows("newest_first", box, rank, now, count - len(rows))
    return rows
