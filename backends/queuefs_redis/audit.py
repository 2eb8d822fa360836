"""Compares all that a store keeps twice; each queue by itself is one snapshot, so it wants a store at rest."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from queuefs_redis.records import described_queue, encoded, intact, meta_fields, pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: How many fields of a stage there are, key and extra together counting as one.
_STAGE_FIELDS = 10


class Tree:
    """What `audit_tree.lua` answers."""

    def __init__(self, reply: Sequence[Any]) -> None:
        """Read *reply*."""
        queues, children, stages, configs, *noted = reply
        self.records = dict(pairs(queues))
        self.children = {(parent, name): number for parent, below in pairs(children) for name, number in pairs(below)}
        self.stages = {id_: stage.split(b" ", _STAGE_FIELDS - 1) for id_, stage in pairs(stages)}
        self.configs = dict(pairs(configs))
        self.leases, self.delays, self.lapses, self.windows = (dict(pairs(each)) for each in noted)

    def sentences(self) -> Iterator[str]:
        """Compare the registry's two directions, and look for what belongs to no queue."""
        for number, record in self.records.items():
            queue = described_queue(number, record)
            if self.children.get((b"%d" % queue.parent, encoded(queue.name))) != number:
                yield f"queue {queue.id} is not found by its name {queue.name!r}"
        for (parent, name), number in self.children.items():
            if number not in self.records:
                yield f"the name {name!r} below queue {_text(parent)} leads to no queue"
        kept = {*self.configs, *self.leases, *self.delays, *self.lapses, *self.windows}
        for number in {*kept, *(stage[0] for stage in self.stages.values())} - set(self.records):
            yield f"something is kept for queue {_text(number)}, which there is not"


class QueueKeys:
    """What `audit_queue.lua` answers for one queue."""

    def __init__(self, number: bytes, reply: Sequence[Any]) -> None:
        """Read *reply*."""
        self.number = number
        parts = [dict(pairs(part)) for part in reply]
        self._places = dict(zip(("pending", "delayed", "paused", "over", "aside"), parts[:5], strict=True))
        self._processing, self._odd, self._expiry, self._windows = parts[5:9]
        metas, self._bodies, dead, self._remains, self._staged, self._keys, self._published, self._sums = parts[9:]
        self._metas = {id_: meta_fields(meta) for id_, meta in metas.items()}
        self._dead = {id_: meta_fields(meta) for id_, meta in dead.items()}

    def sentences(self, tree: Tree) -> Iterator[str]:
        """Compare the queue's keys with each other and with what the tree keeps for it."""
        where = f"queue {_text(self.number)}"
        for sentence in (
            *self._states(),
            *self._payloads(),
            *self._sizes(tree),
            *self._indexes(),
            *self._known_keys(),
            *self._bounds(tree),
            *self._stages(tree),
        ):
            yield f"{where}: {sentence}"

    def _states(self) -> Iterator[str]:
        """What is in more than one place, or in the wrong one, or in none."""
        counted = Counter(id_ for place in (*self._places.values(), self._processing, self._dead) for id_ in place)
        for id_, times in counted.items():
            if times > 1:
                yield f"message {_text(id_)} is in two states"
        for id_ in self._places["aside"]:
            yield f"message {_text(id_)} is set aside because it can't be read"
        for name, place in self._places.items():
            for id_, score in place.items():
                if id_ in self._metas:
                    yield from _misplaced(name, id_, float(score), self._metas[id_])
        for id_ in self._processing.keys() & self._metas.keys():
            if self._metas[id_][8] == b"P":
                yield f"message {_text(id_)} is paused and in processing"
        for id_ in (self._metas.keys() | self._bodies.keys() | self._remains.keys()) - counted.keys():
            yield f"something is kept of message {_text(id_)}, which is in no count"

    def _payloads(self) -> Iterator[str]:
        live = {id_ for place in (*self._places.values(), self._processing) for id_ in place}
        for ids, metas, bodies in ((live, self._metas, self._bodies), (set(self._dead), self._dead, self._remains)):
            for id_ in ids:
                meta, body = metas.get(id_), bodies.get(id_)
                if meta is None:
                    yield f"message {_text(id_)} has no meta"
                if body is None:
                    yield f"message {_text(id_)} has no payload"
                if meta is not None and body is not None and not intact(meta, body):
                    yield f"message {_text(id_)} has a payload that is not what was put in"

    def _sizes(self, tree: Tree) -> Iterator[str]:
        size = sum(int(meta[4]) for meta in self._metas.values())
        if int(self._sums.get(b"bytes", 0)) != size:
            yield f"the payloads have {size} bytes, counted are {_text(self._sums.get(b'bytes', b'0'))}"
        size = sum(int(stage[2]) for stage in tree.stages.values() if stage[0] == self.number)
        if int(self._sums.get(b"staged", 0)) != size:
            yield f"the stages have {size} bytes, counted are {_text(self._sums.get(b'staged', b'0'))}"
        for name, value in self._sums.items():
            if int(value) < 0:
                yield f"the sum {_text(name)} is {int(value)}"

    def _indexes(self) -> Iterator[str]:
        pending = {id_: (name, score) for name, place in self._places.items() for id_, score in place.items()}
        odd = {id_ for id_, (name, score) in pending.items() if name != "pending" or float(score) != 0}
        for id_ in odd ^ self._odd.keys():
            yield f"message {_text(id_)} is not where the oldest is looked for"
        expiry = {id_: self._metas[id_][7] for id_ in pending if id_ in self._metas and self._metas[id_][7] != b"-"}
        for id_ in {*expiry, *(self._expiry.keys() & self._metas.keys())}:
            if float(self._expiry.get(id_, -1)) != float(expiry.get(id_, -1)):
                yield f"message {_text(id_)} would not lapse when it should"

    def _known_keys(self) -> Iterator[str]:
        held: dict[bytes, list[bytes]] = {}
        for id_, meta in sorted(self._metas.items()):
            if meta[9] != b"-":
                held.setdefault(meta[11][: int(meta[9])], []).append(id_)
        for name in held.keys() | self._keys.keys():
            if sorted(self._keys.get(name, b"").split()) != held.get(name, []):
                yield f"the key {name!r} is not that of its messages"
        for name in self._published.keys() ^ self._windows.keys():
            yield f"of the window of the key {name!r} only a part is kept"

    def _bounds(self, tree: Tree) -> Iterator[str]:
        for what, scores, noted in (
            ("a lease", self._processing, tree.leases),
            ("a delay", self._places["delayed"], tree.delays),
            ("a time to live", self._expiry, tree.lapses),
            ("a window", self._windows, tree.windows),
        ):
            known = noted.get(self.number)
            if scores and (known is None or float(known) > min(map(float, scores.values()))):
                yield f"{what} ends before anybody would look"

    def _stages(self, tree: Tree) -> Iterator[str]:
        staged = {id_: stage for id_, stage in tree.stages.items() if stage[0] == self.number}
        for id_ in staged.keys() ^ self._staged.keys():
            yield f"of the staged message {_text(id_)} only a part is kept"
        for id_ in staged.keys() & self._staged.keys():
            _, _, size, crc, *_ = staged[id_]
            if not intact([b"", b"", b"", b"", size, crc], self._staged[id_]):
                yield f"the staged message {_text(id_)} is not what was put in"


def _misplaced(place: str, id_: bytes, score: float, meta: Sequence[bytes]) -> Iterator[str]:
    if place == "pending" and score != -int(meta[1]):
        yield f"message {_text(id_)} stands at a place that is not its priority's"
    if place == "delayed" and score != float(meta[6]):
        yield f"message {_text(id_)} stands at a time that is not its own"
    if place != "aside" and (place == "paused") != (meta[8] == b"P"):
        yield f"message {_text(id_)} is paused or not, as one looks"
    if meta[8] == b"C":
        yield f"message {_text(id_)} is cancelled and pending"


def _text(text: bytes) -> str:
    return text.lstrip(b"0").decode("utf-8", "backslashreplace") or "0"
