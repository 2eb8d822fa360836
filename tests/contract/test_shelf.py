"""The memory back end's order for pages: always that of a sorted list, whatever came and went."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from queuefs_memory.shelf import MAX_NEWS, Shelf

if TYPE_CHECKING:
    from collections.abc import Callable


class Kept:
    """Keys as a set, and a shelf that has to show the same."""

    def __init__(self) -> None:
        self.keys: set[int] = set()
        self.shelf: Shelf[int] = Shelf(lambda keys: [key for key in keys if key in self.keys])

    def add(self, keys: list[int]) -> None:
        for key in keys:
            self.keys.add(key)
            self.shelf.add(key)

    def compare(self, after: int, limit: int) -> None:
        order = sorted(self.keys)
        assert self.shelf.page(None, limit) == order[:limit]
        assert self.shelf.page(after, limit) == [key for key in order if key > after][:limit]
        assert self.shelf.page_back(None, limit) == order[::-1][:limit]
        assert self.shelf.page_back(after, limit) == [key for key in order[::-1] if key < after][:limit]
        floor = after - 1000
        within = [key for key in order[::-1] if floor < key < after]
        assert self.shelf.page_back(after, limit, down_to=floor) == within[:limit]


def by_chance(choose: random.Random, _count: int) -> list[int]:
    return [choose.randrange(10_000) for _ in range(choose.choice([1, 20, 3000]))]


def in_line(choose: random.Random, count: int) -> list[int]:
    return list(range(count * 2000, count * 2000 + choose.choice([1, 20, 2000])))


def from_behind(choose: random.Random, count: int) -> list[int]:
    return [-each for each in in_line(choose, count)]


@pytest.mark.parametrize("come", [by_chance, in_line, from_behind])
@pytest.mark.parametrize("seed", range(3))
def test_pages_are_those_of_a_sorted_list(come: Callable[[random.Random, int], list[int]], seed: int) -> None:
    choose = random.Random(seed)
    kept = Kept()
    for count in range(60):
        kept.add(come(choose, count))
        order = sorted(kept.keys)
        at = choose.randrange(len(order) + 1)
        gone = choose.choice([order[at : at + 1500], order[:1000], order[-50:], choose.sample(order, len(order) // 9)])
        kept.keys.difference_update(gone)
        if choose.random() < 1 / 2:
            kept.shelf.forget(gone)
        kept.add(gone[:: choose.choice([2, 50])])
        if choose.random() < 3 / 4:
            kept.compare(choose.choice([*order, 0]) + choose.choice([-1, 0, 1]), choose.choice([1, 7, 100, 5000]))


def test_what_has_gone_is_not_kept_for_ever() -> None:
    """However much comes and goes, and though nobody looks."""
    kept = Kept()
    for key in range(50 * MAX_NEWS):
        kept.add([key])
        kept.keys.discard(key - 10)
    assert len(kept.shelf.news) + kept.shelf._size <= 3 * MAX_NEWS
    kept.compare(0, 100)
    kept.keys.clear()
    kept.shelf.clear()
    kept.compare(0, 100)
