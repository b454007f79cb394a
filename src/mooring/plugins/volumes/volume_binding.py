"""VolumeBinding: a pod goes only where its claims have volumes, or can get them.

Where that is, is the business of `pod_claims` and `pod_volumes`; this module asks them and
holds on to the volumes of the node that was chosen. It writes nothing: what has to be written and
waited for before the pod is bound is the plan that `reserve` returns.
"""

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from mooring.framework.arrays import Amounts
from mooring.framework.binding_hooks import IdleAfterSkip
from mooring.framework.cycle import Cycle
from mooring.framework.hook import (
    SKIP,
    Action,
    FilterNodes,
    PreFilter,
    PreFilterAnswer,
    PreScore,
    PreScoreAnswer,
    RequeueHint,
    Requeues,
    Reserve,
    ReserveAnswer,
    ScoreNodes,
    Sign,
)
from mooring.framework.nodes import Nodes
from mooring.framework.scope import Scope
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
from mooring.plugins.resources.scoring_strategies import UtilizationShapePoint
from mooring.plugins.volumes.claim_bindings import ClaimBindings
from mooring.plugins.volumes.details import VolumeDetails
from mooring.plugins.volumes.pod_claims import PodClaims, claims_of, uses_claims
from mooring.plugins.volumes.pod_volumes import PodVolumes, find_pod_volumes
from mooring.plugins.volumes.remedies import VolumeRemedies
from mooring.plugins.volumes.requeue_hints import (
    allows_other_topologies,
    has_more_capacity,
    migrates_other_plugins,
    stops_checking_capacity,
    uses_claim,
)
from mooring.plugins.volumes.volume_finder import finder_of


class VolumeBindingArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Arguments of VolumeBinding.

    Attributes:
        bind_timeout_seconds: how long a pod waits until its volumes are bound.
        shape: belongs to a feature that is off in v1.36; must be absent.
    """

    bind_timeout_seconds: int = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None

    def check(self) -> Iterable[tuple[str, str]]:
        """What kube-scheduler would reject."""
        # parity v1.36.4: apis/config/validation/validation_pluginargs.go
        if self.bind_timeout_seconds < 0:
            yield (
                "bindTimeoutSeconds",
                f"{self.bind_timeout_seconds} is negative: must be at least 0",
            )
        if self.shape is not None:
            yield (
                "shape",
                "needs the feature gate StorageCapacityScoring, which is off: remove it",
            )


class _ClaimsState:
    """What is known of a pod's claims in one decision."""

    __slots__ = ("claims", "reserved", "volumes")

    def __init__(self, claims: PodClaims) -> None:
        self.claims = claims
        self.volumes: PodVolumes | None = None
        self.reserved: ClaimBindings | None = None


class VolumeBinding(
    PreFilter,
    FilterNodes,
    PreScore,
    ScoreNodes,
    Reserve,
    Requeues,
    VolumeDetails,
    VolumeRemedies,
    Sign,
    IdleAfterSkip,
):
    """Finds nodes where the pod's claims have volumes or can get them, and holds on to these."""

    name = "VolumeBinding"
    reads = (
        CSIDriver,
        CSINode,
        CSIStorageCapacity,
        PersistentVolume,
        PersistentVolumeClaim,
        StorageClass,
    )
    patches = (PersistentVolume, PersistentVolumeClaim)
    filter_scope = Scope.NODES
    score_scope = Scope.NODES
    Args = VolumeBindingArgs

    def __init__(self, args: VolumeBindingArgs) -> None:
        #: How long a pod waits until its volumes are bound.
        self.bind_timeout_seconds = args.bind_timeout_seconds

    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Look at the pod's claims; reject if one cannot be used on any node."""
        pod = cycle.pod
        if not uses_claims(pod):
            return SKIP
        cluster = cycle.cluster
        claims = claims_of(pod, cluster.catalog, cluster.assume_cache)
        if isinstance(claims, Verdict):
            return claims
        cycle.data[self.name] = _ClaimsState(claims)
        return None

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts:  # noqa: ARG002
        """Reject nodes where a claim has no volume and can get none."""
        cycle = nodes.cycle
        state: _ClaimsState = cycle.data[self.name]
        if state.volumes is None:
            state.volumes = find_pod_volumes(cycle.cluster, state.claims)
        whole = state.volumes.verdicts
        return Verdicts(nodes.take(whole.choice), whole.table)

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> PreScoreAnswer:  # noqa: ARG002
        """Leave out scoring."""
        # parity v1.36.4: the feature gate StorageCapacityScoring is off, so there is no scorer
        return SKIP

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:  # noqa: ARG002
        """No node is better than another; never asked, because scoring is left out."""
        return np.zeros(len(nodes), np.int64)

    def reserve(self, cycle: Cycle, node: Node) -> ReserveAnswer:
        """Hold on to the volumes of the chosen node, so that no other pod gets them.

        The plan is to bind the claims to them; there is none if all claims are bound.
        """
        state: _ClaimsState | None = cycle.data.get(self.name)
        if state is None or state.volumes is None or not state.claims.waiting:
            return None
        cluster = cycle.cluster
        bindings = state.volumes.on(node.name, cluster.columns.row_of[node.name])
        problem = finder_of(cluster).assume(bindings.written)
        if problem:
            return fail(problem)
        state.reserved = bindings
        return bindings.plan(self.bind_timeout_seconds) if bindings.claims else None

    def unreserve(self, cycle: Cycle, node: Node) -> None:  # noqa: ARG002
        """Let go of the volumes."""
        state: _ClaimsState | None = cycle.data.get(self.name)
        if state is not None and state.reserved is not None:
            finder_of(cycle.cluster).restore(state.reserved.written)
            state.reserved = None

    def requeue_on(self) -> Sequence[RequeueHint]:
        """Whatever decides about volumes: their classes, claims, nodes, drivers and capacity."""
        either = Action.ADD | Action.UPDATE
        return (
            RequeueHint(StorageClass, either, allows_other_topologies),
            RequeueHint(PersistentVolumeClaim, either, uses_claim),
            RequeueHint(PersistentVolume, either),
            RequeueHint(Node, Action.ADD | Action.UPDATE_NODE_LABEL),
            RequeueHint(CSINode, either, migrates_other_plugins),
            RequeueHint(CSIDriver, Action.UPDATE, stops_checking_capacity),
            RequeueHint(CSIStorageCapacity, either, has_more_capacity),
        )

    def sign(self, pod: Pod) -> tuple[()] | None:
        """Nothing, if the pod has no claims; which volumes are left for them changes."""
        return None if uses_claims(pod) else ()
