"""Part `waking`: many unschedulable pods, woken at once by one deleted pod; called by `__main__`.

The pods are of five templates and fit nowhere, before and after. A pod on a node is deleted, which
might help all of them, so all of them go back to the queue; a new pod that fits comes last. The
figure is how long it takes until the new pod is placed: everybody before it has to be looked at.
"""

import time
from collections.abc import Iterator

import msgspec

from benchmarks.command import BenchError
from benchmarks.core.bench import Bench
from benchmarks.core.collection import collecting_as_moor_run
from benchmarks.core.kinds import Kind
from benchmarks.core.objects import PodParts
from benchmarks.core.workloads import WORKLOADS
from mooring.framework.decisions.decision_cycle import without_extenders
from mooring.model.change import Gone, Put
from mooring.model.pod import Pod
from mooring.scheduler.effects import Bind

TEMPLATES = 5
#: So many of the pods for each node; and so many pods on each node from the start.
PODS_PER_NODE = 4
_ON_NODE = 2
#: Longer than any pod is in backoff.
_LATER_SECONDS = 60.0


class Waking(msgspec.Struct):
    """What waking costs.

    Attributes:
        pods: how many unschedulable pods there were.
        first_seconds: CPU time until all of them were found unschedulable, one by one.
        woken: how many of them the deleted pod put back into the queue.
        decisions: how many decisions were made until the new pod was placed, its own included.
        seconds: CPU time from the deletion until the new pod was placed.
    """

    nodes: int
    pods: int
    first_seconds: float
    woken: int
    decisions: int
    seconds: float


def _too_large(number: int, group: int) -> PodParts:
    """More than a node has left, even when one of its pods is gone."""
    template = number % TEMPLATES
    return PodParts({"app": f"large-{template}"}, cpu=f"{3910 + 10 * template}m")


_TOO_LARGE = Kind("large", _too_large)


def measure(nodes: int) -> Waking:
    """Make pods wait on a cluster of so many nodes, and wake them."""
    bench = Bench(WORKLOADS["plain"], nodes, _ON_NODE * nodes)
    with collecting_as_moor_run():
        return _measure(bench, nodes)


def _measure(bench: Bench, nodes: int) -> Waking:
    core, now = bench.core, float(10 * PODS_PER_NODE * nodes)
    pods = PODS_PER_NODE * nodes
    for number in range(pods):
        pod = Pod.from_json(_TOO_LARGE.pod(number), keep_source=False)
        core.handle((Put(pod),), float(number))
    begin = time.process_time()
    tried = sum(not placed for placed in _decisions(bench, now))
    first = time.process_time() - begin
    if tried != pods:
        raise BenchError(f"{tried} of {pods} pods were found unschedulable.")
    now += _LATER_SECONDS
    core.tick(now)
    new = Pod.from_json(bench.workload.kinds[0].pod(10**6 - 1), keep_source=False)
    begin = time.process_time()
    core.handle((Gone(bench.cluster.pods_on(0)[0]),), now)
    core.handle((Put(new),), now + 1)
    woken = core.queue.counts()["active"] - 1
    made = 0
    for placed in _decisions(bench, now + 1):
        made += 1
        if placed is new:
            break
    else:
        raise BenchError("the new pod was not placed.")
    seconds = time.process_time() - begin
    return Waking(nodes, pods, first, woken, made, seconds)


def _decisions(bench: Bench, now: float) -> Iterator[Pod | None]:
    """Decide about all pods that are ready; the pod, if it is to be bound."""
    while (cycle := bench.core.schedule_one(now)) is not None:
        effects = without_extenders(cycle)
        yield next((one.pod for one in effects if isinstance(one, Bind)), None)
