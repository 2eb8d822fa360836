"""The keys of one queue: which message a second one of the same key gives way to."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from queuefs.message import MessageId


class Keys:
    """Keys of unacknowledged messages, and for their window those of messages that are gone."""

    __slots__ = ("_held", "_published", "_windows")

    def __init__(self) -> None:
        """Start with none."""
        #: Unacknowledged messages by key; more than one only if a dead one was retried.
        self._held: dict[str, dict[MessageId, None]] = {}
        #: The last publication of each key, its time and the end of its window, until that is over.
        self._published: dict[str, tuple[MessageId, float, float]] = {}
        #: The ends of the windows; a key that was published anew meanwhile has more than one entry.
        self._windows: list[tuple[float, str]] = []

    def find(self, key: str, *, now: float, window: float) -> MessageId | None:
        """Return the message to which another of *key* gives way."""
        held = self._held.get(key)
        if held:
            return min(held)
        published = self._published.get(key)
        return published[0] if published and now - published[1] < window else None

    def publish(self, key: str, message: MessageId, *, now: float, window: float) -> None:
        """Note that *message* was published."""
        self.hold(key, message)
        if window > 0:
            self._published[key] = (message, now, now + window)
            heapq.heappush(self._windows, (now + window, key))

    def unpublish(self, key: str, message: MessageId) -> None:
        """Let *message*, which has gone elsewhere, keep no other out by having been published here."""
        if key in self._published and self._published[key][0] == message:
            del self._published[key]

    def holds(self, key: str) -> bool:
        """Say whether an unacknowledged message has *key*."""
        return key in self._held

    def hold(self, key: str, message: MessageId) -> None:
        """Note that *message* is unacknowledged."""
        self._held.setdefault(key, {})[message] = None

    def release(self, key: str, message: MessageId) -> None:
        """Note that *message* is unacknowledged no more."""
        held = self._held[key]
        del held[message]
        if not held:
            del self._held[key]

    def forget(self, now: float) -> None:
        """Forget the publications whose windows are over."""
        while self._windows and self._windows[0][0] <= now:
            end, key = heapq.heappop(self._windows)
            if key in self._published and self._published[key][2] == end:
                del self._published[key]

    def held(self) -> Collection[tuple[str, MessageId]]:
        """Return all keys with the unacknowledged messages that have them."""
        return {(key, message) for key, held in self._held.items() for message in held}
