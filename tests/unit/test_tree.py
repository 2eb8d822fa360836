"""The queues at hand are those of the store, also while they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio

from queuefs.clock import Clock
from queuefs.message import ROOT, Owner, Queue
from queuefs.registry import open_backend
from queuefs.tree import Tree

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

#: Tasks that wait for one batch of answers run on in any order; of so many rounds some go either way.
ROUNDS = 40


@pytest.fixture
async def tree(tmp_path: Path) -> AsyncIterator[Tree]:
    """The tree of a store that answers a batch at a time."""
    async with open_backend(f"sqlite://{tmp_path}/queue.db") as backend:
        yield Tree(backend, Clock(None), Owner(uid=0, gid=0, mode=0o755))


LOOKS: dict[str, Callable[[Tree, Queue], Awaitable[Queue]]] = {
    "by number": lambda tree, queue: tree.get(queue.id),
    "by name": lambda tree, queue: tree.find(ROOT, queue.name),
    "in a list": lambda tree, _queue: _only(tree.children(ROOT)),
}


async def _only(queues: Awaitable[Sequence[Queue]]) -> Queue:
    (queue,) = await queues
    return queue


@pytest.mark.parametrize("look", LOOKS)
async def test_what_was_asked_for_before_a_change_is_not_kept_after_it(tree: Tree, look: str) -> None:
    queue = await tree.create(ROOT, "jobs", Owner(uid=0, gid=0, mode=0))
    for mode in range(ROUNDS):
        owner = Owner(uid=1, gid=2, mode=mode)
        steps: list[Owner | None] = []

        async def change(owner: Owner = owner, steps: list[Owner | None] = steps) -> None:
            await tree.set_file_owner(queue.id, "dead", owner)
            steps.append(owner)

        async def see(steps: list[Owner | None] = steps) -> None:
            steps.append((await LOOKS[look](tree, queue)).files.get("dead"))

        tree.forget(queue.id)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(tree.create, queue.id, f"child-{mode}", owner)  # keeps the others waiting
            nursery.start_soon(see)
            nursery.start_soon(change)

        assert owner == (await tree.get(queue.id)).files["dead"]
        assert owner == steps[-1]
