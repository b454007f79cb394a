"""The search for devices on one node: depth first, and the first solution is the answer.

Owns `AllocationSearch`. `Allocator` makes one for every node; it changes nothing but itself.
Claims, requests, pools, slices and devices are tried in the order of kube-scheduler, so that the
first solution is the same. The search is written as functions that ask for the rest of the way, and
carries them out with a stack of its own: how deep it goes, claims decide.
"""

# parity v1.36.4: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
# allocateOne, allocateDevice, rollbackDevice, CmpRequestOverCapacity

import enum
from bisect import bisect_left
from collections.abc import Callable, Generator, Sequence
from typing import Final, NamedTuple

from mooring.errors import AllocationError
from mooring.plugins.devices.allocated_state import DeviceID
from mooring.plugins.devices.consumable_capacity import CapacityShare, fits
from mooring.plugins.devices.counters import AvailableCounters, ConsumedCounters
from mooring.plugins.devices.node_devices import NodeDevices
from mooring.plugins.devices.pooled_device import PooledDevice
from mooring.plugins.devices.requests import PreparedClaim, PreparedRequest

#: The most devices that a claim can have.
MOST_DEVICES: Final = 32
#: After so many steps, the search asks whether it has taken too long.
_STEPS: Final = 256
#: Of so many candidates, only those with the right value of an attribute are looked at.
_MANY: Final = 64


class AllocatedDevice(NamedTuple):
    """A device that was found for a request, and what it takes of the device's capacities."""

    request: PreparedRequest
    device: PooledDevice
    shares: tuple[CapacityShare, ...]


class _Outcome(enum.Enum):
    FOUND = enum.auto()
    FAILED = enum.auto()
    #: The claim would have more devices than it can have, whichever they are.
    TOO_MANY = enum.auto()


_Steps = Generator["_Steps", _Outcome, _Outcome]


class _Taken(NamedTuple):
    """What has to be undone when the search goes back."""

    claim: int
    request: PreparedRequest
    device: PooledDevice
    counters: bool


class AllocationSearch:
    """Finds devices for all claims of a pod.

    Args:
        claims: what the pod's claims ask for.
        devices: the devices that the node can use.
        available: what is left of counters.
        check_time: called now and then; it raises an error if the search takes too long.

    Attributes:
        found: the devices of each claim.
        chosen: which way was taken, for each request (claim, request) that lists several.
    """

    def __init__(
        self,
        claims: Sequence[PreparedClaim],
        devices: NodeDevices,
        available: AvailableCounters,
        check_time: Callable[[], object],
    ) -> None:
        self._claims = claims
        self._devices = devices
        self._state = devices.state
        self._counters = ConsumedCounters(available)
        self._check_time = check_time
        self._constraints = [one.constraints for one in claims]
        #: Devices that were taken, with the claims they were taken for.
        self._taken: dict[DeviceID, list[int]] = {}
        #: Shared devices that were taken, with what was taken of their capacities.
        self._shares: dict[DeviceID, list[tuple[CapacityShare, ...]]] = {}
        self.found: list[list[AllocatedDevice]] = [[] for _ in claims]
        self.chosen: dict[tuple[int, int], int] = {}

    def run(self) -> bool:
        """Whether there are devices for all claims; then `found` has them.

        Raises:
            AllocationError: a selector fails, or "all" devices cannot be had.
        """
        stack = [self._request(0, 0)]
        outcome: _Outcome | None = None
        steps = 0
        while stack:
            steps += 1
            if steps % _STEPS == 0:
                self._check_time()
            try:
                following = stack[-1].send(outcome)  # type: ignore[arg-type]
            except StopIteration as stop:
                stack.pop()
                outcome = stop.value
            else:
                stack.append(following)
                outcome = None
        if outcome is _Outcome.TOO_MANY:
            raise AllocationError("allocation max size exceeded")
        return outcome is _Outcome.FOUND

    def _request(self, claim: int, number: int) -> _Steps:
        """Meet a request of a claim, and all that come after it."""
        if claim == len(self._claims):
            return _Outcome.FOUND
        requests = self._claims[claim].requests
        if number == len(requests):
            outcome = yield self._request(claim + 1, 0)
            # With other devices for this claim, or fewer, the next one may do with fewer, too.
            return _Outcome.FAILED if outcome is _Outcome.TOO_MANY else outcome
        result = _Outcome.TOO_MANY
        for index, way in enumerate(requests[number]):
            if isinstance(way, AllocationError):
                raise way
            outcome = yield self._allocate(claim, number, way, 0, 0)
            if outcome is _Outcome.FOUND:
                self.chosen[claim, number] = index
                return outcome
            if outcome is _Outcome.FAILED:
                result = outcome
        return result

    def _allocate(
        self, claim: int, number: int, request: PreparedRequest, have: int, start: int
    ) -> _Steps:
        """Take the devices that a request still needs, from a candidate on, and all the rest."""
        candidates = self._devices.candidates(request)
        everything = request.count is None
        count = len(candidates) if request.count is None else request.count
        if everything and not candidates:
            return _Outcome.FAILED
        if have >= count:
            return (yield self._request(claim, number + 1))
        if len(self.found[claim]) + count - have > MOST_DEVICES:
            return _Outcome.TOO_MANY
        if everything:
            taken = self._take(claim, request, candidates[have].device)
            if taken is None:
                return _Outcome.FAILED
            outcome = yield self._allocate(claim, number, request, have + 1, 0)
            if outcome is not _Outcome.FOUND:
                self._undo(taken)
            return outcome
        for position in self._positions(claim, request, len(candidates), start):
            device, failure = candidates[position]
            if self._in_use(claim, request, device.id):
                continue
            if failure is not None:
                raise request.selector_error(failure)
            if self._fitting_shares(device, request) is None:
                continue
            taken = self._take(claim, request, device)
            if taken is None:
                continue
            outcome = yield self._allocate(claim, number, request, have + 1, position + 1)
            if outcome is _Outcome.FOUND:
                return outcome
            self._undo(taken)
            if outcome is _Outcome.TOO_MANY:
                return outcome
        return _Outcome.FAILED

    def _positions(
        self, claim: int, request: PreparedRequest, count: int, start: int
    ) -> Sequence[int]:
        """The candidates to try for a request, from one on: no constraint of its claim allows more.

        Of few, all are tried, and their constraints asked.
        """
        if count >= _MANY:
            for constraint in self._constraints[claim]:
                demanded = constraint.demanded(request.request, request.full_name)
                if demanded is not None:
                    found = self._devices.with_value(request, *demanded)
                    if found is not None:
                        return found[bisect_left(found, start) :]
        return range(start, count)

    def _in_use(self, claim: int, request: PreparedRequest, device: DeviceID) -> bool:
        """Whether a request cannot have a device because somebody else has it for himself."""
        if request.admin_access:
            return claim in self._taken.get(device, ())
        return device in self._state.devices or device in self._taken

    def _take(self, claim: int, request: PreparedRequest, device: PooledDevice) -> _Taken | None:
        """Take a device for a request, if it is free and nothing else is in the way."""
        if self._in_use(claim, request, device.id):
            return None
        shared_already = device.id in self._state.consumed or device.id in self._shares
        counters = bool(device.device.consumes_counters) and not (
            device.shareable and shared_already
        )
        if counters and not self._counters.take(self._devices.pool(device), device):
            return None
        if not device.tolerated(request.tolerations) or not self._constrain(claim, request, device):
            self._give_back(device, counters=counters)
            return None
        shares = self._fitting_shares(device, request)
        if shares is None:
            self._release(claim, request)
            self._give_back(device, counters=counters)
            return None
        if device.shareable:
            self._shares.setdefault(device.id, []).append(shares)
        else:
            self._taken.setdefault(device.id, []).append(claim)
        self.found[claim].append(AllocatedDevice(request, device, shares))
        return _Taken(claim, request, device, counters)

    def _fitting_shares(
        self, device: PooledDevice, request: PreparedRequest
    ) -> tuple[CapacityShare, ...] | None:
        """What a request takes of a device's capacities; None if not so much is left."""
        shares = device.shares(request.capacity)
        if shares is None or not fits(
            shares, self._state.consumed.get(device.id), self._shares.get(device.id, ())
        ):
            return None
        return shares

    def _constrain(self, claim: int, request: PreparedRequest, device: PooledDevice) -> bool:
        """Add a device to all constraints of its claim, or to none."""
        constraints = self._constraints[claim]
        for index, constraint in enumerate(constraints):
            if not constraint.add(request.request, request.full_name, device):
                for added in reversed(constraints[:index]):
                    added.remove(request.request, request.full_name)
                if request.count is None:
                    raise request.error(
                        f": cannot add device {device.id} because a claim constraint would not be "
                        f"satisfied"
                    )
                return False
        return True

    def _release(self, claim: int, request: PreparedRequest) -> None:
        for constraint in self._constraints[claim]:
            constraint.remove(request.request, request.full_name)

    def _give_back(self, device: PooledDevice, *, counters: bool) -> None:
        if counters:
            self._counters.give_back(self._devices.pool(device), device)

    def _undo(self, taken: _Taken) -> None:
        """Give back a device; the devices that were taken after it are given back already."""
        device = taken.device
        self.found[taken.claim].pop()
        users: dict[DeviceID, list[int]] | dict[DeviceID, list[tuple[CapacityShare, ...]]]
        users = self._shares if device.shareable else self._taken
        users[device.id].pop()
        if not users[device.id]:
            del users[device.id]
        self._release(taken.claim, taken.request)
        self._give_back(device, counters=taken.counters)
