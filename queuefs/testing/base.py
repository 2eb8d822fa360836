"""What the contract's tests have in common: how the store is opened, and the few steps that most of them begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio

from queuefs.backend import Settled
from queuefs.errors import MessageNotFound
from queuefs.lifecycle import State
from queuefs.message import ROOT, Draft, Message, MessageId, Owner, QueueId, Ref, Retention, Room, Verdict
from queuefs.registry import open_backend

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from contextlib import AbstractAsyncContextManager

    from queuefs.backend import Backend, Traits

#: The time at which every test begins, seconds; a power of two, so that sums with it are exact.
START = 2.0**30

#: The lease that a test takes when it does not matter, seconds.
LEASE = 32.0

#: Seconds that no test lives to see the end of; for delays, windows and times to live on any clock.
FOREVER = 2.0**20

#: Seconds that are over at a server's next look at its clock, and by a test's own at `LATER`.
BRIEF = 2.0**-20
LATER = START + 1

OWNER = Owner(uid=1000, gid=100, mode=0o750)

#: No limit.
ANY = Room()

#: Records enough for a test, and long enough.
KEEP = Retention(records=100, seconds=FOREVER)

#: No record.
NONE = Retention(records=0, seconds=0.0)


class Contract:
    """The base of the contract's test classes: the knobs that a back end's subclass gives, and the fixtures."""

    @pytest.fixture
    def url(self) -> str:
        """Return the URL of a store that no other test uses; each back end overrides this."""
        raise NotImplementedError

    def open_store(self, url: str) -> AbstractAsyncContextManager[Backend]:
        """Open the store at *url*, as the daemon does; for what can't be said in a URL, override it."""
        return open_backend(url)

    async def use_ids_up(self, backend: Backend, url: str, *, last: int) -> None:
        """Let the store believe that *last* was the last message id it gave; each back end overrides this."""
        raise NotImplementedError

    async def damage_payload(self, backend: Backend, url: str, message: MessageId) -> None:
        """Spoil what is stored as the payload of *message*; each back end that is durable overrides this."""
        raise NotImplementedError

    async def age(self, backend: Backend, url: str, *, seconds: float) -> None:
        """Let the last sign of life of *backend* be *seconds* old; each back end that is shared overrides this.

        All others that have the store open have been heard of all the time, so that they may take this one for dead.
        """
        raise NotImplementedError

    def restore_older_copy(self, url: str) -> AbstractAsyncContextManager[None]:
        """Copy all that the store keeps of itself now, and put the copy back at the end.

        Each back end that is durable overrides this. The store is closed at both moments, but where it is shared: there
        daemons have it open, as a server may be restored under them.
        """
        raise NotImplementedError

    async def interrupt(self, backend: Backend, url: str) -> None:
        """Let *backend* lose sight of what others do, once; each back end that is shared overrides this.

        As when the connection breaks over which it listens: what they do next may be missed.
        """
        raise NotImplementedError

    @pytest.fixture
    async def backend(self, url: str) -> AsyncIterator[Backend]:
        """Open a new store, and look for disagreements in it after the test."""
        async with self.open_store(url) as backend:
            yield backend
            assert await backend.audit() == []

    @pytest.fixture
    def traits(self, url: str) -> Traits:
        """Open the store for a look at its traits: only what is skipped before it begins can say why."""

        async def look() -> Traits:
            async with self.open_store(url) as backend:
                return backend.traits

        return trio.run(look)

    @pytest.fixture
    def only_durable(self, traits: Traits) -> None:
        """Skip the test of a store that ends with its daemon."""
        if not traits.durable:
            pytest.skip("nothing of this store outlives the daemon")

    @pytest.fixture
    def only_shared(self, traits: Traits) -> None:
        """Skip the test of a store that one daemon has to itself."""
        if not traits.shared:
            pytest.skip("no other daemon can have this store open")

    @pytest.fixture
    def only_alone(self, traits: Traits) -> None:
        """Skip the test of a store that several daemons may have open."""
        if traits.shared:
            pytest.skip("what a dead daemon of a shared store had staged is another test")

    @pytest.fixture
    def only_instant(self, traits: Traits) -> None:
        """Skip the test of a store whose answers take their time."""
        if not traits.instant:
            pytest.skip("this store's answers have to be waited for")

    @pytest.fixture
    def only_own_time(self, traits: Traits) -> None:
        """Skip the test of a store whose time a test can't move."""
        if traits.server_time:
            pytest.skip("the server's clock counts, and a test can't move it")

    @pytest.fixture
    async def queue(self, backend: Backend) -> QueueId:
        """Make a queue."""
        return await new_queue(backend, "jobs")


async def new_queue(backend: Backend, name: str, *, parent: QueueId = ROOT) -> QueueId:
    """Make a queue and return its number."""
    return (await backend.create_queue(parent, name, owner=OWNER, now=START)).id


async def stage(
    backend: Backend,
    queue: QueueId,
    data: bytes = b"x",
    *,
    priority: int = 0,
    draft: Draft | None = None,
    room: Room = ANY,
    partial: bool = False,
) -> MessageId:
    """Stage a message of *priority*, or with all that *draft* asks for."""
    draft = draft or Draft(priority=priority)
    return await backend.stage(queue, data, draft=draft, room=room, partial=partial, now=START)


async def publish(
    backend: Backend, queue: QueueId, message: MessageId, *, now: float = START, window: float = 0.0
) -> MessageId:
    """Publish a message, and return its id or that of the one to which it gives way."""
    return await backend.publish(queue, message, now=now, window=window)


async def put(
    backend: Backend,
    queue: QueueId,
    data: bytes = b"x",
    *,
    priority: int = 0,
    draft: Draft | None = None,
    now: float = START,
    window: float = 0.0,
) -> MessageId:
    """Stage and publish a message, which must not give way to another."""
    message = await stage(backend, queue, data, priority=priority, draft=draft)
    assert await publish(backend, queue, message, now=now, window=window) == message
    return message


async def take(
    backend: Backend,
    queue: QueueId,
    count: int = 1,
    *,
    lease: float = LEASE,
    lifo: bool = False,
    now: float = START,
) -> Sequence[Message]:
    """Claim messages."""
    return await backend.claim(queue, count=count, lease=lease, lifo=lifo, now=now)


async def take_one(backend: Backend, queue: QueueId, *, lease: float = LEASE, now: float = START) -> Message:
    """Claim one message, which must be there."""
    (message,) = await take(backend, queue, lease=lease, now=now)
    return message


async def peek(
    backend: Backend, queue: QueueId, count: int = 1, *, lifo: bool = False, now: float = START
) -> Sequence[Message]:
    """Look at the first messages."""
    return await backend.peek(queue, count=count, lifo=lifo, now=now)


async def nack(
    backend: Backend, queue: QueueId, refs: Iterable[Ref], *, delay: float = 0.0, now: float = START
) -> Sequence[Settled]:
    """Give messages back."""
    return await backend.nack(queue, [Verdict(ref=ref, delay=delay) for ref in refs], now=now)


async def bury(backend: Backend, queue: QueueId, message: Message, *, reason: str | None = None) -> None:
    """Set a claimed message aside as dead."""
    verdict = Verdict(ref=message.receipt, dead=True, reason=reason)
    assert list(await backend.nack(queue, [verdict], now=START)) == [Settled.DONE]


async def put_dead(backend: Backend, queue: QueueId, data: bytes = b"x", *, draft: Draft | None = None) -> Message:
    """Bring a message to the dead, as its only attempt; nothing else may be there to claim."""
    await put(backend, queue, data, draft=draft)
    message = await take_one(backend, queue)
    await bury(backend, queue, message)
    return message


async def overdue(backend: Backend, *, now: float = START) -> list[tuple[QueueId, Ref]]:
    """Return whose lease is over, as a tick reports it."""
    return [(each.queue, each.receipt) for each in (await backend.tick(now=now, limit=100)).overdue]


async def lose(backend: Backend, queue: QueueId) -> Message:
    """Claim one message and let its lease end; works on every clock, for a lease of no length is over at once."""
    message = await take_one(backend, queue, lease=0.0)
    assert await overdue(backend) == [(queue, message.receipt)]
    assert list(await backend.expire(queue, [Verdict(ref=message.receipt)], now=START)) == [Settled.DONE]
    return message


def ids(messages: Iterable[Message]) -> list[MessageId]:
    """Return the ids of *messages*."""
    return [message.id for message in messages]


async def pending(backend: Backend, queue: QueueId) -> list[MessageId]:
    """Return the ids of the pending messages by priority and id, whether or not they can be handed out now."""
    return [message.id for message in await backend.snapshot(queue) if message.state is State.PENDING]


async def find(backend: Backend, queue: QueueId, message: MessageId) -> Message:
    """Return one message that is pending, in processing or dead, as it stands."""
    (found,) = await backend.find(queue, [message])
    assert found is not None
    return found


async def state_of(backend: Backend, queue: QueueId, message: MessageId, *, size: int) -> State:
    """Return where a message of *size* bytes stands, by what the back end shows of it."""
    (found,) = await backend.find(queue, [message])
    if found is not None:
        return found.state
    if (await backend.find_records(queue, [message], now=START))[0] is not None:
        return State.DONE
    try:
        await backend.append(queue, message, b"", offset=size, partial=False, room=ANY)
    except MessageNotFound:
        return State.GONE
    return State.STAGED
