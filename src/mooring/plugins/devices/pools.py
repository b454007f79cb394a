"""Pools of devices: the slices they consist of, whether they can be used, and which nodes see them.

Owns `Pool` and `DeviceInventory`. The inventory is brought up to date when slices change and knows,
for every node, the pools in the order in which they are searched. It knows nothing of what is
allocated.
"""

# parity v1.36.4: dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from typing import Final

from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.node import Node
from mooring.plugins.devices.pooled_device import CounterID, PooledDevice, PreparedSlice
from mooring.state.devices.published_pools import PoolID, is_for

#: So many nodes have their pools remembered.
_MOST_NODES: Final = 20_000


class Pool:
    """A pool as a group of nodes sees it.

    Attributes:
        id: driver and name.
        generation: the generation that its slices are of.
        slices: the slices whose devices these nodes can use, by name; empty if there are problems.
        others: the slices of the pool that are for other nodes.
        limits: what its counters have, in billionths.
        incomplete: its driver has not published all slices yet, so it cannot be used.
        problem: why it cannot be used at all; empty if it can.
    """

    __slots__ = ("generation", "id", "incomplete", "limits", "others", "problem", "slices")

    def __init__(
        self,
        id: PoolID,  # noqa: A002
        generation: int,
        slices: Sequence[PreparedSlice] = (),
        others: Sequence[PreparedSlice] = (),
        *,
        incomplete: bool = False,
    ) -> None:
        self.id = id
        self.generation = generation
        self.incomplete = incomplete
        self.limits: dict[CounterID, int] = {}
        for one in slices:
            self.limits.update(one.limits)
        self.slices = [one for one in slices if not one.counter_sets]
        self.others = others
        self.problem = _problem(slices, self.slices, others)
        if self.problem:
            self.slices = []

    @property
    def usable(self) -> bool:
        """Whether devices can be allocated from the pool."""
        return not self.incomplete and not self.problem

    @property
    def binding_conditions(self) -> bool:
        """Whether any device for these nodes has binding conditions."""
        return any(
            device.device.binding_conditions is not None
            for one in self.slices
            for device in one.devices
        )

    def consumers(self) -> Iterable[PooledDevice]:
        """The devices of the pool, also of other nodes, that take something out of counters."""
        for one in (*self.slices, *self.others):
            for device in one.devices:
                if device.counters:
                    yield device

    def __str__(self) -> str:
        return "/".join(self.id)


class DeviceInventory:
    """All slices of the cluster, and the pools that nodes see in them.

    Attributes:
        version: another number after every change.
    """

    def __init__(self) -> None:
        self.version = 0
        self._prepared: dict[str, PreparedSlice] = {}
        self._by_node: dict[str, list[PreparedSlice]] = {}
        self._shared: list[PreparedSlice] = []
        self._by_pool: dict[PoolID, list[PreparedSlice]] = {}
        self._pools: dict[tuple[PoolID, tuple[str, ...]], Pool | None] = {}
        self._seen: dict[str, tuple[dict[str, str], list[Pool]]] = {}

    def update(self, slices: Iterable[ResourceSlice]) -> None:
        """Take these slices for all there are; what they do not change stays as it was."""
        before, self._prepared = self._prepared, {}
        by_node, by_pool = defaultdict(list), defaultdict(list)
        changed: set[PoolID] = set()
        self._shared = []
        for source in slices:
            known = before.pop(source.name, None)
            one = known if known and known.source is source else PreparedSlice(source)
            if one is not known:
                changed.add(one.pool_id)
                if known is not None:
                    changed.add(known.pool_id)
            self._prepared[one.name] = one
            by_pool[one.pool_id].append(one)
            if _is_local(one):
                by_node[one.spec.node_name or ""].append(one)
            else:
                self._shared.append(one)
        changed.update(one.pool_id for one in before.values())
        now = (one for key in changed for one in by_pool.get(key, ()))
        self._forget(changed, [*before.values(), *now])
        self._by_node, self._by_pool = by_node, by_pool
        self.version += 1

    def _forget(self, changed: Set[PoolID], slices: Iterable[PreparedSlice]) -> None:
        """Forget some pools, and what the nodes see that see anything of them.

        Args:
            changed: the pools.
            slices: those that they have now, and those that are gone.
        """
        affected = [*slices, *(one for key in changed for one in self._by_pool.get(key, ()))]
        if all(map(_is_local, affected)):
            for one in affected:
                self._seen.pop(one.spec.node_name or "", None)
        else:
            self._seen.clear()
        for key in [key for key in self._pools if key[0] in changed]:
            del self._pools[key]

    @property
    def slices(self) -> Iterable[PreparedSlice]:
        """All slices."""
        return self._prepared.values()

    def slices_of(self, pool: PoolID) -> Sequence[PreparedSlice]:
        """All slices of a pool, whoever sees them."""
        return self._by_pool.get(pool, ())

    def pools(self, node: Node) -> list[Pool]:
        """The pools with devices that a node can use, in the order in which they are searched."""
        seen = self._seen.get(node.name)
        if seen is not None and (seen[0] is node.labels or seen[0] == node.labels):
            return seen[1]
        found = self._find_pools(node)
        if len(self._seen) >= _MOST_NODES:
            self._seen.clear()
        self._seen[node.name] = (node.labels, found)
        return found

    def _find_pools(self, node: Node) -> list[Pool]:
        newest: dict[PoolID, list[PreparedSlice]] = {}
        for one in (*self._by_node.get(node.name, ()), *self._shared):
            if not _relevant(one, node):
                continue
            others = newest.get(one.pool_id)
            change = one.spec.pool.generation - others[0].spec.pool.generation if others else 1
            if change > 0:
                newest[one.pool_id] = [one]
            elif change == 0 and others:
                others.append(one)
        pools = (self._pool(pool_id, slices) for pool_id, slices in newest.items())
        return sorted(
            (one for one in pools if one is not None),
            key=lambda one: (one.binding_conditions, one.id),
        )

    def _pool(self, pool_id: PoolID, slices: list[PreparedSlice]) -> Pool | None:
        """A pool, of the slices that a node sees; None if its driver is replacing it."""
        slices.sort(key=lambda one: one.name)
        key = (pool_id, tuple(one.name for one in slices))
        if key not in self._pools:
            self._pools[key] = self._make_pool(pool_id, slices)
        return self._pools[key]

    def _make_pool(self, pool_id: PoolID, slices: list[PreparedSlice]) -> Pool | None:
        generation = slices[0].spec.pool.generation
        count = slices[0].spec.pool.resource_slice_count
        if len(slices) == count:
            return Pool(pool_id, generation, slices)
        known = self._by_pool[pool_id]
        if any(one.spec.pool.generation > generation for one in known):
            return None
        names = {one.name for one in slices}
        others = [
            one for one in known if one.spec.pool.generation == generation and one.name not in names
        ]
        if len(slices) + len(others) != count:
            return Pool(pool_id, generation, incomplete=True)
        return Pool(pool_id, generation, slices, others)


def _is_local(one: PreparedSlice) -> bool:
    """Whether only the node that a slice names has to know of it."""
    return bool(one.spec.node_name) and not one.counter_sets


def _relevant(one: PreparedSlice, node: Node) -> bool:
    """Whether a node has to know of a slice: for its devices, or for the counters it defines."""
    spec = one.spec
    if spec.shared_counters or is_for(spec, node):
        return True
    if spec.node_name or spec.all_nodes or spec.node_selector is not None:
        return False
    return bool(spec.per_device_node_selection) and any(
        is_for(device, node) for device in spec.devices or ()
    )


def _problem(
    slices: Sequence[PreparedSlice],
    with_devices: Sequence[PreparedSlice],
    others: Sequence[PreparedSlice],
) -> str:
    """Why a pool cannot be used; empty if it can."""
    names: set[str] = set()
    for device in (device for one in with_devices for device in one.devices):
        if device.id in names:
            return f"duplicate device name {device.device.name}"
        names.add(device.id)
    counter_sets: set[str] = set()
    for name in (name for one in slices for name in one.counter_sets):
        if name in counter_sets:
            return f"duplicate counter set name {name}"
        counter_sets.add(name)
    counters = {key for one in slices for key in one.limits}
    for device in (device for one in (*slices, *others) for device in one.devices):
        for consumption in device.device.consumes_counters or ():
            if consumption.counter_set not in counter_sets:
                return f"counter set {consumption.counter_set} not found"
        for counter_set, name in (key for key, _ in device.counters):
            if (counter_set, name) not in counters:
                return f"counter {name} not found in counter set {counter_set}"
    return ""
