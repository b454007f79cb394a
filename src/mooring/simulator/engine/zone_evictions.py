"""When the pods of nodes that are not ready are evicted: node by node, at a zone's own rate.

The node controller puts its ``NoExecute`` taints on one node of a zone every ten seconds, more
slowly if most of a large zone is not ready, and not at all if most of a small zone or every zone
is not. `NodeEvictions` asks; the taints themselves are on the nodes before, which only keeps new
pods away, as the ``NoSchedule`` taint beside them does.

parity v1.36.4: pkg/controller/nodelifecycle ComputeZoneState, handleDisruption, setLimiterInZone
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from mooring.model.node import Node
from mooring.simulator.engine.event_heap import EventHeap
from mooring.simulator.engine.recorder import ZONE

_REGION: Final = "topology.kubernetes.io/region"
#: The defaults of kube-controller-manager: --node-eviction-rate, --secondary-node-eviction-rate,
#: --unhealthy-zone-threshold and --large-cluster-size-threshold.
_RATE: Final = 0.1
_SECONDARY_RATE: Final = 0.01
_UNHEALTHY_SHARE: Final = 0.55
_LARGE: Final = 50
_FEW: Final = 2


class _Zone:
    def __init__(self) -> None:
        self.nodes: set[str] = set()
        self.not_ready: set[str] = set()
        self.queue: dict[str, None] = {}
        self.next_time = 0.0
        self.due: float | None = None

    @property
    def failed(self) -> bool:
        """Whether none of its nodes is ready."""
        return len(self.not_ready) == len(self.nodes) > 0

    @property
    def mostly_failed(self) -> bool:
        failed = len(self.not_ready)
        return failed > _FEW and failed >= _UNHEALTHY_SHARE * len(self.nodes)


class ZoneEvictions:
    """Says when it is a node's turn.

    Args:
        heap: virtual time.
        begin: called with the name of a node when the pods on it are to be evicted.
    """

    def __init__(self, heap: EventHeap, begin: Callable[[str], None]) -> None:
        self._heap = heap
        self._begin = begin
        self._zones: dict[str, _Zone] = {}
        self._zone_of: dict[str, _Zone] = {}
        self._begun: set[str] = set()

    def begun(self, node: str) -> bool:
        """Whether it has been a node's turn since it is not ready."""
        return node in self._begun

    def node_changed(self, node: Node, *, ready: bool) -> None:
        """A node came or changed."""
        labels = node.labels
        key = f"{labels.get(_REGION, '')}:{labels.get(ZONE, '')}"
        zone = self._zones.setdefault(key, _Zone())
        known = self._zone_of.get(node.name)
        if known is zone and ready == (node.name not in zone.not_ready):
            return
        if known is not zone:
            self.node_gone(node.name)
        self._zone_of[node.name] = zone
        zone.nodes.add(node.name)
        if ready:
            self._forget(zone, node.name)
        else:
            zone.not_ready.add(node.name)
            if node.name not in self._begun:
                zone.queue[node.name] = None
        self._look()

    def node_gone(self, name: str) -> None:
        """A node is gone."""
        zone = self._zone_of.pop(name, None)
        if zone is not None:
            zone.nodes.discard(name)
            self._forget(zone, name)
            self._look()

    def _forget(self, zone: _Zone, name: str) -> None:
        zone.not_ready.discard(name)
        zone.queue.pop(name, None)
        self._begun.discard(name)

    def _look(self) -> None:
        """The states of zones may have changed: see whose turn it is, after all changes of now."""
        for zone in self._zones.values():
            if zone.queue and self._rate(zone):
                self._plan(zone)

    def _plan(self, zone: _Zone) -> None:
        time = max(zone.next_time, self._heap.now)
        if zone.due is None or time < zone.due:
            zone.due = time
            self._heap.at(time, partial(self._turn, zone, time))

    def _turn(self, zone: _Zone, time: float) -> None:
        if zone.due != time:
            return
        zone.due = None
        rate = self._rate(zone)
        if not zone.queue or not rate:
            return
        name = next(iter(zone.queue))
        del zone.queue[name]
        zone.next_time = self._heap.now + 1 / rate
        self._begun.add(name)
        if zone.queue:
            self._plan(zone)
        self._begin(name)

    def _rate(self, zone: _Zone) -> float:
        if zone.failed:
            everywhere = all(one.failed for one in self._zones.values() if one.nodes)
            return 0.0 if everywhere else _RATE
        if zone.mostly_failed:
            return _SECONDARY_RATE if len(zone.nodes) > _LARGE else 0.0
        return _RATE
