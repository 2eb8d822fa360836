"""The contract of records: what is left of a message that is done, and what leaves one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from queuefs.backend import SUCCEEDED, Settled
from queuefs.lifecycle import State
from queuefs.message import (
    MAX_MESSAGE_ID,
    Counts,
    Draft,
    MessageId,
    Outcome,
    QueueId,
    Record,
    Ref,
    Retention,
    Room,
    Status,
    Verdict,
)
from queuefs.testing.base import (
    ANY,
    BRIEF,
    FOREVER,
    KEEP,
    LATER,
    START,
    Contract,
    find,
    nack,
    new_queue,
    publish,
    put,
    put_dead,
    stage,
    state_of,
    take,
    take_one,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queuefs.backend import Backend

DONE, UNKNOWN = Settled.DONE, Settled.UNKNOWN

#: What keeps no record.
KEEPING_NONE = [None, Retention(records=0, seconds=FOREVER), Retention(records=9, seconds=0.0)]

#: The ways in which a message ends as cancelled: the first three while it is pending.
CANCELLING = ["pending", "delayed", "paused", "ack", "undo", "nack", "bury", "expire"]


async def finish(
    backend: Backend,
    queue: QueueId,
    data: bytes = b"x",
    *,
    draft: Draft | None = None,
    now: float = START,
    keep: Retention | None = KEEP,
    outcome: Outcome = SUCCEEDED,
) -> MessageId:
    """Let a message be put, claimed and acknowledged; nothing else may be there to claim."""
    message = await put(backend, queue, data, draft=draft)
    claimed = await take_one(backend, queue, now=now)
    assert claimed.id == message
    assert list(await backend.ack(queue, [claimed.receipt], now=now, keep=keep, outcome=outcome)) == [DONE]
    return message


async def kept(backend: Backend, queue: QueueId, *, now: float = START) -> list[MessageId]:
    """Return whose records are shown, the latest first."""
    return [record.id for record in await backend.records(queue, after=None, limit=5000, now=now)]


async def record_of(backend: Backend, queue: QueueId, message: MessageId, *, now: float = START) -> Record:
    """Return the record of a message, which must be there."""
    (found,) = await backend.find_records(queue, [message], now=now)
    assert found is not None
    return found


async def cancel(backend: Backend, queue: QueueId, message: MessageId, how: str, keep: Retention | None) -> None:
    """Let the only message of a queue end as cancelled."""
    if how in {"pending", "delayed", "paused"}:
        if how == "paused":
            await backend.pause(queue, [message])
        assert list(await backend.cancel(queue, [message], now=START, keep=keep)) == [DONE]
        return
    refs = [(await take_one(backend, queue, lease=0.0)).receipt]
    assert list(await backend.cancel(queue, [message], now=START, keep=keep)) == [DONE]
    verdicts = [Verdict(ref=refs[0], dead=how == "bury", reason="why")]
    answers: Sequence[Settled]
    match how:
        case "ack":
            outcome = Outcome(status=Status.FAILED, detail=b"told to stop")
            answers = await backend.ack(queue, refs, now=START, keep=keep, outcome=outcome)
        case "undo":
            answers = await backend.undo(queue, refs, now=START, keep=keep)
        case "expire":
            answers = await backend.expire(queue, verdicts, now=START, keep=keep)
        case _:
            answers = await backend.nack(queue, verdicts, now=START, keep=keep)
    assert list(answers) == [DONE]


class RecordContract(Contract):
    """Records: who leaves one, and what it says."""

    async def test_a_record_says_what_became_of_a_message(self, backend: Backend, queue: QueueId) -> None:
        """All that is known of it but its payload, and what its holder says; by `records` as by `find_records`."""
        draft = Draft(priority=-7, key="é key", extra=bytes(range(256)))
        message = await put(backend, queue, b"four", draft=draft)
        await backend.nack(queue, [Verdict(ref=(await take_one(backend, queue)).receipt, reason="é\n\0")], now=START)
        claimed = await take_one(backend, queue, now=START + 1)
        outcome = Outcome(status=Status.FAILED, detail=bytes(range(256)) * 64)
        await backend.ack(queue, [claimed.receipt], now=START + 2, keep=KEEP, outcome=outcome)
        found = await record_of(backend, queue, message)
        assert found == Record(
            id=message,
            status=Status.FAILED,
            size=4,
            priority=-7,
            attempt=2,
            enqueued_at=claimed.enqueued_at,
            claimed_at=claimed.claimed_at,
            finished_at=found.finished_at,
            key="é key",
            reason="é\n\0",
            extra=draft.extra,
            detail=outcome.detail,
        )
        assert claimed.claimed_at is not None
        if backend.traits.server_time:
            assert found.enqueued_at <= claimed.claimed_at <= found.finished_at
        else:
            assert (found.enqueued_at, found.claimed_at, found.finished_at) == (START, START + 1, START + 2)
        assert list(await backend.records(queue, after=None, limit=9, now=START)) == [found]

    @pytest.mark.parametrize("status", Status)
    async def test_a_holder_says_how_it_ended(self, backend: Backend, queue: QueueId, status: Status) -> None:
        """Success if nothing is said."""
        said = await finish(backend, queue, outcome=Outcome(status=status, detail=b"d"))
        plain = await finish(backend, queue)
        assert [
            (each.status, each.detail) for each in [await record_of(backend, queue, it) for it in (said, plain)]
        ] == [
            (status, b"d"),
            (Status.SUCCEEDED, b""),
        ]

    @pytest.mark.parametrize("keep", KEEPING_NONE)
    async def test_none_is_kept_without_room_for_one(
        self, backend: Backend, queue: QueueId, keep: Retention | None
    ) -> None:
        """Nothing said, no records, no seconds: done, and nothing is left."""
        message = await finish(backend, queue, keep=keep)
        cancelled = await put(backend, queue)
        await backend.cancel(queue, [cancelled], now=START, keep=keep)
        assert await kept(backend, queue) == []
        assert list(await backend.find_records(queue, [message, cancelled], now=START)) == [None, None]
        await backend.tick(now=START, limit=100)
        assert (await backend.stats(queue)).done == 0

    async def test_saying_nothing_leaves_the_others(self, backend: Backend, queue: QueueId) -> None:
        """None keeps no record of this message, and says nothing of those that are there."""
        first = await finish(backend, queue)
        await finish(backend, queue, keep=None)
        assert await kept(backend, queue) == [first]
        assert list((await backend.tick(now=START, limit=100)).terminated) == []
        assert (await backend.stats(queue)).done == 1

    @pytest.mark.parametrize("how", CANCELLING)
    async def test_a_cancelled_one_says_so(self, backend: Backend, queue: QueueId, how: str) -> None:
        """However it ended, whatever its holder says of it; an undone claim is no attempt, but it was handed out."""
        message = await put(backend, queue, b"abc", draft=Draft(delay=FOREVER if how == "delayed" else 0, extra=b"e"))
        before = await find(backend, queue, message)
        await cancel(backend, queue, message, how, KEEP)
        record = await record_of(backend, queue, message)
        assert (record.status, record.size, record.extra) == (Status.CANCELLED, 3, b"e")
        assert record.enqueued_at == before.enqueued_at
        assert record.attempt == int(how in {"ack", "nack", "bury", "expire"})
        assert (record.claimed_at is None) == (how in {"pending", "delayed", "paused"})
        assert record.reason == ("why" if how in {"nack", "bury", "expire"} else None)
        assert record.detail == (b"told to stop" if how == "ack" else b"")
        assert await state_of(backend, queue, message, size=3) is State.DONE

    @pytest.mark.parametrize("how", CANCELLING)
    async def test_a_cancelled_one_is_not_kept_without_room(self, backend: Backend, queue: QueueId, how: str) -> None:
        """As any other."""
        message = await put(backend, queue, b"abc", draft=Draft(delay=FOREVER if how == "delayed" else 0))
        await cancel(backend, queue, message, how, None)
        assert await kept(backend, queue) == []
        assert await state_of(backend, queue, message, size=3) is State.GONE

    async def test_nothing_else_leaves_a_record(self, backend: Backend, queue: QueueId) -> None:
        """What lapses, is cleared, dropped, discarded, gives way; nor what is only marked, given back or set aside."""
        first = await finish(backend, queue)
        await put(backend, queue, draft=Draft(ttl=BRIEF))
        await backend.tick(now=LATER, limit=100)
        await put(backend, queue)
        await nack(backend, queue, [(await take_one(backend, queue)).receipt])
        await backend.clear(queue)
        await put_dead(backend, queue)
        await backend.drop(queue, None)
        await backend.discard(queue, await stage(backend, queue))
        held = await put(backend, queue, draft=Draft(key="key"))
        assert await publish(backend, queue, await stage(backend, queue, draft=Draft(key="key"))) == held
        await take_one(backend, queue, lease=0.0)
        await backend.cancel(queue, [held], now=START, keep=KEEP)
        assert await kept(backend, queue) == [first]
        await put_dead(backend, queue)
        lost = await put(backend, queue)
        await take_one(backend, queue, lease=0.0)
        await backend.expire(queue, [Verdict(ref=Ref(lost))], now=START, keep=KEEP)
        assert await kept(backend, queue) == [first]

    async def test_what_is_done_is_no_message_any_more(self, backend: Backend, queue: QueueId) -> None:
        """In no view, count or sum but its own; its key and its room are free, and it can't be settled."""
        message = await finish(backend, queue, b"abc", draft=Draft(key="key"))
        stats = await backend.stats(queue)
        assert (stats.pending, stats.processing, stats.dead, stats.done, stats.unacked_bytes) == (0, 0, 0, 1, 0)
        assert list(await backend.find(queue, [message])) == [None]
        assert list(await backend.payloads(queue, [message])) == [None]
        assert await backend.read(queue, message, offset=0, size=9) is None
        assert list(await backend.ack(queue, [Ref(message)], now=START)) == [UNKNOWN]
        assert list(await backend.retry(queue, [message], now=START)) == [UNKNOWN]
        assert list(await backend.drop(queue, None)) == []
        assert await backend.clear(queue) == Counts(pending=0, processing=0)
        assert await backend.find_key(queue, "key", now=START, window=0) is None
        await stage(backend, queue, b"abc", room=Room(messages=1, bytes=3))
        assert await kept(backend, queue) == [message]

    async def test_each_queue_has_records_of_its_own(self, backend: Backend, queue: QueueId) -> None:
        """Another's are unknown here, in every call; and what one is told is not said of the other."""
        other = await new_queue(backend, "other", parent=queue)
        mine, theirs = await finish(backend, queue), await finish(backend, other)
        assert (await kept(backend, queue), await kept(backend, other)) == ([mine], [theirs])
        assert list(await backend.find_records(queue, [theirs], now=START)) == [None]
        assert list(await backend.prune(queue, [theirs])) == [UNKNOWN]
        await finish(backend, other, keep=Retention(records=0, seconds=0))
        assert (await kept(backend, queue), await kept(backend, other)) == ([mine], [])

    async def test_records_are_found_in_the_order_asked(self, backend: Backend, queue: QueueId) -> None:
        """None for each that is none: unknown, pending, in processing, dead, staged."""
        first, second = await finish(backend, queue), await finish(backend, queue)
        dead = (await put_dead(backend, queue)).id
        held = await put(backend, queue)
        await take_one(backend, queue)
        waiting, staged = await put(backend, queue), await stage(backend, queue)
        wanted = [second, waiting, first, held, MessageId(MAX_MESSAGE_ID), dead, staged, second]
        found = await backend.find_records(queue, wanted, now=START)
        assert [each and each.id for each in found] == [second, None, first, None, None, None, None, second]
        assert list(await backend.find_records(queue, [], now=START)) == []

    async def test_a_queue_takes_its_records_along(self, backend: Backend, queue: QueueId) -> None:
        """They don't keep it from being removed, move with it, and a new one of its name begins without."""
        message = await finish(backend, queue)
        await backend.rename_queue(queue, parent=await new_queue(backend, "top"), name="jobs")
        assert await kept(backend, queue) == [message]
        await backend.remove_queue(queue)
        new = await new_queue(backend, "jobs")
        assert await kept(backend, new) == []
        assert (await backend.stats(new)).done == 0
        assert list((await backend.tick(now=START + 2 * FOREVER, limit=100)).terminated) == []
        assert await backend.audit() == []

    async def test_records_are_pruned(self, backend: Backend, queue: QueueId) -> None:
        """By id, in order and each for itself: unknown if there is no record. It is not told as terminated."""
        given = [await finish(backend, queue) for _ in range(4)]
        dead, staged = (await put_dead(backend, queue)).id, await stage(backend, queue)
        waiting = await put(backend, queue)
        wanted = [given[2], waiting, dead, given[0], staged, MessageId(MAX_MESSAGE_ID), given[2]]
        assert list(await backend.prune(queue, wanted)) == [DONE, UNKNOWN, UNKNOWN, DONE, UNKNOWN, UNKNOWN, UNKNOWN]
        assert await kept(backend, queue) == [given[3], given[1]]
        assert (await backend.stats(queue)).done == 2  # noqa: PLR2004 - as above
        assert list(await backend.prune(queue, [])) == []
        assert list(await backend.prune(queue, None)) == [DONE, DONE]
        assert list(await backend.prune(queue, None)) == []
        assert await kept(backend, queue) == []
        assert list((await backend.tick(now=START + 2 * FOREVER, limit=100)).terminated) == []
        assert (await find(backend, queue, waiting)).state is State.PENDING
        assert await backend.counts(queue) == Counts(pending=1, processing=0)

    async def test_many_are_done_in_one_call(self, backend: Backend, queue: QueueId) -> None:
        """More than a statement of some stores takes as parameters; each leaves its record, and is found and pruned."""
        many = 1100
        staging = [backend.stage(queue, b"", draft=Draft(), room=ANY, partial=False, now=START) for _ in range(many)]
        given = [await each for each in staging]
        for answer in [backend.publish(queue, each, now=START, window=0) for each in given]:
            await answer
        refs = [each.receipt for each in await take(backend, queue, many)]
        keep = replace(KEEP, records=many)
        assert list(await backend.ack(queue, refs, now=START, keep=keep)) == [DONE] * many
        assert await kept(backend, queue) == given[::-1]
        assert [each and each.id for each in await backend.find_records(queue, given, now=START)] == given
        assert list(await backend.prune(queue, given[100:])) == [DONE] * (many - 100)
        assert list(await backend.prune(queue, None)) == [DONE] * 100
