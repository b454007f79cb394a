"""VolumeBinding: a pod goes only where its claims have volumes, or can get them.

Where that is, is the business of `volume_claims` and `volume_solving`; this module asks them and
holds on to the volumes of the node that was chosen. It writes nothing: `planned` says what has to
be written before the pod is bound.
"""

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from mooring.framework.arrays import Amounts
from mooring.framework.cycle import Cycle
from mooring.framework.hook import (
    SKIP,
    Action,
    FilterAnswer,
    FilterNodes,
    PreFilter,
    PreFilterAnswer,
    PreScore,
    PreScoreAnswer,
    Requeues,
    Reserve,
    ScoreNodes,
    Wake,
)
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import Verdict, Verdicts, fail
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from mooring.plugins.requeue_volumes import (
    allows_other_places,
    has_more_capacity,
    migrates_others,
    stops_counting,
    uses_claim,
)
from mooring.plugins.volume_claims import PodClaims, claims_of, uses_claims
from mooring.plugins.volume_finding import finder_of
from mooring.plugins.volume_plan import VolumePlan
from mooring.plugins.volume_solving import Solution, solve


class ShapePoint(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A point of a scoring function."""

    utilization: int = 0
    score: int = 0


class VolumeBindingArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Arguments of VolumeBinding.

    Attributes:
        bind_timeout_seconds: how long a pod waits until its volumes are bound.
        shape: belongs to a feature that is off in v1.36; must be absent.
    """

    bind_timeout_seconds: int = 600
    shape: tuple[ShapePoint, ...] | None = None

    def check(self) -> Iterable[tuple[str, str]]:
        """What kube-scheduler would refuse."""
        # parity v1.36.4: apis/config/validation/validation_pluginargs.go
        if self.bind_timeout_seconds < 0:
            yield (
                "bindTimeoutSeconds",
                f"{self.bind_timeout_seconds} is negative; write a number of seconds from 0",
            )
        if self.shape is not None:
            yield (
                "shape",
                "belongs to the feature StorageCapacityScoring, which is off; leave it out",
            )


class _State:
    """What is known of a pod's claims in one decision."""

    __slots__ = ("claims", "plan", "solution")

    def __init__(self, claims: PodClaims) -> None:
        self.claims = claims
        self.solution: Solution | None = None
        self.plan: VolumePlan | None = None


class VolumeBinding(PreFilter, FilterNodes, PreScore, ScoreNodes, Reserve, Requeues):
    """Finds nodes where the pod's claims have volumes or can get them, and holds on to these."""

    name = "VolumeBinding"
    Args = VolumeBindingArgs

    def __init__(self, args: VolumeBindingArgs) -> None:
        #: How long a pod waits until its volumes are bound.
        self.bind_timeout_seconds = args.bind_timeout_seconds

    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Look at the pod's claims; refuse if one cannot be used on any node."""
        pod = cycle.pod
        if not uses_claims(pod):
            return SKIP
        cluster = cycle.cluster
        claims = claims_of(pod, cluster.catalog, finder_of(cluster).assumed)
        if isinstance(claims, Verdict):
            return claims
        cycle.data[self.name] = _State(claims)
        return None

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts:  # noqa: ARG002
        """Refuse nodes where a claim has no volume and can get none."""
        cycle = nodes.cycle
        state: _State = cycle.data[self.name]
        if state.solution is None:
            state.solution = solve(cycle.cluster, state.claims)
        whole = state.solution.verdicts
        return Verdicts(nodes.take(whole.choice), whole.table)

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> PreScoreAnswer:  # noqa: ARG002
        """Leave out scoring."""
        # parity v1.36.4: the feature gate StorageCapacityScoring is off, so there is no scorer
        return SKIP

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:  # noqa: ARG002
        """No node is better than another; never asked, because scoring is left out."""
        return np.zeros(len(nodes), np.int64)

    def reserve(self, cycle: Cycle, node: Node) -> FilterAnswer:
        """Hold on to the volumes of the chosen node, so that no other pod gets them."""
        state: _State | None = cycle.data.get(self.name)
        if state is None or state.solution is None or not state.claims.waiting:
            return None
        cluster = cycle.cluster
        plan = state.solution.plan(node.name, cluster.columns.row_of[node.name])
        problem = plan.assume(finder_of(cluster).assumed)
        if problem:
            return fail(problem)
        state.plan = plan
        return None

    def unreserve(self, cycle: Cycle, node: Node) -> None:  # noqa: ARG002
        """Let go of the volumes."""
        state: _State | None = cycle.data.get(self.name)
        if state is not None and state.plan is not None:
            state.plan.give_up(finder_of(cycle.cluster).assumed)
            state.plan = None

    def requeue_on(self) -> Sequence[Wake]:
        """Whatever decides about volumes: their classes, claims, nodes, drivers and capacity."""
        either = Action.ADD | Action.UPDATE
        return (
            Wake(StorageClass, either, allows_other_places),
            Wake(PersistentVolumeClaim, either, uses_claim),
            Wake(PersistentVolume, either),
            Wake(Node, Action.ADD | Action.UPDATE_NODE_LABEL),
            Wake(CSINode, either, migrates_others),
            Wake(CSIDriver, Action.UPDATE, stops_counting),
            Wake(CSIStorageCapacity, either, has_more_capacity),
        )

    def planned(self, cycle: Cycle) -> VolumePlan | None:
        """What has to be written before the pod is bound; None if all its claims are bound."""
        state: _State | None = cycle.data.get(self.name)
        return None if state is None else state.plan
