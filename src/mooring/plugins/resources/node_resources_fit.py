"""NodeResourcesFit: does the pod fit, and how full would the node be.

For pods that ask for the same amounts, verdicts and scores of all nodes are remembered, and only
nodes whose pods changed are looked at again. A resource that a node does not have and a class of
devices provides is left to DynamicResources.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple, cast

import msgspec
import numpy as np
import numpy.typing as npt

from mooring.framework.arrays import Amounts, Rows
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.quick_answers import AlikeBy
from mooring.framework.decisions.row_answers import RowAnswers, RowFilter, RowScore
from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.hook import (
    Action,
    Details,
    FilterNodes,
    PreFilter,
    PreScore,
    Remedies,
    RequeueHint,
    Requeues,
    ScoreNodes,
    Sign,
)
from mooring.framework.nodes import Nodes
from mooring.framework.remedies.remedy import Remedy, RemedyCase
from mooring.framework.scope import Scope
from mooring.framework.verdict import ACCEPT, Verdict, Verdicts
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.label_syntax import is_label_key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.resource_names import NATIVE, is_counted, is_extended, is_scalar
from mooring.model.resources import (
    CPU,
    MEMORY,
    PODS,
    container_scoring_requests,
    spec_requests,
)
from mooring.plugins.devices.device_classes import ExtendedResourceCache, provides_resource
from mooring.plugins.resources.details import resource_details
from mooring.plugins.resources.device_amounts import (
    DeviceAmount,
    device_amounts,
    resources_of_devices,
)
from mooring.plugins.resources.node_amounts import NodeAmountsReader, resource_columns
from mooring.plugins.resources.remedies import resource_remedies
from mooring.plugins.resources.remembered_rows import RememberedRows, at_rows
from mooring.plugins.resources.requeue_hints import frees_resources, offers_more
from mooring.plugins.resources.resource_rows import (
    AllocationRows,
    ArrayRows,
    FitRows,
    ScoredResource,
    WantedAmount,
)
from mooring.plugins.resources.scoring_strategies import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    ResourceLevel,
    ScoringStrategy,
    capacity_of,
    strategy_of,
)
from mooring.plugins.shape_reader import ShapeReader
from mooring.state.catalog import Catalog
from mooring.state.columns import Columns
from mooring.state.lru_cache import LruCache, size_of
from mooring.state.memory_bounds import BOUNDS
from mooring.state.resource_columns import LIMIT
from mooring.state.shapes import Shape

_NO_DEVICES: Final[Mapping[str, DeviceAmount]] = {}
#: Resources with amounts, in the order in which they are looked at.
Requests = tuple[tuple[str, int], ...]
#: What of a pod decides its scores: places of resources in the strategy, with amounts.
ScoredRequests = tuple[tuple[int, int], ...]
Choices = npt.NDArray[np.int32]

_DEFAULT_STRATEGY = ScoringStrategy(type=LEAST_ALLOCATED)
_TOO_MANY_PODS = "Too many pods"
_TOO_SMALL = "the whole node is too small"
#: So many answers fit into the bits of one 64-bit number.
_BITS = 62
#: A kind of pods that has had so many different answers begins anew.
_MOST_ANSWERS = 1000
#: Up to so many rows are looked at one by one.
_FEW = 4


class NodeResourcesFitArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Arguments of NodeResourcesFit.

    Attributes:
        ignored_resources: extended resources that are not looked at.
        ignored_resource_groups: prefixes of extended resources that are not looked at.
        scoring_strategy: which nodes are good; the emptier the better if absent.
    """

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy | None = None

    def check(self) -> Iterable[tuple[str, str]]:
        """What kube-scheduler would reject."""
        # parity v1.36.4: apis/config/validation/validation_pluginargs.go
        for index, name in enumerate(self.ignored_resources):
            if not is_label_key(name):
                yield (
                    f"ignoredResources[{index}]",
                    f"{name!r} is not a valid name: use for example x.io/gpu",
                )
        for index, group in enumerate(self.ignored_resource_groups):
            if "/" in group or not is_label_key(group):
                text = f"{group!r} is not a valid prefix: use for example example.com"
                yield f"ignoredResourceGroups[{index}]", text
        if self.scoring_strategy is not None:
            yield from self.scoring_strategy.check("scoringStrategy")


class FitRequests(NamedTuple):
    """What of a pod decides where it fits.

    Attributes:
        counted: the resources that count, with amounts.
        from_devices: those of them that devices may provide where a node has none.
    """

    counted: Requests
    from_devices: frozenset[str] = frozenset()


class _PodKind:
    """The pods that ask for the same, and the answers they got so far.

    Attributes:
        requests: what they ask for.
        table: the different answers, each at its place for `Verdicts`.
    """

    __slots__ = ("_places", "requests", "table")

    def __init__(self, requests: FitRequests) -> None:
        self.requests = requests
        self.table: list[Verdict] = [ACCEPT]
        self._places: dict[tuple[tuple[str, ...], bool], int] = {}

    @property
    def nbytes(self) -> int:
        return size_of(self.requests)

    @property
    def is_full(self) -> bool:
        return len(self.table) > _MOST_ANSWERS

    def place(self, reasons: tuple[str, ...], unresolvable: bool) -> int:
        if not reasons:
            return 0
        key = (reasons, unresolvable)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = len(self.table)
            self.table.append(
                Verdict(
                    accepted=False,
                    reason=reasons[0],
                    also=reasons[1:],
                    unresolvable=unresolvable,
                    note=_TOO_SMALL if unresolvable else "",
                )
            )
        return found


class NodeResourcesFit(
    PreFilter,
    FilterNodes,
    PreScore,
    ScoreNodes,
    Requeues,
    Details,
    Remedies,
    Sign,
    ShapeReader,
    RowFilter,
    RowScore,
    AlikeBy,
):
    """Rejects nodes without enough free resources; prefers emptier, fuller or shaped ones."""

    name = "NodeResourcesFit"
    reads = ()
    #: Resources of device classes are left to whoever has the classes watched.
    reads_if_watched = (DeviceClass, ResourceClaim, ResourceSlice)
    alike_by = (DeviceClass,)
    filter_scope = Scope.ROW
    score_scope = Scope.ROW
    ignored_resources_arg = "ignoredResources"
    Args: ClassVar[type[msgspec.Struct]] = NodeResourcesFitArgs

    def __init__(self, args: NodeResourcesFitArgs) -> None:
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        strategy = args.scoring_strategy or _DEFAULT_STRATEGY
        self._resources = strategy.counted
        self._strategy_type = strategy.type
        self._strategy = strategy_of(strategy)
        self._devices = ExtendedResourceCache()
        self._kinds: LruCache[FitRequests, _PodKind] = LruCache(BOUNDS.kinds, BOUNDS.key_bytes)
        self._choices: RememberedRows[_PodKind, np.int32] = RememberedRows(self._choose)
        self._scores: RememberedRows[ScoredRequests, np.int64] = RememberedRows(self._score)
        self._amounts = NodeAmountsReader()
        self._requests_key = (self.name, "wanted", self._ignored, self._ignored_groups)
        self._scored_key = (self.name, "scored", self._resources)

    def pre_filter(self, cycle: Cycle) -> None:
        """Read what the pod asks for, once for all pods of its template."""
        self._fit_requests(cycle)

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:  # noqa: ARG002
        """Reject nodes where something is short; preemption does not help if it never is enough."""
        kind = self._kind(self._fit_requests(nodes.cycle))
        columns, rows = nodes.columns, nodes.rows
        if rows is not None and len(rows) == 1:
            place = self._choose_one(columns, int(rows[0]), kind)
            return Verdicts(np.array([place], np.int32), kind.table) if place else None
        choice = nodes.take(self._choices.read(columns, kind))
        return Verdicts(choice, kind.table) if choice.any() else None

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> None:  # noqa: ARG002
        """Read which amounts of the pod count, once for all pods of its template."""
        self._scored(cycle.pod, cycle.shape)

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:  # noqa: ARG002
        """How good the nodes' utilization would be with the pod."""
        cycle = nodes.cycle
        scored = self._scored(cycle.pod, cycle.shape)
        devices = self._device_amounts(cycle, scored)
        if devices:
            return nodes.take(self._score(nodes.columns, None, scored, devices))
        return nodes.take(self._scores.read(nodes.columns, scored))

    def requeue_on(self) -> Sequence[RequeueHint]:
        """A pod gone or asking for less, a node with more room, or a class with such devices."""
        return (
            RequeueHint(Pod, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, frees_resources),
            RequeueHint(Node, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, self._offers_more),
            RequeueHint(DeviceClass, Action.ADD | Action.UPDATE, provides_resource),
        )

    def details(self, rejected: RejectedNodes) -> str:
        """What is needed, and the most that is left of it."""
        wanted = self._fit_requests(rejected.nodes.cycle)
        return resource_details(rejected, wanted.counted, wanted.from_devices)

    def remedies(self, case: RemedyCase) -> Iterator[Remedy]:
        """Ask for less, or take another pod off the node."""
        return resource_remedies(case)

    def sign(self, pod: Pod) -> tuple[FitRequests, ScoredRequests] | None:
        """The requests that count for fitting, and those that count for scoring.

        None if one of the latter may come from devices: these change while no node does.
        """
        shape, catalog = self.shape_of(pod), self.cluster.catalog
        scored = self._scored(pod, shape)
        if resources_of_devices(self._devices.read(catalog), self._names(scored)):
            return None
        return self._requests_of(pod, shape, catalog), scored

    def row_filter(self, cycle: Cycle) -> RowAnswers:
        """Whether the pod fits, for single nodes."""
        columns, (wanted, from_devices) = cycle.cluster.columns, self._fit_requests(cycle)
        names = tuple(one.name for one in self._resources)
        return FitRows(
            columns,
            [WantedAmount(name, amount, name in from_devices) for name, amount in wanted],
            names,
            self._amounts.read(columns, names),
        )

    def row_score(self, cycle: Cycle) -> RowAnswers:
        """The scores of single nodes."""
        columns, scored = cycle.cluster.columns, self._scored(cycle.pod, cycle.shape)

        def by_array(rows: Rows) -> Amounts:
            return self._score(columns, rows, scored)

        found = []
        for place, amount in scored:
            resource = self._resources[place]
            common = resource_columns(columns, resource.name)
            if common is not None:
                found.append(ScoredResource(common, amount, resource.counts))
        if self._strategy_type not in (LEAST_ALLOCATED, MOST_ALLOCATED) or len(found) < len(scored):
            return ArrayRows(by_array)
        names = self._names(scored)
        least = self._strategy_type == LEAST_ALLOCATED
        amounts = self._amounts.read(columns, names)
        return AllocationRows(found, amounts, by_array, least=least)

    def _offers_more(self, pod: Pod, old: Node | None, new: Node) -> bool:
        # v1.36.4 looks at ignored resources here, and overlooks nodes that do not have them.
        wanted = self._counted_requests(pod, self.shape_of(pod))
        return offers_more(wanted, old, new, self._devices.classes)

    # -- what of the pod counts

    def _fit_requests(self, cycle: Cycle) -> FitRequests:
        return self._requests_of(cycle.pod, cycle.shape, cycle.cluster.catalog)

    def _requests_of(self, pod: Pod, shape: Shape, catalog: Catalog) -> FitRequests:
        wanted = self._counted_requests(pod, shape)
        classes = self._devices.read(catalog)
        if not classes:
            return FitRequests(wanted)
        # parity v1.36.4: plugins/noderesources/fit.go shouldDelegateResourceToDRA
        return FitRequests(wanted, frozenset(name for name, _ in wanted if name in classes))

    def _counted_requests(self, pod: Pod, shape: Shape) -> Requests:
        data = shape.data
        known = data.get(self._requests_key)
        if known is None:
            requests = spec_requests(pod)
            names = [name for name in NATIVE if name in requests]
            names += sorted(name for name in requests if name not in NATIVE)
            known = tuple(
                (name, requests[name])
                for name in names
                if requests[name] > 0 and is_counted(name) and not self._is_ignored(name)
            )
            data[self._requests_key] = known
        return cast("Requests", known)

    def _is_ignored(self, name: str) -> bool:
        if not is_extended(name):
            return False
        return name in self._ignored or name.partition("/")[0] in self._ignored_groups

    def _scored(self, pod: Pod, shape: Shape) -> ScoredRequests:
        data = shape.data
        known = data.get(self._scored_key)
        if known is None:
            requests = container_scoring_requests(pod)
            known = data[self._scored_key] = tuple(
                (place, requests[resource.name])
                for place, resource in enumerate(self._resources)
                # parity v1.36.4: plugins/noderesources/resource_allocation.go: a scalar
                # resource that the pod does not ask for does not count.
                if resource.name in NATIVE or (requests[resource.name] and is_scalar(resource.name))
            )
        return cast("ScoredRequests", known)

    def _kind(self, requests: FitRequests) -> _PodKind:
        kind = self._kinds.get(requests)
        if kind is None or kind.is_full:
            kind = _PodKind(requests)
            self._kinds.put(requests, kind, kind.nbytes)
        return kind

    # -- what the nodes answer

    def _choose(self, columns: Columns, rows: Rows | None, kind: _PodKind) -> Choices:
        # parity v1.36.4: plugins/noderesources/fit.go fitsRequest
        if rows is not None and len(rows) <= _FEW:
            few = [self._choose_one(columns, row, kind) for row in rows.tolist()]
            return np.array(few, np.int32)
        wanted, from_devices = kind.requests
        short = [
            at_rows(columns.allocatable(name), rows) - at_rows(columns.used(name), rows) < amount
            for name, amount in ((PODS, 1), *wanted)
        ]
        for place, (name, _) in enumerate(wanted, 1):
            if name in from_devices:
                short[place] &= at_rows(columns.allocatable(name), rows) > 0
        rejected = functools.reduce(np.logical_or, short).nonzero()[0]
        choice = np.zeros(len(short[0]), np.int32)
        if len(rejected):
            never = np.zeros(len(choice), np.bool_)
            for place, (name, amount) in enumerate(wanted, 1):
                never |= short[place] & (at_rows(columns.allocatable(name), rows) < amount)
            choice[rejected] = self._places([*short, never], rejected, kind)
        return choice

    def _places(
        self, facts: list[npt.NDArray[np.bool_]], rejected: Rows, kind: _PodKind
    ) -> Choices:
        """For rejected rows, the place of their reasons; the last fact is "it never is enough"."""
        # As bits of one number, so that the few different combinations are found at once.
        dtype = np.int64 if len(facts) <= _BITS else np.object_
        bits: npt.NDArray[Any] = np.zeros(len(rejected), dtype)
        for place, fact in enumerate(facts):
            bits[fact[rejected]] += 1 << place
        different, which = np.unique(bits, return_inverse=True)
        reasons = (_TOO_MANY_PODS, *(f"Insufficient {name}" for name, _ in kind.requests.counted))
        places = [
            kind.place(
                tuple(reason for place, reason in enumerate(reasons) if found >> place & 1),
                bool(found >> len(reasons) & 1),
            )
            for found in different.tolist()
        ]
        return np.array(places, np.int32)[which]

    def _choose_one(self, columns: Columns, row: int, kind: _PodKind) -> int:
        """The same for one row: faster for few rows, and preemption asks for one at a time."""
        reasons = []
        never = False
        if columns.allocatable_at(PODS, row) - columns.used_at(PODS, row) < 1:
            reasons.append(_TOO_MANY_PODS)
        for name, amount in kind.requests.counted:
            capacity = columns.allocatable_at(name, row)
            if not capacity and name in kind.requests.from_devices:
                continue
            # Beyond 64 bits it wraps around, as in arrays.
            if not amount <= capacity - columns.used_at(name, row) < LIMIT:
                reasons.append(f"Insufficient {name}")
                never = never or capacity < amount
        return kind.place(tuple(reasons), never)

    def _device_amounts(self, cycle: Cycle, scored: ScoredRequests) -> Mapping[str, DeviceAmount]:
        """What devices provide of the resources that count for the score."""
        classes = self._devices.read(cycle.cluster.catalog)
        if not classes:
            return _NO_DEVICES
        return device_amounts(cycle.cluster, classes, self._names(scored))

    def _names(self, scored: ScoredRequests) -> tuple[str, ...]:
        return tuple(self._resources[place].name for place, _ in scored)

    def _score(
        self,
        columns: Columns,
        rows: Rows | None,
        scored: ScoredRequests,
        devices: Mapping[str, DeviceAmount] = _NO_DEVICES,
    ) -> Amounts:
        # parity v1.36.4: plugins/noderesources/resource_allocation.go
        levels = []
        for place, amount in scored:
            resource = self._resources[place]
            found = devices.get(resource.name)
            if found is not None:
                requested = at_rows(found.used, rows) + amount
                levels.append(
                    ResourceLevel(resource.counts, requested, found.capacity.at_rows(rows))
                )
                continue
            if resource.name == CPU:
                used = columns.nonzero_cpu
            elif resource.name == MEMORY:
                used = columns.nonzero_memory
            else:
                used = columns.used(resource.name)
            capacity = capacity_of(columns, resource.name).at_rows(rows)
            levels.append(ResourceLevel(resource.counts, at_rows(used, rows) + amount, capacity))
        if not levels:
            return np.zeros(len(columns) if rows is None else len(rows), np.int64)
        return self._strategy(levels)
