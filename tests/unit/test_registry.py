"""Back end URLs: which back end they name, and what of them may be shown."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from queuefs import registry
from queuefs.errors import StoreUnusable
from queuefs.registry import open_backend, redacted, scheme_of
from queuefs_memory import MemoryBackend


@pytest.mark.parametrize(
    ("url", "scheme"),
    [
        ("memory:", "memory"),
        ("sqlite:///var/lib/q.db", "sqlite"),
        ("redis://host:6379/0?prefix=a", "redis"),
        ("rediss://host", "redis"),
        ("redis+sentinel://a:1,b:2/main/0", "redis"),
        ("redis+cluster://a:1", "redis"),
        ("theirs:anything", "theirs"),
    ],
)
def test_a_scheme_names_the_back_end(url: str, scheme: str) -> None:
    assert scheme_of(url) == scheme


@pytest.mark.parametrize("url", ["", "memory", "/var/lib/q.db", "q.db", ":", "//host", "Memory:", "1a:", "a b:"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(StoreUnusable, match="not a back end URL"):
        scheme_of(url)


async def test_memory_is_opened_by_its_entry_point() -> None:
    async with open_backend("memory:") as backend:
        assert isinstance(backend, MemoryBackend)
        assert (backend.traits.durable, backend.traits.instant) == (False, True)


async def test_each_opening_of_memory_is_a_store_of_its_own() -> None:
    async with open_backend("memory:") as first, open_backend("memory:") as second:
        assert first is not second


@pytest.mark.parametrize("rest", ["//", "x", "?size=3", "///var/lib/q.db"])
async def test_memory_takes_nothing_else(rest: str) -> None:
    with pytest.raises(StoreUnusable, match=r"memory:.*takes nothing else") as caught:
        async with open_backend(f"memory:{rest}"):
            pass
    assert rest in str(caught.value)


async def test_memory_shows_no_password() -> None:
    with pytest.raises(StoreUnusable) as caught:
        async with open_backend("memory:?password=hunter2"):
            pass
    assert "hunter2" not in str(caught.value)


def test_an_unknown_back_end_is_refused_with_those_there_are() -> None:
    with pytest.raises(StoreUnusable, match=r"'kafka'.*memory, redis, sqlite"):
        open_backend("kafka://host")


def entry(name: str, value: str) -> EntryPoints:
    return EntryPoints([EntryPoint(name=name, value=value, group=registry.ENTRY_POINT_GROUP)])


def test_a_missing_driver_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda **_: entry("redis", "no_such_module:open_backend"))
    with pytest.raises(StoreUnusable, match=r"pip install 'queuefs\[redis\]'"):
        open_backend("redis://host")


def test_a_back_end_that_cant_be_loaded_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda **_: entry("theirs", "no_such_module:open_backend"))
    with pytest.raises(StoreUnusable, match="'theirs' can't be loaded: No module named 'no_such_module'"):
        open_backend("theirs:x")


def test_a_bare_checkout_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda **_: EntryPoints())
    with pytest.raises(StoreUnusable, match="installed: none"):
        open_backend("memory:")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("redis://user:secret@host/0", "redis://user:***@host/0"),
        ("redis://:secret@host:6379/0", "redis://:***@host:6379/0"),
        ("rediss://u:p@ss@host/0", "rediss://u:***@host/0"),
        ("redis://u:a:b@host", "redis://u:***@host"),
        ("redis://u:pa%2Fss@host", "redis://u:***@host"),
        ("redis+sentinel://u:s3cret@a:1,b:2/main?sentinel_password=s3cret", "redis+sentinel://u:***@a:1,b:2/main?sentinel_password=***"),
        ("redis://host?prefix=a&password=secret&db=1", "redis://host?prefix=a&password=***&db=1"),
        ("redis://host?SSL_KeyFile_Password=secret", "redis://host?SSL_KeyFile_Password=***"),
        ("x://host?auth_token=secret", "x://host?auth_token=***"),
        ("sqlite:///home/a@b:c/q.db", "sqlite:///home/a@b:c/q.db"),
        ("memory:", "memory:"),
    ],
)  # fmt: skip
def test_passwords_are_blotted_out(url: str, shown: str) -> None:
    assert redacted(url) == shown
