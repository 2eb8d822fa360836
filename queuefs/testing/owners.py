"""The contract of what is said of a queue: who owns it and each file in it, and its config."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from queuefs.message import ROOT, Owner, QueueId
from queuefs.testing.base import OWNER, Contract, find, new_queue, put

if TYPE_CHECKING:
    from queuefs.backend import Backend

#: Names that files have, and some that none has.
FILES = ["enqueue", "dequeue", "dead", "done", "Dead", "a_b", "aXb", "*", "%", "a\nb", "a:b", "é", "e\u0301", "x" * 255]


class OwnerContract(Contract):
    """`set_owner`, `set_file_owner` and `set_config`."""

    async def test_each_file_has_an_owner_of_its_own(self, backend: Backend, queue: QueueId) -> None:
        """None at first; any name, byte for byte; the last one that was said, and all views show it."""
        assert (await backend.get_queue(queue)).files == {}
        expected = {}
        for number, name in enumerate(FILES):
            expected[name] = Owner(uid=number, gid=2**32 - 2 - number, mode=0o7777 - number)
            await backend.set_file_owner(queue, name, expected[name])
        await backend.set_file_owner(queue, "dead", OWNER)
        expected["dead"] = OWNER
        found = await backend.get_queue(queue)
        assert found.files == expected
        assert found.owner == OWNER
        assert await backend.find_queue(ROOT, "jobs") == found
        assert list(await backend.children(ROOT)) == [found]

    async def test_owners_of_files_are_of_their_queue_and_move_with_it(self, backend: Backend, queue: QueueId) -> None:
        """Neither a child's nor changed with the queue's own; a new queue of the old name begins without."""
        child = await new_queue(backend, "child", parent=queue)
        owner = Owner(uid=1, gid=2, mode=0o200)
        await backend.set_file_owner(queue, "enqueue", owner)
        await backend.set_owner(queue, Owner(uid=0, gid=0, mode=0))
        await backend.set_config(queue, b"a", expected=b"")
        await backend.rename_queue(queue, parent=ROOT, name="work")
        found = await backend.get_queue(queue)
        assert (found.files, found.config, found.owner.mode) == ({"enqueue": owner}, b"a", 0)
        assert (await backend.get_queue(child)).files == {}
        assert (await backend.get_queue(await new_queue(backend, "jobs"))).files == {}
        await backend.remove_queue(child)
        assert (await backend.get_queue(await new_queue(backend, "child", parent=queue))).files == {}
        assert await backend.audit() == []

    async def test_a_returned_queue_stays_as_it_was(self, backend: Backend, queue: QueueId) -> None:
        """It is a value: what is said later does not show in it."""
        before = await backend.get_queue(queue)
        await backend.set_file_owner(queue, "ack", OWNER)
        assert before.files == {}
        assert (await backend.get_queue(queue)).files == {"ack": OWNER}

    @pytest.mark.usefixtures("only_durable")
    async def test_owners_of_files_are_kept(self, url: str) -> None:
        """With the queue."""
        async with self.open_store(url) as backend:
            queue = await new_queue(backend, "jobs")
            for name in FILES:
                await backend.set_file_owner(queue, name, OWNER)
            before = await backend.get_queue(queue)
        async with self.open_store(url) as backend:
            assert await backend.get_queue(queue) == before
            assert (await backend.get_queue(queue)).files == dict.fromkeys(FILES, OWNER)

    @pytest.mark.usefixtures("only_shared")
    async def test_daemons_see_the_same_owners(self, backend: Backend, queue: QueueId, url: str) -> None:
        """Those of files too; and what two say of two files is all kept."""
        async with self.open_store(url) as other:
            await backend.set_file_owner(queue, "ack", OWNER)
            await other.set_file_owner(queue, "nack", OWNER)
            for each in (backend, other):
                assert (await each.get_queue(queue)).files == {"ack": OWNER, "nack": OWNER}

    async def test_an_owner_is_kept(self, backend: Backend, queue: QueueId) -> None:
        """`set_owner` changes the owner and nothing else."""
        message = await put(backend, queue)
        owner = Owner(uid=0, gid=2**32 - 2, mode=0o7777)
        await backend.set_owner(queue, owner)
        found = await backend.get_queue(queue)
        assert (found.owner, found.name, found.parent) == (owner, "jobs", ROOT)
        assert await backend.find_queue(ROOT, "jobs") == found
        assert list(await backend.children(ROOT)) == [found]
        assert (await find(backend, queue, message)).id == message

    async def test_a_config_is_replaced_by_whoever_knows_it(self, backend: Backend, queue: QueueId) -> None:
        """Empty at first; any bytes. Who expects something else is told so and changes nothing."""
        assert (await backend.get_queue(queue)).config == b""
        first, second = bytes(range(256)) * 64, b"lease = 5\n"
        assert await backend.set_config(queue, first, expected=b"x") is False
        assert (await backend.get_queue(queue)).config == b""
        assert await backend.set_config(queue, first, expected=b"") is True
        assert (await backend.get_queue(queue)).config == first
        assert await backend.set_config(queue, second, expected=b"") is False
        assert await backend.set_config(queue, second, expected=first[:-1]) is False
        assert await backend.set_config(queue, second, expected=first) is True
        assert await backend.set_config(queue, second, expected=second) is True
        found = await backend.find_queue(ROOT, "jobs")
        assert found is not None
        assert found.config == second
        assert list(await backend.children(ROOT)) == [found]
        assert await backend.set_config(queue, b"", expected=second) is True
        assert (await backend.get_queue(queue)).config == b""

    async def test_of_two_who_change_a_config_one_is_told(self, backend: Backend, queue: QueueId) -> None:
        """Both expect what was there: the second has to look again, and nothing of the first is lost."""
        first = backend.set_config(queue, b"a", expected=b"")
        second = backend.set_config(queue, b"b", expected=b"")
        assert [await first, await second] == [True, False]
        assert (await backend.get_queue(queue)).config == b"a"

    async def test_a_config_is_of_its_queue_and_moves_with_it(self, backend: Backend, queue: QueueId) -> None:
        """Neither a child's nor an owner's; a new queue of the old name begins without."""
        child = await new_queue(backend, "child", parent=queue)
        await backend.set_config(queue, b"a", expected=b"")
        await backend.set_owner(queue, Owner(uid=0, gid=0, mode=0))
        await backend.rename_queue(queue, parent=ROOT, name="work")
        assert (await backend.get_queue(queue)).config == b"a"
        assert (await backend.get_queue(child)).config == b""
        assert (await backend.get_queue(await new_queue(backend, "jobs"))).config == b""
