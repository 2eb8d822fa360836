"""What a Redis URL may say, and what is refused."""

from __future__ import annotations

import pytest

from queuefs.errors import StoreUnusable
from queuefs_redis import open_backend
from queuefs_redis.urls import Kind, Target, parse


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://", Target(kind=Kind.SERVER, hosts=(("localhost", 6379),))),
        ("redis://host", Target(kind=Kind.SERVER, hosts=(("host", 6379),))),
        ("redis://host:7000/3", Target(kind=Kind.SERVER, hosts=(("host", 7000),), db=3)),
        ("redis://[::1]:7000/", Target(kind=Kind.SERVER, hosts=(("::1", 7000),))),
        ("redis://:pw@host", Target(kind=Kind.SERVER, hosts=(("host", 6379),), password="pw")),
        (
            "rediss://me:p%40s%2Fs:w@host/0?prefix=my:q.1&timeout=0.5",
            Target(
                kind=Kind.SERVER,
                hosts=(("host", 6379),),
                tls=True,
                username="me",
                password="p@s/s:w",
                prefix="my:q.1",
                timeout=0.5,
            ),
        ),
        (
            "redis+sentinel://:pw@h1:26380,h2/mymaster/2",
            Target(kind=Kind.SENTINEL, hosts=(("h1", 26380), ("h2", 26379)), password="pw", master="mymaster", db=2),
        ),
        ("redis+cluster://h1:7000,h2", Target(kind=Kind.CLUSTER, hosts=(("h1", 7000), ("h2", 6379)))),
    ],
)
def test_the_forms_of_a_url(url: str, expected: Target) -> None:
    assert parse(url) == expected


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis:host", "not a Redis URL"),
        ("redis+unix:///tmp/redis.sock", "not a Redis URL"),
        ("redis://host:99999", "host or port"),
        ("redis://host:port", "host or port"),
        ("redis://h1,h2", "several hosts"),
        ("redis://host/one", "must be a number"),
        ("redis://host/0/1", "must be a number"),
        ("redis://host?databse=1", "unknown option 'databse'"),
        ("redis://host?prefix=a&password=secret", "unknown option 'password'"),
        ("redis://host?prefix=", "prefix"),
        ("redis://host?prefix={a}", "prefix"),
        ("redis://host?timeout=0", "timeout"),
        ("redis://host?timeout=nan", "timeout"),
        ("redis://host?timeout=-1", "timeout"),
        ("redis://host?timeout=1e3", "timeout"),
        ("redis://host?timeout=61", "timeout"),
        ("redis+sentinel://h1:26379", "needs the master's name"),
        ("redis+cluster://h1/1", "no databases"),
        ("redis://me:sec/ret@host", "special characters"),
        ("redis://me:secret@host:x", "special characters"),
    ],
)
async def test_what_cant_be_used_is_named(url: str, said: str) -> None:
    with pytest.raises(StoreUnusable, match=said) as caught:
        async with open_backend(url):
            pass
    assert "secret" not in str(caught.value)
    assert "sec/" not in str(caught.value)


@pytest.mark.parametrize("url", ["redis+sentinel://h1,h2/mymaster/0", "redis+cluster://h1:7000,h2:7001"])
async def test_several_servers_are_not_supported_yet(url: str) -> None:
    with pytest.raises(StoreUnusable, match="is not supported yet"):
        async with open_backend(url):
            pass


def test_a_target_shows_no_password() -> None:
    target = parse("redis://me:secret@host")
    assert "secret" not in repr(target)
    assert target.label == "host:6379/0"
