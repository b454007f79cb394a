"""Deletes pods that do not tolerate what their node says about staying: taints with NoExecute.

parity v1.36.4: pkg/controller/tainteviction
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from mooring.embedded.controllers.controller import Controller, EventHandler
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import Key, PodIndex, PodSummary
from mooring.embedded.controllers.timestamps import format_time
from mooring.embedded.pod_subresources import set_pod_condition
from mooring.embedded.resources import NODES, PODS, Obj, Resource
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent
from mooring.model.taints import NO_EXECUTE, Taint, Toleration, tolerated_seconds

_TAINTED: Final = b"NoExecute"


class TaintEvictionController(Controller):
    """Deletes pods from tainted nodes, in the time they tolerate."""

    resource = PODS

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        super().__init__(client, pods)
        self._taints: dict[str, tuple[Taint, ...]] = {}
        self._since: dict[Key, tuple[str, float]] = {}

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of nodes."""
        return {NODES: self._node_changed}

    def _node_changed(self, event: WatchEvent) -> Iterable[Key]:
        item = event.item
        taints: tuple[Taint, ...] = ()
        if event.type != "DELETED" and _TAINTED in item.body:
            taints = tuple(
                msgspec.convert(one, Taint)
                for one in item.obj["spec"].get("taints") or ()
                if one.get("effect") == NO_EXECUTE
            )
        if taints == self._taints.get(item.name, ()):
            return ()
        if taints:
            self._taints[item.name] = taints
        else:
            del self._taints[item.name]
        return [pod.key for pod in self._pods.on_node(item.name)]

    def pod_changed(self, old: PodSummary | None, new: PodSummary | None) -> Iterable[Key]:
        """The pod, if its node has such taints."""
        if new is None:
            if old is not None:
                self._since.pop(old.key, None)
            return ()
        return (new.key,) if new.node in self._taints else ()

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:
        """Delete one pod if its time is over."""
        pod = self._pods.get(key)
        if pod is None or pod.deleting:
            return None
        taints = self._taints.get(pod.node, ())
        obj = item.obj
        if not taints:
            self._cancel(key, obj, now)
            return None
        tolerations = obj["spec"].get("tolerations") or ()
        seconds = tolerated_seconds(
            taints, [msgspec.convert(one, Toleration) for one in tolerations]
        )
        if seconds is None:
            self._cancel(key, obj, now)
            return None
        since = self._since.get(key)
        if since is None or since[0] != pod.uid:
            since = self._since[key] = (pod.uid, now)
        if since[1] + seconds > now:
            return since[1] + seconds - now
        name = "/".join(key)
        message = f"Marking for deletion Pod {name}"
        self._client.record_event(obj, "Normal", "TaintManagerEviction", message, now)
        self._mark(obj, now)
        self._client.delete(PODS, *key, pod.uid)
        return None

    def _cancel(self, key: Key, obj: Obj, now: float) -> None:
        if self._since.pop(key, None) is not None:
            message = f"Cancelling deletion of Pod {'/'.join(key)}"
            self._client.record_event(obj, "Normal", "TaintManagerEviction", message, now)

    def _mark(self, obj: Obj, now: float) -> None:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
        }
        set_pod_condition(obj.setdefault("status", {}), condition, format_time(now))
        self._client.update(PODS, obj, "status")
