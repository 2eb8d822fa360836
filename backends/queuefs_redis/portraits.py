"""All that is kept of one message, and what of it does not agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from queuefs_redis.metas import Meta

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Where a pending message can stand.
_PLACES = ("pending", "delayed", "paused", "over", "aside")


class Portrait(NamedTuple):
    """What `portraits.lua` answers for one id; empty where there is nothing."""

    # Scores.
    pending: bytes
    delayed: bytes
    paused: bytes
    over: bytes
    aside: bytes
    waiting: bytes
    processing: bytes
    held: bytes
    odd: bytes
    expiry: bytes
    graves: bytes
    # What is kept.
    meta: bytes
    dead: bytes
    # Whether there is something.
    body: bytes
    remains: bytes
    staged: bytes
    big: bytes
    pieces: bytes
    #: Of its payload, where that should be; of one in pieces, up to the first that is wrong.
    length: bytes
    #: The ids that have its key.
    holders: bytes

    @property
    def text(self) -> bytes:
        """What is kept of it beside its payload."""
        return self.meta or self.dead

    @property
    def is_whole(self) -> bool:
        """Whether its payload has its length, so that it is worth reading."""
        if not (self.text and self.length):
            return False
        meta = Meta.read(self.text)
        return meta.size == self.length and (meta.flag != b"X" or bool(self.meta))

    def sentences(self, id_: bytes, long: int) -> Iterator[str]:
        """Say what does not agree about message *id_*; payloads of more than *long* bytes are in pieces."""
        name = f"message {int(id_)}"
        places = [place for place in _PLACES if getattr(self, place)]
        states = len(places) + bool(self.processing) + bool(self.dead)
        if not self.text and not states:
            yield from self._orphans(name)
            return
        if states > 1:
            yield f"{name} is in two states"
        if not self.text:
            yield f"{name} has no meta"
            return
        try:
            meta = Meta.read(self.text)
            size = int(meta.size)
        except (TypeError, ValueError):
            yield f"{name} has a meta that can't be read"
            return
        if not states:
            yield f"something is kept of {name}, which is in no count"
        yield from self._payload(name, meta, is_long=size > long)
        yield from self._places(name, meta, places)
        yield from self._indexes(name, meta, places)
        if self.meta and meta.key is not None and id_ not in self.holders.split():
            yield f"{name} does not hold its key"

    def _orphans(self, name: str) -> Iterator[str]:
        kept = (self.body, self.remains, self.waiting, self.held, self.odd, self.expiry, self.graves)
        if any(kept) or ((self.big or self.pieces) and not self.staged):
            yield f"something is kept of {name}, which is in no count"

    def _payload(self, name: str, meta: Meta, *, is_long: bool) -> Iterator[str]:
        if meta.flag == b"X" and not self.meta:
            return
        if not self.length or (is_long and self.length == b"0"):
            yield f"{name} has no payload"
        elif is_long and self.length != meta.size:
            yield f"{name} has only a part of its payload"
        elif self.length != meta.size:
            yield f"{name} has a payload that is not what was put in"
        other = self.remains if self.meta else self.body
        if other or (is_long and (self.body or self.remains)) or (not is_long and (self.big or self.pieces)):
            yield f"{name} has two payloads"
        if is_long and self.pieces and not self.big:
            yield f"{name} would leave its payload behind"

    def _places(self, name: str, meta: Meta, places: Sequence[str]) -> Iterator[str]:
        rank = -int(meta.priority)
        if self.aside:
            yield f"{name} is set aside because it can't be read"
        for place in places:
            if float(getattr(self, place)) != (float(meta.due) if place == "delayed" and meta.due != b"-" else rank):
                yield f"{name} stands at a place that is not its own"
        if (places and "aside" not in places and ("paused" in places) != (meta.flag == b"P")) or (
            self.processing and meta.flag == b"P"
        ):
            yield f"{name} is paused or not, as one looks"
        if meta.flag == b"C" and not self.processing:
            yield f"{name} is cancelled and not in processing"
        for score, should_be in ((self.waiting, places not in ([], ["pending"])), (self.held, bool(self.processing))):
            if bool(score) != should_be or (score and float(score) != rank):
                yield f"{name} is not shown where it stands"
        if bool(self.dead) != bool(self.graves):
            yield f"{name} is not shown where it stands"

    def _indexes(self, name: str, meta: Meta, places: Sequence[str]) -> Iterator[str]:
        if bool(self.odd) != bool(places and (places != ["pending"] or meta.priority != b"0")):
            yield f"{name} is not where the oldest is looked for"
        lapses = float(meta.expires) if places and "aside" not in places and meta.expires != b"-" else None
        if "aside" not in places and (float(self.expiry) if self.expiry else None) != lapses:
            yield f"{name} would not lapse when it should"


#: How many values there are for each id.
FIELDS = len(Portrait._fields)
