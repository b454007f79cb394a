"""The heap with items that can be taken out."""

import random
import weakref

import pytest

from mooring.scheduler.heap import Heap


def drained(heap: Heap[str]) -> list[str]:
    found = []
    while (item := heap.pop()) is not None:
        found.append(item)
    return found


def test_items_come_in_order_and_equal_ones_as_they_were_put() -> None:
    heap: Heap[str] = Heap()
    for item, place in (("c", 2), ("a", 1), ("d", 2), ("b", 1)):
        heap.put(item, (place,))
    assert heap.first() == "a"
    assert len(heap) == 4
    assert drained(heap) == ["a", "b", "c", "d"]
    assert (heap.first(), heap.pop(), len(heap)) == (None, None, 0)


def test_items_move_and_leave() -> None:
    heap: Heap[str] = Heap()
    for number, item in enumerate("abcd"):
        heap.put(item, (number,))
    heap.put("d", (-1,))
    heap.put("a", (9,))
    heap.discard("b")
    heap.discard("b")
    heap.discard("unknown")
    assert ("b" in heap, "d" in heap, len(heap)) == (False, True, 3)
    assert drained(heap) == ["d", "c", "a"]


class Item:
    """Something that can be looked for after it left."""


def test_when_all_have_left_none_is_held() -> None:
    heap: Heap[Item] = Heap()
    items = [Item() for _ in range(3)]
    for place, item in enumerate(items):
        heap.put(item, place % 2)
    left = [weakref.ref(one) for one in items]
    while items:
        heap.discard(items.pop())
    del item
    assert [one() for one in left] == [None] * 3


def test_an_item_that_left_can_come_back_to_its_old_place() -> None:
    heap: Heap[str] = Heap()
    heap.put("a", (1,))
    heap.discard("a")
    heap.put("a", (1,))
    assert drained(heap) == ["a"]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_done_the_order_is_right(seed: int) -> None:
    random_ = random.Random(seed)
    heap: Heap[str] = Heap()
    model: dict[str, tuple[float, int]] = {}
    for step in range(2000):
        item = f"i{random_.randrange(150)}"
        choice = random_.random()
        if choice < 0.5:
            place = random_.randrange(40)
            heap.put(item, (place,))
            model[item] = (place, step)
        elif choice < 0.75:
            heap.discard(item)
            model.pop(item, None)
        else:
            first = min(model, key=model.__getitem__, default=None)
            assert heap.first() == first
            if random_.random() < 0.5:
                assert heap.pop() == first
                model.pop(first or "", None)
        assert len(heap) == len(model)
    assert drained(heap) == sorted(model, key=model.__getitem__)


@pytest.mark.parametrize("seed", range(10))
def test_items_that_come_mostly_in_order_are_in_order_with_the_others(seed: int) -> None:
    random_ = random.Random(seed)
    heap: Heap[str] = Heap()
    model: dict[str, tuple[float, int]] = {}
    taken, expected = [], []
    for step in range(3000):
        late = random_.random() < 0.1
        place = step - random_.randrange(500) * late
        heap.put(f"i{step}", place)
        model[f"i{step}"] = (place, step)
        if random_.random() < 0.3:
            heap.discard(f"i{step - 2}")
            model.pop(f"i{step - 2}", None)
        if random_.random() < 0.4:
            expected.append(min(model, key=model.__getitem__))
            del model[expected[-1]]
            taken.append(heap.pop())
    assert taken == expected
    assert drained(heap) == sorted(model, key=model.__getitem__)


def test_dead_entries_do_not_pile_up() -> None:
    heap: Heap[str] = Heap()
    heap.put("stays", (0,))
    for number in range(10_000):
        heap.put("moves", (number,))
    assert len(heap._row) + len(heap._heap) <= 2 * len(heap) + 65
    for number in range(1000):
        heap.put(f"i{number}", (number,))
    for number in range(1000):
        heap.discard(f"i{number}")
    assert len(heap._row) + len(heap._heap) <= 2 * len(heap) + 65
