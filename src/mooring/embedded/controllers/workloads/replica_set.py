"""Keeps as many pods as a ReplicaSet or a ReplicationController says.

parity v1.36.4: pkg/controller/replicaset, without its expectations: see `workqueue`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from mooring.embedded.controllers.conditions import find_condition, without_condition
from mooring.embedded.controllers.controller import Controller, EventHandler
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import Key, PodIndex, PodSummary
from mooring.embedded.controllers.timestamps import format_time
from mooring.embedded.controllers.workloads.controller_ref_manager import PodControllerRefManager
from mooring.embedded.controllers.workloads.controller_utils import (
    BATCH,
    is_available,
    is_namespace_terminating,
    min_ready_seconds,
    pods_to_delete,
    read_selector,
    until_available,
)
from mooring.embedded.controllers.workloads.pod_control import PodControl
from mooring.embedded.controllers.workloads.pod_templates import pod_from_template, pod_name_prefix
from mooring.embedded.resources import REPLICA_SETS, REPLICATION_CONTROLLERS, Obj, Resource
from mooring.embedded.status_errors import StatusError
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent
from mooring.model.selectors import LabelSelector

FAILURE: Final = "ReplicaFailure"

#: While many pods are made, the status is written once for so many.
_REPORTED: Final = 10 * BATCH
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class ReplicaSetController(Controller):
    """Makes and deletes pods, and reports how many there are."""

    resource = REPLICA_SETS
    throttled = True

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        super().__init__(client, pods)
        self._pod_control = PodControl(client)
        self._ref_manager = PodControllerRefManager(client, pods)

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of the sets themselves."""
        return {self.resource: self._changed}

    def _changed(self, event: WatchEvent) -> Iterable[Key]:
        key = (event.item.namespace, event.item.name)
        if event.type == "DELETED":
            self._ref_manager.owner_deleted(key)
        elif event.old is None or event.old.uid != event.item.uid:
            self._ref_manager.owner_changed(key, self._selector(event.item.obj))
        return (key,)

    def pod_changed(self, old: PodSummary | None, new: PodSummary | None) -> Iterable[Key]:
        """The set that controls the pod, or that may adopt it."""
        keys = [*self._controlling(old), *self._controlling(new)]
        if new is not None and new.owner is None and new.active and _may_match_now(old, new):
            keys.extend(self._ref_manager.owners_matching(new))
        return keys

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:
        """Bring one set nearer to its number of pods."""
        obj = item.obj
        selector = self._selector(obj)
        mine = self._ref_manager.claim_pods(key, obj, selector)
        active = [pod for pod in mine if pod.active]
        missing = int(obj["spec"].get("replicas", 1)) - len(active)
        error: StatusError | None = None
        if not obj["metadata"].get("deletionTimestamp"):
            error = self._manage(obj, active, missing, now)
        if error is None and missing and len(active) % _REPORTED >= BATCH:
            return 0.0  # the pods that came or went are counted after their changes were handled
        self._report(key, mine, missing, error, now)
        if error is not None and not is_namespace_terminating(error):
            raise error
        if missing and error is None and not obj["metadata"].get("deletionTimestamp"):
            return 0.0
        self._throttle.synced(key, len(mine), now)
        return until_available(mine, min_ready_seconds(obj), now)

    def _manage(
        self, obj: Obj, active: list[PodSummary], missing: int, now: float
    ) -> StatusError | None:
        """Make or delete some pods; what was rejected."""
        try:
            if missing > 0:
                self._create(obj, min(missing, BATCH), now)
            elif missing < 0:
                for pod in pods_to_delete(active, min(-missing, BATCH)):
                    self._pod_control.delete(obj, pod, now)
        except StatusError as error:
            return error
        return None

    def _create(self, obj: Obj, count: int, now: float) -> None:
        pod = pod_from_template(obj["spec"]["template"], obj)
        pod["metadata"]["generateName"] = pod_name_prefix(obj["metadata"]["name"])
        body = _encode(pod)
        for _ in range(count):
            # Each has a spec of its own: what is created is defaulted in place.
            self._pod_control.create(obj, _decode(body), now)

    def _report(
        self,
        key: Key,
        mine: list[PodSummary],
        missing: int,
        error: StatusError | None,
        now: float,
    ) -> None:
        item = self._client.store.get(self.resource, *key)
        if item is None:
            return
        obj = item.obj
        spec = obj["spec"]
        old = obj.get("status") or {}
        active = [pod for pod in mine if pod.active]
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        min_ready = min_ready_seconds(obj)
        conditions = old.get("conditions") or []
        if error is None:
            conditions = without_condition(conditions, FAILURE)
        elif find_condition(conditions, FAILURE) is None:
            failure = {
                "type": FAILURE,
                "status": "True",
                "lastTransitionTime": format_time(now),
                "reason": "FailedCreate" if missing > 0 else "FailedDelete",
                "message": str(error),
            }
            conditions = [*conditions, failure]
        status = {
            "replicas": len(active),
            "fullyLabeledReplicas": sum(_has(pod, labels) for pod in active) or None,
            "readyReplicas": sum(pod.ready for pod in active) or None,
            "availableReplicas": sum(is_available(pod, min_ready, now) for pod in active) or None,
            "terminatingReplicas": sum(pod.deleting and not pod.finished for pod in mine),
            "observedGeneration": obj["metadata"].get("generation"),
            "conditions": conditions or None,
        }
        if self.resource is REPLICATION_CONTROLLERS:
            del status["terminatingReplicas"]
        self._client.set_status(self.resource, item, obj, status)

    def _selector(self, obj: Obj) -> LabelSelector:
        selector = obj["spec"].get("selector") or {}
        if self.resource is REPLICATION_CONTROLLERS:
            return read_selector({"matchLabels": selector})
        return read_selector(selector)


class ReplicationManager(ReplicaSetController):
    """Does the same for ReplicationControllers."""

    resource = REPLICATION_CONTROLLERS


def _may_match_now(old: PodSummary | None, new: PodSummary) -> bool:
    """Whether a pod that nobody controls may interest somebody now who did not want it before."""
    if old is None or old.owner is not None:
        return True
    return old.labels != new.labels or old.active != new.active


def _has(pod: PodSummary, labels: Mapping[str, str]) -> bool:
    return all(pod.labels.get(key) == value for key, value in labels.items())
