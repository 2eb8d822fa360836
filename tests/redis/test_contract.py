"""The Redis back end keeps the contract: on a server by its own clock, on a server by the tests', and on fakeredis."""

from __future__ import annotations

import itertools
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import fakeredis
import pytest
import redis
from hypothesis import settings

from queuefs.message import Record
from queuefs.testing import BackendContract
from queuefs.testing.base import START, Contract
from queuefs.testing.comparison import Side
from queuefs.testing.contract import TimeContract
from queuefs.testing.listening import ListeningContract
from queuefs.testing.model import PROFILE
from queuefs.testing.moving import MoveContract
from queuefs.testing.pieces import PieceContract
from queuefs.testing.queues import QueueContract
from queuefs.testing.records import RecordContract
from queuefs.testing.repairing import RepairContract
from queuefs.testing.restoring import RestoreContract
from queuefs.testing.steps import LifecycleContract
from queuefs.testing.taking import TakeContract
from queuefs.testing.upkeep import UpkeepContract
from queuefs.testing.writing import WritingContract
from queuefs_redis import RedisBackend
from tests.redis.stores import turn_last_byte

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from queuefs.backend import Backend
    from queuefs.message import MessageId
    from tests.conftest import Logs
    from tests.support.redis_server import RedisServer

_numbers = itertools.count(1)


@dataclass
class Store:
    """How a test gets at its store beside the back end."""

    make_client: Callable[[], redis.Redis]
    logs: Logs
    client: redis.Redis = field(init=False)
    #: The daemons that have opened it.
    daemons: list[str] = field(default_factory=list)
    #: A payload was spoilt.
    is_damaged: bool = False

    def __post_init__(self) -> None:
        self.client = self.make_client()


#: By prefix, which is what these tests have for a URL.
_stores: dict[str, Store] = {}


class RedisStore(Contract):
    """What the three have in common: how a store is opened, and how the contract gets at it."""

    server_time = False

    @pytest.fixture
    def client_factory(self) -> Callable[[], redis.Redis]:
        raise NotImplementedError

    @pytest.fixture
    def url(self, client_factory: Callable[[], redis.Redis], logs: Logs) -> Iterator[str]:
        prefix = f"test-{next(_numbers)}"
        store = _stores[prefix] = Store(client_factory, logs)
        yield prefix
        store.client.close()
        if store.is_damaged:  # whether that is noticed, and how often, is the test's matter
            logs.dirty[:] = [record for record in logs.dirty if "payload damaged" not in record]

    @asynccontextmanager
    async def open_store(self, url: str) -> AsyncIterator[Backend]:
        store = _stores[url]
        async with RedisBackend.connect(store.make_client, prefix=url, server_time=self.server_time) as backend:
            store.daemons.append(backend.daemon)
            yield backend

    async def use_ids_up(self, backend: Backend, url: str, *, last: int) -> None:  # noqa: ARG002 - the contract's signature
        _stores[url].client.set(f"{{{url}}}:last-id", last)

    async def damage_payload(self, backend: Backend, url: str, message: MessageId) -> None:  # noqa: ARG002 - as above
        """Turn its last byte, wherever it is kept."""
        store = _stores[url]
        store.is_damaged = True
        for part in ("body", "remains"):
            for key in store.client.scan_iter(f"{{{url}}}:q:*:{part}"):
                turn_last_byte(store.client, key, f"{message:019d}".encode())
        for key in store.client.scan_iter(f"{{{url}}}:q:*:pieces:{message:019d}"):
            turn_last_byte(store.client, key, max(store.client.hkeys(key), key=int))

    async def age(self, backend: Backend, url: str, *, seconds: float) -> None:
        """Let *backend* have been silent, and the others not, for only one that was heard all the time may judge."""
        store = _stores[url]
        now = int(START * 1_000_000)
        if self.server_time:
            whole, microseconds = store.client.time()
            now = whole * 1_000_000 + microseconds
        for daemon in store.daemons:
            silent = seconds if daemon == getattr(backend, "daemon", None) else 0
            store.client.zadd(f"{{{url}}}:daemons", {daemon: now - silent * 1_000_000})
            store.client.hset(f"{{{url}}}:beating", daemon, str(now - 60_000_000))


class ServerStore(RedisStore):
    @pytest.fixture
    def client_factory(self, redis_server: RedisServer) -> Callable[[], redis.Redis]:
        return lambda: redis.Redis(port=redis_server.port)

    async def interrupt(self, backend: Backend, url: str) -> None:  # noqa: ARG002 - the contract's signature
        _stores[url].client.client_kill_filter(_type="pubsub")

    @asynccontextmanager
    async def restore_older_copy(self, url: str) -> AsyncIterator[None]:
        """As a server does that is started with an older copy of its data: everybody has to connect anew."""
        client = _stores[url].client
        pattern = f"{{{url}}}:*"
        copy = {key: client.dump(key) for key in client.scan_iter(pattern)}
        yield
        client.delete(*client.scan_iter(pattern))
        for key, value in copy.items():
            client.restore(key, 0, value or b"")
        client.client_kill_filter(_type="normal", skipme=True)


class TestServer(ServerStore, BackendContract):
    server_time = True
    model_settings = settings(PROFILE, max_examples=5)

    @pytest.fixture(autouse=True)
    def records_in_any_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Compare records by id: what the comparison lets end at one moment ends at two by the server's clock."""
        plain = Side.plain

        def in_order(side: Side, answer: object, *, times: bool) -> Any:
            if isinstance(answer, list) and all(isinstance(each, Record) for each in answer):
                answer = sorted(answer, key=lambda record: record.id)
            return plain(side, answer, times=times)

        monkeypatch.setattr(Side, "plain", in_order)


class TestServerByCallersTime(ServerStore, TimeContract):
    """Where time matters: real Lua reckons with times that a test chooses."""

    model_settings = settings(PROFILE, max_examples=10)


class TestFakeRedis(
    RedisStore,
    QueueContract,
    WritingContract,
    ListeningContract,
    LifecycleContract,
    UpkeepContract,
    MoveContract,
    PieceContract,
    RecordContract,
    RepairContract,
    RestoreContract,
    TakeContract,
):
    """Enough of it to rely on when there is no server: each call takes it ten times as long."""

    @pytest.fixture
    def client_factory(self) -> Callable[[], redis.Redis]:
        server = fakeredis.FakeServer()
        return lambda: fakeredis.FakeRedis(server=server)

    async def interrupt(self, backend: Backend, url: str) -> None:  # noqa: ARG002 - the contract's signature
        assert isinstance(backend, RedisBackend)
        backend._listener._link._sock.put_response(redis.AuthenticationError("interrupted"))
