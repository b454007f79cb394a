"""Virtual time: actions in their order."""

from mooring.simulator.engine.event_heap import EventHeap


def test_actions_come_in_the_order_of_their_times_and_then_of_their_arrival() -> None:
    heap, done = EventHeap(), list[str]()
    heap.at(2.0, lambda: done.append("c"))
    heap.at(1.0, lambda: done.append("a"))
    heap.at(1.0, lambda: done.append("b"))
    while heap.next_time() is not None:
        heap.step()
    assert (done, heap.now) == (["a", "b", "c"], 2.0)


def test_what_is_over_happens_at_once_and_time_never_goes_back() -> None:
    heap, times = EventHeap(), list[float]()
    heap.at(5.0, lambda: heap.at(1.0, lambda: times.append(heap.now)))
    heap.step()
    heap.step()
    assert times == [5.0]


def test_background_actions_keep_nothing_going() -> None:
    heap = EventHeap()
    heap.after(1.0, lambda: None, background=True)
    heap.after(2.0, lambda: None)
    assert heap.foreground == 1
    heap.step()
    assert heap.foreground == 1
    heap.step()
    assert heap.foreground == 0
