"""Compares all that a store keeps twice; each queue by itself is one snapshot, so it wants a store at rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from queuefs_redis.records import encoded_name, intact, pairs, queue_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Tree:
    """What `audit_tree.lua` answers."""

    def __init__(self, reply: Sequence[Any]) -> None:
        """Read *reply*."""
        queues, children, stages, sums, leases = reply
        self.records = dict(pairs(queues))
        self.children = {(parent, name): number for parent, below in pairs(children) for name, number in pairs(below)}
        self.stages = dict(pairs(stages))
        self.sums = dict(pairs(sums))
        self.leases = dict(pairs(leases))

    def sentences(self) -> Iterator[str]:
        """Compare the registry's two directions, and look for what belongs to no queue."""
        for number, record in self.records.items():
            queue = queue_of(number + b" " + record)
            if self.children.get((b"%d" % queue.parent, encoded_name(queue.name))) != number:
                yield f"queue {queue.id} is not found by its name {queue.name!r}"
        for (parent, name), number in self.children.items():
            if number not in self.records:
                yield f"the name {name!r} below queue {_text(parent)} leads to no queue"
        for number in {*self.sums, *self.leases} - set(self.records):
            yield f"something is kept for queue {_text(number)}, which there is not"


class QueueKeys:
    """What `audit_queue.lua` answers for one queue."""

    def __init__(self, number: bytes, reply: Sequence[Any]) -> None:
        """Read *reply*."""
        self.number = number
        self._pending, self._aside, self._processing, self._metas, self._bodies, self._staged = (
            dict(pairs(part)) for part in reply
        )

    def sentences(self, tree: Tree) -> Iterator[str]:
        """Compare the queue's keys with each other and with what the tree keeps for it."""
        where = f"queue {_text(self.number)}"
        counted = [*self._pending, *self._aside, *self._processing]
        for id_ in {id_ for id_ in counted if counted.count(id_) > 1} if len(set(counted)) < len(counted) else ():
            yield f"{where}: message {_text(id_)} is in two states"
        for id_ in self._aside:
            yield f"{where}: message {_text(id_)} is set aside because it can't be read"
        for id_ in counted:
            yield from (f"{where}: message {_text(id_)} {flaw}" for flaw in self._flaws(id_))
        for id_ in (self._metas.keys() | self._bodies.keys()) - set(counted):
            yield f"{where}: something is kept of message {_text(id_)}, which is in no count"
        size = sum(int(meta.split()[-2]) for meta in self._metas.values())
        if int(tree.sums.get(self.number, 0)) != size:
            yield f"{where}: the payloads have {size} bytes, counted are {_text(tree.sums.get(self.number, b'0'))}"
        yield from self._lease_sentences(tree, where)
        yield from self._stage_sentences(tree, where)

    def _flaws(self, id_: bytes) -> Iterator[str]:
        meta, body = self._metas.get(id_), self._bodies.get(id_)
        if meta is None:
            yield "has no meta"
        if body is None:
            yield "has no payload"
        if meta is not None and body is not None and not intact(meta.split(), body):
            yield "has a payload that is not what was put in"
        score = self._pending.get(id_)
        if meta is not None and score is not None and float(score) != -int(meta.split()[1]):
            yield "stands at a place that is not its priority's"

    def _lease_sentences(self, tree: Tree, where: str) -> Iterator[str]:
        if self._processing:
            first = min(map(float, self._processing.values()))
            known = tree.leases.get(self.number)
            if known is None or float(known) > first:
                yield f"{where}: a lease ends before anybody would look"

    def _stage_sentences(self, tree: Tree, where: str) -> Iterator[str]:
        staged = {id_: stage.split() for id_, stage in tree.stages.items() if stage.split()[0] == self.number}
        for id_ in staged.keys() ^ self._staged.keys():
            yield f"{where}: of the staged message {_text(id_)} only a part is kept"
        for id_ in staged.keys() & self._staged.keys():
            if not intact(staged[id_], self._staged[id_]):
                yield f"{where}: the staged message {_text(id_)} is not what was put in"


def _text(text: bytes) -> str:
    return text.lstrip(b"0").decode("utf-8", "backslashreplace") or "0"
