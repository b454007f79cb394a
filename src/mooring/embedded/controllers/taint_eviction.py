"""Deletes pods that do not tolerate what their node says about staying: taints with NoExecute.

parity v1.36.4: pkg/controller/tainteviction
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from mooring.embedded.controllers import moments
from mooring.embedded.controllers.hand import Hand
from mooring.embedded.controllers.pod_index import Key, PodIndex, SeenPod
from mooring.embedded.controllers.work import Controller, Heard
from mooring.embedded.pods import set_condition
from mooring.embedded.resources import NODES, PODS, Obj, Resource
from mooring.embedded.store import Entry
from mooring.model.taints import NO_EXECUTE, Taint, Toleration

_TAINTED: Final = b"NoExecute"


class TaintEviction(Controller):
    """Deletes pods from tainted nodes, in the time they tolerate.

    Args:
        hand: writes.
        pods: all pods.
    """

    def __init__(self, hand: Hand, pods: PodIndex) -> None:
        self._hand = hand
        self._pods = pods
        self._taints: dict[str, tuple[Taint, ...]] = {}
        self._since: dict[Key, tuple[str, float]] = {}

    @property
    def name(self) -> str:
        """For the log."""
        return self._hand.component

    @property
    def listens(self) -> Mapping[Resource, Heard]:
        """To nodes."""
        return {NODES: self._node_changed}

    def _node_changed(self, entry: Entry) -> Iterable[Key]:
        item = entry.item
        taints: tuple[Taint, ...] = ()
        if entry.type != "DELETED" and _TAINTED in item.body:
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

    def pod_changed(self, old: SeenPod | None, new: SeenPod | None) -> Iterable[Key]:
        """The pod, if its node has such taints."""
        if new is None:
            if old is not None:
                self._since.pop(old.key, None)
            return ()
        return (new.key,) if new.node in self._taints else ()

    def reconcile(self, key: Key, now: float) -> float | None:
        """Delete one pod if its time is over."""
        pod = self._pods.get(key)
        item = self._hand.store.get(PODS, *key)
        taints = self._taints.get(pod.node, ()) if pod is not None else ()
        if pod is None or item is None or pod.deleting:
            return None
        obj = item.obj
        if not taints:
            self._cancel(key, obj, now)
            return None
        seconds = _tolerated(taints, obj["spec"].get("tolerations") or ())
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
        self._hand.tell(obj, "Normal", "TaintManagerEviction", message, now)
        self._mark(obj, now)
        self._hand.delete(PODS, *key, pod.uid)
        return None

    def _cancel(self, key: Key, obj: Obj, now: float) -> None:
        if self._since.pop(key, None) is not None:
            message = f"Cancelling deletion of Pod {'/'.join(key)}"
            self._hand.tell(obj, "Normal", "TaintManagerEviction", message, now)

    def _mark(self, obj: Obj, now: float) -> None:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
        }
        set_condition(obj.setdefault("status", {}), condition, moments.written(now))
        self._hand.update(PODS, obj, "status")


def _tolerated(taints: Iterable[Taint], tolerations: Iterable[Obj]) -> float | None:
    """For how many seconds a pod may stay; None for ever."""
    known = [msgspec.convert(one, Toleration) for one in tolerations]
    used: list[Toleration] = []
    for taint in taints:
        found = [one for one in known if one.tolerates(taint)]
        if not found:
            return 0.0
        used.append(found[0])
    times = [one.toleration_seconds for one in used if one.toleration_seconds is not None]
    return float(max(min(times), 0)) if times else None
