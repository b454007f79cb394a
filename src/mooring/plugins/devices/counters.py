"""What is left of the counters that partitions of devices share.

Owns `AvailableCounters`, what claims that are allocated have left of a pool's counters, and
`ConsumedCounters`, what one search has taken so far.
"""

# parity v1.36.4: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
# checkAvailableCounters, deallocateCountersForDevice

from typing import NamedTuple

from mooring.plugins.devices.allocated_state import AllocatedState
from mooring.plugins.devices.pooled_device import CounterID, PooledDevice
from mooring.plugins.devices.pools import Pool
from mooring.state.devices.published_pools import PoolID


class _Left(NamedTuple):
    counters: dict[CounterID, int]
    #: Whether more of a counter is in use than there is: then no device can take anything.
    overdrawn: bool


class AvailableCounters:
    """What is left of the counters of all pools, worked out when it is first asked for."""

    def __init__(self, state: AllocatedState) -> None:
        self._state = state
        self._seen = state.log.end
        self._left: dict[PoolID, dict[int, _Left]] = {}

    def forget(self) -> None:
        """The pools are others now."""
        self._left.clear()

    def of(self, pool: Pool) -> _Left:
        """What is left of a pool's counters, in billionths."""
        if self._seen != self._state.log.end:
            self._forget_changed()
        by_generation = self._left.setdefault(pool.id, {})
        left = by_generation.get(pool.generation)
        if left is None:
            left = by_generation[pool.generation] = self._count(pool)
        return left

    def _forget_changed(self) -> None:
        log = self._state.log
        changed = log.since(self._seen)
        self._seen = log.end
        if changed is None:
            self._left.clear()
        else:
            for pool in changed:
                self._left.pop(pool, None)

    def _count(self, pool: Pool) -> _Left:
        counters = dict(pool.limits)
        for device in pool.consumers():
            if self._state.in_use(device.id):
                for counter, amount in device.counters:
                    counters[counter] -= amount
        return _Left(counters, any(amount < 0 for amount in counters.values()))


class ConsumedCounters:
    """What one search has taken out of counters."""

    def __init__(self, available: AvailableCounters) -> None:
        self._available = available
        self._taken: dict[tuple[PoolID, CounterID], int] = {}

    def take(self, pool: Pool, device: PooledDevice) -> bool:
        """Take what a device needs; False, and nothing is taken, if there is not enough."""
        left, overdrawn = self._available.of(pool)
        if overdrawn:
            return False
        taken = self._taken
        for counter, amount in device.counters:
            if taken.get((pool.id, counter), 0) + amount > left[counter]:
                return False
        for counter, amount in device.counters:
            taken[pool.id, counter] = taken.get((pool.id, counter), 0) + amount
        return True

    def give_back(self, pool: Pool, device: PooledDevice) -> None:
        """Give back what was taken for a device."""
        for counter, amount in device.counters:
            self._taken[pool.id, counter] -= amount
