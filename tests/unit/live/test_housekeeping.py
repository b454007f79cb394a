"""What is forgotten as time goes by, and when memory is looked for thoroughly."""

import asyncio
import time
from collections.abc import Callable

import numpy as np
import pytest

from mooring import Pod
from mooring.kube.event_body import ObjectReference, reference
from mooring.kube.events import EventRecorder
from mooring.live.attempt_log import AttemptLog
from mooring.live.housekeeping import Housekeeping
from mooring.state.cluster import Cluster
from mooring.state.lru_cache import LruCache
from mooring.testing import make_node


class Events(EventRecorder):
    """Takes note of the pods whose events are to be forgotten."""

    def __init__(self, *about: ObjectReference) -> None:
        self.about = list(about)

    def forget_gone(self, is_gone: Callable[[ObjectReference], bool]) -> None:
        self.about = [one for one in self.about if not is_gone(one)]


def pod(number: int, uid: str) -> Pod:
    return Pod.from_dict({"metadata": {"name": f"pod-{number}", "uid": uid}})


def cluster_with(pods: int) -> Cluster:
    cluster = Cluster()
    for number in range(pods):
        cluster.put_pod(pod(number, f"u-{number}"))
    return cluster


def remove(cluster: Cluster, numbers: range) -> None:
    for number in numbers:
        cluster.remove_pod(f"default/pod-{number}")


def test_events_about_pods_that_are_gone_are_forgotten_and_others_are_kept() -> None:
    cluster = cluster_with(1)
    here, gone, node = pod(0, "u-0"), pod(0, "u-9"), make_node("n")
    events = Events(*map(reference, (here, gone, node)))
    Housekeeping(cluster, events, AttemptLog(time.monotonic), None).forget()
    assert events.about == [reference(here), reference(node)]


def test_answers_are_forgotten_when_nobody_asked_for_them_twice_in_a_row() -> None:
    cluster = cluster_with(0)
    answers: LruCache[str, object] = cluster.columns.table.new_lru_cache(10)
    housekeeping = Housekeeping(cluster, Events(), AttemptLog(time.monotonic), None)
    for name in ("asked", "unused"):
        answers.put(name, np.zeros(3))
    housekeeping.forget()
    answers.get("asked")
    housekeeping.forget()
    assert (answers.get("asked") is None, answers.get("unused") is None) == (False, True)


@pytest.mark.parametrize(
    ("steps", "thorough"),
    [
        ([range(999)], [False]),
        ([range(1000)], [True]),
        ([range(500), range(500, 1000)], [False, True]),
        ([range(1000), range(1000, 1500)], [True, False]),
        ([range(1000), range(1000, 2000)], [True, True]),
    ],
    ids=["few", "many", "many in time", "few after many", "many again"],
)
def test_memory_is_looked_for_thoroughly_when_many_pods_are_gone(
    steps: list[range], thorough: list[bool]
) -> None:
    cluster = cluster_with(3000)
    looks: list[bool] = []

    def trim_memory(*, thoroughly: bool) -> None:
        looks.append(thoroughly)

    housekeeping = Housekeeping(cluster, Events(), AttemptLog(time.monotonic), trim_memory)
    housekeeping.forget()
    for step in steps:
        remove(cluster, step)
        housekeeping.forget()
    assert looks == [False, *thorough]


def test_a_failure_is_logged_and_forgetting_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mooring.live.housekeeping._PAUSE_SECONDS", 0.0)
    calls: list[bool] = []

    def trim_memory(*, thoroughly: bool) -> None:
        calls.append(thoroughly)
        if len(calls) == 1:
            raise OSError("no")

    async def main() -> None:
        task = asyncio.create_task(
            Housekeeping(Cluster(), Events(), AttemptLog(time.monotonic), trim_memory).run()
        )
        while len(calls) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0)
        task.cancel()

    asyncio.run(main())
    assert "cleanup failed" in caplog.text
