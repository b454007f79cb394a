"""Rolls Deployments out: ReplicaSets for templates, and how many pods each of them should have.

parity v1.36.4: pkg/controller/deployment
"""

from collections.abc import Iterable, Mapping

from mooring.embedded.controllers import deployment_sizes as sizes
from mooring.embedded.controllers import deployment_status as reports
from mooring.embedded.controllers.hand import Hand, controller_reference, controller_uid
from mooring.embedded.controllers.pod_index import Key, PodIndex, SeenPod
from mooring.embedded.controllers.replicas import read_selector
from mooring.embedded.controllers.rollout import Rollout, newest
from mooring.embedded.controllers.work import Controller, Heard
from mooring.embedded.resources import DEPLOYMENTS, REPLICA_SETS, Obj, Resource
from mooring.embedded.store import Entry, Item


class Deployments(Controller):
    """Makes and sizes ReplicaSets, and reports how a rollout goes.

    Args:
        hand: writes.
        pods: all pods.
    """

    def __init__(self, hand: Hand, pods: PodIndex) -> None:
        self._hand = hand
        self._pods = pods
        self._sets: dict[str, dict[Key, None]] = {}
        self._owner: dict[Key, tuple[str, Key]] = {}
        self._alone: dict[Key, None] = {}
        self._recreating: set[Key] = set()

    @property
    def name(self) -> str:
        """For the log."""
        return self._hand.component

    @property
    def listens(self) -> Mapping[Resource, Heard]:
        """To Deployments and to the ReplicaSets they own."""
        return {DEPLOYMENTS: self._changed, REPLICA_SETS: self._set_changed}

    def _changed(self, entry: Entry) -> Iterable[Key]:
        key = (entry.item.namespace, entry.item.name)
        if entry.type == "DELETED":
            self._recreating.discard(key)
        return (key,)

    def _set_changed(self, entry: Entry) -> Iterable[Key]:
        item = entry.item
        key = (item.namespace, item.name)
        keys: list[Key] = []
        before = self._owner.pop(key, None)
        if before is not None:
            self._sets[before[0]].pop(key, None)
            if not self._sets[before[0]]:
                del self._sets[before[0]]
            keys.append(before[1])
        self._alone.pop(key, None)
        if entry.type == "DELETED":
            return keys
        owner = _owner_of(item)
        if owner is None:
            self._alone[key] = None
        elif owner["kind"] == "Deployment":
            mine = (item.namespace, owner["name"])
            self._owner[key] = (owner["uid"], mine)
            self._sets.setdefault(owner["uid"], {})[key] = None
            if mine not in keys:
                keys.append(mine)
        return keys

    def pod_changed(self, old: SeenPod | None, new: SeenPod | None) -> Iterable[Key]:
        """A Deployment that waits for its old pods to be gone."""
        if old is None or old.owner is None or not self._recreating:
            return ()
        if new is not None and new.finished == old.finished:
            return ()
        found = self._owner.get((old.key[0], old.owner.name))
        return (found[1],) if found is not None and found[1] in self._recreating else ()

    def reconcile(self, key: Key, now: float) -> float | None:
        """Bring one Deployment a step further."""
        item = self._hand.store.get(DEPLOYMENTS, *key)
        if item is None:
            return None
        obj = item.obj
        sets = self._own_sets(obj)
        if obj["metadata"].get("deletionTimestamp"):
            status = reports.counted(obj, sets, newest(obj, sets), now)
            self._hand.set_status(DEPLOYMENTS, item, obj, status)
            return None
        rollout = Rollout(self._hand, self._pods, obj, sets, now)
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
            item = self._hand.store.get(REPLICA_SETS, *key)
            if item is not None:
                found.append(item.obj)
        if self._alone and not metadata.get("deletionTimestamp"):
            found.extend(self._adopt(obj))
        return sizes.by_age(found)

    def _adopt(self, obj: Obj) -> Iterable[Obj]:
        """Take in the ReplicaSets that nobody controls and that the Deployment selects."""
        namespace = obj["metadata"]["namespace"]
        selector = read_selector(obj["spec"].get("selector"))
        for key in [one for one in self._alone if one[0] == namespace]:
            item = self._hand.store.get(REPLICA_SETS, *key)
            if item is None or not selector.matches(item.labels):
                continue
            one = item.obj
            owners = one["metadata"].get("ownerReferences") or []
            if controller_uid(one) or one["metadata"].get("deletionTimestamp"):
                continue
            one["metadata"]["ownerReferences"] = [*owners, controller_reference(obj)]
            yield self._hand.update(REPLICA_SETS, one).obj


def _owner_of(item: Item) -> Obj | None:
    for owner in item.obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            found: Obj = owner
            return found
    return None
