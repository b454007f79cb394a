"""Pods that kubelets reject are counted once each, and nothing else is."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from mooring.kube.client import Client
from mooring.kube.reflector import Pacing
from mooring.live.kubelet_rejections import KubeletRejections
from tests.unit.kube.fake_api import FakeApi
from tests.unit.live.fake_cluster import FakeCluster, fake_cluster

REJECTED = "Pod was rejected: Node didn't have enough resource: cpu"


def fail(api: FakeApi, name: str, reason: str = "OutOfcpu", **fields: str) -> None:
    """A pod fails."""
    api.put(
        name,
        uid=fields.get("uid", f"uid-{name}"),
        spec={"schedulerName": fields.get("scheduler", "ours"), "nodeName": "n"},
        status={
            "phase": "Failed", "reason": reason, "message": fields.get("message", REJECTED),
        },
    )  # fmt: skip


class Watched:
    """A fake cluster whose failed pods are watched.

    Attributes:
        counted: the reasons that were counted.
    """

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.api = cluster.collections["failed"]
        self.counted: list[str] = []

    def count(self, reason: str) -> None:
        self.counted.append(reason)
        self.api.bell.set()

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for something that a request or a rejection brings about."""
        async with asyncio.timeout(300):
            while not condition():
                self.api.bell.clear()
                await self.api.bell.wait()

    async def watched(self, times: int) -> None:
        """Wait until so many watches were asked for, and the last is open."""
        await self.until(lambda: sum("watch" in one.query for one in self.api.seen) >= times)
        await self.until(lambda: self.api.watchers)


Scenario = Callable[[Watched], Awaitable[None]]


def play(scenario: Scenario) -> list[str]:
    """Watch a fake cluster while something happens there; the reasons that were counted."""

    async def run() -> list[str]:
        async with fake_cluster() as cluster, Client(cluster.config) as client:
            watched = Watched(cluster)

            async def sleep(seconds: float) -> None:
                watched.api.bell.set()
                await asyncio.sleep(0)

            pacing = Pacing(sleep=sleep, clock=lambda: 0.0, random=lambda: 0.5)
            rejections = KubeletRejections(client, {"ours": 1}, watched.count, pacing=pacing)
            task = asyncio.create_task(rejections.run())
            await scenario(watched)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return watched.counted

    return asyncio.run(run())


def test_only_what_kubelets_reject_of_ours_from_now_on(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(watched: Watched) -> None:
        api = watched.api
        fail(api, "before")
        await watched.watched(1)
        fail(api, "crashed", "Error", message="it crashed")
        fail(api, "foreign", scheduler="theirs")
        fail(api, "a")
        fail(api, "a")  # changed again
        api.bookmark()
        api.delete("a")
        fail(api, "b", "OutOfpods")
        await watched.until(lambda: len(watched.counted) == 2)

    assert play(scenario) == ["OutOfcpu", "OutOfpods"]
    assert "the kubelet of node n rejected pod ns/a: OutOfcpu" in caplog.text


def test_it_goes_on_after_faults() -> None:
    async def scenario(watched: Watched) -> None:
        api = watched.api
        await watched.watched(1)
        api.cut()
        await watched.watched(2)
        fail(api, "a")
        await watched.until(lambda: len(watched.counted) == 1)
        api.send(b"no json\n")
        await watched.watched(3)
        api.expired_by_event = True
        api.compact()
        api.end_watches()
        await watched.watched(4)
        fail(api, "b", "OutOfmemory")
        await watched.until(lambda: len(watched.counted) == 2)

    assert play(scenario) == ["OutOfcpu", "OutOfmemory"]


def test_missing_rights_are_no_harm() -> None:
    async def scenario(watched: Watched) -> None:
        cluster = watched.cluster
        cluster.forbidden.add("pods")
        for _ in range(3):
            cluster.bell.clear()
            await cluster.bell.wait()
        cluster.forbidden.clear()
        await watched.watched(1)
        fail(watched.api, "a")
        await watched.until(lambda: watched.counted)

    assert play(scenario) == ["OutOfcpu"]
