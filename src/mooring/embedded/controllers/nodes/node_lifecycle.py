"""What follows from a node's state: its taints, its lease, and what becomes of its pods if it goes.

Nodes that have never said whether they are ready are left alone.

parity v1.36.4: pkg/controller/nodelifecycle, pkg/controller/podgc
"""

from collections.abc import Iterable, Mapping
from typing import Final

from mooring.embedded.controllers.controller import Controller, EventHandler
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import Key, PodIndex
from mooring.embedded.controllers.timestamps import format_time
from mooring.embedded.pod_subresources import set_pod_condition
from mooring.embedded.resources import LEASES, NAMESPACES, NODES, PODS, Obj, Resource
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent
from mooring.kube.timestamps import micro_time

LEASE_NAMESPACE: Final = "kube-node-lease"
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
_PRESSURES: Final = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
_READINESS: Final = {"False": NOT_READY, "Unknown": UNREACHABLE}
#: The taints that follow from something else; others are whoever's.
_OWN: Final = frozenset(
    {(key, "NoSchedule") for key in (UNSCHEDULABLE, NOT_READY, UNREACHABLE, *_PRESSURES.values())}
    | {(key, "NoExecute") for key in (NOT_READY, UNREACHABLE)}
)
#: A node may come back within so many seconds; then its pods are deleted.
_QUARANTINE: Final = 40.0
_LEASE_SECONDS: Final = 40


class NodeLifecycleController(Controller):
    """Keeps nodes' taints and leases, and deletes the pods of nodes that are gone."""

    resource = NODES

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        super().__init__(client, pods)
        self._gone: dict[str, float | None] = {}

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of nodes, and to the namespace of their leases."""
        return {NODES: self._changed, NAMESPACES: self._namespace_changed}

    def _changed(self, event: WatchEvent) -> Iterable[Key]:
        name = event.item.name
        if event.type == "DELETED":
            self._gone[name] = None
        else:
            self._gone.pop(name, None)
        return (("", name),)

    def _namespace_changed(self, event: WatchEvent) -> Iterable[Key]:
        if event.type != "ADDED" or event.item.name != LEASE_NAMESPACE:
            return ()
        return [("", item.name) for item in self._client.store.all(NODES)]

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:  # noqa: ARG002
        """Bring the lease and the taints of one node up to date."""
        self._ensure_lease(item, now)
        obj = item.obj
        taints = _taints(obj, now)
        if taints != (obj["spec"].get("taints") or []):
            if taints:
                obj["spec"]["taints"] = taints
            else:
                obj["spec"].pop("taints", None)
            self._client.update(NODES, obj)
        return None

    def sync_deleted(self, key: Key, now: float) -> float | None:
        """Delete the pods of a node that has been gone for a while."""
        name = key[1]
        if name not in self._gone:
            return None
        since = self._gone[name]
        if since is None:
            since = self._gone[name] = now
        if since + _QUARANTINE > now:
            return since + _QUARANTINE - now
        del self._gone[name]
        for pod in self._pods.on_node(name):
            if not pod.finished:
                self._fail(pod.key, now)
            self._client.delete(PODS, *pod.key, pod.uid, grace=0)
        return None

    def _fail(self, key: Key, now: float) -> None:
        item = self._client.store.get(PODS, *key)
        if item is None:
            return
        obj = item.obj
        status = obj.setdefault("status", {})
        status["phase"] = "Failed"
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists",
        }
        set_pod_condition(status, condition, format_time(now))
        self._client.update(PODS, obj, "status")

    def _ensure_lease(self, item: StoredObject, now: float) -> None:
        store = self._client.store
        if store.get(LEASES, LEASE_NAMESPACE, item.name) is not None:
            return
        if store.get(NAMESPACES, "", LEASE_NAMESPACE) is None:
            return
        owner = {"apiVersion": "v1", "kind": "Node", "name": item.name, "uid": item.uid}
        lease = {
            "apiVersion": LEASES.api_version,
            "kind": "Lease",
            "metadata": {"name": item.name, "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": item.name,
                "leaseDurationSeconds": _LEASE_SECONDS,
                "renewTime": micro_time(int(now * 1e9)),
            },
        }
        self._client.create(LEASES, lease, LEASE_NAMESPACE)


def _taints(node: Obj, now: float) -> list[Obj]:
    """The taints a node should have: those of others, and those that follow from its state."""
    wanted: dict[tuple[str, str], None] = {}
    if node["spec"].get("unschedulable"):
        wanted[UNSCHEDULABLE, "NoSchedule"] = None
    ready = ""
    for one in (node.get("status") or {}).get("conditions") or ():
        kind, status = one["type"], one.get("status")
        if kind == "Ready":
            ready = status
            if status in _READINESS:
                wanted[_READINESS[status], "NoSchedule"] = None
                wanted[_READINESS[status], "NoExecute"] = None
        elif kind in _PRESSURES and status == "True":
            wanted[_PRESSURES[kind], "NoSchedule"] = None
    kept = []
    for taint in node["spec"].get("taints") or ():
        place = (taint["key"], taint["effect"])
        if place in wanted:
            del wanted[place]
        elif place in _OWN and not (taint["key"] in (NOT_READY, UNREACHABLE) and not ready):
            continue
        kept.append(taint)
    time = format_time(now)
    return kept + [
        {"key": key, "effect": effect, "timeAdded": time}
        if effect == "NoExecute" or key == UNSCHEDULABLE
        else {"key": key, "effect": effect}
        for key, effect in wanted
    ]
