"""What came of a simulation, as one tree of plain values.

`simulation` makes it; tables, reports and comparisons read it. The same scenario and seed give the
same bytes (`to_json`): nothing in here tells how long the computer took. Times are virtual seconds
since the beginning.
"""

from typing import Final

import msgspec

#: Changes when a reader of an older version would misunderstand what is written.
VERSION: Final = 1


class WaitingTimes(msgspec.Struct, frozen=True, kw_only=True):
    """How long pods waited from their creation to their binding, in seconds.

    Only of pods that the scheduler bound: not of those that came with a node, as in a snapshot, nor
    of those that never got one. Look at the number of pending pods, too.

    Attributes:
        mean: on average; like the others 0 if no pod was bound.
        p50: half of the pods waited at most so long.
        p90: nine of ten pods did.
        p99: 99 of 100 pods did.
        max: the longest time that a pod waited.
    """

    mean: float = 0.0
    p50: float = 0.0
    p90: float = 0.0
    p99: float = 0.0
    max: float = 0.0


class PendingReason(msgspec.Struct, frozen=True, kw_only=True):
    """Why pods are pending at the end.

    Attributes:
        message: the scheduler's words, as in the pod's event.
        pods: how many pods it was said about.
        example: one of these pods.
    """

    message: str
    pods: int
    example: str


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """How the cluster was at some times, all lists of the same length.

    Attributes:
        times: when, in ascending order.
        utilization: by resource, the share that pods request of what the nodes have, 0 to 1.
        nodes: how many nodes there were.
        running: how many pods were on nodes.
        pending: how many pods had no node, at most since the time before.
        fragmentation: by resource, the share of what is free that typical pods cannot use: what
            is free on a node counts by the share that does not fit there, of those of the
            scenario's pods which request the resource.
    """

    times: list[float]
    utilization: dict[str, list[float]]
    nodes: list[int]
    running: list[int]
    pending: list[int]
    fragmentation: dict[str, list[float]]


class PodShape(msgspec.Struct, frozen=True, kw_only=True):
    """What pods request who are alike in this.

    Attributes:
        requests: amounts by resource, CPU in thousandths of a core, memory in bytes.
        pods: how many pods of the simulation have it.
    """

    requests: dict[str, int]
    pods: int


class PodPlacement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of a pod.

    Attributes:
        pod: ``namespace/name``.
        workload: the scenario's name for what created it; empty for pods of a snapshot.
        node: where it was bound to; empty if nowhere.
        shape: the number of its shape in `SimulationResult.shapes`.
        priority: its priority.
        created: when it was created.
        bound: when it was bound; None if it was not.
        ended: when it left its node, or was deleted while it waited; None if it is still there.
        end: how it ended, or is about to: ``completed``, ``deleted``, ``preempted``, ``evicted``,
            ``node-removed``; empty if it stays. On a node that does not answer it is about to for
            as long as that.
        attempts: how often the scheduler tried to place it.
        reason: if it is pending, why, in the scheduler's words.
    """

    pod: str
    workload: str = ""
    node: str = ""
    shape: int = 0
    priority: int = 0
    created: float = 0.0
    bound: float | None = None
    ended: float | None = None
    end: str = ""
    attempts: int = 0
    reason: str = ""

    @property
    def waited(self) -> float | None:
        """How long the scheduler let it wait; None if it was not the scheduler who bound it."""
        return self.bound - self.created if self.bound is not None and self.attempts else None


class NodeSpan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A node, and how long it was there.

    Attributes:
        name: its name.
        group: its node group; empty for nodes of a snapshot.
        zone: its zone; empty if it has none.
        allocatable: what it has, by resource, as in `PodShape.requests`.
        price: what it costs in an hour; 0 if no price is given.
        added: when it came.
        removed: when it went; None if it is still there.
        failed: when it failed; None if it did not.
    """

    name: str
    group: str = ""
    zone: str = ""
    allocatable: dict[str, int]
    price: float = 0.0
    added: float = 0.0
    removed: float | None = None
    failed: float | None = None


class TimelineEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to the cluster: an event of the scenario, or of the autoscaler.

    Attributes:
        time: when.
        kind: such as ``drain``, ``scale-up`` or ``fail``.
        message: a sentence about it.
    """

    time: float
    kind: str
    message: str


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """How pods on nodes are spread over zones at the end.

    Attributes:
        pods: how many pods are in each zone; nodes without a zone count as the zone ````.
        skew: the largest number less the smallest one.
    """

    pods: dict[str, int]
    skew: int = 0


class GroupCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a node group cost.

    Attributes:
        group: its name.
        node_hours: how many hours its nodes were there, all together.
        cost: that by its price.
        most_nodes: how many nodes it had at the same time.
    """

    group: str
    node_hours: float
    cost: float
    most_nodes: int


class SimulationResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a simulation.

    Attributes:
        version: of this form.
        scenario: its name.
        configuration: a name for the configuration and the policies that decided.
        seed: the seed.
        interrupted: whether somebody broke it off before its end.
        end: the virtual time at the end.
        created: how many pods were created or there from the start.
        placed: how many of them were bound, or on a node from the start.
        completed: how many ran to their end.
        running: how many are on nodes at the end.
        pending: how many wait for a node at the end.
        pending_reasons: why, the most frequent reason first.
        waiting: how long pods waited for their node.
        utilization: by resource, what pods requested as a share of what nodes had, each amount
            times the time for which it was there.
        fragmentation: by resource, the mean over time of `Series.fragmentation`.
        spread: over zones, at the end.
        preemptions: how many pods were preempted by more important ones.
        evictions: how many pods had to leave a node that was drained, tainted, failed or removed.
        bind_failures: how many bindings failed and were tried again.
        most_nodes: how many nodes there were at the same time.
        cost: what all node groups cost together; None if no group has a price.
        costs: what each node group cost.
        decisions: how many decisions the scheduler made.
        series: how all this changed over time.
        events: what happened to the cluster.
        shapes: what pods request.
        pods: every pod in the order of creation.
        nodes: every node in the order of its coming.
    """

    version: int = VERSION
    scenario: str = ""
    configuration: str = ""
    seed: int = 0
    interrupted: bool = False
    end: float = 0.0
    created: int = 0
    placed: int = 0
    completed: int = 0
    running: int = 0
    pending: int = 0
    pending_reasons: list[PendingReason] = []
    waiting: WaitingTimes = WaitingTimes()
    utilization: dict[str, float] = {}
    fragmentation: dict[str, float] = {}
    spread: Spread = Spread(pods={})
    preemptions: int = 0
    evictions: int = 0
    bind_failures: int = 0
    most_nodes: int = 0
    cost: float | None = None
    costs: list[GroupCost] = []
    decisions: int = 0
    series: Series
    events: list[TimelineEvent] = []
    shapes: list[PodShape] = []
    pods: list[PodPlacement] = []
    nodes: list[NodeSpan] = []


_encode: Final = msgspec.json.Encoder(order="deterministic").encode


def to_json(result: SimulationResult) -> bytes:
    """The whole result as JSON, the same bytes for the same result."""
    return _encode(result)


def from_json(data: bytes) -> SimulationResult:
    """A result as `to_json` wrote it.

    Raises:
        msgspec.MsgspecError: it is none.
    """
    return msgspec.json.decode(data, type=SimulationResult)
