"""Pods that nobody but the scheduler and a kubelet has to do with, as plain values.

A pod that no controller created and no disruption budget selects needs no API server: it is made
of a template that one has stored once, and its whole life is a few numbers (ADR 32). Owned by
`pods`, which knows for every pod where it lives.
"""

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial

from msgspec.structs import force_setattr

from mooring.kube.timestamps import second_time
from mooring.model.change import Change, Gone, Put
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod, PodStatus
from mooring.simulator.engine.api_cluster import EPOCH
from mooring.simulator.engine.event_heap import EventHeap
from mooring.simulator.engine.recorder import Recorder
from mooring.simulator.engine.unreachable_nodes import UnreachableNodes

Feed = Callable[[Change[Pod]], None]


class _LightPod:
    __slots__ = ("deleting", "duration", "pod")

    def __init__(self, pod: Pod, duration: float | None) -> None:
        self.pod = pod
        self.duration = duration
        self.deleting = False


class LightPods:
    """The pods that live as values.

    Args:
        heap: virtual time.
        recorder: told of everything that happens to them.
        feed: takes changes for the scheduler.
        unreachable: the nodes whose kubelets do nothing.
        start_seconds: from being bound to running.
    """

    def __init__(
        self,
        heap: EventHeap,
        recorder: Recorder,
        feed: Feed,
        unreachable: UnreachableNodes,
        start_seconds: float,
    ) -> None:
        self._heap = heap
        self._recorder = recorder
        self._feed = feed
        self._unreachable = unreachable
        self._start_seconds = start_seconds
        self._pods: dict[str, _LightPod] = {}
        self._second = -1
        self._time = ""

    def __contains__(self, uid: object) -> bool:
        return uid in self._pods

    def get(self, uid: str) -> Pod | None:
        """A pod as it is now; None if it is not here."""
        light = self._pods.get(uid)
        return light.pod if light is not None else None

    def create(
        self, template: Pod, name: str, uid: str, workload: str, duration: float | None
    ) -> None:
        """Create a pod like another one.

        Args:
            template: as an API server stores it.
            name: its name.
            uid: its unique id.
            workload: whose pod it is.
            duration: for how many seconds it runs; None for ever.
        """
        source = template.metadata
        metadata = ObjectMeta(
            name=name,
            namespace=source.namespace,
            uid=uid,
            creation_timestamp=self._timestamp(),
            labels=source.labels,
            annotations=source.annotations,
        )
        pod = _with(template, metadata=metadata)
        force_setattr(pod, "name", name)
        self._pods[uid] = _LightPod(pod, duration)
        self._recorder.created(pod, workload, self._heap.now)
        self._feed(Put(pod))

    def bind(self, uid: str, node: str, annotations: Mapping[str, str]) -> str:
        """Bind a pod; why that is not possible, empty if it was."""
        light = self._pods.get(uid)
        if light is None:
            return "pod not found"
        if light.deleting:
            return f"pod {light.pod.name} is being deleted, cannot be assigned to a host"
        pod = light.pod.placed(node, annotations)
        status = PodStatus(phase="Running", start_time=self._timestamp())
        force_setattr(pod, "status", status)
        light.pod = pod
        now = self._heap.now
        self._recorder.bound(uid, node, now)
        if light.duration is not None:
            end = partial(self._complete, uid, node)
            seconds = self._start_seconds + light.duration
            self._unreachable.when_answering(node, partial(self._heap.after, seconds, end))
        self._feed(Put(pod))
        return ""

    def nominate(self, uid: str, node: str) -> None:
        """Set a pod's nominated node."""
        light = self._pods.get(uid)
        if light is None or (light.pod.status.nominated_node_name or "") == node:
            return
        light.pod = _with(light.pod, status=PodStatus(nominated_node_name=node or None))
        self._feed(Put(light.pod))

    def delete(self, uid: str, seconds: float) -> None:
        """Have a pod end; one that runs takes so many seconds."""
        light = self._pods.get(uid)
        if light is None:
            return
        if not light.pod.node_name or seconds <= 0:
            self._gone(uid)
            return
        if not light.deleting:
            light.deleting = True
            metadata = copy(light.pod.metadata)
            force_setattr(metadata, "deletion_timestamp", self._timestamp())
            light.pod = _with(light.pod, metadata=metadata)
            self._feed(Put(light.pod))
            stop = partial(self._heap.after, seconds, partial(self._gone, uid))
            self._unreachable.when_answering(light.pod.node_name, stop)

    def _complete(self, uid: str, node: str) -> None:
        self._unreachable.when_answering(node, partial(self._completed, uid))

    def _completed(self, uid: str) -> None:
        light = self._pods.get(uid)
        if light is not None and not light.deleting:
            del self._pods[uid]
            self._recorder.ended(uid, self._heap.now, completed=True)
            self._feed(Gone(light.pod))

    def _gone(self, uid: str) -> None:
        light = self._pods.pop(uid, None)
        if light is not None:
            self._recorder.ended(uid, self._heap.now)
            self._feed(Gone(light.pod))

    def _timestamp(self) -> str:
        second = int(self._heap.now)
        if second != self._second:
            self._second = second
            self._time = second_time(int((EPOCH + second) * 1e9))
        return self._time


def _with(pod: Pod, **fields: object) -> Pod:
    """The same pod with other fields; what was worked out of its spec stays."""
    made = copy(pod)
    for name, value in fields.items():
        force_setattr(made, name, value)
    made.__dict__["requests"] = pod.requests
    return made
