"""Whatever is damaged by hand is found by `audit`, put right by `repair`, and then nothing is left to find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import redis
import trio

from queuefs.backend import Settled
from queuefs.lifecycle import State
from queuefs.message import ROOT, Counts, Draft, Message, MessageId, QueueId, Retention
from queuefs_redis.examination import IDS_AT_ONCE
from queuefs_redis.scripts import PIECE_BYTES
from tests.redis.stores import (
    ANY,
    LEASE,
    begin,
    connect,
    new_prefix,
    new_queue,
    publish,
    put,
    stage,
    take,
    turn_last_byte,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from queuefs_redis import RedisBackend
    from tests.conftest import Logs
    from tests.support.redis_server import RedisServer

LONG = bytes(range(256)) * (2 * PIECE_BYTES // 256 + 9)
KEEP = Retention(records=9, seconds=99)


@dataclass
class Patient:
    """A store with a message in each state, and the way around the back end."""

    backend: RedisBackend
    client: redis.Redis
    base: str
    queue: QueueId

    def key(self, part: str) -> str:
        """Return a key of the queue."""
        return f"{self.base}q:{self.queue}:{part}"

    async def find(self, message: MessageId) -> Message | None:
        """Return a message as it stands."""
        return (await self.backend.find(self.queue, [message]))[0]

    async def cure(self, *words: str) -> list[str]:
        """Repair what *words* are said of, one sentence for each; return what was done."""
        found = list(await self.backend.audit())
        assert len(found) == len(words), found
        for sentence, word in zip(found, words, strict=True):
            assert word in sentence
        done = list(await self.backend.repair())
        assert await self.backend.audit() == []
        assert await self.backend.repair() == []
        return done


@pytest.fixture
async def patient(redis_server: RedisServer) -> AsyncIterator[Patient]:
    prefix = new_prefix()
    async with connect(redis_server.port, prefix, server_time=False) as backend:
        with redis.Redis(port=redis_server.port) as client:
            yield Patient(backend, client, f"{{{prefix}}}:", await new_queue(backend))


def padded(message: MessageId) -> str:
    return f"{message:019d}"


async def in_state(patient: Patient, state: State, data: bytes, draft: Draft = Draft()) -> MessageId:  # noqa: B008 - a frozen value
    """Return a message in *state*."""
    message = await put(patient.backend, patient.queue, data, draft)
    if state is State.PROCESSING:
        await take(patient.backend, patient.queue)
    elif state is State.DEAD:
        assert await patient.backend.bury(patient.queue, [message], reason="old") == [Settled.DONE]
    return message


STATES = [State.PENDING, State.PROCESSING, State.DEAD]


@pytest.mark.parametrize("state", STATES)
class TestPayloads:
    async def test_one_that_is_missing(self, patient: Patient, state: State) -> None:
        """It is dead, says so, has no bytes, and is not handed out as if it were empty."""
        message = await in_state(patient, state, b"payload", Draft(key="k", extra=b"more"))
        patient.client.hdel(patient.key("remains" if state is State.DEAD else "body"), padded(message))
        (said,) = await patient.cure(f"message {message} has no payload")
        assert said.startswith(f"queue {patient.queue}: message {message} ")
        found = await patient.find(message)
        assert found is not None
        assert (found.state, found.reason, found.size, found.key) == (State.DEAD, "its payload is missing", 0, "k")
        assert found.extra == b"more"
        assert await patient.backend.read(patient.queue, message, offset=0, size=9) == b""
        assert await patient.backend.payloads(patient.queue, [message]) == [None]
        assert await patient.backend.find_key(patient.queue, "k", now=0, window=0) is None
        stats = await patient.backend.stats(patient.queue)
        assert (stats.pending, stats.processing, stats.dead, stats.unacked_bytes) == (0, 0, 1, 0)
        assert await patient.backend.drop(patient.queue, None) == [Settled.DONE]

    async def test_one_that_is_not_what_was_put_in(self, patient: Patient, state: State) -> None:
        """What there is of it is its payload from then on."""
        message = await in_state(patient, state, b"payload")
        turn_last_byte(patient.client, patient.key("remains" if state is State.DEAD else "body"), padded(message))
        await patient.cure(f"message {message} has a payload that is not what was put in")
        found = await patient.find(message)
        assert found is not None
        assert (found.state, found.reason, found.size) == (State.DEAD, "its payload is not what was put in", 7)
        assert await patient.backend.payloads(patient.queue, [message]) == [b"payloae"]
        await patient.backend.retry(patient.queue, [message], now=0)
        assert [each.data for each in await take(patient.backend, patient.queue)] == [b"payloae"]

    async def test_one_of_another_length(self, patient: Patient, state: State) -> None:
        message = await in_state(patient, state, b"payload")
        patient.client.hset(patient.key("remains" if state is State.DEAD else "body"), padded(message), "pay")
        await patient.cure(f"message {message} has a payload that is not what was put in")
        found = await patient.find(message)
        assert found is not None
        assert (found.state, found.size) == (State.DEAD, 3)
        assert await patient.backend.read(patient.queue, message, offset=1, size=9) == b"ay"

    async def test_one_in_pieces_of_which_one_is_missing(self, patient: Patient, state: State) -> None:
        """The others can be read; that it is missing stays known, also when it is retried."""
        message = await in_state(patient, state, LONG)
        patient.client.hdel(patient.key(f"pieces:{padded(message)}"), str(PIECE_BYTES))
        await patient.cure(f"message {message} has only a part of its payload")
        found = await patient.find(message)
        assert found is not None
        assert (found.state, found.reason) == (State.DEAD, "a part of its payload is missing")
        assert await patient.backend.read(patient.queue, message, offset=5, size=9) == LONG[5:14]
        await patient.backend.retry(patient.queue, [message], now=0)
        assert len(await patient.backend.audit()) == 1
        await patient.backend.clear(patient.queue)
        assert await patient.backend.audit() == []

    async def test_one_in_pieces_that_are_all_missing(self, patient: Patient, state: State) -> None:
        message = await in_state(patient, state, LONG)
        patient.client.unlink(patient.key(f"pieces:{padded(message)}"))
        await patient.cure(f"message {message} has no payload")
        found = await patient.find(message)
        assert found is not None
        assert (found.state, found.reason, found.size) == (State.DEAD, "its payload is missing", 0)

    async def test_one_in_pieces_of_which_one_is_not_what_was_put_in(self, patient: Patient, state: State) -> None:
        message = await in_state(patient, state, LONG)
        turn_last_byte(patient.client, patient.key(f"pieces:{padded(message)}"), "0")
        await patient.cure(f"message {message} has a payload that is not what was put in")
        found = await patient.find(message)
        assert found is not None
        assert (found.state, found.size) == (State.DEAD, len(LONG))
        (data,) = await patient.backend.payloads(patient.queue, [message])
        assert data is not None
        assert sum(one != other for one, other in zip(data, LONG, strict=True)) == 1

    async def test_all_of_them(self, patient: Patient, state: State) -> None:
        """A key is lost, and with it what was in it; more messages than are looked at by one script."""
        number = IDS_AT_ONCE + 20
        ids = [await each for each in [begin(patient.backend, patient.queue, b"x") for _ in range(number)]]
        for each in [publish(patient.backend, patient.queue, id_) for id_ in ids]:
            await each
        if state is State.PROCESSING:
            await take(patient.backend, patient.queue, number)
        elif state is State.DEAD:
            await patient.backend.bury(patient.queue, ids)
        patient.client.unlink(patient.key("remains" if state is State.DEAD else "body"))
        done = await patient.cure(*["has no payload"] * number)
        assert len(done) == number
        assert [each.id for each in await patient.backend.dead(patient.queue)] == ids


async def test_one_that_was_set_aside(patient: Patient, logs: Logs) -> None:
    """A claim that met it has moved it out of the way."""
    logs.expect("payload damaged")
    bad, good = [await put(patient.backend, patient.queue, b"payload") for _ in range(2)]
    turn_last_byte(patient.client, patient.key("body"), padded(bad))
    assert [each.id for each in await take(patient.backend, patient.queue, 9)] == [good]
    await patient.cure("set aside", "not what was put in")
    assert [each.id for each in await patient.backend.dead(patient.queue)] == [bad]
    assert [each.id for each in await patient.backend.snapshot(patient.queue)] == [good]


@pytest.mark.parametrize("size", [0, 7, len(LONG)])
@pytest.mark.parametrize("state", [State.PENDING, State.PROCESSING])
@pytest.mark.parametrize("draft", [Draft(), Draft(priority=-5, key="k", delay=0, ttl=99)])
async def test_a_message_without_meta_is_dead_with_what_is_known(
    patient: Patient, state: State, size: int, draft: Draft
) -> None:
    message = await in_state(patient, state, LONG[:size], draft)
    other = await put(patient.backend, patient.queue, b"other")
    patient.client.hdel(patient.key("meta"), padded(message))
    found = list(await patient.backend.audit())
    assert any(f"message {message} has no meta" in sentence for sentence in found)
    done = await patient.backend.repair()
    assert any(f"message {message}" in sentence for sentence in done)
    assert not any("not repaired" in sentence for sentence in done)
    assert await patient.backend.audit() == []
    (dead,) = await patient.backend.dead(patient.queue)
    assert (dead.id, dead.size, dead.priority) == (message, size, draft.priority)
    assert dead.reason == "all that was known of it but its payload is lost"
    assert await patient.backend.payloads(patient.queue, [message]) == [LONG[:size]]
    assert await patient.backend.counts(patient.queue) == Counts(pending=1, processing=0)
    assert await patient.backend.unacked_bytes(patient.queue) == 5
    assert (await patient.backend.space()).messages == 1
    assert await patient.backend.find_key(patient.queue, "k", now=0, window=0) is None
    assert [each.id for each in await take(patient.backend, patient.queue, 9)] == [other]


async def test_a_message_without_meta_and_without_payload(patient: Patient) -> None:
    message = await put(patient.backend, patient.queue, b"payload")
    patient.client.hdel(patient.key("meta"), padded(message))
    patient.client.hdel(patient.key("body"), padded(message))
    assert await patient.backend.repair() != []
    assert await patient.backend.audit() == []
    (dead,) = await patient.backend.dead(patient.queue)
    assert (dead.id, dead.reason, dead.size) == (message, "its payload is missing", 0)


async def test_a_meta_that_can_t_be_read(patient: Patient) -> None:
    """Is as good as none; of a dead message the payload is left, which belongs to none then."""
    message, dead = await put(patient.backend, patient.queue, b"payload"), await in_state(patient, State.DEAD, b"dead")
    patient.client.hset(patient.key("meta"), padded(message), "what")
    assert len(await patient.backend.audit()) > 0
    await patient.backend.repair()
    assert await patient.backend.audit() == []
    assert [each.id for each in await patient.backend.dead(patient.queue)] == [message, dead]


class TestCounts:
    @pytest.mark.parametrize("wrong", [-5, 3])
    async def test_bytes(self, patient: Patient, wrong: int) -> None:
        await put(patient.backend, patient.queue, b"payload")
        await put(patient.backend, patient.queue, b"late", Draft(delay=99))
        await in_state(patient, State.PROCESSING, b"held")
        patient.client.hincrby(patient.key("sums"), "bytes", wrong)
        await patient.cure(f"the payloads have 15 bytes, counted are {15 + wrong}")
        assert await patient.backend.unacked_bytes(patient.queue) == 15

    async def test_bytes_of_many(self, patient: Patient) -> None:
        number = 2100
        ids = [await each for each in [begin(patient.backend, patient.queue, b"xy") for _ in range(number)]]
        for each in [publish(patient.backend, patient.queue, id_) for id_ in ids]:
            await each
        await patient.backend.pause(patient.queue, ids[:1000])
        patient.client.hincrby(patient.key("sums"), "bytes", 1)
        await patient.cure(f"the payloads have {2 * number} bytes, counted are {2 * number + 1}")

    async def test_staged_bytes(self, patient: Patient) -> None:
        message = await stage(patient.backend, patient.queue, b"staged")
        patient.client.hset(patient.key("sums"), "staged", 99)
        await patient.cure("the stages have another number of bytes")
        await patient.backend.discard(patient.queue, message)
        assert patient.client.hget(patient.key("sums"), "staged") == b"0"

    async def test_messages_of_all_queues(self, patient: Patient) -> None:
        await in_state(patient, State.PROCESSING, b"held")
        patient.client.incrby(f"{patient.base}unacked", 9)
        await patient.cure("1 messages are unacknowledged, counted are 10")
        assert (await patient.backend.space()).messages == 1


class TestOrphans:
    @pytest.mark.parametrize("part", ["body", "remains"])
    async def test_payloads_of_no_message(self, patient: Patient, part: str) -> None:
        patient.client.hset(patient.key(part), padded(MessageId(77)), "left")
        await patient.cure("something is kept of message 77, which is in no count")
        assert not patient.client.exists(patient.key(part))

    async def test_pieces_of_no_message(self, patient: Patient) -> None:
        staged = await stage(patient.backend, patient.queue, LONG)
        patient.client.hset(patient.key(f"pieces:{padded(MessageId(77))}"), "0", "left")
        patient.client.sadd(patient.key("big"), padded(MessageId(78)))
        await patient.cure(*["which is in no count"] * 2)
        assert patient.client.smembers(patient.key("big")) == {padded(staged).encode()}
        await publish(patient.backend, patient.queue, staged)
        assert await patient.backend.payloads(patient.queue, [staged]) == [LONG]

    @pytest.mark.parametrize("part", ["odd", "expiry", "graves"])
    async def test_places_in_an_index_of_no_message(self, patient: Patient, part: str) -> None:
        patient.client.zadd(patient.key(part), {padded(MessageId(77)): 0})
        patient.client.zadd(f"{patient.base}lapses", {str(patient.queue): 0})
        await patient.cure("something is kept of message 77")
        assert not patient.client.exists(patient.key(part))

    @pytest.mark.parametrize("part", ["pending", "paused", "delayed", "processing"])
    async def test_a_place_of_no_message(self, patient: Patient, part: str) -> None:
        """As far as anybody can tell there was one, so it is dead and not gone."""
        patient.client.zadd(patient.key(part), {padded(MessageId(77)): 0})
        for what in ("leases", "delays"):
            patient.client.zadd(f"{patient.base}{what}", {str(patient.queue): 0})
        assert any("message 77 has no meta" in sentence for sentence in await patient.backend.audit())
        await patient.backend.repair()
        assert await patient.backend.audit() == []
        assert [each.id for each in await patient.backend.dead(patient.queue)] == [77]

    async def test_what_is_kept_of_a_queue_that_there_is_not(self, patient: Patient) -> None:
        patient.client.hset(f"{patient.base}q:99:sums", "bytes", 0)
        patient.client.zadd(f"{patient.base}q:99:expiry", {padded(MessageId(77)): 0})
        patient.client.hset(f"{patient.base}configs", "98", "")
        patient.client.zadd(f"{patient.base}lapses", {"97": 0})
        await patient.cure(*[f"something is kept for queue {number}, which there is not" for number in (98, 97, 99)])
        assert not list(patient.client.scan_iter(f"{patient.base}q:99:*"))

    async def test_messages_of_a_queue_that_there_is_not_are_left_alone(self, patient: Patient) -> None:
        message = await put(patient.backend, patient.queue, b"payload")
        record = patient.client.hget(f"{patient.base}queues", str(patient.queue)) or b""
        patient.client.hdel(f"{patient.base}queues", str(patient.queue))
        patient.client.hdel(f"{patient.base}children:0", "jobs")
        done = await patient.backend.repair()
        assert f"not repaired: something is kept for queue {patient.queue}, which there is not" in done
        patient.client.hset(f"{patient.base}queues", str(patient.queue), record)
        patient.client.hset(f"{patient.base}children:0", "jobs", str(patient.queue))
        await patient.backend.repair()
        assert await patient.backend.audit() == []
        assert [each.id for each in await take(patient.backend, patient.queue)] == [message]


class TestPlaces:
    @pytest.mark.parametrize("state", [State.PENDING, State.PROCESSING])
    @pytest.mark.parametrize("draft", [Draft(), Draft(priority=3, delay=9, ttl=99)])
    async def test_a_message_that_is_in_none(self, patient: Patient, state: State, draft: Draft) -> None:
        """It was not acked as far as anybody can tell, so it is pending."""
        message = await put(patient.backend, patient.queue, b"payload", draft)
        if state is State.PROCESSING:
            await patient.backend.take(patient.queue, [message], lease=LEASE, now=0)
        before = await patient.find(message)
        assert before is not None
        for part in ("pending", "delayed", "waiting", "processing", "held", "odd", "expiry"):
            patient.client.zrem(patient.key(part), padded(message))
        assert await patient.backend.repair() != []
        assert await patient.backend.audit() == []
        assert [each.id for each in await take(patient.backend, patient.queue, now=9)] == [message]
        assert (await patient.backend.space()).messages == 1

    @pytest.mark.parametrize("part", ["held", "waiting", "odd", "expiry", "graves"])
    async def test_one_that_is_missing_from_an_index(self, patient: Patient, part: str) -> None:
        late = await put(patient.backend, patient.queue, b"late", Draft(delay=9, ttl=99, priority=2))
        held = await put(patient.backend, patient.queue, b"held")
        await take(patient.backend, patient.queue)
        dead = await in_state(patient, State.DEAD, b"dead")
        patient.client.unlink(patient.key(part))
        expected = {"held": held, "graves": dead}.get(part, late)
        assert f"queue {patient.queue}: message {expected} " in (await patient.backend.audit())[0]
        assert [sentence.split("; ")[1] for sentence in await patient.backend.repair()] == ["put right"]
        assert await patient.backend.audit() == []
        pages = [await patient.backend.page(patient.queue, state, after=None, limit=9) for state in STATES]
        assert [[each.id for each in page] for page in pages] == [[late], [held], [dead]]
        assert (await patient.backend.tick(now=99, limit=9)).lapsed == [(patient.queue, late)]

    async def test_a_place_that_is_not_its_own(self, patient: Patient) -> None:
        first, second = await put(patient.backend, patient.queue, b"1"), await put(patient.backend, patient.queue, b"2")
        patient.client.zadd(patient.key("pending"), {padded(first): 5})
        await patient.cure(f"message {first} stands at a place that is not its own")
        assert [each.id for each in await take(patient.backend, patient.queue, 2)] == [first, second]

    async def test_two_states(self, patient: Patient) -> None:
        """Nobody loses a message: it is pending or in processing rather than dead, and held rather than pending."""
        first, second = await put(patient.backend, patient.queue, b"1"), await put(patient.backend, patient.queue, b"2")
        await take(patient.backend, patient.queue)
        patient.client.zadd(patient.key("pending"), {padded(first): 0})
        meta = patient.client.hget(patient.key("meta"), padded(second)) or b""
        patient.client.hset(patient.key("dead"), padded(second), meta)
        assert sum("in two states" in sentence for sentence in await patient.backend.audit()) == 2
        await patient.backend.repair()
        assert await patient.backend.audit() == []
        assert [each.id for each in await patient.backend.snapshot(patient.queue)] == [first, second]
        assert await patient.backend.counts(patient.queue) == Counts(pending=1, processing=1)
        assert await patient.backend.dead(patient.queue) == []

    @pytest.mark.parametrize("what", ["leases", "delays", "lapses", "windows", "retention"])
    async def test_a_time_that_nobody_would_look_at(self, patient: Patient, what: str) -> None:
        await put(patient.backend, patient.queue, b"1")
        await take(patient.backend, patient.queue, lease=5)
        await put(patient.backend, patient.queue, b"2", Draft(delay=5, ttl=9, key="k"), window=5)
        done = await put(patient.backend, patient.queue, b"3")
        await patient.backend.cancel(patient.queue, [done], now=0, keep=KEEP)
        await patient.backend.tick(now=0, limit=9)
        patient.client.zrem(f"{patient.base}{what}", str(patient.queue))
        await patient.cure("before anybody would look")
        tick = await patient.backend.tick(now=100, limit=9)
        assert (len(tick.overdue), len(tick.lapsed), len(tick.terminated)) == (1, 1, 1)
        assert not patient.client.exists(patient.key("windows"))


class TestPairs:
    async def test_keys(self, patient: Patient) -> None:
        """Of messages that are gone or have another, and of messages that would not be found."""
        first = await put(patient.backend, patient.queue, b"1", Draft(key="first"))
        second = await put(patient.backend, patient.queue, b"2", Draft(key="second"))
        patient.client.hset(patient.key("keys"), "first", f"{padded(first)} {padded(second)}")
        patient.client.hset(patient.key("keys"), "third", padded(MessageId(77)))
        patient.client.hdel(patient.key("keys"), "second")
        found = await patient.backend.audit()
        assert len(found) == 3
        await patient.backend.repair()
        assert await patient.backend.audit() == []
        for key, holder in (("first", first), ("second", second), ("third", None)):
            assert await patient.backend.find_key(patient.queue, key, now=0, window=0) == holder

    @pytest.mark.parametrize("part", ["published", "windows"])
    async def test_windows(self, patient: Patient, part: str) -> None:
        await put(patient.backend, patient.queue, b"1", Draft(key="k"), window=9)
        patient.client.unlink(patient.key(part))
        await patient.cure("of the window of the key 'k' only a part is kept")

    @pytest.mark.parametrize("part", ["done", "ends"])
    async def test_records(self, patient: Patient, part: str) -> None:
        """One whose time is lost is dated by itself; of one that is lost itself nothing is left."""
        message = await put(patient.backend, patient.queue, b"1")
        await patient.backend.cancel(patient.queue, [message], now=3, keep=KEEP)
        patient.client.unlink(patient.key(part))
        await patient.cure(f"record of message {message}")
        found = await patient.backend.records(patient.queue, after=None, limit=9, now=3)
        assert [each.finished_at for each in found] == ([3.0] if part == "ends" else [])

    async def test_stages(self, patient: Patient) -> None:
        """Their writers are there; of one that is not whole its writer will hear."""
        half, spoilt, fine = [await stage(patient.backend, patient.queue, b"staged") for _ in range(3)]
        patient.client.hdel(patient.key("staged"), padded(half))
        patient.client.hset(patient.key("staged"), padded(MessageId(77)), "left")
        patient.client.hset(patient.key("staged"), padded(spoilt), "stag")
        found = await patient.backend.audit()
        assert [f"message {each}" in sentence for each, sentence in zip((half, spoilt, 77), found, strict=False)] == [
            True
        ] * 3
        done = await patient.backend.repair()
        assert sum(sentence.startswith("not repaired: ") for sentence in done) == 1
        await patient.backend.discard(patient.queue, spoilt)
        assert await patient.backend.audit() == []
        await publish(patient.backend, patient.queue, fine)
        assert [each.data for each in await take(patient.backend, patient.queue, 9)] == [b"staged"]

    async def test_names(self, patient: Patient) -> None:
        """A queue is found by its name again, unless another one has it."""
        other = await new_queue(patient.backend, "other")
        patient.client.hdel(f"{patient.base}children:0", "jobs")
        patient.client.hset(f"{patient.base}children:0", "ghost", "99")
        await patient.cure("the name 'ghost' below queue 0 leads to no queue", "is not found by its name 'jobs'")
        assert [each.id for each in await patient.backend.children(ROOT)] == [patient.queue, other]
        patient.client.hset(f"{patient.base}children:0", "jobs", str(other))
        done = await patient.backend.repair()
        assert not any(sentence.startswith("not repaired") for sentence in done)
        patient.client.hset(f"{patient.base}queues", str(other), "0 0 0 493 0 jobs")
        patient.client.hset(f"{patient.base}children:0", "jobs", str(other))
        done = await patient.backend.repair()
        assert f"not repaired: queue {patient.queue} is not found by its name 'jobs'" in done


@pytest.mark.parametrize("state", STATES)
async def test_no_script_looks_at_many(patient: Patient, monkeypatch: pytest.MonkeyPatch, state: State) -> None:
    """However many messages there are, and however long."""
    number = 1100
    ids = [await each for each in [begin(patient.backend, patient.queue, b"x" * 9000) for _ in range(number)]]
    for each in [publish(patient.backend, patient.queue, id_) for id_ in ids]:
        await each
    await put(patient.backend, patient.queue, LONG * 3)
    if state is State.PROCESSING:
        await patient.backend.take(patient.queue, ids, lease=LEASE, now=0)
    elif state is State.DEAD:
        await patient.backend.bury(patient.queue, ids)
    looked: list[int] = []
    submit = patient.backend._submit

    def note(request: object) -> object:
        args = request.args()  # type: ignore[attr-defined]  # Request
        looked.append(len(args))
        return submit(request)  # type: ignore[arg-type]  # as above

    monkeypatch.setattr(patient.backend, "_submit", note)
    patient.client.config_resetstat()
    assert await patient.backend.audit() == []
    assert max(looked) <= IDS_AT_ONCE + 1
    assert patient.client.info("commandstats")["cmdstat_evalsha"]["calls"] >= number / IDS_AT_ONCE


async def test_a_store_in_use_is_found_to_be_right(redis_server: RedisServer) -> None:
    """Whatever others do between the looks: no disagreement is seen where there is none."""
    prefix = new_prefix()
    async with connect(redis_server.port, prefix) as backend, connect(redis_server.port, prefix) as other:
        queue = await new_queue(other)
        stopping = False

        async def work() -> None:
            while not stopping:
                await put(other, queue, b"x" * 99, Draft(key="k", delay=1e-6, ttl=50))
                await put(other, queue, LONG)
                claimed = await take(other, queue, 3)
                await other.ack(queue, [each.receipt for each in claimed[1:]], now=0, keep=KEEP)
                await other.undo(queue, [each.receipt for each in claimed[:1]], now=0)
                await other.bury(queue, [each.id for each in claimed[:1]])
                await other.drop(queue, None)

        async def make() -> None:
            while not stopping:
                made = await new_queue(other, "made")
                await other.cancel(made, [await put(other, made)], now=0, keep=KEEP)
                await other.move(queue, await put(other, queue, LONG), target=made, room=ANY)
                await other.clear(made)
                await other.remove_queue(made)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(make)
            for _ in range(3):
                nursery.start_soon(work)
            try:
                for _ in range(20):
                    assert await backend.audit() == []
                    assert await backend.repair() == []
            finally:
                stopping = True
        assert await backend.audit() == []
