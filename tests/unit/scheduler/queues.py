"""Queues for tests, and what may happen to the pods in them."""

from collections.abc import Mapping, Sequence
from typing import Any

from mooring import Node, Pod
from mooring.framework.cluster_events import ClusterEvent
from mooring.framework.hook import Action, RequeueHint
from mooring.model.storage import StorageClass
from mooring.scheduler.queue import Queue, QueueSettings
from mooring.scheduler.queued_pod import QueuedPod, SubQueue
from mooring.testing import make_node, make_pod

PROFILE = "default-scheduler"


def helps_if_named(pod: Pod, old: Any, new: Any) -> bool:
    """A change helps the pod that it names in an annotation."""
    return bool((new or old).annotations.get("helps") == pod.name)


#: "Nodes" is helped by new nodes and by deleted pods, "Labels" by some pods' labels, "Choosy" by
#: nodes that name the pod, "Never" by nothing, "Gate" by storage classes.
WAKES: Mapping[str, Sequence[RequeueHint]] = {
    "Nodes": (RequeueHint(Node, Action.ADD), RequeueHint(Pod, Action.DELETE)),
    "Labels": (RequeueHint(Pod, Action.UPDATE_POD_LABEL),),
    "Choosy": (RequeueHint(Node, Action.ADD | Action.UPDATE_NODE_LABEL, helps_if_named),),
    "Never": (),
    "Gate": (RequeueHint(StorageClass, Action.ANY),),
}
ADD_NODE = ClusterEvent(Node, Action.ADD, None, make_node("new"))
DELETE_POD = ClusterEvent(Pod, Action.DELETE, make_pod("running", node="new"), None)
ADD_CLASS = ClusterEvent(StorageClass, Action.ADD, None, StorageClass())


def node_for(name: str) -> ClusterEvent:
    """A new node that helps the pods of "Choosy" with this name."""
    raw = make_node("choosy").raw
    metadata = {**raw["metadata"], "annotations": {"helps": name}}
    return ClusterEvent(Node, Action.ADD, None, Node.from_dict({**raw, "metadata": metadata}))


class Gates:
    """Holds pods back by name."""

    def __init__(self) -> None:
        self.closed: set[str] = set()
        self.asked: list[str] = []

    def __call__(self, pod: Pod) -> str | None:
        """Answer as PreEnqueue plugins would."""
        self.asked.append(pod.name)
        return "Gate" if pod.name in self.closed else None


def by_priority(pod: Pod, since: float) -> tuple[float, ...]:
    """The usual order."""
    return (-pod.priority, since)


def make_queue(gates: Gates | None = None, **settings: float) -> Queue:
    """A queue with the plugins above."""
    return Queue(by_priority, {PROFILE: WAKES}, gates or Gates(), QueueSettings(**settings))


def a_pod(
    name: str = "pod", *, life: int = 0, labels: Mapping[str, str] | None = None, priority: int = 0
) -> Pod:
    """A waiting pod; another `life` is another pod of the same name."""
    raw = make_pod(name, labels=labels, priority=priority).raw
    metadata = {**raw["metadata"], "uid": f"{name}-{life}"}
    return Pod.from_dict({**raw, "metadata": metadata})


def taken(queue: Queue, now: float = 0) -> QueuedPod:
    """The next pod; there must be one."""
    queued = queue.pop(now)
    assert queued is not None
    return queued


def reject(queue: Queue, pod: Pod, *plugins: str, now: float = 0) -> QueuedPod:
    """Add a pod and have it rejected."""
    queue.add(pod, now)
    queued = taken(queue, now)
    assert queued.pod is pod
    queue.requeue(queued, plugins, now)
    return queued


def sub_queue_of(queue: Queue, name: str) -> SubQueue | None:
    """Where the pod of this name is."""
    queued = queue.get(f"default/{name}")
    return queued.sub_queue if queued is not None else None
