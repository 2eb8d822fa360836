"""Real mounts over every back end."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.support.filled import fill
from tests.support.mount import mounted
from tests.support.redis_server import running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.filled import Filled
    from tests.support.mount import Mount
    from tests.support.redis_server import RedisServer

BACKENDS = ["memory", "sqlite", "redis"]

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running(tmp_path_factory.mktemp("redis")) as server:
        yield server


def store_url(kind: str, request: pytest.FixtureRequest, directory: Path) -> str:
    """Return the URL of a new, empty store."""
    if kind == "memory":
        return "memory:"
    if kind == "sqlite":
        return f"sqlite://{directory}/queue.db"
    server: RedisServer = request.getfixturevalue("redis_server")
    return f"{server.url}?prefix={directory.name}"


@pytest.fixture(params=BACKENDS)
def backend_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store of its own, for tests that mount by themselves."""
    return store_url(request.param, request, tmp_path)


@pytest.fixture(scope="session", params=BACKENDS)
def shared_mount(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mount]:
    """A mount that tests share, each in a corner of its own."""
    with mounted(store_url(request.param, request, tmp_path_factory.mktemp("store"))) as mount:
        yield mount


@pytest.fixture
def place(shared_mount: Mount) -> Path:
    """A corner of the shared mount: a queue without messages, in which this test makes its own."""
    path = shared_mount.path / f"test-{next(_numbers)}"
    path.mkdir()
    return path


@pytest.fixture
def jobs(place: Path) -> Path:
    """A queue."""
    path = place / "jobs"
    path.mkdir()
    return path


@pytest.fixture
def queue(jobs: Path, tmp_path: Path) -> Iterator[Filled]:
    """A queue with messages in every state; in the end nothing may be left of what is not listed."""
    filled = fill(jobs, tmp_path / "outside")
    yield filled
    filled.remove()
