"""A server for all tests that don't harm it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.redis_server import running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.redis_server import RedisServer


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running(tmp_path_factory.mktemp("redis")) as server:
        yield server
