"""The memory back end keeps the contract."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from queuefs.message import Draft, Ref
from queuefs.testing import BackendContract
from queuefs.testing.base import ANY, BRIEF, KEEP, LATER, LEASE, START, new_queue, put, take_one
from queuefs.testing.model import PROFILE
from queuefs_memory import MemoryBackend

if TYPE_CHECKING:
    from queuefs.backend import Backend
    from queuefs.message import MessageId, QueueId

MIB = 1024 * 1024


class TestMemory(BackendContract):
    #: It is compared with itself, which shows no more than that the model runs, and that it audits well.
    model_settings = settings(PROFILE, max_examples=8)

    @pytest.fixture
    def url(self) -> str:
        return "memory:"

    async def use_ids_up(self, backend: Backend, url: str, *, last: int) -> None:  # noqa: ARG002 - the contract's signature
        assert isinstance(backend, MemoryBackend)
        backend._last_id = last

    @pytest.mark.parametrize(
        "how", ["ack", "take and ack", "cancel", "clear", "lapse", "bury and drop", "move and ack"]
    )
    async def test_a_payload_that_has_gone_takes_no_memory(self, backend: Backend, queue: QueueId, how: str) -> None:
        other = await new_queue(backend, "other")
        tracemalloc.start()
        try:
            for number in range(20):
                message = await put(
                    backend, queue, b"%d" % number * MIB, draft=Draft(ttl=BRIEF if how == "lapse" else 9)
                )
                await let_go(backend, queue, other, message, how)
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert held < MIB


async def let_go(backend: Backend, queue: QueueId, other: QueueId, message: MessageId, how: str) -> None:
    match how:
        case "ack":
            await backend.ack(queue, [(await take_one(backend, queue)).receipt], now=START)
        case "take and ack":
            await backend.take(queue, [message], lease=LEASE, now=START)
            await backend.ack(queue, [Ref(message)], now=START)
        case "cancel":
            await backend.cancel(queue, [message], now=START, keep=KEEP)
        case "clear":
            await backend.clear(queue)
        case "lapse":
            await backend.tick(now=LATER, limit=9)
        case "bury and drop":
            await backend.bury(queue, [message])
            await backend.drop(queue, [message])
        case _:
            await backend.move(queue, message, target=other, room=ANY)
            await backend.ack(other, [(await take_one(backend, other)).receipt], now=START)
    assert await backend.unacked_bytes(queue) == 0
