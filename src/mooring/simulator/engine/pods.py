"""All pods, wherever they live: bound, deleted and evicted in one way.

    light pods ──> plain values, a kubelet of a few lines     (`light_pods`)
    others     ──> the embedded API, its controllers and its kubelet     (`api_cluster`)

The scheduler's shell, the scenario's events and the autoscaler call it.
"""

from collections.abc import Mapping

from mooring.embedded.pod_subresources import bind, evict, set_pod_condition
from mooring.embedded.resources import PODS, Obj
from mooring.embedded.status_errors import StatusError
from mooring.model.change import Change, Gone
from mooring.model.pod import Pod
from mooring.simulator.engine.api_cluster import ApiCluster
from mooring.simulator.engine.event_heap import EventHeap
from mooring.simulator.engine.light_pods import LightPods
from mooring.simulator.engine.recorder import Recorder

_GONE = 404


class Pods:
    """All pods of a simulation.

    Args:
        light: those that live as values.
        cluster: where the others live.
        recorder: told what becomes of them.
        heap: virtual time.
        stop_seconds: from being deleted to being gone.
    """

    def __init__(
        self,
        light: LightPods,
        cluster: ApiCluster,
        recorder: Recorder,
        heap: EventHeap,
        stop_seconds: float,
    ) -> None:
        self.light = light
        self._cluster = cluster
        self._recorder = recorder
        self._heap = heap
        self._stop_seconds = stop_seconds

    def bind(self, pod: Pod, node: str, annotations: Mapping[str, str]) -> str:
        """Bind a pod; why that is not possible, empty if it was."""
        if pod.uid in self.light:
            return self.light.bind(pod.uid, node, annotations)
        binding: Obj = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "uid": pod.uid, "annotations": dict(annotations)},
            "target": {"kind": "Node", "name": node},
        }
        try:
            bind(self._cluster.api, pod.namespace, pod.name, binding)
        except StatusError as error:
            return str(error)
        return ""

    def set_status(self, pod: Pod, reason: str, message: str, nominated: str | None) -> None:
        """Note why a pod is not scheduled, and its nominated node."""
        if reason:
            self._recorder.rejected(pod.uid, message)
        if pod.uid in self.light:
            if nominated is not None:
                self.light.nominate(pod.uid, nominated)
            return
        api = self._cluster.api
        item = api.store.get(PODS, pod.namespace, pod.name)
        if item is None or item.uid != pod.uid:
            return
        obj = item.obj
        status = obj.setdefault("status", {})
        if reason:
            condition = {
                "type": "PodScheduled", "status": "False", "reason": reason, "message": message,
            }  # fmt: skip
            set_pod_condition(status, condition, api.timestamp())
        if nominated:
            status["nominatedNodeName"] = nominated
        elif nominated is not None:
            status.pop("nominatedNodeName", None)
        if obj != item.obj:
            api.store.put(PODS, obj)

    def delete(self, pod: Pod, why: str, *, at_once: bool = False) -> None:
        """Have a pod end.

        Args:
            pod: which one.
            why: how it ends, as in `PodPlacement.end`.
            at_once: its node is gone, so nobody stops it gracefully.
        """
        self._recorder.leaving(pod.uid, why)
        if pod.uid in self.light:
            self.light.delete(pod.uid, 0.0 if at_once else self._stop_seconds)
            return
        options: Obj = {"preconditions": {"uid": pod.uid}}
        if at_once:
            options["gracePeriodSeconds"] = 0
        try:
            self._cluster.api.delete(PODS, pod.namespace, pod.name, options)
        except StatusError:
            return  # it is gone already, or another pod has its name

    def evict(self, pod: Pod) -> bool:
        """Evict a pod, unless its disruption budget forbids that now; whether it goes."""
        if pod.uid in self.light:
            self.delete(pod, "evicted")
            return True
        eviction: Obj = {"metadata": {"name": pod.name, "namespace": pod.namespace}}
        try:
            evict(self._cluster.api, pod.namespace, pod.name, eviction)
        except StatusError as error:
            return error.code == _GONE
        self._recorder.leaving(pod.uid, "evicted")
        return True

    def seen(self, change: Change[Pod], workload: str) -> None:
        """Note what a change says of a pod that lives in the API."""
        pod, now = change.object, self._heap.now
        record = self._recorder.pods.get(pod.uid)
        if isinstance(change, Gone):
            self._recorder.ended(pod.uid, now)
            return
        if record is None:
            if not pod.finished:
                self._recorder.created(pod, workload, now)
            return
        if pod.node_name and record.bound is None:
            self._recorder.bound(pod.uid, pod.node_name, now)
        if pod.finished:
            self._recorder.ended(pod.uid, now, completed=pod.phase == "Succeeded")
