"""The work queue of the controllers."""

from collections.abc import Iterable

import pytest

from mooring.embedded.controllers.controller import Controller
from mooring.embedded.controllers.pod_index import Key, PodIndex
from mooring.embedded.controllers.workqueue import WorkQueue
from mooring.embedded.resources import CONFIG_MAPS
from mooring.embedded.status_errors import bad_request
from mooring.embedded.store import Store


class Recording(Controller):
    """Notes which objects it reconciles, and answers as told."""

    resource = CONFIG_MAPS

    def __init__(self) -> None:
        self.seen: list[tuple[str, float]] = []
        self.answers: dict[str, float | Exception | None] = {}

    @property
    def name(self) -> str:
        return "recording"

    def reconcile(self, key: Key, now: float) -> float | None:
        self.seen.append((key[1], now))
        answer = self.answers.get(key[1])
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def store() -> Store:
    return Store()


def put(store: Store, *names: str) -> None:
    for name in names:
        metadata = {"name": name, "namespace": "default"}
        store.put(CONFIG_MAPS, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata})


def names(seen: Iterable[tuple[str, float]]) -> list[str]:
    return [name for name, _ in seen]


def test_objects_that_were_there_before_are_reconciled(store: Store) -> None:
    put(store, "a", "b")
    recording = Recording()
    queue = WorkQueue(store, [recording], PodIndex())
    assert queue.next_due() == 0.0
    assert queue.run(1.0, 10) == 2
    assert names(recording.seen) == ["a", "b"]
    assert queue.next_due() is None


def test_several_changes_are_reconciled_once(store: Store) -> None:
    recording = Recording()
    queue = WorkQueue(store, [recording], PodIndex())
    put(store, "a", "a", "a")
    assert queue.run(1.0, 10) == 1


def test_the_limit_is_kept(store: Store) -> None:
    recording = Recording()
    queue = WorkQueue(store, [recording], PodIndex())
    put(store, *"abcdef")
    assert queue.run(1.0, 4) == 4
    assert queue.run(1.0, 4) == 2


def test_one_is_told_only_when_something_is_the_first_to_be_noted(store: Store) -> None:
    told: list[int] = []
    queue = WorkQueue(store, [Recording()], PodIndex(), lambda: told.append(1))
    put(store, "a", "b")
    assert len(told) == 1
    queue.run(1.0, 10)
    put(store, "a")
    assert len(told) == 2


def test_it_looks_again_when_asked_to(store: Store) -> None:
    recording = Recording()
    queue = WorkQueue(store, [recording], PodIndex())
    recording.answers["a"] = 5.0
    put(store, "a")
    queue.run(10.0, 10)
    assert queue.next_due() == 15.0
    assert queue.run(14.9, 10) == 0
    recording.answers["a"] = None
    assert queue.run(15.0, 10) == 1
    assert queue.next_due() is None


def test_what_was_reconciled_meanwhile_is_due_at_its_new_time_only(store: Store) -> None:
    recording = Recording()
    queue = WorkQueue(store, [recording], PodIndex())
    recording.answers["a"] = 5.0
    put(store, "a")
    queue.run(10.0, 10)
    put(store, "a")
    queue.run(12.0, 10)
    assert queue.next_due() == 17.0
    assert queue.run(15.0, 10) == 0
    assert queue.run(17.0, 10) == 1


def test_one_that_wants_to_go_on_at_once_lets_others_before(store: Store) -> None:
    recording = Recording()
    queue = WorkQueue(store, [recording], PodIndex())
    recording.answers["a"] = 0.0
    put(store, "a", "b")
    queue.run(1.0, 3)
    assert names(recording.seen) == ["a", "b", "a"]


@pytest.mark.parametrize("error", [bad_request("no"), ValueError("odd")])
def test_what_fails_is_tried_again_ever_more_seldom(store: Store, error: Exception) -> None:
    recording = Recording()
    queue = WorkQueue(store, [recording], PodIndex())
    recording.answers["a"] = error
    put(store, "a")
    now, gaps = 100.0, []
    for _ in range(15):
        queue.run(now, 10)
        due = queue.next_due()
        assert due is not None
        gaps.append(due - now)
        now = due
    assert gaps[:3] == pytest.approx([0.005, 0.01, 0.02])
    assert gaps[-1] == pytest.approx(30.0)
    recording.answers["a"] = None
    queue.run(now, 10)
    assert queue.next_due() is None
