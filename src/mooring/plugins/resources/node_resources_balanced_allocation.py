"""NodeResourcesBalancedAllocation: does the pod even out how much of each resource is in use.

What a node looks like without the pod is remembered for all pods that ask for the same resources,
what it would look like with the pod for all pods that ask for the same amounts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final, cast

import msgspec
import numpy as np

from mooring.framework.arrays import Amounts, Floats, Mask, Rows
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.quick_answers import AlikeBy
from mooring.framework.decisions.row_answers import RowAnswers, RowScore
from mooring.framework.hook import SKIP, PreScore, PreScoreAnswer, ScoreNodes, Sign
from mooring.framework.nodes import Nodes
from mooring.framework.scope import Scope
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.pod import Pod
from mooring.model.resource_names import NATIVE, is_scalar
from mooring.plugins.devices.device_classes import ExtendedResourceCache
from mooring.plugins.resources.device_amounts import (
    DeviceAmount,
    device_amounts,
    resources_of_devices,
)
from mooring.plugins.resources.node_amounts import NodeAmountsReader
from mooring.plugins.resources.remembered_rows import RememberedRows, at_rows
from mooring.plugins.resources.resource_rows import balance_rows
from mooring.plugins.resources.scoring_strategies import (
    DEFAULT_RESOURCES,
    ResourceSpec,
    capacity_of,
)
from mooring.plugins.score_arithmetic import MAX_SCORE
from mooring.plugins.shape_reader import ShapeReader
from mooring.state.columns import Columns
from mooring.state.shapes import Shape

_NO_DEVICES: Final[Mapping[str, DeviceAmount]] = {}
#: Resources with what the pod adds to them.
AddedRequests = tuple[tuple[str, int], ...]


class NodeResourcesBalancedAllocationArgs(
    msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True
):
    """Arguments of NodeResourcesBalancedAllocation.

    Attributes:
        resources: the resources that are to be in balance; CPU and memory if absent.
    """

    resources: tuple[ResourceSpec, ...] | None = None

    def check(self) -> Iterable[tuple[str, str]]:
        """What kube-scheduler would reject."""
        # parity v1.36.4: apis/config/validation/validation_pluginargs.go
        seen: set[str] = set()
        for index, resource in enumerate(self.resources or ()):
            if resource.name in seen:
                text = f"{resource.name!r} occurs more than once: remove one"
                yield f"resources[{index}].name", text
            seen.add(resource.name)
            if resource.counts != 1:
                yield f"resources[{index}].weight", f"{resource.weight} is not supported: must be 1"


class NodeResourcesBalancedAllocation(PreScore, ScoreNodes, Sign, ShapeReader, RowScore, AlikeBy):
    """Prefers nodes where the pod evens out the utilization of different resources."""

    name = "NodeResourcesBalancedAllocation"
    reads = ()
    #: Resources of device classes count by their devices for whoever has these watched.
    reads_if_watched = (DeviceClass, ResourceClaim, ResourceSlice)
    alike_by = (DeviceClass,)
    score_scope = Scope.ROW
    Args: ClassVar[type[msgspec.Struct]] = NodeResourcesBalancedAllocationArgs

    def __init__(self, args: NodeResourcesBalancedAllocationArgs) -> None:
        self._names = tuple(one.name for one in args.resources or DEFAULT_RESOURCES)
        self._before: RememberedRows[tuple[str, ...], np.int64] = RememberedRows(_balance_before)
        self._scores: RememberedRows[AddedRequests, np.int64] = RememberedRows(self._score)
        self._amounts = NodeAmountsReader()
        self._devices = ExtendedResourceCache()
        self._key = (self.name, self._names)

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> PreScoreAnswer:  # noqa: ARG002
        """Skip pods that ask for none of the resources."""
        return SKIP if self._added(cycle.shape) is None else None

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:  # noqa: ARG002
        """75 where the pod changes nothing, more where it evens out, less where it does not."""
        added = self._added(nodes.cycle.shape)
        if added is None:
            return np.zeros(len(nodes), np.int64)
        devices = self._device_amounts(nodes.cycle, added)
        if devices:
            return nodes.take(_score_with_devices(nodes.columns, added, devices))
        return nodes.take(self._scores.read(nodes.columns, added))

    def sign(self, pod: Pod) -> tuple[AddedRequests | None] | None:
        """What the pod adds to the resources, if it asks for any of them.

        None if one of them may come from devices: these change while no node does.
        """
        added = self._added(self.shape_of(pod))
        classes = self._devices.read(self.cluster.catalog)
        if resources_of_devices(classes, (name for name, _ in added or ())):
            return None
        return (added,)

    def row_score(self, cycle: Cycle) -> RowAnswers:
        """The scores of single nodes; only for pods that `pre_score` does not skip."""
        columns, added = cycle.cluster.columns, self._added(cycle.shape) or ()

        def by_array(rows: Rows) -> Amounts:
            return self._score(columns, rows, added)

        amounts = self._amounts.read(columns, tuple(name for name, _ in added))
        return balance_rows(columns, added, amounts, by_array)

    def _added(self, shape: Shape) -> AddedRequests | None:
        data = shape.data
        if self._key not in data:
            requests = shape.requests
            # parity v1.36.4: plugins/noderesources/resource_allocation.go: a scalar resource that
            # the pod does not ask for does not count; a pod that asks for nothing is skipped.
            data[self._key] = (
                tuple(
                    (name, requests[name])
                    for name in self._names
                    if name in NATIVE or (requests[name] and is_scalar(name))
                )
                if any(requests[name] for name in self._names)
                else None
            )
        return cast("AddedRequests | None", data[self._key])

    def _score(self, columns: Columns, rows: Rows | None, added: AddedRequests) -> Amounts:
        # parity v1.36.4: plugins/noderesources/balanced_allocation.go balancedResourceScorer
        names = tuple(name for name, _ in added)
        if rows is None:
            before = self._before.read(columns, names)
        else:
            before = _balance_before(columns, rows, names)
        return _improvement(before, _balance(columns, rows, added))

    def _device_amounts(self, cycle: Cycle, added: AddedRequests) -> Mapping[str, DeviceAmount]:
        """What devices provide of the resources that count."""
        classes = self._devices.read(cycle.cluster.catalog)
        if not classes:
            return _NO_DEVICES
        return device_amounts(cycle.cluster, classes, (name for name, _ in added))


def _score_with_devices(
    columns: Columns, added: AddedRequests, devices: Mapping[str, DeviceAmount]
) -> Amounts:
    before = _balance(columns, None, [(name, 0) for name, _ in added], devices)
    return _improvement(before, _balance(columns, None, added, devices))


def _improvement(before: Amounts, after: Amounts) -> Amounts:
    return (after - before + MAX_SCORE // 2) // 2 + MAX_SCORE // 2


def _balance_before(columns: Columns, rows: Rows | None, names: tuple[str, ...]) -> Amounts:
    return _balance(columns, rows, [(name, 0) for name in names])


def _balance(
    columns: Columns,
    rows: Rows | None,
    added: Sequence[tuple[str, int]],
    devices: Mapping[str, DeviceAmount] = _NO_DEVICES,
) -> Amounts:
    """How even the utilization is, 50 to 100."""
    capacities = [
        (devices[name].capacity if name in devices else capacity_of(columns, name)).at_rows(rows)
        for name, _ in added
    ]
    fractions: list[Floats] = []
    for (name, amount), capacity in zip(added, capacities, strict=True):
        used = at_rows(devices[name].used if name in devices else columns.used(name), rows)
        fraction = (used + amount if amount else used) / capacity.divisor
        # A sum that has wrapped around counts as nothing: no pod could be placed otherwise.
        fractions.append(np.clip(fraction, 0.0, 1.0))
    size = len(columns) if rows is None else len(rows)
    if all(capacity.complete for capacity in capacities):
        deviation = _deviation(fractions, size)
    else:
        present = [capacity.amounts != 0 for capacity in capacities]
        deviation = _partial_deviation(fractions, present, size)
    return ((1 - deviation) * float(MAX_SCORE)).astype(np.int64)


def _deviation(fractions: Sequence[Floats], size: int) -> Floats:
    """The standard deviation of the fractions of each node."""
    # parity v1.36.4: plugins/noderesources/balanced_allocation.go balancedResourceScore; the
    # additions are done in its order, because rounding shows in the score.
    if len(fractions) <= 1:
        return np.zeros(size)
    if len(fractions) == 2:
        return np.abs((fractions[0] - fractions[1]) / 2)
    total, squares = np.zeros(size), np.zeros(size)
    for fraction in fractions:
        total += fraction
    mean = total / len(fractions)
    for fraction in fractions:
        squares += (fraction - mean) * (fraction - mean)
    return np.sqrt(squares / len(fractions))


def _partial_deviation(fractions: Sequence[Floats], present: Sequence[Mask], size: int) -> Floats:
    """The same where some nodes do not have some of the resources: these do not count there."""
    # Nodes with the same resources have the same formula.
    kinds = np.zeros(size, np.int64)
    for place, has in enumerate(present):
        kinds += has.astype(np.int64) << place
    deviation = np.zeros(size)
    for kind in np.unique(kinds).tolist():
        alike = (kinds == kind).nonzero()[0]
        counted = [one[alike] for place, one in enumerate(fractions) if kind >> place & 1]
        deviation[alike] = _deviation(counted, len(alike))
    return deviation
