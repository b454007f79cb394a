"""Comparing the scheduler's state with the cluster as the API server lists it.

What kube-scheduler does on SIGUSR2, and what tests ask at their end: the same nodes, the same pods
on them, the same amounts in use, no pending pod and no binding forgotten. It only looks; nothing is
mended.
"""

# parity v1.36.4: backend/cache/debugger/comparer.go

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from typing import Final, NamedTuple, TypeVar

from mooring.kube.client import Client
from mooring.kube.listing import list_pages
from mooring.kube.resources import collection_path
from mooring.model.kinds import BY_NAME
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduler.core import Core
from mooring.state.cluster import Cluster
from mooring.wording import counted

log = logging.getLogger("mooring.live")
T = TypeVar("T", bound=KubeObject)

#: What changes while it is listed is looked at again, so often and after such a pause.
_TRIES: Final = 3
_PAUSE_SECONDS: Final = 1.0
_SHOWN: Final = 10


class Difference(NamedTuple):
    """Something in which the state and the cluster differ.

    Attributes:
        about: which thing, the same in every comparison.
        text: what differs, as a sentence.
    """

    about: str
    text: str


class StateComparison(NamedTuple):
    """What came of comparing.

    Attributes:
        nodes: how many nodes the cluster has.
        pods: how many pods that are not finished.
        assumed: how many pods have a node in the state and none yet in the cluster.
        differences: what differs.
    """

    nodes: int
    pods: int
    assumed: int
    differences: list[Difference]


async def check_state(
    client: Client,
    core: Core,
    schedulers: Collection[str],
    *,
    overdue: Callable[[], Collection[str]] = tuple,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> StateComparison:
    """Compare the state with a fresh list, again if the cluster changes meanwhile.

    Args:
        client: the API server.
        core: has the state.
        schedulers: the scheduler names of our profiles.
        overdue: the pods, by key, that should have been bound long ago.
        sleep: waits between two tries.

    Returns:
        The last comparison, with the differences that were there in every one.

    Raises:
        KubeError: the API server does not answer.
    """
    lasting: set[str] | None = None
    tries = 0
    while True:
        tries += 1
        nodes = await _listed(client, Node)
        pods = await _listed(client, Pod)
        found = compare(core, nodes, pods, schedulers)
        found.differences.extend(
            Difference(
                f"pod {key} binding",
                (f"pod {key} is being bound, and nothing completes the binding"),
            )
            for key in overdue()
        )
        abouts = {one.about for one in found.differences}
        lasting = abouts if lasting is None else lasting & abouts
        if not lasting or tries == _TRIES:
            left = [one for one in found.differences if one.about in lasting]
            return found._replace(differences=left)
        await sleep(_PAUSE_SECONDS)


def compare(
    core: Core, nodes: Iterable[Node], pods: Iterable[Pod], schedulers: Collection[str]
) -> StateComparison:
    """Compare the state with a list of all nodes and pods; finished pods do not count.

    Args:
        core: has the state.
        nodes: as listed; they are not in any state yet.
        pods: as listed.
        schedulers: the scheduler names of our profiles.
    """
    state, fresh = core.cluster, Cluster()
    for node in nodes:
        fresh.put_node(node)
    listed = {pod.key: pod for pod in pods if not pod.finished}
    assumed = 0
    differences: list[Difference] = []
    worked_on = {one.queued.pod.uid for one in core.binding}
    worked_on |= {one.pod.uid for one in core.waiting}
    for pod in listed.values():
        known = state.pod(pod.namespace, pod.name)
        if pod.node_name:
            fresh.put_pod(pod)
        elif known is not None and known.uid == pod.uid and known.node_name:
            fresh.assume(pod, known.node_name)
            assumed += 1
            if pod.uid not in worked_on:
                about = f"pod {pod.key} assumed"
                text = f"pod {pod.key} has a node only in the state, and nothing binds it"
                differences.append(Difference(about, text))
    differences += [*_nodes(state, fresh), *_queue(core, listed, schedulers)]
    return StateComparison(len(fresh.nodes), len(listed), assumed, differences)


def log_comparison(found: StateComparison) -> None:
    """Log what came of comparing."""
    nodes, pods = counted(found.nodes, "node"), counted(found.pods, "pod")
    seen = f"{nodes}, {pods}, {found.assumed} of them assumed"
    if not found.differences:
        log.info("the state matches the cluster: %s", seen)
        return
    points = counted(len(found.differences), "point")
    log.error("the state differs from the cluster in %s (%s):", points, seen)
    for one in found.differences[:_SHOWN]:
        log.error("  %s", one.text)


def _nodes(state: Cluster, fresh: Cluster) -> Iterator[Difference]:
    for name in fresh.nodes.keys() - state.nodes.keys():
        yield Difference(f"node {name}", f"node {name} is missing from the state")
    for name in state.nodes.keys() - fresh.nodes.keys():
        yield Difference(f"node {name}", f"node {name} is in the state, but not in the cluster")
    for name in fresh.nodes.keys() & state.nodes.keys():
        yield from _fields(state.nodes[name], fresh.nodes[name])
        yield from _pods(name, state, fresh)
        yield from _amounts(name, state, fresh)


def _fields(known: Node, node: Node) -> Iterator[Difference]:
    for field in ("allocatable", "labels", "taints", "unschedulable"):
        have, should = getattr(known, field), getattr(node, field)
        if have != should:
            about = f"node {node.name} {field}"
            yield Difference(about, f"{about} is {have} in the state and {should} in the cluster")


def _pods(name: str, state: Cluster, fresh: Cluster) -> Iterator[Difference]:
    have, should = _on(name, state), _on(name, fresh)
    for pod in should - have:
        yield Difference(f"pod {pod}", f"pod {pod} is missing from node {name} in the state")
    for pod in have - should:
        yield Difference(f"pod {pod}", f"pod {pod} is on node {name} only in the state")


def _on(name: str, cluster: Cluster) -> set[str]:
    pods = cluster.pods_on(cluster.columns.row_of[name])
    return {f"{pod.key} ({pod.uid})" for pod in pods}


def _amounts(name: str, state: Cluster, fresh: Cluster) -> Iterator[Difference]:
    have, should = _used(name, state), _used(name, fresh)
    for resource in sorted(have.keys() | should.keys()):
        ours, theirs = have.get(resource, 0), should.get(resource, 0)
        if ours != theirs:
            about = f"node {name} in use {resource}"
            yield Difference(about, f"{about} is {ours} in the state and {theirs} in the cluster")


def _used(name: str, cluster: Cluster) -> dict[str, int]:
    """What decisions read: the columns; and what policies read."""
    columns = cluster.columns
    row = columns.row_of[name]
    usage = columns.usage(row)
    found = {f"{resource} (usage)": amount for resource, amount in usage.used.items()}
    found |= {resource: int(columns.used(resource)[row]) for resource in usage.used}
    found["cpu for scores"] = int(columns.nonzero_cpu[row])
    found["memory for scores"] = int(columns.nonzero_memory[row])
    return found


def _queue(core: Core, listed: dict[str, Pod], schedulers: Collection[str]) -> Iterator[Difference]:
    """Pending pods of ours that are forgotten, and pods in the queue that are none."""
    state, queue = core.cluster, core.queue
    for pod in listed.values():
        if pod.node_name or pod.scheduler_name not in schedulers or pod.deleting:
            continue
        known = state.pod(pod.namespace, pod.name)
        queued = queue.get(pod.key)
        waits = queued is not None and queued.is_for(pod)
        placed = known is not None and known.uid == pod.uid and bool(known.node_name)
        if not waits and not placed:
            yield Difference(f"pod {pod.key}", f"pod {pod.key} is pending, but not in the queue")
    for queued in queue:
        found = listed.get(queued.key)
        if found is None or found.uid != queued.pod.uid or found.node_name:
            about = f"pod {queued.key}"
            yield Difference(about, f"{about} is in the queue, but not pending")


async def _listed(client: Client, kind: type[T]) -> list[T]:
    """All objects of a kind, as they are now."""
    path = collection_path(BY_NAME[kind.kind_name])
    return [
        kind.from_json(bytes(raw), keep_source=False)
        async for page in list_pages(client, path)
        for raw in page
    ]
