"""Scripts are put together from the parts that they use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import redis

from queuefs_redis.scripts import PIECE_BYTES, SCRIPTS

if TYPE_CHECKING:
    from tests.support.redis_server import RedisServer

#: What Lua and Redis have themselves, and words before a parenthesis.
KNOWN = {
    *("ipairs", "pairs", "tonumber", "tostring", "type", "unpack", "KEYS", "ARGV"),
    *("function", "if", "and", "or", "not", "in"),
}


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_all_that_a_script_uses_is_in_it_and_no_function_that_it_does_not(name: str) -> None:
    source = re.sub(r"--.*|'[^'\n]*'", "", SCRIPTS[name].source.decode())
    local = re.findall(r"\blocal ([\w, ]+)", source) + re.findall(r"\bfunction[ \w]*\(([\w, ]*)\)", source)
    defined = set(re.findall(r"\w+", " ".join(local)))
    called = set(re.findall(r"(?<![.\w])(\w+)\(", source))
    constants = set(re.findall(r"(?<![.\w])[A-Z][A-Z_]*\b", source))
    assert (called | constants) - defined - KNOWN == set()
    functions = re.findall(r"^local function (\w+)", source, re.MULTILINE)
    assert [each for each in functions if len(re.findall(rf"\b{each}\b", source)) < 2] in ([], ["answer"])


def test_those_that_record_their_answers_are_known_by_it() -> None:
    assert {name for name, script in SCRIPTS.items() if b"answers:' .. daemon" in script.source} == {
        name for name, script in SCRIPTS.items() if script.once
    }


def test_a_piece_takes_the_server_no_more_memory_than_it_has_to(redis_server: RedisServer) -> None:
    with redis.Redis(port=redis_server.port) as client:
        client.hset("piece", "0", b"x" * PIECE_BYTES)
        client.hset("rounder", "0", b"x" * (1 << 18))
        sizes: list[int] = [client.memory_usage(key) for key in ("piece", "rounder")]
        client.unlink("piece", "rounder")
    assert sizes[0] < (1 << 18) + 1024
    assert sizes[1] > (1 << 18) + 60_000
