"""Which pods belong to which owner: orphans are adopted, pods that do not match are released.

Called by `replica_set`.

parity v1.36.4: pkg/controller/controller_ref_manager.go PodControllerRefManager
"""

from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.owner_references import controller_ref
from mooring.embedded.controllers.pod_index import Key, PodIndex, PodSummary
from mooring.embedded.resources import PODS, Obj
from mooring.model.selectors import LabelSelector


class PodControllerRefManager:
    """Claims pods for their owners: those they control and select, and those nobody controls.

    Args:
        client: adopts and releases pods.
        pods: all pods.
    """

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        self._client = client
        self._pods = pods
        self._selectors: dict[str, dict[str, LabelSelector]] = {}
        self._orphans: dict[Key, set[Key]] = {}

    def owner_changed(self, key: Key, selector: LabelSelector) -> None:
        """An owner is new or has changed: pods that nobody controls may be its own."""
        self._selectors.setdefault(key[0], {})[key[1]] = selector
        orphans = self._pods.orphans(key[0])
        if orphans:
            found = {pod.key for pod in orphans if selector.matches(pod.labels)}
            if found:
                self._orphans.setdefault(key, set()).update(found)

    def owner_deleted(self, key: Key) -> None:
        """An owner is gone."""
        self._orphans.pop(key, None)
        owners = self._selectors.get(key[0])
        if owners is not None:
            owners.pop(key[1], None)
            if not owners:
                del self._selectors[key[0]]

    def owners_matching(self, pod: PodSummary) -> list[Key]:
        """The owners that may adopt a pod that nobody controls."""
        namespace = pod.key[0]
        found = [
            (namespace, name)
            for name, selector in self._selectors.get(namespace, {}).items()
            if selector.matches(pod.labels)
        ]
        for key in found:
            self._orphans.setdefault(key, set()).add(pod.key)
        return found

    def claim_pods(self, key: Key, owner: Obj, selector: LabelSelector) -> list[PodSummary]:
        """The owner's pods, after adopting those that nobody controls and releasing others."""
        uid = owner["metadata"]["uid"]
        mine = []
        for pod in self._pods.owned_by(uid):
            if selector.matches(pod.labels):
                mine.append(pod)
            elif not pod.deleting:
                self._release(pod, uid)
        orphans = self._orphans.pop(key, None)
        if orphans and not owner["metadata"].get("deletionTimestamp"):
            for other in sorted(orphans):
                orphan = self._pods.get(other)
                if (
                    orphan is not None
                    and orphan.owner is None
                    and orphan.active
                    and selector.matches(orphan.labels)
                ):
                    self._adopt(orphan, owner)
                    mine.append(orphan)
        return mine

    def _adopt(self, pod: PodSummary, owner: Obj) -> None:
        item = self._client.store.get(PODS, *pod.key)
        if item is None:
            return
        obj = item.obj
        owners = obj["metadata"].get("ownerReferences") or []
        obj["metadata"]["ownerReferences"] = [*owners, controller_ref(owner)]
        self._client.update(PODS, obj)

    def _release(self, pod: PodSummary, uid: str) -> None:
        item = self._client.store.get(PODS, *pod.key)
        if item is None:
            return
        obj = item.obj
        owners = obj["metadata"].get("ownerReferences") or []
        obj["metadata"]["ownerReferences"] = [one for one in owners if one.get("uid") != uid]
        self._client.update(PODS, obj)
