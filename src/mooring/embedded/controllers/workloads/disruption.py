"""How many pods of a PodDisruptionBudget may be disrupted at present.

parity v1.36.4: pkg/controller/disruption
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from mooring.embedded.controllers.conditions import find_condition, without_condition
from mooring.embedded.controllers.controller import Controller, EventHandler, own_key
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.owner_references import controller_of
from mooring.embedded.controllers.pod_index import Key, PodIndex, PodSummary
from mooring.embedded.controllers.timestamps import format_time, parse_time
from mooring.embedded.controllers.workloads.deployment.scaling import replicas, scaled_value
from mooring.embedded.resources import (
    DEPLOYMENTS,
    POD_DISRUPTION_BUDGETS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
    Obj,
    Resource,
)
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent
from mooring.model.selectors import LabelSelector

#: A disruption that was allowed is waited for so long.
_DELETION_SECONDS: Final = 120.0
_OWNERS: Final[Mapping[str, Resource]] = {
    one.kind: one for one in (REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS)
}


class DisruptionController(Controller):
    """Keeps the status of budgets up to date."""

    resource = POD_DISRUPTION_BUDGETS
    throttled = True

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        super().__init__(client, pods)
        self._selectors: dict[str, dict[str, LabelSelector]] = {}

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of budgets, and to what says how many pods are expected."""
        return {
            POD_DISRUPTION_BUDGETS: self._changed,
            **dict.fromkeys((*_OWNERS.values(), DEPLOYMENTS), self._owner_changed),
        }

    def _changed(self, event: WatchEvent) -> Iterable[Key]:
        item = event.item
        if event.type == "DELETED":
            there = self._selectors.get(item.namespace, {})
            there.pop(item.name, None)
            if not there:
                self._selectors.pop(item.namespace, None)
        else:
            selector = _read(item.obj)
            self._selectors.setdefault(item.namespace, {})[item.name] = selector
        return own_key(event)

    def _owner_changed(self, event: WatchEvent) -> Iterable[Key]:
        namespace = event.item.namespace
        return [(namespace, name) for name in self._selectors.get(namespace, ())]

    def pod_changed(self, old: PodSummary | None, new: PodSummary | None) -> Iterable[Key]:
        """The budgets that guard the pod."""
        pod = new or old
        if pod is None or not self._selectors:
            return ()
        namespace = pod.key[0]
        return [
            (namespace, name)
            for name, selector in self._selectors.get(namespace, {}).items()
            if any(one is not None and selector.matches(one.labels) for one in (old, new))
        ]

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:
        """Count the pods of one budget."""
        obj = item.obj
        selector = self._selectors.get(key[0], {}).get(key[1]) or _read(obj)
        there = self._pods.in_namespace(key[0])
        self._throttle.synced(key, len(there), now)
        pods = [pod for pod in there if not pod.finished and selector.matches(pod.labels)]
        spec, old = obj["spec"], obj.get("status") or {}
        expected, desired = self._expect(key[0], spec, pods)
        disrupted, again = _still_disrupted(old.get("disruptedPods") or {}, pods, now)
        healthy = sum(
            pod.ready and not pod.deleting and pod.key[1] not in disrupted for pod in pods
        )
        allowed = healthy - desired if expected > 0 else 0
        allowed = max(allowed, 0)
        status: Obj = {
            "observedGeneration": obj["metadata"].get("generation"),
            "disruptedPods": disrupted or None,
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "conditions": _conditions(obj, old, allowed, now),
        }
        self._client.set_status(POD_DISRUPTION_BUDGETS, item, obj, status)
        return again

    def _expect(self, namespace: str, spec: Obj, pods: list[PodSummary]) -> tuple[int, int]:
        """How many pods are expected, and how many have to be healthy."""
        limit = spec.get("maxUnavailable")
        if limit is not None:
            expected = self._scale(namespace, pods)
            return expected, max(expected - scaled_value(limit, expected, up=True), 0)
        least = spec.get("minAvailable")
        if isinstance(least, int):
            return len(pods), least
        if least is None:
            return len(pods), len(pods)
        expected = self._scale(namespace, pods)
        return expected, scaled_value(least, expected, up=True)

    def _scale(self, namespace: str, pods: list[PodSummary]) -> int:
        """How many pods their owners ask for together; a pod without owner counts for nothing."""
        owners = {pod.owner.uid: pod.owner for pod in pods if pod.owner is not None}
        total = 0
        asked: set[str] = set()
        for owner in owners.values():
            resource = _OWNERS.get(owner.kind)
            item = self._client.store.get(resource, namespace, owner.name) if resource else None
            if item is None or item.uid != owner.uid:
                continue
            obj = item.obj
            above = controller_of(obj)
            if above is not None and above.get("kind") == "Deployment":
                higher = self._client.store.get(DEPLOYMENTS, namespace, above["name"])
                if higher is not None and higher.uid == above["uid"]:
                    obj = higher.obj
            uid = obj["metadata"]["uid"]
            if uid not in asked:
                asked.add(uid)
                total += replicas(obj)
        return total


def _read(obj: Obj) -> LabelSelector:
    """The selector of a budget; without one it selects nothing, an empty one selects all."""
    selector = obj["spec"].get("selector")
    if selector is None:
        return LabelSelector(match_labels={"": ""})
    return msgspec.convert(selector, LabelSelector)


def _still_disrupted(
    before: Mapping[str, str], pods: list[PodSummary], now: float
) -> tuple[dict[str, str], float | None]:
    """The pods whose deletion was allowed and is still to be seen; when to reconcile again."""
    there = {pod.key[1]: pod for pod in pods}
    kept: dict[str, str] = {}
    again: float | None = None
    for name, time in before.items():
        pod = there.get(name)
        left = parse_time(time) + _DELETION_SECONDS - now
        if pod is None or pod.deleting or left <= 0:
            continue
        kept[name] = time
        again = left if again is None else min(again, left)
    return kept, again


def _conditions(obj: Obj, old: Obj, allowed: int, now: float) -> list[Obj]:
    kind = "DisruptionAllowed"
    state, reason = ("True", "SufficientPods") if allowed > 0 else ("False", "InsufficientPods")
    current = find_condition(old.get("conditions"), kind)
    since = format_time(now)
    if current is not None and current["status"] == state:
        since = current.get("lastTransitionTime", since)
    condition = {
        "type": kind,
        "status": state,
        "observedGeneration": obj["metadata"].get("generation"),
        "lastTransitionTime": since,
        "reason": reason,
        "message": "",
    }
    return [*without_condition(old.get("conditions"), kind), condition]
