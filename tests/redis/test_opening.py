"""Which servers are trusted with messages, and what is said of the others."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
import redis

from queuefs.errors import StoreUnusable
from queuefs.message import Space
from queuefs.registry import open_backend
from tests.redis.stores import new_queue
from tests.support.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Logs

TIMEOUT = 0.9


async def refusal(url: str) -> str:
    """Return why the store at *url* can't be opened; it must be said within the timeout."""
    begun = time.monotonic()
    with pytest.raises(StoreUnusable) as caught:
        async with open_backend(f"{url}{'&' if '?' in url else '?'}timeout={TIMEOUT}"):
            pass
    assert time.monotonic() - begun < TIMEOUT * 1.5
    return str(caught.value)


@contextmanager
def answering(answer: bytes | None) -> Iterator[int]:
    """Serve a port at which every piece that comes is answered with *answer*, or not at all."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client, suppress(OSError):
                    while client.recv(4096):
                        if answer is not None:
                            client.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


async def test_it_opens_by_url(redis_server: RedisServer) -> None:
    async with open_backend(f"{redis_server.url}?prefix=by-url") as backend:
        assert (backend.traits.durable, backend.traits.shared, backend.traits.server_time) == (True, True, True)
        await new_queue(backend)  # type: ignore[arg-type]  # any back end can
    with redis.Redis(port=redis_server.port) as client:
        keys = list(client.scan_iter("*by-url*"))
        assert keys
        assert all(key.startswith(b"{by-url}:") for key in keys)


async def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert "can't be reached" in await refusal(f"redis://:secret@127.0.0.1:{port}/0")


async def test_nobody_answers() -> None:
    with answering(None) as port:
        assert "can't be reached" in await refusal(f"redis://127.0.0.1:{port}/0")


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n", b":1\r\n"])
async def test_it_is_something_else(answer: bytes) -> None:
    with answering(answer) as port:
        assert "is not a Redis server" in await refusal(f"redis://127.0.0.1:{port}/0")


async def test_it_drips() -> None:
    with answering(b"x") as port:
        assert "Redis server" in await refusal(f"redis://127.0.0.1:{port}/0")


async def test_it_is_too_old() -> None:
    info = b"redis_version:6.0.16\r\nrole:master\r\n"
    with answering(b"$%d\r\n%b\r\n" % (len(info), info)) as port:
        assert "is version 6.0.16; QueueFS needs 6.2 or newer" in await refusal(f"redis://127.0.0.1:{port}/0")


async def test_a_wrong_password(tmp_path: Path) -> None:
    server = RedisServer(tmp_path, password="right")
    server.start()
    try:
        for login in ("", ":secret@", "nobody:secret@"):
            text = await refusal(f"redis://{login}127.0.0.1:{server.port}/0")
            assert "refuses the login" in text
            assert "secret" not in text
        async with open_backend(server.url) as backend:
            await new_queue(backend)  # type: ignore[arg-type]  # any back end can
    finally:
        server.stop()


async def test_a_wrong_database(redis_server: RedisServer) -> None:
    assert "can't be used" in await refusal(f"redis://127.0.0.1:{redis_server.port}/99")


async def test_it_would_throw_messages_away(tmp_path: Path, logs: Logs) -> None:
    server = RedisServer(tmp_path)
    server.start()
    try:
        with redis.Redis(port=server.port) as client:
            client.config_set("maxmemory-policy", "allkeys-lru")
            assert "set maxmemory-policy noeviction" in await refusal(server.url)
            client.config_set("maxmemory-policy", "volatile-lru")
            client.config_set("appendonly", "no")
            logs.expect("keeps nothing on disk")
            async with open_backend(server.url):
                pass
            client.config_set("save", "60 1")
            async with open_backend(server.url):
                pass
            client.replicaof("127.0.0.1", "1")
            assert "is a replica" in await refusal(server.url)
    finally:
        server.stop()


async def test_commands_that_a_managed_server_forbids_are_not_needed(tmp_path: Path) -> None:
    server = RedisServer(tmp_path)
    server.start()
    try:
        with redis.Redis(port=server.port) as client:
            client.execute_command(
                "ACL", "SETUSER", "app", "on", ">pw", "~{queuefs}:*", "&*", "+@all", "-config", "-info", "-flushall"
            )
        async with open_backend(f"redis://app:pw@127.0.0.1:{server.port}/0") as backend:
            await new_queue(backend)  # type: ignore[arg-type]  # any back end can
            assert await backend.space() == Space(used=0, free=0, messages=0)
            assert await backend.audit() == []
            assert await backend.repair() == []
    finally:
        server.stop()


async def test_a_store_of_another_layout_is_left_alone(redis_server: RedisServer) -> None:
    with redis.Redis(port=redis_server.port) as client:
        client.hset("{old}:queues", "1", "0 0 0 493 0 jobs")
        assert "has layout 1, and this QueueFS knows layout 3 alone" in await refusal(f"{redis_server.url}?prefix=old")
        client.set("{old}:layout", "2")
        assert "has layout 2" in await refusal(f"{redis_server.url}?prefix=old")
        async with open_backend(f"{redis_server.url}?prefix=new") as backend:
            await new_queue(backend)  # type: ignore[arg-type]  # any back end can
        client.set("{new}:layout", "4")
        assert "has layout 4" in await refusal(f"{redis_server.url}?prefix=new")


async def test_a_login_that_may_not_tell_the_others_is_refused(tmp_path: Path) -> None:
    server = RedisServer(tmp_path)
    server.start()
    try:
        with redis.Redis(port=server.port) as client:
            client.execute_command("ACL", "SETUSER", "app", "on", ">pw", "~*", "resetchannels", "+@all")
        assert "can't be used" in await refusal(f"redis://app:pw@127.0.0.1:{server.port}/0")
    finally:
        server.stop()
