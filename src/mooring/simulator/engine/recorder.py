"""What is noted of pods, nodes and events while a simulation runs.

Every part of the simulation tells it; `summary` makes the result of it. It decides nothing.
"""

from collections.abc import Mapping

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.simulator.result import NodeSpan, TimelineEvent

ZONE = "topology.kubernetes.io/zone"


class PodRecord:
    """What is known of a pod; the fields are those of `PodPlacement`."""

    __slots__ = (
        "attempts", "bound", "created", "end", "ended", "finished", "key", "node", "priority",
        "reason", "shape", "workload",
    )  # fmt: skip

    def __init__(self, key: str, workload: str, shape: int, priority: int, created: float) -> None:
        self.key = key
        self.workload = workload
        self.shape = shape
        self.priority = priority
        self.created = created
        self.node = ""
        self.bound: float | None = None
        self.ended: float | None = None
        self.end = ""
        self.attempts = 0
        self.reason = ""
        self.finished = False


class NodeRecord:
    """What is known of a node; the fields are those of `NodeSpan`."""

    __slots__ = ("failed", "span", "until")

    def __init__(self, span: NodeSpan) -> None:
        self.span = span
        self.until: float | None = None
        self.failed: float | None = None


class Recorder:
    """Notes what happens.

    Attributes:
        pods: every pod by its unique id, in the order of creation.
        nodes: every node in the order of its coming, those that are gone too.
        events: what happened to the cluster.
        shapes: what pods request, each with its number.
        shape_pods: how many pods have each shape.
        running: how many pods are on nodes.
        pending: how many pods have no node.
        decisions: how many decisions were made.
        bind_failures: how many bindings failed.
    """

    def __init__(self) -> None:
        self.pods: dict[str, PodRecord] = {}
        self.nodes: list[NodeRecord] = []
        self.events: list[TimelineEvent] = []
        self.shapes: dict[tuple[tuple[str, int], ...], int] = {}
        self.shape_pods: list[int] = []
        self.running = 0
        self.pending = 0
        self.decisions = 0
        self.bind_failures = 0
        self._peak = 0
        self._here: dict[str, NodeRecord] = {}
        self._shape_of: dict[int, tuple[object, int]] = {}

    # -- pods

    def created(self, pod: Pod, workload: str, now: float) -> None:
        """A pod is there, without a node or with one."""
        record = PodRecord(pod.key, workload, self._shape(pod), pod.priority, now)
        self.pods[pod.uid] = record
        if pod.node_name:
            record.node, record.bound = pod.node_name, now
            self.running += 1
        else:
            self.pending += 1
            self._peak = max(self._peak, self.pending)

    def peak(self) -> int:
        """The highest number of pods without a node since this was last asked."""
        peak, self._peak = self._peak, self.pending
        return peak

    def bound(self, uid: str, node: str, now: float) -> None:
        """A pod got its node."""
        record = self.pods[uid]
        if record.bound is None:
            record.node, record.bound, record.reason = node, now, ""
            self.pending -= 1
            self.running += 1

    def tried(self, uid: str) -> None:
        """The scheduler decided about a pod."""
        record = self.pods.get(uid)
        if record is not None:
            record.attempts += 1

    def rejected(self, uid: str, message: str) -> None:
        """The scheduler found no node for a pod."""
        record = self.pods.get(uid)
        if record is not None and record.bound is None:
            record.reason = message

    def leaving(self, uid: str, why: str) -> None:
        """A pod has to go; how it ends is known before it does."""
        record = self.pods.get(uid)
        if record is not None and not record.end:
            record.end = why

    def ended(self, uid: str, now: float, *, completed: bool = False) -> None:
        """A pod ran to its end, or is gone; only the first time counts."""
        record = self.pods.get(uid)
        if record is None or record.finished:
            return
        record.finished = True
        record.ended = now
        record.end = "completed" if completed else record.end or "deleted"
        if record.bound is None:
            self.pending -= 1
        else:
            self.running -= 1

    def _shape(self, pod: Pod) -> int:
        requests: Mapping[str, int] = pod.requests
        # Pods of one template share this object; it is kept, so that its id stays its own.
        known = self._shape_of.get(id(requests))
        if known is None:
            key = tuple(sorted((name, amount) for name, amount in requests.items() if amount))
            number = self.shapes.setdefault(key, len(self.shapes))
            if number == len(self.shape_pods):
                self.shape_pods.append(0)
            known = (requests, number)
            if len(self._shape_of) < _MOST_SHARED:
                self._shape_of[id(requests)] = known
        self.shape_pods[known[1]] += 1
        return known[1]

    # -- nodes

    def node_added(self, node: Node, group: str, price: float, now: float) -> None:
        """A node came."""
        allocatable = {name: amount for name, amount in node.allocatable.items() if amount}
        record = NodeRecord(
            NodeSpan(
                name=node.name,
                group=group,
                zone=node.labels.get(ZONE, ""),
                allocatable=dict(sorted(allocatable.items())),
                price=price,
                added=now,
            )
        )
        self.nodes.append(record)
        self._here[node.name] = record

    def node_removed(self, name: str, now: float) -> None:
        """A node went."""
        record = self._here.pop(name, None)
        if record is not None:
            record.until = now

    def node_failed(self, name: str, now: float) -> None:
        """A node failed."""
        record = self._here.get(name)
        if record is not None and record.failed is None:
            record.failed = now

    # -- the cluster

    def note_event(self, now: float, kind: str, message: str) -> None:
        """Something happened to the cluster."""
        self.events.append(TimelineEvent(time=now, kind=kind, message=message))


#: So many templates are recognized by their identity.
_MOST_SHARED = 4096
