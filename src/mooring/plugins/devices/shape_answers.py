"""What claims that ask for the same get on all nodes, kept while nothing changes there.

Owns `ShapeAnswers` and `ClaimShapes`. Pods of one template have claims that ask for the same, so a
search on a node answers for all of them:

    search ──> answer of each group of nodes ──a pool's devices are given or given back──> search
                                                   again, in the groups that see that pool

Exact: an answer depends on what claims ask for, on classes, slices and nodes, and on what is in use
of the pools that a group sees. An error that is not about one node ends it: the pod is decided in
full, and fails there.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from mooring.errors import AllocationError
from mooring.framework.arrays import Amounts
from mooring.framework.verdict import ACCEPT, Verdict, reject
from mooring.model.devices.allocation import AllocationResult
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.node import Node
from mooring.plugins.devices.allocated_state import AllocatedState
from mooring.plugins.devices.allocation_results import NewShareID
from mooring.plugins.devices.allocator import FoundDevices, allocation_results, find_devices
from mooring.plugins.devices.counters import AvailableCounters
from mooring.plugins.devices.node_groups import NodeGroups
from mooring.plugins.devices.pools import DeviceInventory
from mooring.plugins.devices.requests import PreparedClaim, PreparedRequest, prepare_claim
from mooring.plugins.devices.selectors import DeviceSelectors
from mooring.state.catalog import Catalog
from mooring.state.columns import Columns
from mooring.state.devices.published_pools import PoolID
from mooring.state.lru_cache import LruCache

NOT_ENOUGH: Final = reject("cannot allocate all claims", unresolvable=True)
#: A request that is met in the first way scores so much, and one less for each way down.
_BEST: Final = 8
#: What claims ask for, as it is written, and without the names of classes but with their specs.
_Specs = tuple[bytes, ...]
_ShapeKey = tuple[_Specs, tuple[bytes, ...]]

_MOST_KEYS: Final = 4096
#: So many shapes are kept, and so many answers of groups in all.
_MOST_SHAPES, _MOST_ANSWERS = 256, 200_000


class ShapeAnswers:
    """The answers to claims of one shape, for each group of nodes.

    Args:
        claims: what they ask for.
        shared: what all shapes look at.

    Attributes:
        choice: (n_groups,) the place of each group's verdict in `table`.
        table: the different verdicts; the first one accepts.
        scores: (n_groups,) how good the ways are in which requests with several ways are met.
    """

    def __init__(self, claims: Sequence[PreparedClaim], shared: "ClaimShapes") -> None:
        self._claims = claims
        self._shared = shared
        self._prioritized = any(
            one.first_available
            for claim in claims
            for one in claim.claim.spec.devices.requests or ()
        )
        self._start()

    def _start(self) -> None:
        self.choice: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self.scores: Amounts = np.zeros(0, np.int64)
        self.table: list[Verdict] = [ACCEPT, NOT_ENOUGH]
        self._found: list[FoundDevices | None] = []
        self._relevant: dict[PoolID, bool] = {}
        # Groups without nodes stay among them.
        self._unanswered: set[int] = set()
        self._broken_at: tuple[int, ...] | None = None
        self._epoch = self._shared.groups.epoch
        self._version = self._shared.inventory.version
        self._seen = 0

    def catch_up(self, check_time: Callable[[Node], Callable[[], object]]) -> bool:
        """Look again at what changed; false if the pod has to be looked at node by node.

        Args:
            check_time: called when the search on a node begins, for what is called now and then.
        """
        groups, log = self._shared.groups, self._shared.state.log
        version = self._shared.inventory.version
        now = (version, log.end, *groups.seen)
        if self._broken_at == now:
            return False
        if self._broken_at is not None or self._epoch != groups.epoch:
            self._start()
        if self._version != version:
            self._relevant.clear()
        known, size = len(self._found), len(groups)
        pools = log.since(self._seen) if known else []
        if known < size:
            self.choice = np.concatenate([self.choice, np.zeros(size - known, np.int32)])
            self.scores = np.concatenate([self.scores, np.zeros(size - known, np.int64)])
            self._found += [None] * (size - known)
            self._unanswered.update(range(known, size))
        if pools is None:
            self._unanswered.update(range(known))
        elif pools:
            self._unanswered.update(self._groups_of(pools, known))
        self._version, self._seen = version, log.end
        if self._unanswered:
            try:
                for group in [one for one in self._unanswered if groups.in_use[one]]:
                    self._answer(group, check_time(groups.nodes[group]))
                    self._unanswered.discard(group)
            except AllocationError:
                self._broken_at = now
        return self._broken_at is None

    def results(self, group: int, node: str, new_share_id: NewShareID) -> list[AllocationResult]:
        """The allocation of each claim on a node of a group that accepts it."""
        found = self._found[group]
        return allocation_results(self._claims, found, node, new_share_id) if found else []

    def _groups_of(self, pools: Iterable[PoolID], known: int) -> list[int]:
        """The groups whose answer may be another because of what happened in pools."""
        of_pool, relevant = self._shared.groups.of_pool, self._relevant
        found: set[int] = set()
        for pool in dict.fromkeys(pools):
            matters = relevant.get(pool)
            if matters is None:
                matters = self._is_relevant(pool)
                if matters is not None:
                    relevant[pool] = matters
            if matters is not False:
                found.update(of_pool.get(pool, ()))
        return [one for one in found if one < known]

    def _is_relevant(self, pool: PoolID) -> bool | None:
        """Whether a pool has devices that may be taken: it changes no answer if it has none.

        None if that is not known. Selectors may be slow: they are asked in a search, which ends.
        """
        selectors = self._shared.selectors
        selections = {
            way.selection
            for claim in self._claims
            for ways in claim.requests
            for way in ways
            if isinstance(way, PreparedRequest)
        }
        known = [
            selectors.known(one, selection)
            for one in self._shared.inventory.slices_of(pool)
            for selection in selections
        ]
        if any(known):
            return True
        return None if None in known else False

    def _answer(self, group: int, check_time: Callable[[], object]) -> None:
        """Search on the nodes of a group."""
        shared = self._shared
        try:
            devices = shared.groups.devices(group, check_time)
            found = find_devices(self._claims, devices, shared.available, check_time)
        except AllocationError as error:
            if not error.only_this_node:
                raise
            self._found[group] = None
            self.choice[group] = self._place(reject(str(error), unresolvable=True))
            return
        self._found[group] = found
        self.choice[group] = 0 if found is not None else 1
        if found is not None:
            # It fails here if it would later.
            results = allocation_results(self._claims, found, "", str)
            if self._prioritized:
                claims = (one.claim for one in self._claims)
                self.scores[group] = score_of(zip(claims, results, strict=True))

    def _place(self, verdict: Verdict) -> int:
        if verdict not in self.table:
            self.table.append(verdict)
        return self.table.index(verdict)


class ClaimShapes:
    """The answers to claims of the shapes that were asked for last.

    Args:
        inventory: the devices.
        selectors: which devices match.
        state: which devices are in use.
        catalog: has the classes.

    Attributes:
        inventory: the same.
        selectors: the same.
        state: the same.
        groups: the nodes by what they see.
        available: what is left of counters.
    """

    def __init__(
        self,
        inventory: DeviceInventory,
        selectors: DeviceSelectors,
        state: AllocatedState,
        catalog: Catalog,
    ) -> None:
        self.inventory = inventory
        self.selectors = selectors
        self.state = state
        self.groups = NodeGroups(inventory, selectors, state)
        self.available = AvailableCounters(state)
        self._catalog = catalog
        self._classes = -1
        self._slices = inventory.version
        self._keys: LruCache[_Specs, _ShapeKey] = LruCache(_MOST_KEYS)
        self._shapes: LruCache[_ShapeKey, ShapeAnswers] = LruCache(_MOST_SHAPES, _MOST_ANSWERS)

    def of(
        self,
        claims: Sequence[ResourceClaim],
        columns: Columns,
        check_time: Callable[[Node], Callable[[], object]],
    ) -> ShapeAnswers | None:
        """The answers to claims, as things are now; None if one is an error.

        Args:
            claims: the claims that are not allocated yet, in the order of the pod.
            columns: the nodes.
            check_time: see `ShapeAnswers.catch_up`.
        """
        self.groups.refresh(columns)
        if self._slices != self.inventory.version:
            self._slices = self.inventory.version
            self.available.forget()
        classes = self._catalog.version(DeviceClass)
        if classes != self._classes:
            self._classes = classes
            self._keys.clear()
            self._shapes.clear()
        specs = tuple([_ENCODER.encode(one.spec) for one in claims])
        key = self._keys.get(specs)
        if key is None:
            key = self._shape_key(claims)
            self._keys.put(specs, key)
        shape = self._shapes.get(key)
        if shape is None:
            prepared = [prepare_claim(one, self._find_class) for one in claims]
            shape = ShapeAnswers(prepared, self)
            self._shapes.put(key, shape, len(columns))
        return shape if shape.catch_up(check_time) else None

    def _shape_key(self, claims: Sequence[ResourceClaim]) -> "_ShapeKey":
        """What claims ask for; what classes are called is left out, and only what they say counts.

        Extended resources may have many classes of the same devices.
        """
        classes: dict[str, int] = {}
        specs = []
        for claim in claims:
            spec = msgspec.to_builtins(claim.spec)
            for request in spec["devices"].get("requests") or ():
                exactly = request.get("exactly")
                for way in [exactly] if exactly else request.get("firstAvailable") or ():
                    name = way.get("deviceClassName") or ""
                    way["deviceClassName"] = classes.setdefault(name, len(classes))
            specs.append(_ENCODER.encode(spec))
        of_classes = []
        for name in classes:
            known = self._find_class(name)
            said = (known.spec.selectors, known.spec.config) if known is not None else name
            of_classes.append(_ENCODER.encode(said))
        return tuple(specs), tuple(of_classes)

    def _find_class(self, name: str) -> DeviceClass | None:
        return self._catalog.get(DeviceClass, name)


_ENCODER: Final = msgspec.json.Encoder(order="sorted")


def score_of(parts: Iterable[tuple[ResourceClaim, AllocationResult]]) -> int:
    """How good the ways are in which requests with several ways are met."""
    # parity v1.36.4: plugins/dynamicresources/dynamicresources.go computeScore
    score = 0
    for claim, found in parts:
        names = {one.request for one in found.devices.results or ()}
        for request in claim.spec.devices.requests or ():
            for index, one in enumerate(request.first_available or ()):
                if f"{request.name}/{one.name}" in names:
                    score += _BEST - index
    return score
