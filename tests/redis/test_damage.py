"""Messages of which something is missing or wrong stand in nobody's way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import redis

from queuefs.message import Counts
from tests.redis.stores import connect, look, new_prefix, new_queue, put, take

if TYPE_CHECKING:
    from tests.conftest import Logs
    from tests.support.redis_server import RedisServer


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [("body", None, "has no payload"), ("meta", None, "has no meta"), ("body", "spoilt", "is not what was put in")],
)
async def test_they_are_skipped_and_stay_pending(
    redis_server: RedisServer, logs: Logs, part: str, value: str | None, said: str
) -> None:
    logs.expect("skipped and stays where it is", count=2)
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend:
        queue = await new_queue(backend)
        messages = [await put(backend, queue, b"%d" % n) for n in range(5)]
        with redis.Redis(port=redis_server.port) as client:
            for bad in (messages[0], messages[2]):
                key, id_ = f"{{{prefix}}}:q:{queue}:{part}", f"{bad:019d}"
                if value is None:
                    client.hdel(key, id_)
                else:
                    client.hset(key, id_, value)
        claimed = await take(backend, queue, 3)
        assert [message.id for message in claimed] == [messages[1], messages[3], messages[4]]
        assert await backend.counts(queue) == Counts(pending=2, processing=3)
        assert await take(backend, queue, 3) == []
        assert await look(backend, queue, 3) == []
        assert [message.id for message in await backend.snapshot(queue)] == messages
        assert await backend.payloads(queue, messages[:2]) == [None, b"1"]
        assert sum(said in sentence for sentence in await backend.audit()) == 2
        assert await backend.clear(queue) == Counts(pending=2, processing=3)
        await backend.remove_queue(queue)
        assert await backend.audit() == []


async def test_a_look_finds_what_is_behind_them(redis_server: RedisServer, logs: Logs) -> None:
    logs.expect("payload damaged")
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend:
        queue = await new_queue(backend)
        messages = [await put(backend, queue, b"%d" % n) for n in range(4)]
        with redis.Redis(port=redis_server.port) as client:
            client.hset(f"{{{prefix}}}:q:{queue}:body", f"{messages[0]:019d}", "spoilt")
            client.hdel(f"{{{prefix}}}:q:{queue}:body", f"{messages[1]:019d}")
        assert [message.id for message in await look(backend, queue, 1)] == messages[2:3]
        assert [message.id for message in await look(backend, queue, 9)] == messages[2:]
        assert await backend.counts(queue) == Counts(pending=4, processing=0)
