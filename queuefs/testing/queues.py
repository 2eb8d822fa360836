"""The contract of queues: the tree and its names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.errors import BadValue, QueueBusy, QueueExists, QueueNotEmpty, QueueNotFound
from queuefs.lifecycle import State
from queuefs.message import ROOT, Counts, QueueId, Ref, Verdict
from queuefs.testing.base import (
    ANY,
    KEEP,
    LEASE,
    OWNER,
    START,
    Contract,
    find,
    nack,
    new_queue,
    peek,
    publish,
    put,
    stage,
    take,
    take_one,
)
from queuefs.testing.records import finish, record_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from queuefs.backend import Backend

#: A number that no test's queue reaches.
NOBODY = QueueId(1_000_000)

#: Names that a pattern, a quote or a key separator of some store could take for something else.
NAMES = [
    "A_B", "a*b", "a?b", "a[b]", "a{b}", "a%b", "a_b", "aXb", "a_bc", "a b", " a", "a ", "a\nb", "a\tb", "a\\b", "a'b",
    'a"b', "a`b", "a;b", "a--b", "a:b", "a|b", "a#b", "$a", "-a", "0", "1", "%", "*", "_", "a.b", "...", "\x01", "\x7f",
    "é", "e\u0301", "\uffee", "\U0001f600", "x" * 255, "é" * 127 + "y", "\U0001f600" * 63 + "abc",
]  # fmt: skip


class QueueContract(Contract):
    """Queues: `find_queue` to `rename_queue`."""

    async def test_a_new_queue_is_found_as_it_was_made(self, backend: Backend) -> None:
        """`create_queue`, `find_queue`, `get_queue` and `children` return the same value."""
        made = await backend.create_queue(ROOT, "jobs", owner=OWNER, now=START)
        assert (made.parent, made.name, made.owner) == (ROOT, "jobs", OWNER)
        assert await backend.find_queue(ROOT, "jobs") == made
        assert await backend.get_queue(made.id) == made
        assert list(await backend.children(ROOT)) == [made]
        if not backend.traits.server_time:
            assert made.created_at == START

    async def test_a_new_queue_is_empty(self, backend: Backend, queue: QueueId) -> None:
        """Nothing is in a queue to begin with."""
        assert await backend.counts(queue) == Counts(pending=0, processing=0)
        assert await backend.unacked_bytes(queue) == 0
        assert list(await backend.snapshot(queue)) == []
        assert list(await backend.children(queue)) == []

    async def test_what_is_not_there_is_not_found(self, backend: Backend, queue: QueueId) -> None:
        """`find_queue` returns None; a parent that does not exist has no children."""
        assert await backend.find_queue(ROOT, "other") is None
        assert await backend.find_queue(queue, "jobs") is None
        assert await backend.find_queue(NOBODY, "jobs") is None
        assert list(await backend.children(NOBODY)) == []

    @pytest.mark.parametrize("number", [NOBODY, ROOT], ids=["none", "root"])
    async def test_every_method_that_takes_a_queue_wants_one(self, backend: Backend, number: QueueId) -> None:
        """All raise `QueueNotFound`; so they do for the root, which holds queues and is none."""
        queue = await new_queue(backend, "jobs")
        record = await record_of(backend, queue, await finish(backend, queue))
        message = await put(backend, queue)
        found = await find(backend, queue, message)
        refs = [Ref(message)]
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: backend.get_queue(number),
            lambda: backend.remove_queue(number),
            lambda: backend.rename_queue(number, parent=ROOT, name="other"),
            lambda: backend.set_owner(number, OWNER),
            lambda: backend.set_file_owner(number, "dead", OWNER),
            lambda: backend.set_config(number, b"", expected=b""),
            lambda: stage(backend, number),
            lambda: backend.append(number, message, b"x", offset=0, partial=False, room=ANY),
            lambda: publish(backend, number, message),
            lambda: backend.find_key(number, "key", now=START, window=0),
            lambda: backend.discard(number, message),
            lambda: backend.restore(number, found),
            lambda: backend.restore_record(number, record, keep=KEEP),
            lambda: take(backend, number),
            lambda: backend.take(number, [message], lease=LEASE, now=START),
            lambda: backend.undo(number, refs, now=START),
            lambda: backend.ack(number, refs, now=START),
            lambda: nack(backend, number, refs),
            lambda: backend.expire(number, [Verdict(ref=refs[0])], now=START),
            lambda: backend.extend(number, refs, lease=LEASE, now=START),
            lambda: backend.check(number, refs),
            lambda: backend.clear(number),
            lambda: backend.pause(number, [message]),
            lambda: backend.resume(number, [message]),
            lambda: backend.cancel(number, [message], now=START),
            lambda: backend.bury(number, [message]),
            lambda: backend.move(number, message, target=queue, room=ANY),
            lambda: backend.move(queue, message, target=number, room=ANY),
            lambda: backend.retry(number, [message], now=START),
            lambda: backend.retry(number, None, now=START),
            lambda: backend.drop(number, [message]),
            lambda: backend.drop(number, None),
            lambda: backend.prune(number, [message]),
            lambda: backend.prune(number, None),
            lambda: backend.counts(number),
            lambda: peek(backend, number),
            lambda: backend.unacked_bytes(number),
            lambda: backend.snapshot(number),
            lambda: backend.payloads(number, [message]),
            lambda: backend.dead(number),
            lambda: backend.find(number, [message]),
            lambda: backend.page(number, State.PENDING, after=None, limit=1),
            lambda: backend.page(number, State.PROCESSING, after=None, limit=1),
            lambda: backend.page(number, State.DEAD, after=None, limit=1),
            lambda: backend.places(number, State.PENDING, after=None, limit=1),
            lambda: backend.records(number, after=None, limit=1, now=START),
            lambda: backend.find_records(number, [message], now=START),
            lambda: backend.read(number, message, offset=0, size=1),
            lambda: backend.stats(number),
        ]
        for call in calls:
            with pytest.raises(QueueNotFound):
                await call()

    async def test_children_are_ordered_by_name(self, backend: Backend) -> None:
        """The order is that of the names' bytes, and grandchildren are not among them."""
        for name in ["b", "a", "C", "é", "\uffee", "\U0001f600", "10", "9"]:
            await new_queue(backend, "x", parent=await new_queue(backend, name))
        names = [queue.name for queue in await backend.children(ROOT)]
        assert names == ["10", "9", "C", "a", "b", "é", "\uffee", "\U0001f600"]

    async def test_a_name_is_taken_once_below_one_parent(self, backend: Backend, queue: QueueId) -> None:
        """A second is refused with `QueueExists`; elsewhere in the tree the name is free."""
        with pytest.raises(QueueExists):
            await backend.create_queue(ROOT, "jobs", owner=OWNER, now=START)
        await backend.create_queue(queue, "jobs", owner=OWNER, now=START)

    async def test_a_queue_needs_its_parent(self, backend: Backend) -> None:
        """Creating below a parent that does not exist raises `QueueNotFound`."""
        with pytest.raises(QueueNotFound):
            await backend.create_queue(NOBODY, "jobs", owner=OWNER, now=START)

    async def test_names_are_compared_byte_for_byte(self, backend: Backend) -> None:
        """No name is a pattern, none is folded or normalized, and each keeps its own messages."""
        made = {name: await new_queue(backend, name) for name in NAMES}
        assert len(set(made.values())) == len(NAMES)
        for name, number in made.items():
            found = await backend.find_queue(ROOT, name)
            assert found is not None
            assert (found.id, found.name) == (number, name)
            await put(backend, number, name.encode())
        assert [queue.name for queue in await backend.children(ROOT)] == sorted(NAMES)
        for name, number in made.items():
            assert [message.data for message in await peek(backend, number, 2)] == [name.encode()]

    async def test_a_queue_is_removed_and_nothing_but_it(self, backend: Backend) -> None:
        """Queues whose names look alike keep all they have."""
        made = {name: await new_queue(backend, name) for name in NAMES}
        for name in ["a_b", "a*b", "a?b", "%", "*", "_"]:
            await backend.remove_queue(made.pop(name))
            assert await backend.find_queue(ROOT, name) is None
        assert {queue.name: queue.id for queue in await backend.children(ROOT)} == made

    async def test_clearing_a_queue_leaves_those_with_names_alike(self, backend: Backend) -> None:
        """`clear` removes the messages of one queue alone."""
        made = {name: await new_queue(backend, name) for name in ["a_b", "aXb", "a_bc", "A_B", "a%"]}
        for number in made.values():
            await put(backend, number)
        await backend.clear(made.pop("a_b"))
        await backend.clear(made.pop("a%"))
        for number in made.values():
            assert await backend.counts(number) == Counts(pending=1, processing=0)

    async def test_a_removed_queue_is_gone(self, backend: Backend, queue: QueueId) -> None:
        """Its number is not found any more, and a new queue of its name has another."""
        await backend.remove_queue(queue)
        with pytest.raises(QueueNotFound):
            await backend.get_queue(queue)
        assert await backend.find_queue(ROOT, "jobs") is None
        assert await new_queue(backend, "jobs") > queue

    async def test_a_queue_with_children_is_not_removed(self, backend: Backend, queue: QueueId) -> None:
        """It raises `QueueNotEmpty`, and child and parent stay."""
        child = await new_queue(backend, "child", parent=queue)
        with pytest.raises(QueueNotEmpty):
            await backend.remove_queue(queue)
        await backend.remove_queue(child)
        await backend.remove_queue(queue)

    async def test_a_queue_with_messages_is_not_removed(self, backend: Backend, queue: QueueId) -> None:
        """It raises `QueueNotEmpty` while one is pending or in processing, and they stay."""
        await put(backend, queue)
        with pytest.raises(QueueNotEmpty):
            await backend.remove_queue(queue)
        message = await take_one(backend, queue)
        await stage(backend, queue)  # makes no difference to the answer
        with pytest.raises(QueueNotEmpty):
            await backend.remove_queue(queue)
        assert await backend.counts(queue) == Counts(pending=0, processing=1)
        await backend.ack(queue, [message.receipt], now=START)

    async def test_a_queue_that_is_written_to_is_not_removed(self, backend: Backend, queue: QueueId) -> None:
        """It raises `QueueBusy` while it has nothing but staged messages."""
        message = await stage(backend, queue)
        with pytest.raises(QueueBusy):
            await backend.remove_queue(queue)
        await backend.discard(queue, message)
        await backend.remove_queue(queue)

    async def test_a_rename_keeps_all_below(self, backend: Backend) -> None:
        """Children, messages, leases and staged ones are those of before, under the same numbers."""
        top, goal = await new_queue(backend, "top"), await new_queue(backend, "goal")
        child = await new_queue(backend, "child", parent=top)
        for number in (top, child):
            for _ in range(2):
                await put(backend, number)
        staged = await stage(backend, child)
        claimed = await take_one(backend, child)
        before = [list(await backend.snapshot(number)) for number in (top, child)]

        await backend.rename_queue(top, parent=goal, name="new")

        assert await backend.find_queue(ROOT, "top") is None
        renamed = await backend.find_queue(goal, "new")
        assert renamed is not None
        assert (renamed.id, renamed.parent, renamed.name, renamed.owner) == (top, goal, "new", OWNER)
        assert await backend.get_queue(top) == renamed
        assert [queue.id for queue in await backend.children(top)] == [child]
        assert [list(await backend.snapshot(number)) for number in (top, child)] == before
        await publish(backend, child, staged)
        await backend.ack(child, [claimed.receipt], now=START)
        assert await backend.counts(child) == Counts(pending=2, processing=0)

    async def test_a_rename_frees_the_old_name(self, backend: Backend, queue: QueueId) -> None:
        """Another queue can have it, and renaming back is refused then."""
        await backend.rename_queue(queue, parent=ROOT, name="work")
        await new_queue(backend, "jobs")
        with pytest.raises(QueueExists):
            await backend.rename_queue(queue, parent=ROOT, name="jobs")
        assert [each.name for each in await backend.children(ROOT)] == ["jobs", "work"]

    async def test_a_rename_to_what_it_is_changes_nothing(self, backend: Backend, queue: QueueId) -> None:
        """The queue itself is no other queue of that name."""
        before = await backend.get_queue(queue)
        await backend.rename_queue(queue, parent=ROOT, name="jobs")
        assert await backend.get_queue(queue) == before

    async def test_a_rename_needs_its_parent(self, backend: Backend, queue: QueueId) -> None:
        """A parent that does not exist raises `QueueNotFound`, and the queue stays where it was."""
        with pytest.raises(QueueNotFound):
            await backend.rename_queue(queue, parent=NOBODY, name="new")
        assert await backend.find_queue(ROOT, "jobs") is not None

    async def test_a_queue_is_not_moved_into_itself(self, backend: Backend, queue: QueueId) -> None:
        """A parent that is the queue or below it raises `BadValue`."""
        child = await new_queue(backend, "child", parent=queue)
        grandchild = await new_queue(backend, "grandchild", parent=child)
        for parent in (queue, child, grandchild):
            with pytest.raises(BadValue):
                await backend.rename_queue(queue, parent=parent, name="new")
        await backend.rename_queue(grandchild, parent=queue, name="up")
        assert [each.name for each in await backend.children(queue)] == ["child", "up"]
