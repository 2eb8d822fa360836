"""The contract of keys: a second message of a key gives way to the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.backend import Settled
from queuefs.lifecycle import State
from queuefs.message import Counts, Draft, MessageId, QueueId, Ref, Room
from queuefs.testing.base import (
    BRIEF,
    FOREVER,
    LATER,
    START,
    Contract,
    bury,
    find,
    lose,
    nack,
    new_queue,
    pending,
    publish,
    put,
    put_dead,
    stage,
    state_of,
    take_one,
)

if TYPE_CHECKING:
    from queuefs.backend import Backend

KEYED = Draft(key="key")

#: Keys of which none is another, though some may look so to a store.
KEYS = [
    "key",
    "Key",
    "key ",
    " key",
    "k",
    "%",
    "*",
    "_",
    "?",
    "[k]",
    "\0",
    "k\0",
    "\n",
    "1",
    "01",
    "é",
    "e\u0301",
    "k" * 1000,
]

only_own_time = pytest.mark.usefixtures("only_own_time")


async def in_use(
    backend: Backend, queue: QueueId, key: str = "key", *, now: float = START, window: float = 0.0
) -> MessageId | None:
    """Return the message to which another of *key* gives way; asking and doing must agree."""
    found = await backend.find_key(queue, key, now=now, window=window)
    if found is not None:
        second = await stage(backend, queue, b"second", draft=Draft(key=key))
        assert await publish(backend, queue, second, now=now, window=window) == found
        assert await state_of(backend, queue, second, size=6) is State.GONE
    return found


class KeyContract(Contract):
    """Keys: what `publish` drops, and `find_key` tells before."""

    async def test_a_key_is_shown(self, backend: Backend, queue: QueueId) -> None:
        """Pending, in processing and dead; none for a message without one."""
        message = await put(backend, queue, draft=KEYED)
        assert (await find(backend, queue, message)).key == "key"
        claimed = await take_one(backend, queue)
        assert claimed.key == "key"
        await bury(backend, queue, claimed)
        assert [each.key for each in await backend.dead(queue)] == ["key"]
        assert (await find(backend, queue, await put(backend, queue))).key is None

    async def test_messages_without_a_key_have_nothing_to_do_with_it(self, backend: Backend, queue: QueueId) -> None:
        """They are all published, whatever the window."""
        await put(backend, queue, draft=KEYED, window=FOREVER)
        for _ in range(3):
            await put(backend, queue, window=FOREVER)
        assert await backend.counts(queue) == Counts(pending=4, processing=0)

    async def test_the_first_publication_wins(self, backend: Backend, queue: QueueId) -> None:
        """Not the first stage; what is staged does not count."""
        first, second = [await stage(backend, queue, draft=KEYED) for _ in range(2)]
        assert await in_use(backend, queue, window=FOREVER) is None
        assert await publish(backend, queue, second) == second
        assert await publish(backend, queue, first) == second
        assert await pending(backend, queue) == [second]

    async def test_a_discarded_one_never_counts(self, backend: Backend, queue: QueueId) -> None:
        """A writer that was killed takes its key with it."""
        await backend.discard(queue, await stage(backend, queue, draft=KEYED))
        assert await in_use(backend, queue, window=FOREVER) is None
        await put(backend, queue, draft=KEYED, window=FOREVER)

    async def test_what_gives_way_leaves_no_trace(self, backend: Backend, queue: QueueId) -> None:
        """In no count and no total, in no view, and it takes no room."""
        first = await put(backend, queue, b"first", draft=KEYED)
        before = await backend.stats(queue), list(await backend.snapshot(queue))
        for window in (0.0, FOREVER):
            second = await stage(backend, queue, b"second", draft=Draft(key="key", priority=5, delay=FOREVER))
            assert await publish(backend, queue, second, window=window) == first
            assert (await backend.stats(queue), list(await backend.snapshot(queue))) == before
            assert await state_of(backend, queue, second, size=6) is State.GONE
            assert list(await backend.payloads(queue, [second])) == [None]
            await publish(backend, queue, second)  # a repetition finds nothing to do
        assert (await backend.stats(queue), list(await backend.snapshot(queue))) == before
        await stage(backend, queue, b"x", room=Room(messages=2, bytes=6))
        assert await backend.audit() == []

    async def test_a_key_is_in_use_while_its_message_is_unacknowledged(self, backend: Backend, queue: QueueId) -> None:
        """Pending, paused, in processing, given back, delayed, cancelled and not yet settled."""
        message = await put(backend, queue, draft=KEYED)
        refs = [Ref(message)]
        assert await in_use(backend, queue) == message
        await backend.pause(queue, [message])
        assert await in_use(backend, queue) == message
        await backend.resume(queue, [message])
        await lose(backend, queue)
        assert await in_use(backend, queue) == message
        await take_one(backend, queue)
        await backend.undo(queue, refs, now=START)
        assert await in_use(backend, queue) == message
        await take_one(backend, queue)
        assert await in_use(backend, queue) == message
        await nack(backend, queue, refs)
        assert await in_use(backend, queue) == message
        await take_one(backend, queue)
        await backend.cancel(queue, [message], now=START)
        assert await in_use(backend, queue) == message
        await nack(backend, queue, refs)
        assert await in_use(backend, queue) is None

    async def test_a_delayed_message_holds_its_key(self, backend: Backend, queue: QueueId) -> None:
        """From its publication on, not from the end of its delay."""
        message = await put(backend, queue, draft=Draft(key="key", delay=FOREVER))
        assert await in_use(backend, queue) == message

    @pytest.mark.parametrize("how", ["ack", "cancel", "clear", "lapse", "bury"])
    async def test_a_key_is_free_again_without_a_window(self, backend: Backend, queue: QueueId, how: str) -> None:
        """Once its message has left what is unacknowledged, whichever way; it can be used as before."""
        for _ in range(2):
            message = await put(backend, queue, draft=Draft(key="key", ttl=BRIEF if how == "lapse" else 0))
            await self._leave(backend, queue, message, how)
            assert await in_use(backend, queue) is None
        assert await backend.audit() == []

    @pytest.mark.parametrize("how", ["ack", "cancel", "clear", "lapse", "bury"])
    async def test_a_window_outlasts_the_message(self, backend: Backend, queue: QueueId, how: str) -> None:
        """Whichever way it left; the id is still that of the first."""
        draft = Draft(key="key", ttl=BRIEF if how == "lapse" else 0)
        message = await put(backend, queue, draft=draft, window=FOREVER)
        await self._leave(backend, queue, message, how)
        assert await in_use(backend, queue, now=LATER, window=FOREVER) == message
        await backend.tick(now=LATER, limit=100)
        assert await in_use(backend, queue, now=LATER, window=FOREVER) == message
        assert await in_use(backend, queue, now=LATER, window=0.0) is None

    @only_own_time
    async def test_a_window_is_over_at_its_very_end(self, backend: Backend, queue: QueueId) -> None:
        """Published less than so long ago: at the end no more. It counts from the publication, not from the ack."""
        message = await put(backend, queue, draft=KEYED, now=START + 1, window=8)
        claimed = await take_one(backend, queue, now=START + 5)
        await backend.ack(queue, [claimed.receipt], now=START)
        assert await in_use(backend, queue, now=START + 9 - 2**-7, window=8) == message
        assert await in_use(backend, queue, now=START + 9, window=8) is None
        assert await put(backend, queue, draft=KEYED, now=START + 9, window=8) > message

    @only_own_time
    async def test_a_window_does_not_begin_anew_with_what_gave_way(self, backend: Backend, queue: QueueId) -> None:
        """What was dropped was never published."""
        message = await put(backend, queue, draft=KEYED, window=8)
        await backend.clear(queue)
        second = await stage(backend, queue, draft=KEYED)
        assert await publish(backend, queue, second, now=START + 7, window=8) == message
        assert await in_use(backend, queue, now=START + 8, window=8) is None

    @only_own_time
    async def test_a_new_publication_begins_a_new_window(self, backend: Backend, queue: QueueId) -> None:
        """And the end of the old one, at which its key is forgotten, leaves the new one alone."""
        await put(backend, queue, draft=KEYED, window=8)
        await backend.clear(queue)
        message = await put(backend, queue, draft=KEYED, now=START + 8, window=8)
        await backend.clear(queue)
        for now in (8, 12, 15):
            await backend.tick(now=START + now, limit=100)
            assert await in_use(backend, queue, now=START + now, window=8) == message
        await backend.tick(now=START + 16, limit=100)
        assert await in_use(backend, queue, now=START + 16, window=8) is None

    @only_own_time
    async def test_a_key_outlasts_its_window_with_its_message(self, backend: Backend, queue: QueueId) -> None:
        """What is forgotten at the end of a window is the key of a message that is gone."""
        message = await put(backend, queue, draft=KEYED, window=8)
        await backend.tick(now=START + 100, limit=100)
        assert await in_use(backend, queue, now=START + 100, window=8) == message
        await backend.clear(queue)
        assert await in_use(backend, queue, now=START + 100, window=8) is None

    async def test_a_retried_message_has_its_key_again(self, backend: Backend, queue: QueueId) -> None:
        """It is unacknowledged; two may be so, and each of them holds the key to its end."""
        dead = await put_dead(backend, queue, draft=KEYED)
        assert await in_use(backend, queue) is None
        await backend.retry(queue, [dead.id], now=START)
        assert await in_use(backend, queue) == dead.id
        await bury(backend, queue, await take_one(backend, queue))
        second = await put(backend, queue, draft=KEYED)
        assert list(await backend.retry(queue, None, now=START)) == [Settled.DONE]
        assert await backend.counts(queue) == Counts(pending=2, processing=0)
        assert await in_use(backend, queue) in {dead.id, second}
        await backend.cancel(queue, [second], now=START)
        assert await in_use(backend, queue) == dead.id
        await backend.cancel(queue, [dead.id], now=START)
        assert await in_use(backend, queue) is None

    async def test_a_dropped_dead_message_has_no_key(self, backend: Backend, queue: QueueId) -> None:
        """Neither before nor after."""
        dead = await put_dead(backend, queue, draft=KEYED)
        await backend.drop(queue, [dead.id])
        assert await in_use(backend, queue) is None

    async def test_keys_are_compared_byte_for_byte(self, backend: Backend, queue: QueueId) -> None:
        """None is a pattern or a number, none is folded or normalized."""
        made = {key: await put(backend, queue, draft=Draft(key=key), window=FOREVER) for key in KEYS}
        assert {key: await in_use(backend, queue, key) for key in KEYS} == made
        await backend.clear(queue)
        assert {key: await in_use(backend, queue, key, window=FOREVER) for key in KEYS} == made
        assert {key: await in_use(backend, queue, key) for key in KEYS} == dict.fromkeys(KEYS)

    async def test_each_queue_has_keys_of_its_own(self, backend: Backend, queue: QueueId) -> None:
        """A child's are others, and a new queue of an old one's name begins without any."""
        child = await new_queue(backend, "child", parent=queue)
        await put(backend, queue, draft=KEYED, window=FOREVER)
        assert await in_use(backend, child, window=FOREVER) is None
        await put(backend, child, draft=KEYED, window=FOREVER)
        await backend.clear(child)
        await backend.remove_queue(child)
        child = await new_queue(backend, "child", parent=queue)
        assert await in_use(backend, child, window=FOREVER) is None

    async def test_keys_move_with_their_queue(self, backend: Backend, queue: QueueId) -> None:
        """A rename changes nothing about them."""
        message = await put(backend, queue, draft=KEYED)
        await backend.rename_queue(queue, parent=await new_queue(backend, "top"), name="new")
        assert await in_use(backend, queue) == message

    async def _leave(self, backend: Backend, queue: QueueId, message: MessageId, how: str) -> None:
        """Let a message leave what is unacknowledged."""
        match how:
            case "ack":
                await backend.ack(queue, [(await take_one(backend, queue)).receipt], now=START)
            case "cancel":
                await backend.cancel(queue, [message], now=START)
            case "clear":
                await backend.clear(queue)
            case "lapse":
                assert list((await backend.tick(now=LATER, limit=10)).lapsed) == [(queue, message)]
            case _:
                await bury(backend, queue, await take_one(backend, queue))
