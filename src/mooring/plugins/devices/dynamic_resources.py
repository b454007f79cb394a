"""DynamicResources: rejects pods that need devices, because mooring cannot allocate any yet.

Pods with resource claims are rejected. Pods that ask for an extended resource of a `DeviceClass`
are rejected by nodes that do not have the resource of their own; where a device plugin offers it,
it is a resource like any other. The plugin has the extension points of kube-scheduler's, so that
profiles are the same, and says what that plugin says of pods that need no devices.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

import msgspec
import numpy as np

from mooring.framework.arrays import Amounts
from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.row_answers import NormalizesByExtremes
from mooring.framework.filtering import Filtering
from mooring.framework.hook import (
    SKIP,
    Action,
    FilterNodes,
    Normalize,
    PostFilter,
    PreBind,
    PreBindCheckAnswer,
    PreEnqueue,
    PreFilter,
    PreFilterAnswer,
    RequeueHint,
    Requeues,
    Reserve,
    ScoreNodes,
    Sign,
)
from mooring.framework.nodes import Nodes
from mooring.framework.scope import Scope
from mooring.framework.verdict import ACCEPT, Verdict, Verdicts, fail, reject
from mooring.model.devices.device_class import DeviceClass
from mooring.model.duration import Duration
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.devices.device_classes import (
    ExtendedResourceCache,
    is_device_resource,
    provides_resource,
)
from mooring.plugins.score_arithmetic import normalize_scores
from mooring.plugins.shape_reader import ShapeReader

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
        """What kube-scheduler would reject."""
        # parity v1.36.4: apis/config/validation/validation_pluginargs.go
        if self.filter_timeout is not None and self.filter_timeout.nanoseconds < 0:
            yield "filterTimeout", f"{self.filter_timeout} is negative: must be at least 0s"
        if self.binding_timeout is not None and self.binding_timeout < _SECOND:
            yield "bindingTimeout", f"{self.binding_timeout} is too short: must be at least 1s"


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
    Sign,
    ShapeReader,
    NormalizesByExtremes,
):
    """Rejects pods that need devices: dynamic resource allocation is not supported yet."""

    name = "DynamicResources"
    reads = (DeviceClass,)
    filter_scope = Scope.NODES
    score_scope = Scope.NODES
    Args: ClassVar[type[msgspec.Struct]] = DynamicResourcesArgs

    def __init__(self) -> None:
        self._devices = ExtendedResourceCache()

    def pre_enqueue(self, pod: Pod) -> None:
        """Let all pods in; those that need devices learn why not when they are looked at."""

    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Reject pods with claims, skip those that need no devices."""
        if cycle.pod.spec.resource_claims:
            cycle.data[self.name] = {}
            return _NO_CLAIMS
        requested = cycle.data[self.name] = self._devices.requested_by(
            cycle.pod, cycle.cluster.catalog
        )
        return None if requested else SKIP

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:  # noqa: ARG002
        """Reject nodes that would have to provide a resource by devices."""
        # parity v1.36.4: plugins/dynamicresources/extendeddynamicresources.go
        # filterExtendedResources: where a device plugin offers the resource, there is nothing to do
        requested: dict[str, str] = nodes.cycle.data.get(self.name, {})
        if not requested:
            return None
        choice = np.zeros(len(nodes), np.int32)
        table: list[Verdict] = [ACCEPT]
        for resource, device_class in requested.items():
            choice[(choice == 0) & (nodes.take(nodes.columns.allocatable(resource)) == 0)] = len(
                table
            )
            table.append(_no_devices(resource, device_class))
        return Verdicts(choice, table) if choice.any() else None

    def post_filter(self, cycle: Cycle, filtering: Filtering) -> Verdict:  # noqa: ARG002
        """There is nothing that could be freed."""
        # parity v1.36.4: plugins/dynamicresources PostFilter: a pod that another plugin rejected
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

    def pre_bind_check(self, cycle: Cycle, node: Node) -> PreBindCheckAnswer:  # noqa: ARG002
        """Take no part: pods that need devices never come here."""
        return SKIP

    async def pre_bind(self, binding: Binding) -> None:
        """There is nothing to prepare."""

    def requeue_on(self) -> Sequence[RequeueHint]:
        """A node that offers the resource of its own, or another class that provides it."""
        return (
            RequeueHint(Node, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, _offers_resource),
            RequeueHint(DeviceClass, Action.ADD | Action.UPDATE, _concerns),
        )

    def sign(self, pod: Pod) -> frozenset[tuple[str, str]] | None:
        """The resources that come from devices, with their classes; nothing is known of claims."""
        if pod.spec.resource_claims:
            return None
        return frozenset(self._devices.requested_by(pod, self.cluster.catalog).items())


def _no_devices(resource: str, device_class: str) -> Verdict:
    return reject(
        f"devices of DeviceClass {device_class} for {resource} are not supported by mooring yet",
        unresolvable=True,
    )


def _offers_resource(pod: Pod, old: Node | None, new: Node) -> bool:
    """Whether a node offers more of a resource that devices provide elsewhere."""
    if pod.spec.resource_claims:
        return False  # they are rejected whatever the nodes are like
    before = old.allocatable if old is not None else {}
    return any(
        new.allocatable[name] > before.get(name, 0)
        for name, amount in pod.requests.items()
        if amount and is_device_resource(name)
    )


def _concerns(pod: Pod, old: DeviceClass | None, new: DeviceClass) -> bool:
    return not pod.spec.resource_claims and provides_resource(pod, old, new)
