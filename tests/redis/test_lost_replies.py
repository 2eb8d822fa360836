"""What was carried out and not answered is not carried out again."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import redis
import trio

from queuefs.backend import Settled
from queuefs.errors import OutcomeUnknown
from queuefs.message import Counts, Ref, Retention
from tests.redis.stores import ANY, begin, connect, look, new_prefix, new_queue, publish, put, stage, take
from tests.support.lossy_proxy import LossyProxy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Logs
    from tests.support.redis_server import RedisServer

#: A third of it is waited for a reply that does not come.
TIMEOUT = 0.9


@pytest.fixture
def proxy(redis_server: RedisServer) -> Iterator[LossyProxy]:
    with LossyProxy(redis_server.port) as proxy:
        yield proxy


@pytest.mark.parametrize("silent", [False, True], ids=["closed", "silent"])
class TestOneLostReply:
    async def test_a_message_is_staged_once(self, proxy: LossyProxy, silent: bool) -> None:  # noqa: FBT001 - a parameter
        async with connect(proxy.port, new_prefix(), timeout=TIMEOUT) as backend:
            queue = await new_queue(backend)
            proxy.lose_replies(silent=silent)
            message = await stage(backend, queue, b"abc")
            assert proxy.lost == 1
            assert await stage(backend, queue) == message + 1
            await publish(backend, queue, message)
            assert [each.data for each in await look(backend, queue, 9)] == [b"abc"]
            assert await backend.audit() == []

    async def test_a_message_is_claimed_once(self, proxy: LossyProxy, silent: bool) -> None:  # noqa: FBT001 - a parameter
        async with connect(proxy.port, new_prefix(), timeout=TIMEOUT) as backend:
            queue = await new_queue(backend)
            first = await put(backend, queue, b"abc")
            await put(backend, queue)
            proxy.lose_replies(silent=silent)
            (message,) = await take(backend, queue, 1)
            assert proxy.lost == 1
            assert (message.id, message.data, message.attempt, message.claims) == (first, b"abc", 1, 1)
            assert await backend.counts(queue) == Counts(pending=1, processing=1)
            assert await backend.check(queue, [message.receipt]) == [Settled.DONE]

    async def test_an_ack_is_done_as_asked(self, proxy: LossyProxy, silent: bool) -> None:  # noqa: FBT001 - a parameter
        async with connect(proxy.port, new_prefix(), timeout=TIMEOUT) as backend:
            queue = await new_queue(backend)
            await put(backend, queue)
            (message,) = await take(backend, queue, 1)
            proxy.lose_replies(silent=silent)
            assert await backend.ack(queue, [message.receipt], now=0) == [Settled.DONE]
            assert proxy.lost == 1
            assert await backend.counts(queue) == Counts(pending=0, processing=0)
            assert await backend.unacked_bytes(queue) == 0

    async def test_an_append_adds_its_bytes_once(self, proxy: LossyProxy, silent: bool) -> None:  # noqa: FBT001 - a parameter
        async with connect(proxy.port, new_prefix(), timeout=TIMEOUT) as backend:
            queue = await new_queue(backend)
            message = await stage(backend, queue, b"abc")
            proxy.lose_replies(silent=silent)
            await backend.append(queue, message, b"def", offset=3, partial=False, room=ANY)
            await backend.append(queue, message, b"ghi", offset=6, partial=False, room=ANY)
            await publish(backend, queue, message)
            assert [each.data for each in await look(backend, queue, 9)] == [b"abcdefghi"]

    async def test_other_changes_are_made_once(self, proxy: LossyProxy, silent: bool) -> None:  # noqa: FBT001 - a parameter
        async with connect(proxy.port, new_prefix(), timeout=TIMEOUT) as backend:
            proxy.lose_replies(silent=silent)
            queue = await new_queue(backend)
            await put(backend, queue)
            await take(backend, queue, 1)
            await put(backend, queue)
            proxy.lose_replies(silent=silent)
            assert await backend.clear(queue) == Counts(pending=1, processing=1)
            await put(backend, queue)
            await take(backend, queue, 1, lease=0, now=0)
            proxy.lose_replies(silent=silent)
            assert len((await backend.tick(now=0, limit=9)).overdue) == 1
            await backend.clear(queue)
            proxy.lose_replies(silent=silent)
            await backend.remove_queue(queue)

    async def test_what_is_done_by_name_is_done_once(self, proxy: LossyProxy, silent: bool) -> None:  # noqa: FBT001 - a parameter
        """A repetition would find the messages elsewhere, and say so."""
        keep = Retention(records=9, seconds=99)
        async with connect(proxy.port, new_prefix(), timeout=TIMEOUT) as backend:
            queue, target = await new_queue(backend), await new_queue(backend, "target")
            ids = [await put(backend, queue, b"%d" % n) for n in range(5)]

            def lose() -> None:
                proxy.lose_replies(silent=silent)

            lose()
            assert await backend.take(queue, ids[:1], lease=99, now=0) == [Settled.DONE]
            lose()
            assert await backend.bury(queue, ids[1:2], reason="so") == [Settled.DONE]
            lose()
            assert await backend.move(queue, ids[2], target=target, room=ANY) is Settled.DONE
            lose()
            assert await backend.cancel(queue, ids[3:4], now=0, keep=keep) == [Settled.DONE]
            lose()
            assert await backend.ack(queue, [Ref(ids[0])], now=0, keep=keep) == [Settled.DONE]
            assert sorted(each.id for each in await backend.records(queue, after=None, limit=9, now=0)) == [1, 4]
            lose()
            assert await backend.prune(queue, None) == [Settled.DONE] * 2
            message = (await backend.find(queue, ids[4:]))[0]
            assert message is not None
            assert await backend.clear(queue) == Counts(pending=1, processing=0)
            staged = await stage(backend, queue, b"abc")
            lose()
            await backend.restore(queue, replace(message, id=staged, attempt=7))
            (restored,) = await look(backend, queue)
            assert (restored.id, restored.data, restored.attempt) == (staged, b"abc", 7)
            stats = [await backend.stats(each) for each in (queue, target)]
            assert [each.enqueued for each in stats] == [6, 1]
            assert proxy.lost == 7
            assert await backend.audit() == []

    async def test_pieces_are_added_once(self, proxy: LossyProxy, silent: bool) -> None:  # noqa: FBT001 - a parameter
        data = bytes(range(256)) * 2048
        async with connect(proxy.port, new_prefix(), timeout=TIMEOUT) as backend:
            queue = await new_queue(backend)
            message = await stage(backend, queue, b"abc")
            proxy.lose_replies(silent=silent)
            await backend.append(queue, message, data, offset=3, partial=False, room=ANY)
            proxy.lose_replies(silent=silent)
            await backend.append(queue, message, data, offset=3 + len(data), partial=False, room=ANY)
            proxy.lose_replies(silent=silent)
            await publish(backend, queue, message)
            assert [each.data for each in await look(backend, queue, 9)] == [b"abc" + data + data]
            assert await backend.audit() == []


@pytest.mark.parametrize("keep", [0, 1, 100, 300])
async def test_a_batch_that_is_answered_in_part_is_done_once(proxy: LossyProxy, keep: int) -> None:
    async with connect(proxy.port, new_prefix(), timeout=TIMEOUT) as backend:
        queue = await new_queue(backend)
        proxy.lose_replies(keep=keep)
        staging = [begin(backend, queue, b"%d" % n) for n in range(50)]
        messages = [await each for each in staging]
        assert proxy.lost == 1
        assert messages == list(range(1, 51))
        proxy.lose_replies(keep=keep)
        for each in [publish(backend, queue, message) for message in messages]:
            await each
        proxy.lose_replies(keep=keep)
        claiming = [take(backend, queue, 2) for _ in range(25)]
        claimed = [message for each in claiming for message in await each]
        assert [message.id for message in claimed] == messages
        assert [message.data for message in claimed] == [b"%d" % n for n in range(50)]
        assert {message.claims for message in claimed} == {1}
        assert await backend.counts(queue) == Counts(pending=0, processing=50)
        assert await backend.audit() == []


async def test_a_claim_whose_message_is_gone_when_it_is_fetched_again_returns_the_rest(proxy: LossyProxy) -> None:
    """Payloads are not recorded with the answer; what someone else settled meanwhile is left out."""
    prefix = new_prefix()
    async with connect(proxy.port, prefix, timeout=TIMEOUT) as backend:
        queue = await new_queue(backend)
        await put(backend, queue, b"a")
        last = await put(backend, queue, b"b")
        proxy.lose_replies(silent=True)
        claiming = take(backend, queue, 2)
        async with connect(proxy._target, prefix) as other:
            while (await other.counts(queue)).processing < 2:  # noqa: ASYNC110 - another connection makes it so
                await trio.sleep(0.001)
            taken = await other.snapshot(queue)
            await other.ack(queue, [taken[0].receipt], now=0)
        assert [message.id for message in await claiming] == [last]


async def test_without_any_answer_the_outcome_is_unknown(proxy: LossyProxy, logs: Logs) -> None:
    logs.expect("redis away")
    async with connect(proxy.port, new_prefix(), timeout=TIMEOUT) as backend:
        queue = await new_queue(backend)
        proxy.lose_replies(1000, silent=True)
        begun = time.monotonic()
        with pytest.raises(OutcomeUnknown):
            await stage(backend, queue)
        assert time.monotonic() - begun < TIMEOUT * 1.2
        proxy.lose_replies(0)
        message = await stage(backend, queue)
        assert message == 2  # the first one was carried out, once
        await publish(backend, queue, message)


async def test_an_overtaken_request_is_not_run(redis_server: RedisServer) -> None:
    """What reaches the server after its batch was given up, over a connection long closed, does nothing."""
    prefix = new_prefix()
    with redis.Redis(port=redis_server.port) as client:
        async with connect(redis_server.port, prefix) as backend:
            queue = await new_queue(backend)
            await stage(backend, queue)
            kept = client.hgetall(f"{{{prefix}}}:answers:{backend.daemon}")
            current = int(kept[b"batch"])
            sha = next(sha for name, sha in _shas() if name == "stage")
            begin = next(sha for name, sha in _shas() if name == "begin")
            base = f"{{{prefix}}}:"
            assert client.evalsha(begin, 1, base, backend.daemon, current - 1) == b"+"
            rest = (0, 0, "", "", "", 0, "-", 0, 0, 0, "-", "", "x")
            old = client.evalsha(sha, 1, base, backend.daemon, current - 1, 0, queue, *rest)
            assert old == b"-late"
            assert client.hgetall(f"{{{prefix}}}:answers:{backend.daemon}") == kept


def _shas() -> list[tuple[str, str]]:
    from queuefs_redis.scripts import SCRIPTS  # noqa: PLC0415 - only this test looks inside

    return [(script.name, script.sha) for script in SCRIPTS.values()]
