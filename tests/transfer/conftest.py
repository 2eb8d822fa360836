"""Stores that a test can have, as many as it likes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.support.redis_server import running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.redis_server import RedisServer

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(params=["sqlite", "redis"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Return what gives the URL of a store that is not there yet."""
    if request.param == "sqlite":
        return lambda: f"sqlite://{tmp_path}/{next(_numbers)}.db"
    server: RedisServer = request.getfixturevalue("redis_server")
    return lambda: f"{server.url}?prefix=transfer-{next(_numbers)}"
