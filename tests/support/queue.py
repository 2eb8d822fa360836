"""A queue used through its files, as a program would."""

from __future__ import annotations

import base64
import json
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
