"""A queue used through its files, as a program would."""

from __future__ import annotations

import base64
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def put(queue: Path, *payloads: bytes) -> None:
    """Enqueue each of *payloads*."""
    for payload in payloads:
        (queue / "enqueue").write_bytes(payload)


def claim(queue: Path) -> dict[str, Any] | None:
    """Claim the next message; None if there is none."""
    line = (queue / "dequeue").read_bytes()
    return json.loads(line) if line else None


def payload_of(message: dict[str, Any]) -> bytes:
    """Return the payload of a message's JSON object."""
    return base64.b64decode(message["data_base64"]) if "data_base64" in message else message["data"].encode()


def take(queue: Path) -> bytes | None:
    """Claim and ack the next message; return its payload, None if there is none."""
    message = claim(queue)
    if message is None:
        return None
    (queue / "ack").write_text(message["id"] + "\n")
    return payload_of(message)


def take_all(queue: Path) -> list[bytes]:
    """Claim and ack until nothing is left; return the payloads in order."""
    return list(iter(lambda: take(queue), None))


def status(queue: Path) -> tuple[int, int]:
    """Return how many are pending and in processing."""
    counts = json.loads((queue / "status").read_bytes())
    return counts["pending"], counts["processing"]


def listed(queue: Path) -> list[tuple[bytes, str]]:
    """Return payload and state of each entry of `messages`."""
    return [(payload_of(message), message["state"]) for message in json.loads((queue / "messages").read_bytes())]


def error_of(file: Path, text: bytes) -> int:
    """Return the errno of opening *file* and one write(2) of *text*; 0 if both succeed, whatever close says."""
    try:
        fd = os.open(file, os.O_WRONLY)
    except OSError as error:
        return error.errno or -1
    try:
        return 0 if os.write(fd, text) == len(text) else -1
    except OSError as error:
        return error.errno or -1
    finally:
        with suppress(OSError):
            os.close(fd)


def lines_of(file: Path) -> list[dict[str, Any]]:
    """Return the JSON lines that reading *file* gives."""
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def dead(queue: Path) -> list[dict[str, Any]]:
    """Return the dead messages."""
    found: list[dict[str, Any]] = json.loads((queue / "messages,dead").read_bytes())
    return found


def stats(queue: Path) -> dict[str, Any]:
    """Return what `stats` shows."""
    found: dict[str, Any] = json.loads((queue / "stats").read_bytes())
    return found


def config(queue: Path) -> dict[str, str]:
    """Return the config, key by key."""
    return dict(line.split(" = ", 1) for line in (queue / "config").read_text().splitlines())
