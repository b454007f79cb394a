"""The loop that keeps a cluster alive."""

import asyncio
import time
from collections.abc import Callable

import pytest

from mooring.embedded.controller_manager import ControllerManager
from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import DEPLOYMENTS, PODS
from tests.unit.embedded.fake_cluster import FakeCluster, template


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - nobody tells us
            await asyncio.sleep(0.002)


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(controllers=False)
    cluster.node("n1")
    return cluster


def test_it_works_when_something_changes_and_sleeps_otherwise(cluster: FakeCluster) -> None:
    async def scene() -> None:
        looked = 0
        manager = ControllerManager(cluster.api, KubeletSettings(), controllers=True)
        run = manager.workqueue.run

        def counted(now: float, limit: int) -> int:
            nonlocal looked
            looked += 1
            return run(now, limit)

        manager.workqueue.run = counted  # type: ignore[method-assign]
        task = asyncio.create_task(manager.run())
        selector = {"matchLabels": {"app": "web"}}
        spec = {"replicas": 2, "selector": selector, "template": template(app="web")}
        cluster.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})
        await until(lambda: len(cluster.names(PODS)) == 2)
        cluster.bind_all("n1")
        await until(lambda: cluster.get(DEPLOYMENTS, "web")["status"].get("readyReplicas") == 2)
        await until(lambda: manager.workqueue.next_due() is None)
        before = looked
        for _ in range(1000):
            await asyncio.sleep(0)
        assert looked <= before + 1  # it does not spin
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scene())


def test_it_wakes_when_something_is_due(cluster: FakeCluster) -> None:
    async def scene() -> None:
        manager = ControllerManager(cluster.api, KubeletSettings(), controllers=False)
        task = asyncio.create_task(manager.run())
        annotations = {"mooring.dev/run-seconds": "0.05"}
        cluster.pod("p", node="n1", metadata={"annotations": annotations})
        await until(lambda: cluster.get(PODS, "p")["status"]["phase"] == "Succeeded")
        task.cancel()

    asyncio.run(scene())


def test_others_get_their_turn_while_there_is_much_to_do(cluster: FakeCluster) -> None:
    for number in range(600):
        cluster.pod(f"p{number}")
    cluster.bind_all("n1")

    async def scene() -> float:
        manager = ControllerManager(cluster.api, KubeletSettings(), controllers=False)
        task = asyncio.create_task(manager.run())
        longest, turns = 0.0, 0
        while manager.workqueue.next_due() is not None:
            # Our own time alone: what the rest of the machine does is not to be measured.
            start = time.process_time()
            await asyncio.sleep(0)
            longest = max(longest, time.process_time() - start)
            turns += 1
        task.cancel()
        assert turns > 2
        return longest

    # A slice is 10 ms of real time; there is room for one object that takes long.
    assert asyncio.run(scene()) < 0.5


def test_nothing_lives_without_kubelets_and_controllers(cluster: FakeCluster) -> None:
    manager = ControllerManager(cluster.api, None, controllers=False)
    cluster.pod("p", node="n1")
    assert manager.settle() == 0
    assert cluster.get(PODS, "p")["status"]["phase"] == "Pending"
