"""What happens on the demo's cluster, as numbers to show: pods by state, nodes by use.

Listens to the store of the embedded cluster, so it sees what every client would see in a watch.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from mooring.model.quantity import parse_quantity
from mooring.model.resources import CPU, amount

if TYPE_CHECKING:
    from mooring.embedded.store import Store
    from mooring.embedded.watch_history import WatchEvent

Obj = dict[str, Any]
_APP: Final = "app"
_DISRUPTED: Final = "DisruptionTarget"
_SCHEDULED: Final = "PodScheduled"
_FAILED: Final = "SchedulerError"


@lru_cache(maxsize=256)
def cpu_of(quantity: str) -> int:
    """An amount of CPU in thousandths."""
    return amount(CPU, parse_quantity(quantity))


class DemoPod:
    """A pod as it was last seen.

    Attributes:
        app: the workload it belongs to.
        name: its name.
        node: where it is; empty while it waits.
        running: whether it runs.
        rejected: why it was rejected last, if it was.
        failed: whether that is because the decision failed, such as in a plugin.
        preempted: whether it makes room for another.
        cpu_milli: what it asks for.
    """

    __slots__ = ("app", "cpu_milli", "failed", "name", "node", "preempted", "rejected", "running")

    def __init__(self, obj: Obj) -> None:
        metadata, spec, status = obj["metadata"], obj["spec"], obj.get("status") or {}
        conditions = {one["type"]: one for one in status.get("conditions") or ()}
        scheduled = conditions.get(_SCHEDULED, {})
        self.app: str = (metadata.get("labels") or {}).get(_APP, "")
        self.name: str = metadata["name"]
        self.node: str = spec.get("nodeName", "")
        self.running = status.get("phase") == "Running"
        self.rejected: str = scheduled.get("message", "") if not self.node else ""
        self.failed = bool(self.rejected) and scheduled.get("reason") == _FAILED
        self.preempted = _DISRUPTED in conditions
        requests = [one.get("resources", {}).get("requests", {}) for one in spec["containers"]]
        self.cpu_milli = sum(cpu_of(str(one.get(CPU, "0"))) for one in requests)


class DemoNode:
    """A node and what is on it.

    Attributes:
        name: its name.
        zone: its zone, in short.
        cpu_milli: what it has.
        apps: what is asked for of it by workload.
        pods: how many pods are there.
    """

    __slots__ = ("apps", "cpu_milli", "name", "pods", "zone")

    def __init__(self, obj: Obj) -> None:
        labels = obj["metadata"].get("labels") or {}
        self.name: str = obj["metadata"]["name"]
        self.zone: str = labels.get("topology.kubernetes.io/zone", "")
        self.cpu_milli = cpu_of(str(obj["status"]["allocatable"]["cpu"]))
        self.apps: Counter[str] = Counter()
        self.pods = 0

    @property
    def share(self) -> float:
        """How much of its CPU is asked for, from 0 to 1."""
        return self.apps.total() / self.cpu_milli if self.cpu_milli else 0.0

    def add_pod(self, pod: DemoPod) -> None:
        """A pod came."""
        self.apps[pod.app] += pod.cpu_milli
        self.pods += 1

    def remove_pod(self, pod: DemoPod) -> None:
        """A pod left."""
        self.apps[pod.app] -= pod.cpu_milli
        self.pods -= 1


class WorkloadCounts:
    """How many pods of a workload there are.

    Attributes:
        pods: all of them.
        placed: those on nodes.
        running: those that run.
        rejected: those that wait and were told that there is no node for them.
        failed: those of them whose decision failed.
    """

    __slots__ = ("failed", "placed", "pods", "rejected", "running")

    def __init__(self) -> None:
        self.pods = self.placed = self.running = self.rejected = self.failed = 0

    def count(self, pod: DemoPod, by: int) -> None:
        """Count a pod that came, or take one back that is gone."""
        self.pods += by
        self.placed += by * bool(pod.node)
        self.running += by * pod.running
        self.rejected += by * bool(pod.rejected)
        self.failed += by * pod.failed


class Progress:
    """All pods and nodes of the demo, kept up to date.

    Args:
        store: the cluster's.
        nodes: the nodes' manifests.

    Attributes:
        pods: by name, as they were last seen.
        nodes: by name.
        all: how many pods there are in all.
        preempted: pods that made room for others, with the nodes they were on.
        failures: by name, what was said of the pods whose decision ever failed.
    """

    def __init__(self, store: "Store", nodes: Iterable[Obj]) -> None:
        from mooring.embedded.resources import PODS

        self.pods: dict[str, DemoPod] = {}
        self.nodes = {one.name: one for one in map(DemoNode, nodes)}
        self.preempted: list[DemoPod] = []
        self.failures: dict[str, str] = {}
        self.all = WorkloadCounts()
        self._counts: dict[str, WorkloadCounts] = {}
        self._changed = asyncio.Event()
        store.listen(PODS, self._on_event)

    def of(self, app: str) -> list[DemoPod]:
        """The pods of a workload."""
        return [one for one in self.pods.values() if one.app == app]

    def counts(self, app: str) -> WorkloadCounts:
        """How many pods a workload has."""
        return self._counts.setdefault(app, WorkloadCounts())

    async def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until something is so, for at most so long; whether it is so."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        return condition()

    def _on_event(self, entry: "WatchEvent") -> None:
        new = DemoPod(entry.item.obj)
        old = self.pods.pop(new.name, None)
        if old is not None:
            self._count(old, -1)
            if old.node in self.nodes:
                self.nodes[old.node].remove_pod(old)
        if entry.type == "DELETED":
            if new.preempted:
                self.preempted.append(new)
        else:
            self.pods[new.name] = new
            if new.failed:
                self.failures.setdefault(new.name, new.rejected)
            self._count(new, 1)
            if new.node in self.nodes:
                self.nodes[new.node].add_pod(new)
        self._changed.set()

    def _count(self, pod: DemoPod, by: int) -> None:
        self.all.count(pod, by)
        self.counts(pod.app).count(pod, by)
