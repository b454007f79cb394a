"""Recent: never more than its limits, and the least recently used goes first."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mooring.state.recent import Recent, size_of


def test_the_least_recently_used_makes_room() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert [recent.get(key) for key in "abc"] == [1, None, 3]
    assert list(recent.values()) == [1, 3]


def test_large_entries_make_room_for_what_is_new() -> None:
    recent: Recent[str, str] = Recent(10, 100)
    for key in "abc":
        recent.put(key, key, 40)
    assert [recent.get(key) for key in "abc"] == [None, "b", "c"]
    assert recent.size == 80


def test_what_is_larger_than_all_is_not_kept_and_drives_nobody_out() -> None:
    gone: list[str] = []
    recent: Recent[str, str] = Recent(10, 100, gone.append)
    recent.put("a", "a", 40)
    recent.put("b", "huge", 101)
    assert recent.get("a") == "a"
    assert recent.get("b") is None
    assert gone == ["huge"]


def test_a_replaced_entry_counts_once() -> None:
    gone: list[str] = []
    recent: Recent[str, str] = Recent(10, 100, gone.append)
    recent.put("a", "old", 60)
    recent.put("a", "new", 70)
    assert (recent.get("a"), recent.size, gone) == ("new", 70, ["old"])
    recent.clear(50)
    assert (len(recent), recent.size, gone) == (0, 0, ["old"])
    recent.put("a", "a", 60)
    assert recent.get("a") is None


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40)), max_size=80))
def test_it_never_holds_more_than_it_may(calls: list[tuple[int, int]]) -> None:
    gone: list[int] = []
    recent: Recent[int, int] = Recent(4, 100, gone.append)
    kept: dict[int, tuple[int, int]] = {}  # in the order of use: number of the call, size
    for number, (key, size) in enumerate(calls):
        known = recent.get(key)
        assert known == (kept[key][0] if key in kept else None)
        kept.pop(key, None)
        kept[key] = (number, size)
        recent.put(key, number, size)
        while len(kept) > 4 or sum(each for _, each in kept.values()) > 100:
            kept.pop(next(iter(kept)))
        assert list(recent.values()) == [one for one, _ in kept.values()]
        assert recent.size == sum(each for _, each in kept.values())
        assert len(gone) + len(recent) == number + 1  # whoever is not kept any more was told


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
