"""The workloads: which pods are there at the start, which are measured, and how many.

Names, kinds and numbers are those of scheduler_perf of Kubernetes v1.36.4; where a number is
smaller, the workload says what it is there. Used by `cluster` and `measuring`; nothing here
talks to a server.
"""

from collections.abc import Mapping
from typing import NamedTuple

from benchmarks.command import BenchError
from benchmarks.scheduler import kinds
from benchmarks.scheduler.claim_kinds import ClaimKind
from benchmarks.scheduler.kinds import PodKind

#: The numbers of nodes for which sizes are given; others are scaled from the first.
SMALL, LARGE, HUGE = 500, 5000, 15000

_MOONS = ("moon-1", "moon-2", "moon-3")
_ONE_ZONE = ("zone1",)
_SCHED = ("sched-0", "sched-1")


class Size(NamedTuple):
    """How many pods.

    Attributes:
        init: of each kind that is there at the start.
        pods: measured ones.
        official: measured ones in scheduler_perf, where that is another number; 0 if it has none.
        devices: how many devices there are for each node; 0 if nobody asks for devices.
        idle: claims that are allocated at the start and that no pod uses.
    """

    init: int
    pods: int
    official: int | None = None
    devices: int = 0
    idle: int = 0

    def shortened(self, pods: int) -> "Size":
        """With fewer measured pods, if those are fewer."""
        if pods >= self.pods:
            return self
        official = self.pods if self.official is None else self.official
        return self._replace(pods=pods, official=official)


class Workload(NamedTuple):
    """Pods that are there at the start, pods that are measured, pods that trickle in meanwhile.

    Attributes:
        name: that of scheduler_perf.
        pods: the measured ones.
        small: the size on 500 nodes.
        large: the size on 5,000 nodes.
        init: the kinds that are there at the start, one after the other.
        churn: one of these is created every 200 ms while pods are measured.
        zones: given to the nodes in turn; none at all if empty.
        namespaces: of the pods at the start and of the measured pods.
        quick: how many are measured on 5,000 nodes in a short run.
        huge: the size on 15,000 nodes, if that is measured instead of 5,000.
        waiting: kinds that stay pending all the time, in turn; so many for each node.
        served: whether a service selects the measured pods.
        updated: whether nodes and replica sets are updated meanwhile, as in a cluster that works.
        official: whether scheduler_perf has it.
        claims: how its pods come by devices; None if they need none.
        sizes: the sizes by numbers of nodes, if these are others.
        steady: few pods at a time, each removed and replaced as soon as it is bound.
    """

    name: str
    pods: PodKind
    small: Size
    large: Size
    init: tuple[PodKind, ...] = (kinds.PLAIN,)
    churn: PodKind | None = None
    zones: tuple[str, ...] = ()
    namespaces: tuple[str, str] = ("namespace-1", "namespace-2")
    quick: int = 1000
    huge: Size | None = None
    waiting: tuple[tuple[PodKind, ...], int] = ((), 0)
    served: bool = False
    updated: bool = False
    official: bool = True
    claims: ClaimKind | None = None
    sizes: Mapping[int, Size] = {}
    steady: bool = False

    @property
    def nodes(self) -> tuple[int, ...]:
        """The numbers of nodes on which it is measured unless said otherwise."""
        return tuple(self.sizes) or (SMALL, LARGE if self.huge is None else HUGE)

    def size(self, nodes: int, *, quick: bool = False) -> Size:
        """The number of pods on so many nodes."""
        if self.sizes:
            size = self.sizes.get(nodes)
            if size is None:
                raise BenchError(f"{self.name} has no size for {nodes:,} nodes.")
            return size.shortened(self.quick) if quick else size
        if nodes == LARGE:
            return self.large.shortened(self.quick) if quick else self.large
        if nodes == SMALL:
            return self.small
        if nodes == HUGE and self.huge is not None:
            return self.huge.shortened(self.quick) if quick else self.huge
        init, pods = self.small.init, self.small.pods
        return Size(init * nodes // SMALL, pods * nodes // SMALL, official=0)

    @property
    def daemon(self) -> bool:
        """Whether there is a node that all measured pods must go to."""
        return self.pods is kinds.DAEMON


_ALL = (
    Workload(
        "SchedulingBasic",
        kinds.PLAIN,
        small=Size(500, 1000),
        large=Size(1000, 10000),
        quick=2000,
    ),
    Workload(
        "SchedulingNodeAffinity",
        kinds.NODE_AFFINITY,
        small=Size(500, 1000),
        large=Size(5000, 10000),
        init=(kinds.NODE_AFFINITY,),
        zones=_ONE_ZONE,
    ),
    Workload(
        "SchedulingPodAntiAffinity",
        kinds.ANTI_AFFINITY,
        small=Size(100, 400),
        large=Size(1000, 2000),
        init=(kinds.ANTI_AFFINITY,),
        namespaces=_SCHED,
    ),
    Workload(
        "SchedulingPodAffinity",
        kinds.AFFINITY,
        small=Size(500, 1000),
        large=Size(5000, 5000),
        init=(kinds.AFFINITY,),
        zones=_ONE_ZONE,
        namespaces=_SCHED,
    ),
    Workload(
        "SchedulingPreferredPodAffinity",
        kinds.PREFERRED_AFFINITY,
        small=Size(500, 1000),
        large=Size(5000, 5000),
        init=(kinds.PREFERRED_AFFINITY,),
        namespaces=_SCHED,
    ),
    Workload(
        "TopologySpreading",
        kinds.SPREAD,
        small=Size(1000, 1000),
        large=Size(5000, 5000),
        zones=_MOONS,
    ),
    Workload(
        "PreferredTopologySpreading",
        kinds.PREFERRED_SPREAD,
        small=Size(1000, 1000),
        large=Size(5000, 5000),
        zones=_MOONS,
    ),
    Workload(
        "MixedSchedulingBasePod",
        kinds.PLAIN,
        small=Size(200, 1000),
        large=Size(2000, 5000),
        init=(
            kinds.PLAIN,
            kinds.AFFINITY,
            kinds.ANTI_AFFINITY,
            kinds.PREFERRED_AFFINITY,
            kinds.PREFERRED_ANTI_AFFINITY,
        ),
        zones=_ONE_ZONE,
        namespaces=("sched-0", "namespace-7"),
    ),
    Workload(
        "PreemptionAsync",
        kinds.PLAIN,
        small=Size(2000, 500),
        large=Size(20000, 5000),
        init=(kinds.LOW_PRIORITY,),
        churn=kinds.HIGH_PRIORITY,
    ),
    Workload(
        "Unschedulable",
        kinds.PLAIN,
        small=Size(10, 1000),
        large=Size(100, 10000),
        churn=kinds.TOO_LARGE,
    ),
    Workload(
        "SchedulingDaemonset",
        kinds.DAEMON,
        small=Size(0, 1000, official=0),
        large=Size(0, 10000, official=0),
        huge=Size(0, 30000),
        init=(),
    ),
    Workload(
        "DefaultTopologySpreading",
        kinds.SERVED,
        small=Size(1000, 1000),
        large=Size(5000, 10000),
        zones=_MOONS,
        served=True,
    ),
    Workload(
        "SchedulingWhileGated",
        kinds.PLAIN,
        small=Size(500, 1000, official=0),
        large=Size(1000, 10000, official=0),
        waiting=((kinds.GATED,), 2),
    ),
    Workload(
        "UnschedulableInTheWay",
        kinds.PLAIN,
        small=Size(500, 1000),
        large=Size(1000, 5000),
        waiting=(kinds.LARGE, 1),
        official=False,
    ),
    Workload(
        "SchedulingWithUpdates",
        kinds.PLAIN,
        small=Size(500, 1000),
        large=Size(1000, 10000),
        updated=True,
        official=False,
        quick=2000,
    ),
    Workload(
        "StartUp",
        kinds.PLAIN,
        small=Size(2000, 100),
        large=Size(20000, 1000),
        official=False,
    ),
)
#: Two that the smaller parts are about: plain pods and pods with a rule.
TWO = ("SchedulingBasic", "TopologySpreading")
#: The workloads of a short run.
QUICK = ("SchedulingBasic", "SchedulingPodAntiAffinity", "TopologySpreading")
#: All workloads by name.
WORKLOADS: dict[str, Workload] = {one.name: one for one in _ALL}
