from mooring.plugins.queueing.priority_sort import PrioritySort
from mooring.testing import make_pod


def test_higher_priority_comes_first_then_who_waits_longest() -> None:
    waiting = [
        (make_pod("late", priority=5), 9.0),
        (make_pod("low", priority=-3), 1.0),
        (make_pod("early", priority=5), 2.5),
        (make_pod("urgent", priority=2_000_000_000), 10.0),
        (make_pod("plain", spec={"priority": None}), 0.0),
    ]
    plugin = PrioritySort()
    ordered = sorted(waiting, key=lambda one: plugin.sort_key(*one))
    assert [pod.name for pod, _ in ordered] == ["urgent", "early", "late", "plain", "low"]
