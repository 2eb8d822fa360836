"""A message in pieces: one piece is under way, none is stored twice, and one that fails is the end of the message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import outcome
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from queuefs.clock import Clock
from queuefs.errors import BackendUnavailable, OutcomeUnknown, QueueFSError, QueueFull, WouldBlock
from queuefs.fs.mount import _parts
from queuefs.growing import PIECE_BYTES
from queuefs.message import Draft, MessageId, Owner, QueueId, Room
from queuefs.settings import MountOptions
from queuefs.stage import Stage, Terms
from queuefs.ticket import Ticket
from queuefs.tree import Tree
from queuefs.writers import Patience, Writers
from queuefs_memory import MemoryBackend

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

#: What one write brings; eight make a piece.
WRITE = bytes(PIECE_BYTES // 8)


class Slow(MemoryBackend):
    """A store whose answers to `append` come when the test lets them; the appends are made at once."""

    def __init__(self) -> None:
        super().__init__()
        self.appends: list[tuple[int, int, bool]] = []
        self.answers: list[tuple[Ticket[None], Awaitable[None]]] = []
        #: Whether answers come by themselves.
        self.answers_at_once = False
        #: Raised instead of the next append.
        self.error: QueueFSError | None = None

    def append(
        self, queue: QueueId, message: MessageId, data: bytes, *, offset: int, partial: bool, room: Room
    ) -> Awaitable[None]:
        self.appends.append((offset, len(data), partial))
        if self.error is not None:
            error, self.error = self.error, None
            return self._answer(_failed(error))
        return self._answer(super().append(queue, message, data, offset=offset, partial=partial, room=room))

    def _answer(self, answer: Awaitable[None]) -> Awaitable[None]:
        if self.answers_at_once:
            return answer
        ticket: Ticket[None] = Ticket()
        self.answers.append((ticket, answer))
        return ticket

    async def answer(self) -> None:
        """Give the first answer that has not been given."""
        ticket, answer = self.answers.pop(0)
        ticket.settle(await outcome.acapture(lambda: answer))


async def _failed(error: QueueFSError) -> None:
    raise error


class Rig:
    """A queue in a slow store, and what a writer is made with."""

    def __init__(self, backend: Slow, stage: Stage, queue: QueueId) -> None:
        self.backend = backend
        self.stage = stage
        self.queue = queue

    async def payload(self) -> bytes | None:
        """Claim, and return the payload; None if there is nothing."""
        found = await self.backend.claim(self.queue, count=1, lease=1, lifo=False, now=0)
        return found[0].data if found else None


@pytest.fixture
async def rig(nursery: trio.Nursery) -> AsyncIterator[Rig]:
    backend = Slow()
    clock = Clock(None)
    tree = Tree(backend, clock, Owner(uid=0, gid=0, mode=0o755))
    queue = await tree.create(QueueId(0), "q", Owner(uid=0, gid=0, mode=0o755))
    parts = _parts(backend, clock, tree, MountOptions(), nursery)

    async def with_room(store: Callable[[], Awaitable[None]]) -> None:
        try:
            await store()
        except QueueFull:
            raise WouldBlock from None

    terms = Terms(
        draft=Draft(),
        room=Room(),
        limit=1 << 30,
        size=None,
        window=0,
        strict=False,
    )
    patience = Patience(with_room=with_room, writers=Writers())
    yield Rig(backend, Stage(parts, queue.id, terms, patience), queue.id)
    nursery.cancel_scope.cancel()


async def test_a_write_waits_for_the_piece_before_when_it_fills_the_next(rig: Rig) -> None:
    backend, stage = rig.backend, rig.stage
    for _ in range(15):  # the first piece, and all but the last write of the second
        with trio.fail_after(1):
            await stage.write(WRITE)
    assert [(0, PIECE_BYTES, True)] == backend.appends
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.write, WRITE)
        await wait_all_tasks_blocked()
        assert 1 == len(backend.appends)
        await backend.answer()
    assert [(0, PIECE_BYTES, True), (PIECE_BYTES, PIECE_BYTES, True)] == backend.appends
    backend.answers_at_once = True
    await stage.write(b"rest")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.flush)
        await wait_all_tasks_blocked()
        assert 2 == len(backend.appends)
        await backend.answer()
    await stage.close()

    assert (2 * PIECE_BYTES, 4, False) == backend.appends[2]
    assert WRITE * 16 + b"rest" == await rig.payload()


@pytest.mark.parametrize("error", [OutcomeUnknown, BackendUnavailable])
async def test_a_piece_that_fails_spoils_the_message_and_is_not_stored_again(
    rig: Rig, error: type[QueueFSError]
) -> None:
    backend, stage = rig.backend, rig.stage
    backend.answers_at_once = True
    backend.error = error()
    for _ in range(15):
        await stage.write(WRITE)
    for _ in range(2):
        with pytest.raises(error):
            await stage.write(WRITE)
    with pytest.raises(error):
        await stage.flush()
    await stage.close()

    assert [(0, PIECE_BYTES, True)] == backend.appends
    assert None is await rig.payload()
    await backend.remove_queue(rig.queue)  # nothing is left of it


async def test_a_flush_says_that_a_piece_failed(rig: Rig) -> None:
    backend, stage = rig.backend, rig.stage
    backend.answers_at_once = True
    backend.error = OutcomeUnknown()
    for _ in range(8):
        await stage.write(WRITE)
    with pytest.raises(OutcomeUnknown):
        await stage.flush()
    await stage.close()

    assert None is await rig.payload()
    await backend.remove_queue(rig.queue)


async def test_a_piece_without_room_is_handed_over_again_by_the_next_write_that_waits_for_it(rig: Rig) -> None:
    backend, stage = rig.backend, rig.stage
    backend.answers_at_once = True
    backend.error = QueueFull()
    for _ in range(15):
        await stage.write(WRITE)
    backend.error = QueueFull()
    with pytest.raises(WouldBlock):
        await stage.write(WRITE)
    await stage.write(WRITE)  # nothing was taken of the last
    await stage.flush()
    await stage.close()

    assert [(0, PIECE_BYTES, True)] * 3 == backend.appends[:3]
    assert WRITE * 16 == await rig.payload()


async def test_a_stage_that_is_given_up_while_a_piece_is_under_way_leaves_nothing(rig: Rig) -> None:
    backend, stage = rig.backend, rig.stage
    for _ in range(8):
        await stage.write(WRITE)
    stage.spoil(QueueFSError("killed"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.close)
        await wait_all_tasks_blocked()
        await backend.answer()

    assert None is await rig.payload()
    await backend.remove_queue(rig.queue)


async def test_what_comes_after_a_flush_is_marked_as_a_part_again(rig: Rig) -> None:
    backend, stage = rig.backend, rig.stage
    backend.answers_at_once = True
    await stage.write(WRITE)
    await stage.flush()
    await stage.write(b"more")
    assert [(0, len(WRITE), False), (len(WRITE), 0, True)] == backend.appends
    await stage.flush()
    await stage.close()

    assert (len(WRITE), 4, False) == backend.appends[2]
    assert WRITE + b"more" == await rig.payload()
