"""What becomes of pods on nodes that are tainted, drained or removed; for all pods, here alone.

Taints follow from a node's state as in any cluster (the embedded node-lifecycle controller sets
them); who does not tolerate ``NoExecute`` leaves in its time, which begins for nodes that are not
ready when `ZoneEvictions` says so. Draining asks disruption budgets.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from mooring.embedded.controllers.nodes.node_lifecycle import NOT_READY, UNREACHABLE
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.taints import NO_EXECUTE, Taint, tolerated_seconds
from mooring.simulator.engine.event_heap import EventHeap
from mooring.simulator.engine.pods import Pods
from mooring.simulator.engine.zone_evictions import ZoneEvictions
from mooring.simulator.pod_owners import stays_with_node
from mooring.state.cluster import Cluster

#: kubectl drain tries again after so many seconds when a budget forbids an eviction.
_RETRY_SECONDS: Final = 5.0
#: The taints that follow from a node's Ready condition.
_OF_CONDITIONS: Final = frozenset((NOT_READY, UNREACHABLE))


class NodeEvictions:
    """Has pods leave their nodes.

    Args:
        state: the scheduler's state, which has all pods on all nodes.
        pods: deletes and evicts.
        heap: virtual time.

    Attributes:
        draining: the nodes that are being drained, with what to do when they are.
    """

    def __init__(self, state: Cluster, pods: Pods, heap: EventHeap) -> None:
        self._state = state
        self._pods = pods
        self._heap = heap
        self._tainted: dict[str, tuple[Taint, ...]] = {}
        self._since: dict[str, float] = {}
        self._zones = ZoneEvictions(heap, self._turn)
        self.draining: dict[str, list[Callable[[], None]]] = {}
        self._to_leave: dict[str, set[str]] = {}

    # -- taints

    def node_changed(self, node: Node) -> None:
        """A node came or changed; the state shows it already."""
        every = tuple(one for one in node.taints if one.effect == NO_EXECUTE)
        others = tuple(one for one in every if one.key not in _OF_CONDITIONS)
        self._zones.node_changed(node, ready=len(others) == len(every))
        self._set_taints(node, every if self._zones.begun(node.name) else others)

    def _turn(self, name: str) -> None:
        """The pods of a node that is not ready are to be evicted from now on."""
        node = self._state.nodes[name]
        self._set_taints(node, tuple(one for one in node.taints if one.effect == NO_EXECUTE))

    def _set_taints(self, node: Node, taints: tuple[Taint, ...]) -> None:
        if taints == self._tainted.get(node.name, ()):
            return
        if not taints:
            del self._tainted[node.name]
            for pod in self.on_node(node.name):
                self._since.pop(pod.uid, None)
            return
        self._tainted[node.name] = taints
        for pod in self.on_node(node.name):
            self._check(pod)

    def node_gone(self, name: str) -> None:
        """A node is gone."""
        self._tainted.pop(name, None)
        self._zones.node_gone(name)

    def pod_bound(self, pod: Pod) -> None:
        """A pod is on a node."""
        if self._tainted and pod.node_name in self._tainted:
            self._check(pod)

    def pod_gone(self, pod: Pod) -> None:
        """A pod is gone."""
        if self._since:
            self._since.pop(pod.uid, None)

    def _check(self, pod: Pod) -> None:
        taints = self._tainted.get(pod.node_name)
        if taints is None or pod.deleting:
            return
        seconds = tolerated_seconds(taints, pod.tolerations)
        if seconds is None:
            self._since.pop(pod.uid, None)
            return
        now = self._heap.now
        since = self._since.setdefault(pod.uid, now)
        if since + seconds <= now:
            self._pods.delete(pod, "evicted")
        else:
            self._heap.at(since + seconds, partial(self._look_again, pod))

    def _look_again(self, pod: Pod) -> None:
        known = self._state.pod(pod.namespace, pod.name)
        if known is not None and known.uid == pod.uid and pod.uid in self._since:
            self._check(known)

    # -- draining and removing

    def drain(self, name: str, done: Callable[[], None] = lambda: None) -> None:
        """Evict the pods of a node as ``kubectl drain`` does: not those that stay with their node.

        Pods that come later stay, for example when the node is uncordoned meanwhile.

        Args:
            name: the node, which is cordoned already.
            done: called when nobody is left to be evicted.
        """
        pods = {one.uid for one in self.on_node(name) if not stays_with_node(one)}
        goes_on = name in self.draining
        self.draining.setdefault(name, []).append(done)
        self._to_leave.setdefault(name, set()).update(pods)
        if not goes_on:
            self._go_on_draining(name)

    def stop_draining(self, name: str) -> None:
        """Evict nobody else from a node."""
        self.draining.pop(name, None)
        self._to_leave.pop(name, None)

    def _go_on_draining(self, name: str) -> None:
        if name not in self.draining:
            return
        left = [one for one in self.on_node(name) if one.uid in self._to_leave[name]]
        for pod in left:
            if not pod.deleting:
                self._pods.evict(pod)
        if left and name in self._state.nodes:
            # A budget may forbid it for ever, so trying again keeps no simulation going.
            again = partial(self._go_on_draining, name)
            self._heap.after(_RETRY_SECONDS, again, background=True)
            return
        del self._to_leave[name]
        for done in self.draining.pop(name):
            if not left:
                done()

    def lose(self, name: str) -> None:
        """Delete the pods of a node whose machine is gone."""
        for pod in self.on_node(name):
            self._pods.delete(pod, "node-removed", at_once=True)

    def on_node(self, name: str) -> list[Pod]:
        """The pods on a node."""
        node = self._state.nodes.get(name)
        return list(node.pods) if node is not None else []
