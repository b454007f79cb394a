"""DynamicResources: refuses pods with resource claims, because mooring cannot allocate devices yet.

It has the extension points of kube-scheduler's plugin, so that profiles are the same, and says what
that plugin says of pods without claims.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

import msgspec
import numpy as np

from mooring.framework.arrays import Amounts
from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.framework.duration import Duration
from mooring.framework.filtering import Filtering
from mooring.framework.hook import (
    SKIP,
    FilterNodes,
    Normalize,
    PostFilter,
    PreBind,
    PreEnqueue,
    PreFilter,
    PreFilterAnswer,
    Requeues,
    Reserve,
    ScoreNodes,
    Wake,
)
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import Verdict, fail, reject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.scores import normalize_scores

_NOTHING_TO_FREE: Final = reject("no new claims to deallocate")
_NO_STATE: Final = fail("not found")
_NO_CLAIMS: Final = reject(
    "dynamic resource claims are not supported by mooring yet", unresolvable=True
)
_SECOND: Final = Duration.of_seconds(1)


class DynamicResourcesArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Arguments of DynamicResources; they have no effect yet.

    Attributes:
        filter_timeout: how long the search for devices on one node may take.
        binding_timeout: how long devices may take to become ready.
    """

    filter_timeout: Duration | None = None
    binding_timeout: Duration | None = None

    def check(self) -> Iterable[tuple[str, str]]:
        """What kube-scheduler would refuse."""
        # parity v1.36.4: apis/config/validation/validation_pluginargs.go
        if self.filter_timeout is not None and self.filter_timeout.nanoseconds < 0:
            yield "filterTimeout", f"{self.filter_timeout} is negative, give 0s or more"
        if self.binding_timeout is not None and self.binding_timeout < _SECOND:
            yield "bindingTimeout", f"{self.binding_timeout} is too short, give 1s or more"


class DynamicResources(
    PreEnqueue,
    PreFilter,
    FilterNodes,
    PostFilter,
    ScoreNodes,
    Normalize,
    Reserve,
    PreBind,
    Requeues,
):
    """Refuses pods with resource claims: dynamic resource allocation is not supported yet."""

    name = "DynamicResources"
    Args: ClassVar[type[msgspec.Struct]] = DynamicResourcesArgs

    def pre_enqueue(self, pod: Pod) -> None:
        """Let all pods in; the ones with claims are told why when they are looked at."""

    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Refuse pods with claims, skip all others."""
        cycle.data[self.name] = True
        return _NO_CLAIMS if cycle.pod.spec.resource_claims else SKIP

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> None:
        """Accept all nodes."""

    def post_filter(self, cycle: Cycle, filtering: Filtering) -> Verdict:  # noqa: ARG002
        """There is nothing that could be freed."""
        # parity v1.36.4: plugins/dynamicresources PostFilter: a pod that another plugin refused
        # before has no state of this one, which ends the search with an error.
        return _NOTHING_TO_FREE if self.name in cycle.data else _NO_STATE

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:  # noqa: ARG002
        """No node is better than another."""
        return np.zeros(len(nodes), np.int64)

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:  # noqa: ARG002
        """The more, the better."""
        return normalize_scores(scores)

    def reserve(self, cycle: Cycle, node: Node) -> None:
        """There is nothing to reserve."""

    def unreserve(self, cycle: Cycle, node: Node) -> None:
        """There is nothing to give back."""

    async def pre_bind(self, binding: Binding) -> None:
        """There is nothing to prepare."""

    def requeue_on(self) -> Sequence[Wake]:
        """No change: claims are refused whatever they and the cluster are like."""
        return ()
