"""What has been written or read is not kept."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from queuefs_redis.connection import _SEND_BYTES, _WEIGHTY_AT_ONCE, _pieces, _portions
from queuefs_redis.request import Request
from tests.redis.stores import ANY, connect, new_prefix, new_queue, publish, put, stage, take, until

if TYPE_CHECKING:
    from tests.support.redis_server import RedisServer


async def test_no_request_waits_for_the_garbage_collector(redis_server: RedisServer) -> None:
    gc.collect()
    gc.disable()
    try:
        async with connect(redis_server.port, new_prefix()) as backend:
            queue = await new_queue(backend)
            message = await stage(backend, queue, b"abc")
            await backend.append(queue, message, b"def", offset=3, partial=False, room=ANY)
            await publish(backend, queue, message)
            await backend.discard(queue, await stage(backend, queue))
            await put(backend, queue)
            await take(backend, queue, 9)
            await until(lambda: not any(isinstance(each, Request) for each in gc.get_objects()))
    finally:
        gc.enable()


@pytest.mark.parametrize("sizes", [[], [1], [1, 2, 3], [_SEND_BYTES] * 3, [5, 3 * _SEND_BYTES + 1, 7], [9] * 100_000])
def test_what_is_sent_is_divided_and_put_together(sizes: list[int]) -> None:
    commands = [bytes([65 + n % 26]) * size for n, size in enumerate(sizes)]
    pieces = list(_pieces(commands))
    assert b"".join(pieces) == b"".join(commands)
    assert all(0 < len(piece) <= _SEND_BYTES for piece in pieces)
    assert len(pieces) <= sum(sizes) // _SEND_BYTES + 3


@pytest.mark.parametrize(
    "scripts", [["stage"] * 256, ["claim"] * 256, ["claim"] * 8, ["claim", "stage", "peek", "payloads", "ack"] * 50]
)
def test_few_answers_with_payloads_are_asked_for_at_a_time(scripts: list[str]) -> None:
    """The server answers nothing before it has carried out all that it has read."""
    requests = [Request(script, decode=bytes) for script in scripts]
    portions = [requests[first:end] for first, end in _portions(requests)]
    assert [each for portion in portions for each in portion] == requests
    weights = [sum(request.weighty for request in portion) for portion in portions]
    assert set(weights[:-1]) <= {_WEIGHTY_AT_ONCE}
    assert weights[-1] <= _WEIGHTY_AT_ONCE


async def test_claims_in_several_portions_answer_in_order(redis_server: RedisServer) -> None:
    async with connect(redis_server.port, new_prefix()) as backend:
        queue = await new_queue(backend)
        messages = [await put(backend, queue) for _ in range(50)]
        claiming = [take(backend, queue) for _ in messages]
        assert [message.id for each in claiming for message in await each] == messages
