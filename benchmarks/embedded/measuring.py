"""What is measured of each server; called by `__main__`."""

import asyncio
import time

import msgspec

from benchmarks.command import BenchError, Say
from benchmarks.embedded.client import (
    Connection,
    node_requests,
    pod_requests,
    request,
    send_all,
    touch_requests,
)
from benchmarks.embedded.servers import EMBEDDED, Running

_WATCH = request("GET", "/api/v1/namespaces/default/pods?watch=true&resourceVersion={version}")
_LIST = request("GET", "/api/v1/namespaces/default/pods")
_CHANGED = b'"type":"MODIFIED"'
_EXPIRED = b'"reason":"Expired"'
_LISTS = 5


class Effort(msgspec.Struct, frozen=True):
    """How much is done.

    Attributes:
        nodes: how many nodes are created.
        pods: how many pods are created.
        clients: how many clients create them at a time.
        watchers: how many clients watch while pods are changed.
        changes: how many changes they see; more than the history of a resource keeps.
    """

    nodes: int = 5000
    pods: int = 20_000
    clients: int = 16
    watchers: int = 4
    changes: int = 20_000


class EmbeddedResults(msgspec.Struct, omit_defaults=True):
    """What was found of one server.

    Attributes:
        server: which one.
        start_seconds: from its start to its first answer.
        empty_memory_mb: its resident memory before anything is created.
        pods_per_second: pods created a second.
        cpu_ms_per_pod: CPU time of the server for each of them.
        memory_mb: its resident memory with all nodes and pods.
        list_seconds: for a list of all pods, at best.
        changes_per_second: changes a second, each seen by all watchers.
        with_slow_watcher: the same with one more watcher that reads nothing.
        slow_watcher_told: whether that one was told to begin anew when it went on.
    """

    server: str
    start_seconds: float
    empty_memory_mb: float
    pods_per_second: float
    cpu_ms_per_pod: float
    memory_mb: float
    list_seconds: float
    changes_per_second: float
    with_slow_watcher: float
    slow_watcher_told: bool | None = None


def measure(server: Running, effort: Effort, say: Say) -> EmbeddedResults:
    """Measure one server."""
    return asyncio.run(_measure(server, effort, say))


async def _measure(server: Running, effort: Effort, say: Say) -> EmbeddedResults:
    target, clients = server.target, effort.clients
    empty = server.memory_mb()
    say(f"{server.label}: {effort.nodes:,} nodes")
    await send_all(target, node_requests(effort.nodes), clients)
    say(f"{server.label}: {effort.pods:,} pods from {clients} clients")
    requests = pod_requests(effort.pods)
    before = server.cpu_ms()
    seconds = await send_all(target, requests, clients)
    cpu = (server.cpu_ms() - before) / effort.pods
    memory = server.memory_mb()
    say(f"{server.label}: lists and watches")
    listed = min([await _list_seconds(server, effort) for _ in range(_LISTS)])
    watched, _ = await _watch(server, effort, "quick", slow=False)
    with_slow, told = await _watch(server, effort, "slow", slow=True)
    return EmbeddedResults(
        server=server.label,
        start_seconds=server.start_seconds,
        empty_memory_mb=empty,
        pods_per_second=effort.pods / seconds,
        cpu_ms_per_pod=cpu,
        memory_mb=memory,
        list_seconds=listed,
        changes_per_second=effort.changes / watched,
        with_slow_watcher=effort.changes / with_slow,
        # The real one ends a slow watch without a word; its client lists again.
        slow_watcher_told=told if server.label == EMBEDDED else None,
    )


async def _list_seconds(server: Running, effort: Effort) -> float:
    connection = await server.target.connect()
    try:
        begin = time.perf_counter()
        content = await connection.send(_LIST)
        seconds = time.perf_counter() - begin
    finally:
        connection.close()
    if content.count(b'"schedulerName"') != effort.pods:
        raise BenchError(f"The list of {server.label} does not have all pods.")
    return seconds


async def _watch(server: Running, effort: Effort, value: str, *, slow: bool) -> tuple[float, bool]:
    """Change pods while clients watch; the seconds until all have seen all, and the slow one."""
    connection = await server.target.connect()
    head = await connection.send(request("GET", "/api/v1/namespaces/default/pods?limit=1"))
    connection.close()
    version = msgspec.json.decode(head)["metadata"]["resourceVersion"]
    watch = _WATCH.replace(b"{version}", version.encode())
    watchers = [await server.target.connect() for _ in range(effort.watchers)]
    idle = await server.target.connect() if slow else None
    told = False
    try:
        for one in watchers:
            await one.begin(watch)
        if idle is not None:
            await idle.begin(watch)
            idle.pause()
        requests = touch_requests(effort.changes, effort.pods, value)
        begin = time.perf_counter()
        await asyncio.gather(
            send_all(server.target, requests, effort.clients),
            *(one.count(effort.changes, _CHANGED) for one in watchers),
        )
        seconds = time.perf_counter() - begin
        if idle is not None and server.label == EMBEDDED:
            told = await _told(idle)
    finally:
        for one in (*watchers, *([idle] if idle is not None else [])):
            one.close()
    return seconds, told


async def _told(idle: Connection) -> bool:
    idle.go_on()
    return await idle.read_until(_EXPIRED)
