"""Messages that come from another queue, or from another store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.backend import Settled
from queuefs.errors import BadValue, KeyInUse, MessageNotFound
from queuefs.lifecycle import State
from queuefs_sqlite.naming import leave_pending
from queuefs_sqlite.rows import DEAD, DELAYED, PAUSED, PROCESSING, READY
from queuefs_sqlite.writing import check_room, staged

if TYPE_CHECKING:
    from queuefs.message import Message, MessageId, QueueId, Room
    from queuefs_sqlite.ledger import Account
    from queuefs_sqlite.store import Store


def move(store: Store, queue: QueueId, message: MessageId, *, target: QueueId, room: Room) -> Settled:
    """See `Backend.move`. To where it is already, nothing moves."""
    goal = store.ledger.account(target)
    row = store.message(message, store.ledger.account(queue).box)
    if row is None:
        return Settled.UNKNOWN
    if not row.is_pending:
        return Settled.STALE
    if target == queue:
        return Settled.DONE
    check_room(goal, room, messages=1, more=row.size)
    if row.key is not None and store.first("key_holder", goal.box, row.key) is not None:
        raise KeyInUse
    store.run("move", goal.box, message)
    if row.key is not None:
        store.run("forget_key", queue, row.key, message)
    leave_pending(store.ledger.change(queue), state=row.state, size=row.size)
    _enter(store.ledger.change(target), state=row.state, size=row.size)
    return Settled.DONE


def restore(store: Store, queue: QueueId, message: Message) -> None:
    """See `Backend.restore`."""
    account = store.ledger.account(queue)
    row = staged(store, queue, message.id)
    if row is None:
        raise MessageNotFound
    state = _state_of(message)
    store.run(
        "restore",
        account.dead_box if state == DEAD else account.box,
        state,
        -message.priority,
        message.lease_until if state == PROCESSING else None,
        message.due if state in (READY, DELAYED, PAUSED) else None,
        message.expires_at,
        message.claims,
        message.attempt,
        message.cancelled and state == PROCESSING,
        message.enqueued_at,
        message.key,
        message.reason,
        message.extra,
        message.claimed_at,
        message.id,
    )
    account = store.ledger.change(queue)
    account.staged -= 1
    account.staged_bytes -= row.size
    _enter(account, state=state, size=row.size)


def _state_of(message: Message) -> int:
    match message.state:
        case State.PROCESSING:
            return PROCESSING
        case State.DEAD:
            return DEAD
        case State.PENDING:
            return PAUSED if message.paused else READY if message.due is None else DELAYED
        case _:
            raise BadValue(f"no message can be restored as {message.state}")


def _enter(account: Account, *, state: int, size: int) -> None:
    """Count one message more, as new to its queue."""
    account.enqueued += 1
    if state == DEAD:
        account.dead += 1
        return
    account.unacked_bytes += size
    if state == PROCESSING:
        account.processing += 1
        return
    account.pending += 1
    account.delayed += state == DELAYED
    account.paused += state == PAUSED
