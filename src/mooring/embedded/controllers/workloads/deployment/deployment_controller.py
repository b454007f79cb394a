"""Rolls Deployments out: ReplicaSets for templates, and how many pods each of them should have.

parity v1.36.4: pkg/controller/deployment
"""

from collections.abc import Iterable, Mapping

from mooring.embedded.controllers.controller import Controller, EventHandler
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.owner_references import (
    controller_of,
    controller_ref,
    controller_uid,
)
from mooring.embedded.controllers.pod_index import Key, PodIndex, PodSummary
from mooring.embedded.controllers.workloads.controller_utils import read_selector
from mooring.embedded.controllers.workloads.deployment import deployment_status, scaling
from mooring.embedded.controllers.workloads.deployment.rollout import Rollout, find_new_replica_set
from mooring.embedded.resources import DEPLOYMENTS, REPLICA_SETS, Obj, Resource
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent


class DeploymentController(Controller):
    """Makes and sizes ReplicaSets, and reports how a rollout goes."""

    resource = DEPLOYMENTS

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        super().__init__(client, pods)
        self._sets: dict[str, dict[Key, None]] = {}
        self._owner: dict[Key, tuple[str, Key]] = {}
        self._orphans: dict[Key, None] = {}
        self._recreating: set[Key] = set()

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of Deployments and to the ReplicaSets they own."""
        return {DEPLOYMENTS: self._changed, REPLICA_SETS: self._set_changed}

    def _changed(self, event: WatchEvent) -> Iterable[Key]:
        key = (event.item.namespace, event.item.name)
        if event.type == "DELETED":
            self._recreating.discard(key)
        return (key,)

    def _set_changed(self, event: WatchEvent) -> Iterable[Key]:
        item = event.item
        key = (item.namespace, item.name)
        keys: list[Key] = []
        before = self._owner.pop(key, None)
        if before is not None:
            self._sets[before[0]].pop(key, None)
            if not self._sets[before[0]]:
                del self._sets[before[0]]
            keys.append(before[1])
        self._orphans.pop(key, None)
        if event.type == "DELETED":
            return keys
        owner = controller_of(item.obj)
        if owner is None:
            self._orphans[key] = None
        elif owner["kind"] == "Deployment":
            mine = (item.namespace, owner["name"])
            self._owner[key] = (owner["uid"], mine)
            self._sets.setdefault(owner["uid"], {})[key] = None
            if mine not in keys:
                keys.append(mine)
        return keys

    def pod_changed(self, old: PodSummary | None, new: PodSummary | None) -> Iterable[Key]:
        """A Deployment that waits for its old pods to be gone."""
        if old is None or old.owner is None or not self._recreating:
            return ()
        if new is not None and new.finished == old.finished:
            return ()
        found = self._owner.get((old.key[0], old.owner.name))
        return (found[1],) if found is not None and found[1] in self._recreating else ()

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:
        """Bring one Deployment a step further."""
        obj = item.obj
        sets = self._own_sets(obj)
        if obj["metadata"].get("deletionTimestamp"):
            status = deployment_status.calculate_status(
                obj, sets, find_new_replica_set(obj, sets), now
            )
            self._client.set_status(DEPLOYMENTS, item, obj, status)
            return None
        rollout = Rollout(self._client, self._pods, obj, sets, now)
        again = rollout.step()
        if rollout.waits:
            self._recreating.add(key)
        else:
            self._recreating.discard(key)
        return again

    def _own_sets(self, obj: Obj) -> list[Obj]:
        metadata = obj["metadata"]
        found = []
        for key in self._sets.get(metadata["uid"], {}):
            item = self._client.store.get(REPLICA_SETS, *key)
            if item is not None:
                found.append(item.obj)
        if self._orphans and not metadata.get("deletionTimestamp"):
            found.extend(self._adopt(obj))
        return scaling.by_age(found)

    def _adopt(self, obj: Obj) -> Iterable[Obj]:
        """Adopt the ReplicaSets that nobody controls and that the Deployment selects."""
        namespace = obj["metadata"]["namespace"]
        selector = read_selector(obj["spec"].get("selector"))
        for key in [one for one in self._orphans if one[0] == namespace]:
            item = self._client.store.get(REPLICA_SETS, *key)
            if item is None or not selector.matches(item.labels):
                continue
            one = item.obj
            owners = one["metadata"].get("ownerReferences") or []
            if controller_uid(one) or one["metadata"].get("deletionTimestamp"):
                continue
            one["metadata"]["ownerReferences"] = [*owners, controller_ref(obj)]
            yield self._client.update(REPLICA_SETS, one).obj
