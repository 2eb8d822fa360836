"""A place as one number, which for most messages is their id: so places are put in order as quickly as ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.message import MessageId

if TYPE_CHECKING:
    from queuefs.message import Place
    from queuefs_memory.shelf import Shelf

#: Bits of an id, and one more: all ranks of one priority stand between two multiples of this power of two.
_BITS = 64

#: Those of a rank that are the id.
ID_BITS = (1 << _BITS) - 1


def rank(priority: int, message: int) -> int:
    """Return what is lower for whoever comes first: a higher priority, then a lower id."""
    return message - (priority << _BITS)


def message_at(place: int) -> MessageId:
    """Return whose rank *place* is."""
    return MessageId(place & ID_BITS)


def page_lifo(shelf: Shelf[int], after: Place | None, limit: int) -> list[int]:
    """Return up to *limit* ranks behind *after*: the highest priority first, and of equals the highest id."""
    found: list[int] = []
    if after is None:
        block, before = _next_block(shelf, None)
    else:
        block, before = -after.priority, rank(after.priority, after.id)
    while before is not None and len(found) < limit:
        found += shelf.page_back(before, limit - len(found), down_to=block << _BITS)
        block, before = _next_block(shelf, (block + 1) << _BITS)
    return found


def _next_block(shelf: Shelf[int], after: int | None) -> tuple[int, int | None]:
    """Return the first priority of which there is something, negated, and what is above all of its ranks."""
    first = shelf.page(after, 1)
    if not first:
        return 0, None
    block = first[0] >> _BITS
    return block, (block + 1) << _BITS
