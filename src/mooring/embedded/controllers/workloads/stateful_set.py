"""Keeps the pods of StatefulSets: one for each number, in order, each with its own claims.

parity v1.36.4: pkg/controller/statefulset
"""

from collections.abc import Iterable, Mapping
from typing import Final

from mooring.embedded.controllers.controller import Controller, EventHandler, own_key
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import Key, PodIndex, PodSummary
from mooring.embedded.controllers.workloads.controller_history import (
    REVISION_LABEL,
    ControllerHistory,
    Revision,
)
from mooring.embedded.controllers.workloads.controller_utils import (
    deep_copy,
    is_available,
    min_ready_seconds,
    until_available,
)
from mooring.embedded.controllers.workloads.pod_templates import pod_from_template
from mooring.embedded.resources import (
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    STATEFUL_SETS,
    Obj,
    Resource,
)
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent

_NAME: Final = "statefulset.kubernetes.io/pod-name"
_INDEX: Final = "apps.kubernetes.io/pod-index"


class StatefulSetController(Controller):
    """Makes, replaces and deletes the pods of StatefulSets."""

    resource = STATEFUL_SETS

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        super().__init__(client, pods)
        self._history = ControllerHistory(client)

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of StatefulSets."""
        return {STATEFUL_SETS: self._changed}

    def _changed(self, event: WatchEvent) -> Iterable[Key]:
        if event.type == "DELETED":
            self._history.forget(event.item.uid)
        return own_key(event)

    def pod_changed(self, old: PodSummary | None, new: PodSummary | None) -> Iterable[Key]:
        """The set that controls the pod."""
        return self._controlling(new or old)

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:  # noqa: ARG002
        """Bring one set a step further."""
        obj = item.obj
        update = self._history.current(obj)
        name = (obj.get("status") or {}).get("currentRevision") or update.name
        current = self._history.find(obj, name) or update
        mine = self._pods.owned_by(item.uid)
        if not obj["metadata"].get("deletionTimestamp"):
            self._step(obj, mine, current, update, now)
        # The changes are handled before the set is reconciled again.
        status = _status(obj, mine, current, update, now)
        self._client.set_status(STATEFUL_SETS, item, obj, status)
        if status["currentRevision"] == update.name:
            self._history.prune(obj, {update.name})
        return until_available(mine, min_ready_seconds(obj), now)

    def _step(
        self, obj: Obj, mine: list[PodSummary], current: Revision, update: Revision, now: float
    ) -> None:
        spec = obj["spec"]
        parallel = spec.get("podManagementPolicy") == "Parallel"
        least = min_ready_seconds(obj)
        there = {_ordinal(obj, pod): pod for pod in mine}
        wanted = _ordinals(obj)
        for number in wanted:
            pod = there.get(number)
            if pod is None:
                self._create(obj, number, current if number < _partition(obj) else update, now)
            elif pod.finished and not pod.deleting:
                self._delete(obj, pod, now)
            elif is_available(pod, least, now) and not pod.deleting:
                continue
            if not parallel:
                return
        for number in sorted((one for one in there if one not in wanted), reverse=True):
            pod = there[number]
            if not pod.deleting:
                self._delete(obj, pod, now)
            if not parallel:
                return
        if (spec.get("updateStrategy") or {}).get("type") != "OnDelete":
            self._replace(obj, there, update, least, now)

    def _replace(
        self, obj: Obj, there: Mapping[int, PodSummary], update: Revision, least: int, now: float
    ) -> None:
        """Delete the highest pod that is of an old revision, if all above it are well."""
        for number in reversed(_ordinals(obj)):
            pod = there.get(number)
            if number < _partition(obj) or pod is None:
                return
            if pod.labels.get(REVISION_LABEL) != update.name:
                if not pod.deleting:
                    self._delete(obj, pod, now)
                return
            if pod.deleting or not is_available(pod, least, now):
                return

    def _create(self, obj: Obj, number: int, revision: Revision, now: float) -> None:
        metadata, spec = obj["metadata"], obj["spec"]
        name = f"{metadata['name']}-{number}"
        pod = deep_copy(pod_from_template(revision.template or spec["template"], obj))
        pod["metadata"]["name"] = name
        pod["metadata"]["labels"] = {
            **pod["metadata"].get("labels", {}),
            REVISION_LABEL: revision.name,
            _NAME: name,
            _INDEX: str(number),
        }
        inner = pod["spec"]
        inner["hostname"] = name
        if spec.get("serviceName"):
            inner["subdomain"] = spec["serviceName"]
        for template in spec.get("volumeClaimTemplates") or ():
            self._ensure_claim(obj, inner, template, name, now)
        self._client.create(PODS, pod, metadata["namespace"])
        message = f"create Pod {name} in StatefulSet {metadata['name']} successful"
        self._client.record_event(obj, "Normal", "SuccessfulCreate", message, now)

    def _ensure_claim(self, obj: Obj, pod_spec: Obj, template: Obj, pod: str, now: float) -> None:
        """Give a pod the claim of a template, which outlives it."""
        metadata = obj["metadata"]
        short = template["metadata"]["name"]
        name = f"{short}-{pod}"
        volume = {"name": short, "persistentVolumeClaim": {"claimName": name}}
        others = [one for one in pod_spec.get("volumes") or () if one["name"] != short]
        pod_spec["volumes"] = [*others, volume]
        namespace = metadata["namespace"]
        if self._client.store.get(PERSISTENT_VOLUME_CLAIMS, namespace, name) is not None:
            return
        given = template.get("metadata") or {}
        selected = (obj["spec"].get("selector") or {}).get("matchLabels") or {}
        claim: Obj = {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "metadata": {"name": name, "labels": {**(given.get("labels") or {}), **selected}},
            "spec": deep_copy(template.get("spec") or {}),
        }
        if given.get("annotations"):
            claim["metadata"]["annotations"] = dict(given["annotations"])
        self._client.create(PERSISTENT_VOLUME_CLAIMS, claim, namespace)
        message = f"create Claim {name} Pod {pod} in StatefulSet {metadata['name']} success"
        self._client.record_event(obj, "Normal", "SuccessfulCreate", message, now)

    def _delete(self, obj: Obj, pod: PodSummary, now: float) -> None:
        self._client.delete(PODS, *pod.key, pod.uid)
        name = obj["metadata"]["name"]
        message = f"delete Pod {pod.key[1]} in StatefulSet {name} successful"
        self._client.record_event(obj, "Normal", "SuccessfulDelete", message, now)


def _ordinals(obj: Obj) -> range:
    start = int((obj["spec"].get("ordinals") or {}).get("start") or 0)
    return range(start, start + int(obj["spec"].get("replicas", 1)))


def _partition(obj: Obj) -> int:
    """Pods with a lower number keep the old template."""
    rolling = (obj["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    return _ordinals(obj).start + int(rolling.get("partition") or 0)


def _ordinal(obj: Obj, pod: PodSummary) -> int:
    stem, _, number = pod.key[1].rpartition("-")
    return int(number) if stem == obj["metadata"]["name"] and number.isdigit() else -1


def _status(
    obj: Obj, mine: list[PodSummary], current: Revision, update: Revision, now: float
) -> Obj:
    least = min_ready_seconds(obj)
    alive = [pod for pod in mine if not pod.finished]
    wanted = int(obj["spec"].get("replicas", 1))
    updated = sum(pod.labels.get(REVISION_LABEL) == update.name for pod in alive)
    ready = sum(pod.ready for pod in alive)
    old = sum(pod.labels.get(REVISION_LABEL) == current.name for pod in alive)
    name = current.name
    if updated == wanted == ready == len(alive) and _partition(obj) == _ordinals(obj).start:
        name, old = update.name, updated
    return {
        "observedGeneration": obj["metadata"].get("generation"),
        "replicas": len(alive),
        "readyReplicas": ready or None,
        "currentReplicas": old or None,
        "updatedReplicas": updated or None,
        "currentRevision": name,
        "updateRevision": update.name,
        "collisionCount": (obj.get("status") or {}).get("collisionCount") or 0,
        "availableReplicas": sum(is_available(pod, least, now) for pod in alive),
    }
