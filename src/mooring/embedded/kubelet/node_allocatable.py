"""The part of a kubelet that offers what a node has: new extended resources become allocatable.

A `Controller` of nodes that `controller_manager` runs with the kubelets. Somebody who adds an
extended resource to a node's capacity finds it in its allocatable resources, and it goes with it.
What the node said itself about allocatable resources is never changed.

parity v1.36.4: pkg/kubelet/nodestatus/setters.go MachineInfo
"""

from mooring.embedded.controllers.controller import Controller
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import Key, PodIndex
from mooring.embedded.resources import NODES
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.validation.resource_amounts import is_extended


class NodeAllocatable(Controller):
    """Keeps the extended resources of nodes allocatable.

    Args:
        client: reads and writes objects.
        pods: all pods; nobody needs them here.
    """

    resource = NODES

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        super().__init__(client, pods)
        self._added: dict[str, set[str]] = {}

    def sync_deleted(self, key: Key, now: float) -> float | None:  # noqa: ARG002
        """Forget a node that is gone."""
        self._added.pop(key[1], None)
        return None

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:  # noqa: ARG002
        """Compare capacity and allocatable of one node."""
        obj = item.obj
        status = obj.get("status") or {}
        capacity, before = status.get("capacity") or {}, status.get("allocatable") or {}
        added = self._added.get(key[1], set())
        new = {name for name in capacity if name not in before and is_extended(name)}
        gone = added - capacity.keys()
        allocatable = {name: value for name, value in before.items() if name not in gone}
        allocatable |= {name: capacity[name] for name in (added | new) & capacity.keys()}
        if new or gone:
            self._added[key[1]] = (added | new) - gone
        if allocatable != before:
            obj["status"] = {**status, "allocatable": allocatable}
            self._client.update(NODES, obj, "status")
        return None
