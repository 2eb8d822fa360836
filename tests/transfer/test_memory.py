"""What memory holds, exported and imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from hypothesis import HealthCheck, given, settings

from queuefs_memory import MemoryBackend
from tests.transfer.stores import body_of, contents, dump, fill, load, new_clock

if TYPE_CHECKING:
    from tests.transfer.stores import Content


@given(content=contents())
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_imported_is_exported_as_it_was(content: list[Content]) -> None:
    async def check() -> None:
        first, second = MemoryBackend(), MemoryBackend()
        await fill(first, content)
        text = await dump(first)

        await load(second, text)

        assert body_of(await dump(second)) == body_of(text)
        assert await second.audit() == []

    trio.run(check)


@given(content=contents())
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_each_store_may_have_a_time_of_its_own(content: list[Content]) -> None:
    async def check() -> None:
        first, second = MemoryBackend(), MemoryBackend()
        here, there = new_clock(ahead=86_400.123456), new_clock(ahead=-3.5)
        await fill(first, content)
        text = await dump(first, here)

        await load(second, text, there)

        assert body_of(await dump(second, there)) == body_of(text)

    trio.run(check)
