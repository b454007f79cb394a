"""Nodes that see the same devices, so that one search answers for all of them.

Owns `NodeGroups`. Most devices are on one node, and that node is a group of its own; devices that
are reached over a network make one group of all nodes that reach them. A group stays while its
pools do: what nodes and slices change is looked at again, and nothing else.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from mooring.framework.arrays import Mask, Rows
from mooring.model.node import Node
from mooring.plugins.devices.allocated_state import AllocatedState
from mooring.plugins.devices.node_devices import NodeDevices
from mooring.plugins.devices.pools import DeviceInventory, Pool
from mooring.plugins.devices.selectors import DeviceSelectors
from mooring.state.columns import Columns
from mooring.state.devices.published_pools import PoolID
from mooring.state.lru_cache import LruCache

#: The pools of a group; where devices say themselves which nodes they are for, also the node.
_Key = tuple[tuple[Pool, ...], int]

#: Of groups with at least so many slices it is remembered which devices match; of so many groups,
#: with so many slices in all.
_MANY_SLICES: Final = 16
_MOST_GROUPS, _MOST_SLICES = 1024, 100_000
#: So many groups without nodes are kept besides one for each node.
_SPARE: Final = 64


class NodeGroups:
    """The nodes of a cluster by the pools that they see.

    Args:
        inventory: the devices.
        selectors: which devices match.
        state: which devices are in use.

    Attributes:
        of_row: (n,) the number of each node's group.
        nodes: for each group, a node that is in it, or was.
        in_use: (n_groups,) which groups have a node now.
        of_pool: the groups that see a pool.
        epoch: another number when the groups are numbered anew.
        seen: another pair of numbers when nodes changed.
    """

    def __init__(
        self, inventory: DeviceInventory, selectors: DeviceSelectors, state: AllocatedState
    ) -> None:
        self._inventory = inventory
        self._selectors = selectors
        self._state = state
        self._known: list[Node] = []
        self.seen = (-1, -1)
        self._inventory_seen = -1
        self.epoch = 0
        self._start()

    def _start(self) -> None:
        self.of_row: Rows = np.zeros(0, np.intp)
        self.in_use: Mask = np.zeros(0, np.bool_)
        self.nodes: list[Node] = []
        self.of_pool: dict[PoolID, list[int]] = defaultdict(list)
        self._pools: list[tuple[Pool, ...]] = []
        self._numbers: dict[_Key, int] = {}
        self._known = []
        self._large: LruCache[int, NodeDevices] = LruCache(_MOST_GROUPS, _MOST_SLICES)
        self._sizes: list[int] = []
        self.epoch += 1

    def __len__(self) -> int:
        return len(self.nodes)

    def refresh(self, columns: Columns) -> None:
        """Look again at the nodes that changed, or at all if slices did."""
        seen = (columns.puts, columns.rows_version)
        version = self._inventory.version
        if seen == self.seen and version == self._inventory_seen:
            return
        if len(self.nodes) > 2 * len(columns) + _SPARE:
            self._start()
        known = self._known if version == self._inventory_seen else []
        nodes = columns.nodes
        of_row = np.zeros(len(nodes), np.intp)
        for row, node in enumerate(nodes):
            unchanged = row < len(known) and known[row] is node
            of_row[row] = self.of_row[row] if unchanged else self._number(node)
        self.of_row, self._known = of_row, nodes.copy()
        self.in_use = np.bincount(of_row, minlength=len(self.nodes)) > 0
        self.seen, self._inventory_seen = seen, version

    def devices(self, group: int, check_time: Callable[[], object]) -> NodeDevices:
        """The devices that the nodes of a group can use, for one search.

        Args:
            group: the group.
            check_time: called now and then; it raises an error if the search takes too long.
        """
        size = self._sizes[group]
        devices = self._large.get(group) if size >= _MANY_SLICES else None
        if devices is not None:
            devices.begin(check_time)
            return devices
        node, pools = self.nodes[group], self._pools[group]
        devices = NodeDevices(node, pools, self._selectors, self._state, check_time)
        if size >= _MANY_SLICES:
            self._large.put(group, devices, size)
        return devices

    def _number(self, node: Node) -> int:
        pools = tuple(self._inventory.pools(node))
        key = (pools, id(node) if _has_own_nodes(pools) else 0)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.nodes)
            self.nodes.append(node)  # and so no other has its id
            self._pools.append(pools)
            self._sizes.append(sum(len(one.slices) for one in pools))
            for pool in pools:
                self.of_pool[pool.id].append(number)
        return number


def _has_own_nodes(pools: Sequence[Pool]) -> bool:
    """Whether devices say themselves which nodes they are for."""
    return any(one.spec.per_device_node_selection for pool in pools for one in pool.slices)
