"""What is handed over to the writer thread, and how much of it makes one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from queuefs_sqlite.store import Store

#: The payload bytes of one transaction: what the log has to hold beside the database.
_PORTION_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """One operation of the contract on its way to the writer thread."""

    act: Callable[[Store], Any]
    #: False: it only looks; a batch of such makes no commit.
    writes: bool
    #: It stores something new, and is refused when the disk is full.
    grows: bool = False
    #: The payload bytes it brings.
    weight: int = 0


def portions(batch: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Divide a batch where its payloads are too much for one transaction."""
    portion: list[Piece] = []
    weight = 0
    for piece in batch:
        if portion and weight + piece.weight > _PORTION_BYTES:
            yield portion
            portion, weight = [], 0
        portion.append(piece)
        weight += piece.weight
    yield portion
