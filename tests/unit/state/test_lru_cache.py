"""LruCache: never more than its limits, and the least recently used goes first."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mooring.state.lru_cache import LruCache, size_of


def test_the_least_recently_used_makes_room() -> None:
    cache: LruCache[str, int] = LruCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    assert list(cache.values()) == [1, 3]


def test_large_entries_make_room_for_what_is_new() -> None:
    cache: LruCache[str, str] = LruCache(10, 100)
    for key in "abc":
        cache.put(key, key, 40)
    assert [cache.get(key) for key in "abc"] == [None, "b", "c"]
    assert cache.size == 80


def test_what_is_larger_than_all_is_not_kept_and_drives_nobody_out() -> None:
    gone: list[str] = []
    cache: LruCache[str, str] = LruCache(10, 100, gone.append)
    cache.put("a", "a", 40)
    cache.put("b", "huge", 101)
    assert cache.get("a") == "a"
    assert cache.get("b") is None
    assert gone == ["huge"]


def test_a_replaced_entry_counts_once() -> None:
    gone: list[str] = []
    cache: LruCache[str, str] = LruCache(10, 100, gone.append)
    cache.put("a", "old", 60)
    cache.put("a", "new", 70)
    assert (cache.get("a"), cache.size, gone) == ("new", 70, ["old"])
    cache.clear(50)
    assert (len(cache), cache.size, gone) == (0, 0, ["old"])
    cache.put("a", "a", 60)
    assert cache.get("a") is None


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40)), max_size=80))
def test_it_never_holds_more_than_it_may(calls: list[tuple[int, int]]) -> None:
    gone: list[int] = []
    cache: LruCache[int, int] = LruCache(4, 100, gone.append)
    kept: dict[int, tuple[int, int]] = {}  # in the order of use: number of the call, size
    for number, (key, size) in enumerate(calls):
        known = cache.get(key)
        assert known == (kept[key][0] if key in kept else None)
        kept.pop(key, None)
        kept[key] = (number, size)
        cache.put(key, number, size)
        while len(kept) > 4 or sum(each for _, each in kept.values()) > 100:
            kept.pop(next(iter(kept)))
        assert list(cache.values()) == [one for one, _ in kept.values()]
        assert cache.size == sum(each for _, each in kept.values())
        assert len(gone) + len(cache) == number + 1  # whoever is not kept any more was passed on


class Large:
    nbytes = 1000


def test_sizes_count_what_is_inside() -> None:
    empty = size_of(())
    cases: list[tuple[Any, int]] = [
        ("a" * 100, 100),
        (b"a" * 100, 100),
        ((("a" * 100,), frozenset({"b" * 50})), 150),
        ({"key": ["a" * 100]}, 100),
        (np.zeros(1000), 8000),
        (Large(), 1000),
    ]
    for thing, least in cases:
        assert least <= size_of(thing) <= least + 6 * empty
    assert size_of(object(), 5000) >= 5000
    assert size_of(None) == size_of(3) == size_of(0.5) == empty
