"""Updates that come all the time in a cluster that works; called by `measuring` and `limits`.

The rates are those of 5,000 kubelets that report their status every five minutes, 50 changes of
nodes' images a second, and 20 updates of replica sets' status a second.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count

from benchmarks.scheduler import kinds
from benchmarks.scheduler.clients import Clients, Request, create_pod, patch
from benchmarks.scheduler.ending import end
from benchmarks.scheduler.task import CHURN_NAMESPACE, REPLICA_SETS, Task
from mooring.testing.real_kubernetes import ControlPlane

_CHURN_SECONDS = 0.2
_KUBELET_SECONDS = 300.0
_IMAGES_PER_SECOND = 50.0
_REPLICA_SETS_PER_SECOND = 20.0

#: Makes the request with this number.
Make = Callable[[int], Request]


@asynccontextmanager
async def updating(plane: ControlPlane, task: Task) -> AsyncIterator[None]:
    """Send what comes while the pods of a task are measured."""
    async with AsyncExitStack() as stack:
        for make, rate in streams(task):
            clients = await stack.enter_async_context(Clients(plane, 1))
            sending = asyncio.create_task(_send(clients, make, rate))
            stack.push_async_callback(end, sending)
        yield


def streams(task: Task) -> list[tuple[Make, float]]:
    """The requests of a task, and how many of each a second."""
    found: list[tuple[Make, float]] = []
    kind = task.workload.churn
    if kind is not None:
        churned = kind
        found.append(
            (
                lambda number: create_pod(churned.manifest(number, CHURN_NAMESPACE)),
                1 / _CHURN_SECONDS,
            )
        )
    if task.workload.updated:
        found += [
            (lambda number: _heartbeat(number, task.nodes), task.nodes / _KUBELET_SECONDS),
            (lambda number: _images(number, task.nodes), _IMAGES_PER_SECOND),
            (
                lambda number: _replicas(number, task.workload.namespaces[1]),
                _REPLICA_SETS_PER_SECOND,
            ),
        ]
    return found


async def _send(clients: Clients, make: Make, rate: float) -> None:
    loop = asyncio.get_running_loop()
    begin = loop.time()
    for number in count():
        await asyncio.sleep(max(0.0, begin + (number + 1) / rate - loop.time()))
        await clients.send_all([make(number)])


def _heartbeat(number: int, nodes: int) -> Request:
    minutes, seconds = divmod(number, 60)
    when = f"2026-03-01T{8 + minutes // 60 % 12:02d}:{minutes % 60:02d}:{seconds:02d}Z"
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": when}
    return _node_status(number, nodes, {"conditions": [ready]})


def _images(number: int, nodes: int) -> Request:
    names = [f"registry.example.com/shop/app-{number % 50:02d}:1.8.{number}"]
    # Another node than that of the heartbeat with this number.
    return _node_status(
        number + nodes // 2, nodes, {"images": [{"names": names, "sizeBytes": 400_000_000}]}
    )


def _node_status(number: int, nodes: int, status: kinds.Object) -> Request:
    name = kinds.node_name(number % nodes)
    return patch(f"/api/v1/nodes/{name}/status", name, {"status": status})


def _replicas(number: int, namespace: str) -> Request:
    name = f"updated-{number % REPLICA_SETS}"
    path = f"/apis/apps/v1/namespaces/{namespace}/replicasets/{name}/status"
    return patch(path, name, {"status": {"observedGeneration": number}})
