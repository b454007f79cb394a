"""A service of the extender with a small API server beside it."""

# ruff: noqa: ARG005 - a policy's function takes what it is given
import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import mooring as mr
from mooring.extender.app import ExtenderApp
from mooring.extender.service import ExtenderService
from mooring.testing import make_pod
from tests.unit.extender.asgi import Reply, args, compact, eventually, sample, send
from tests.unit.extender.fake_cluster import FakeCluster, fake_cluster

BINDING = compact({"PodName": "web", "PodNamespace": "ns", "PodUID": "uid-web", "Node": "a"})


@dataclass
class Rig:
    """An extender that watches a fake cluster."""

    cluster: FakeCluster
    service: ExtenderService

    async def post(self, path: str, body: bytes) -> Reply:
        return await send(ExtenderApp(self.service).asgi(), "POST", path, body)

    async def get(self, path: str) -> Reply:
        return await send(ExtenderApp(self.service).asgi(), "GET", path)

    async def bind(self, body: bytes = BINDING) -> str:
        reply = await self.post("/bind", body)
        assert reply.status == 200
        assert list(reply.json()) == ["Error"]
        return str(reply.json()["Error"])

    async def fitting(self, *names: str) -> list[str]:
        """The nodes on which no pod is."""
        reply = await self.post("/filter", args(make_pod("asks"), names=names))
        assert reply.json()["Error"] == ""
        return list(reply.json()["NodeNames"])

    async def becomes(self, wanted: list[str], *names: str) -> None:
        async with asyncio.timeout(300):
            while await self.fitting(*names) != wanted:  # noqa: ASYNC110 - a watch brings it
                await asyncio.sleep(0.01)

    async def metric(self, name: str, **labels: str) -> float:
        return sample((await self.get("/metrics")).body, name, **labels)

    async def synced(self) -> None:
        await eventually(lambda: self.service.synced)
        assert self.service.not_ready() == ""


def make_policy(bind: Any = None) -> mr.Policy:
    policy = mr.Policy("mine")
    policy.filter(name="empty", reason="in use")(lambda pod, node: node.used["cpu"] == 0)
    if bind is not None:
        policy.bind(name="note")(bind)
    return policy


@asynccontextmanager
async def rig(policy: mr.Policy | None = None, **options: Any) -> AsyncIterator[Rig]:
    """Two nodes, one waiting pod, and an extender that knows them."""
    async with fake_cluster() as cluster:
        cluster.put_node("a")
        cluster.put_node("b")
        cluster.put_pod("web")
        async with ExtenderService(policy or make_policy(), cluster.config, **options) as service:
            made = Rig(cluster, service)
            await made.synced()
            yield made


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await test()

    asyncio.run(main())
