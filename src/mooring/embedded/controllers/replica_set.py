"""Keeps as many pods as a ReplicaSet or a ReplicationController says.

parity v1.36.4: pkg/controller/replicaset, without its expectations: see `work`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from mooring.embedded.controllers import moments
from mooring.embedded.controllers.hand import Hand
from mooring.embedded.controllers.pod_index import Key, PodIndex, SeenPod
from mooring.embedded.controllers.replicas import (
    BATCH,
    Claims,
    Pace,
    is_available,
    read_selector,
    to_give_up,
    until_available,
)
from mooring.embedded.controllers.templates import generated, pod_from
from mooring.embedded.controllers.work import Controller, Heard
from mooring.embedded.refusals import Refused
from mooring.embedded.resources import PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, Obj, Resource
from mooring.embedded.store import Entry
from mooring.model.selectors import LabelSelector

FAILURE: Final = "ReplicaFailure"

#: While many pods are made, the status is written once for so many.
_REPORTED: Final = 10 * BATCH
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class ReplicaSets(Controller):
    """Makes and deletes pods, and reports how many there are.

    Args:
        hand: writes.
        pods: all pods.
        resource: ReplicaSets or ReplicationControllers.
    """

    def __init__(self, hand: Hand, pods: PodIndex, resource: Resource = REPLICA_SETS) -> None:
        self._hand = hand
        self._pods = pods
        self._resource = resource
        self._claims = Claims(hand, pods)
        self._pace = Pace()

    @property
    def name(self) -> str:
        """For the log."""
        return self._hand.component

    @property
    def listens(self) -> Mapping[Resource, Heard]:
        """To the sets themselves."""
        return {self._resource: self._changed}

    def _changed(self, entry: Entry) -> Iterable[Key]:
        key = (entry.item.namespace, entry.item.name)
        if entry.type == "DELETED":
            self._claims.forget(key)
        elif entry.old is None or entry.old.uid != entry.item.uid:
            self._claims.know(key, self._selector(entry.item.obj))
        return (key,)

    def pod_changed(self, old: SeenPod | None, new: SeenPod | None) -> Iterable[Key]:
        """The set that controls the pod, or that may take it in."""
        keys = [
            (pod.key[0], pod.owner.name)
            for pod in (old, new)
            if pod is not None and pod.owner is not None and pod.owner.kind == self._resource.kind
        ]
        if new is not None and new.owner is None and new.active and _is_news(old, new):
            keys.extend(self._claims.wanted_by(new))
        return keys

    def reconcile(self, key: Key, now: float) -> float | None:
        """Bring one set nearer to its number of pods."""
        item = self._hand.store.get(self._resource, *key)
        if item is None:
            return None
        wait = self._pace.wait(key, now)
        if wait is not None:
            return wait
        obj = item.obj
        selector = self._selector(obj)
        mine = self._claims.of(key, obj, selector)
        active = [pod for pod in mine if pod.active]
        missing = int(obj["spec"].get("replicas", 1)) - len(active)
        refused: Refused | None = None
        if not obj["metadata"].get("deletionTimestamp"):
            refused = self._manage(obj, active, missing, now)
        if refused is None and missing and len(active) % _REPORTED >= BATCH:
            return 0.0  # the pods that came or went are counted when they are heard of
        self._report(key, mine, missing, refused, now)
        if refused is not None and not is_terminating(refused):
            raise refused
        if missing and refused is None and not obj["metadata"].get("deletionTimestamp"):
            return 0.0
        self._pace.looked(key, len(mine), now)
        return until_available(mine, int(obj["spec"].get("minReadySeconds") or 0), now)

    def _manage(self, obj: Obj, active: list[SeenPod], missing: int, now: float) -> Refused | None:
        """Make or delete some pods; what was refused."""
        try:
            if missing > 0:
                self._create(obj, min(missing, BATCH), now)
            elif missing < 0:
                for pod in to_give_up(active, min(-missing, BATCH)):
                    self._hand.delete(PODS, *pod.key, pod.uid)
                    message = f"Deleted pod: {pod.key[1]}"
                    self._hand.tell(obj, "Normal", "SuccessfulDelete", message, now)
        except Refused as refused:
            return refused
        return None

    def _create(self, obj: Obj, count: int, now: float) -> None:
        metadata = obj["metadata"]
        pod = pod_from(obj["spec"]["template"], obj)
        pod["metadata"]["generateName"] = generated(metadata["name"])
        body = _encode(pod)
        for _ in range(count):
            try:
                # Each has a spec of its own: what is created is defaulted in place.
                made = self._hand.create(PODS, _decode(body), metadata["namespace"])
            except Refused as refused:
                if not is_terminating(refused):
                    message = f"Error creating: {refused}"
                    self._hand.tell(obj, "Warning", "FailedCreate", message, now)
                raise
            self._hand.tell(obj, "Normal", "SuccessfulCreate", f"Created pod: {made.name}", now)

    def _report(
        self, key: Key, mine: list[SeenPod], missing: int, refused: Refused | None, now: float
    ) -> None:
        item = self._hand.store.get(self._resource, *key)
        if item is None:
            return
        obj = item.obj
        spec = obj["spec"]
        old = obj.get("status") or {}
        active = [pod for pod in mine if pod.active]
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        min_ready = int(spec.get("minReadySeconds") or 0)
        conditions = old.get("conditions") or []
        if refused is None:
            conditions = moments.without(conditions, FAILURE)
        elif moments.find(conditions, FAILURE) is None:
            failure = {
                "type": FAILURE,
                "status": "True",
                "lastTransitionTime": moments.written(now),
                "reason": "FailedCreate" if missing > 0 else "FailedDelete",
                "message": str(refused),
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
        if self._resource is REPLICATION_CONTROLLERS:
            del status["terminatingReplicas"]
        self._hand.set_status(self._resource, item, obj, status)

    def _selector(self, obj: Obj) -> LabelSelector:
        selector = obj["spec"].get("selector") or {}
        if self._resource is REPLICATION_CONTROLLERS:
            return read_selector({"matchLabels": selector})
        return read_selector(selector)


def _is_news(old: SeenPod | None, new: SeenPod) -> bool:
    """Whether a pod that nobody controls may interest somebody now who did not want it before."""
    if old is None or old.owner is not None:
        return True
    return old.labels != new.labels or old.active != new.active


def is_terminating(refused: Refused) -> bool:
    """Whether something was refused because its namespace is being deleted."""
    causes = (refused.status.get("details") or {}).get("causes") or ()
    return any(one.get("reason") == "NamespaceTerminating" for one in causes)


def _has(pod: SeenPod, labels: Mapping[str, str]) -> bool:
    return all(pod.labels.get(key) == value for key, value in labels.items())
