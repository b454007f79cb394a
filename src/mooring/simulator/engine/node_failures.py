"""Nodes that stop answering: what their kubelets would do waits until they answer again.

    fail ──> kubelet silent ──grace period──> Ready is Unknown ──> taints ──> evictions
                   └─────────── recover ───────────┴──> Ready, and what waited is done

Pods on such a node neither start nor end: one that is deleted is ``Terminating`` until the node
answers again or is removed. The scheduler learns of it after the grace period only.
"""

from functools import partial
from typing import Final

from mooring.embedded.resources import Obj
from mooring.simulator.engine.api_cluster import ApiCluster
from mooring.simulator.engine.event_heap import EventHeap
from mooring.simulator.engine.recorder import Recorder
from mooring.simulator.engine.unreachable_nodes import UnreachableNodes

_READY: Final = {"status": "True", "reason": "KubeletReady"}
_UNKNOWN: Final = {"status": "Unknown", "reason": "NodeStatusUnknown"}


class NodeFailures:
    """Has nodes fail and recover.

    Args:
        nodes: told which ones do not answer.
        cluster: where the nodes are.
        heap: virtual time.
        recorder: told of failures.
        grace_seconds: from a node's silence until its condition says so.
    """

    def __init__(
        self,
        nodes: UnreachableNodes,
        cluster: ApiCluster,
        heap: EventHeap,
        recorder: Recorder,
        grace_seconds: float,
    ) -> None:
        self._nodes = nodes
        self._cluster = cluster
        self._heap = heap
        self._recorder = recorder
        self._grace_seconds = grace_seconds

    def fail(self, name: str) -> None:
        """A node stops answering; nothing happens if it did before."""
        if name in self._nodes:
            return
        failure = self._nodes.fail(name)
        self._recorder.node_failed(name, self._heap.now)
        # parity v1.36.4: kube-controller-manager --node-monitor-grace-period
        self._heap.after(self._grace_seconds, partial(self._notice, name, failure))

    def recover(self, name: str) -> None:
        """A node answers again."""
        waiting = self._nodes.recover(name)
        self._set_ready(name, _READY)
        for action in waiting:
            action()

    def _notice(self, name: str, failure: int) -> None:
        if self._nodes.failure_of(name) == failure:
            self._set_ready(name, _UNKNOWN)

    def _set_ready(self, name: str, condition: dict[str, str]) -> None:
        heartbeat = self._cluster.api.timestamp()

        def change(obj: Obj) -> None:
            for one in obj["status"].get("conditions") or ():
                if one["type"] == "Ready":
                    # A heartbeat is a change, which kubelets look at.
                    one.update(condition, lastHeartbeatTime=heartbeat)

        self._cluster.change_node(name, change, "status")
