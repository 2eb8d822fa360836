"""The steps of a comparison that make queues, and messages in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from queuefs.lifecycle import State
from queuefs.message import Draft, Message, MessageId, Owner, Record, Room
from queuefs.testing.base import START
from queuefs.testing.comparison import FAR_AWAY, NAMES, Comparison, Side

if TYPE_CHECKING:
    from collections.abc import Awaitable


class Staging(Comparison):
    """Each method is a step; its numbers are picks."""

    async def create_queue(self, *, parent: int, name: int) -> None:
        """Make a child, of a name that is taken now and then."""
        others = len(self._sides[0].queues)  # so that the next one of a name is not always below the same parent
        await self._create(self._queue(parent + others), NAMES[(name + others) % len(NAMES)])

    async def remove_queue(self, *, queue: int) -> None:
        """Remove a queue, but not the first, which holds the example together."""
        number = self._queue(queue) or len(self._sides[0].queues) - 1
        if await self._both(lambda side: side.backend.remove_queue(side.queues[number])) is None:
            self._removed.add(number)

    async def rename_queue(self, *, queue: int, parent: int, name: int) -> None:
        """Move a queue, where to it may not go included."""
        number, above = self._queue(queue) or len(self._sides[0].queues) - 1, self._queue(parent)
        await self._both(
            lambda side: side.backend.rename_queue(side.queues[number], parent=side.queues[above], name=NAMES[name])
        )

    async def set_config(self, *, queue: int, config: bytes, expected: bytes) -> None:
        """Change a config, or not."""
        number = self._queue(queue)
        await self._both(lambda side: side.backend.set_config(side.queues[number], config, expected=expected))

    async def set_owner(self, *, queue: int, uid: int) -> None:
        """Give a queue to somebody else."""
        number, owner = self._queue(queue), Owner(uid=uid, gid=uid, mode=0o700)
        await self._both(lambda side: side.backend.set_owner(side.queues[number], owner))

    async def set_file_owner(self, *, queue: int, file: str, uid: int) -> None:
        """Give one file to somebody else."""
        number, owner = self._queue(queue), Owner(uid=uid, gid=uid, mode=0o700)
        await self._both(lambda side: side.backend.set_file_owner(side.queues[number], file, owner))

    async def stage(self, *, queue: int, data: bytes, draft: Draft, room: Room, partial: bool) -> None:
        """Begin a message, if there is room; its delay and its life are picks."""
        number = self._queue(queue)
        draft = replace(draft, delay=self._span(int(draft.delay)), ttl=self._span(int(draft.ttl)))

        async def call(side: Side) -> int:
            message = await side.backend.stage(
                side.queues[number], data, draft=draft, room=room, partial=partial, now=self._now
            )
            assert not side.messages or message > max(side.messages), f"{message} is not higher than all before"
            side.messages.append(message)
            return len(side.messages) - 1

        if isinstance(await self._both(call), int):
            self._home.append(number)
            self._sizes.append(len(data))

    async def stage_as(self, *, message: int, ahead: int, queue: int, data: bytes, draft: Draft) -> None:
        """Begin a message under an id some way ahead, or under one that was given, whatever became of it."""
        again = None if ahead else self._message(message, State.GONE)
        number = self._queue(queue) if again is None else self._home[again]
        draft = replace(draft, delay=self._span(int(draft.delay)), ttl=self._span(int(draft.ttl)))

        async def call(side: Side) -> int:
            wanted = (
                MessageId(max(side.messages, default=10_000_000) + ahead) if again is None else side.messages[again]
            )
            given = await side.backend.stage(
                side.queues[number], data, draft=draft, room=Room(), partial=True, now=self._now, message=wanted
            )
            assert given == wanted
            side.in_order = again is None and side.in_order
            if again is None:
                side.messages.append(given)
            return len(side.messages) - 1 if again is None else again

        if not isinstance(staged := await self._both(call), int):
            return
        if again is None:
            self._home.append(number)
            self._sizes.append(0)
        self._published.discard(staged)
        self._sizes[staged] = len(data)

    async def restore(self, *, message: int, state: State, like: Message, lease: int) -> None:
        """Make a message what it was elsewhere; its times are picks."""
        number = self._staged(message)
        if number is None:
            return
        pending, held = state is State.PENDING, state is State.PROCESSING
        like = replace(
            like,
            state=state,
            enqueued_at=self._now,
            lease_until=(self._moment(lease) or START) if held else None,
            due=self._moment(int(like.due or 0)) if pending else None,
            expires_at=self._moment(int(like.expires_at or 0)),
            paused=like.paused and pending,
            cancelled=like.cancelled and held,
            claimed_at=START if like.claims else None,
        )

        def call(side: Side) -> Awaitable[object]:
            side.in_order = False
            return side.backend.restore(side.queues[self._home[number]], replace(like, id=side.messages[number]))

        await self._both(call)

    async def restore_record(self, *, queue: int, message: int, like: Record) -> None:
        """Keep a record from elsewhere, of a message that may be here as well; it is the latest."""
        number, of = self._queue(queue), self._message(message, State.GONE)
        keep = self._keep(number)
        if of is None or keep is None:
            return
        like = replace(like, finished_at=self._now + 1 / 2 if self._own_time else FAR_AWAY)

        def call(side: Side) -> Awaitable[object]:
            return side.backend.restore_record(side.queues[number], replace(like, id=side.messages[of]), keep=keep)

        await self._both(call)

    async def put(self, *, queue: int, data: bytes, draft: Draft) -> None:
        """Begin a message and publish it."""
        before = len(self._home)
        await self.stage(queue=queue, data=data, draft=draft, room=Room(), partial=False)
        if len(self._home) > before:
            await self._publish(before, self._home[before])

    async def append(self, *, message: int, data: bytes, off: int, partial: bool, room: Room) -> None:
        """Add to a message, at the wrong place now and then."""
        number = self._staged(message)
        if number is None:
            return
        if not data:
            room = Room()  # whether a piece of no bytes fits where there is too much already, is not said
        home, offset = self._home[number], max(0, self._sizes[number] + off)
        answer = await self._both(
            lambda side: side.backend.append(
                side.queues[home], side.messages[number], data, offset=offset, partial=partial, room=room
            )
        )
        if answer is None:
            self._sizes[number] += len(data)

    async def finish(self, *, message: int, queue: int, at_home: bool, discard: bool) -> None:
        """Publish or discard a message, as if it were in another queue now and then."""
        number = self._staged(message)
        if number is None:
            return
        place = self._home[number] if at_home else self._queue(queue)
        if discard:
            await self._both(lambda side: side.backend.discard(side.queues[place], side.messages[number]))
        else:
            await self._publish(number, place)

    async def _publish(self, message: int, queue: int) -> None:
        async def call(side: Side) -> bool:
            given = side.messages[message]
            there = await side.backend.publish(side.queues[queue], given, now=self._now, window=self._window(queue))
            # Two of a key are unacknowledged if a dead one was retried, and which of them is named is not said.
            return there == given

        await self._both(call)

    async def find_key(self, *, queue: int, key: str) -> None:
        """Ask whether a key is in use."""
        number = self._queue(queue)

        async def call(side: Side) -> bool:
            window = self._window(number)
            return await side.backend.find_key(side.queues[number], key, now=self._now, window=window) is not None

        await self._both(call)
