"""The devices on a node as one request sees them: which it could have, and why not the others.

Owns `DeviceSurvey` and `DeviceRejection`. Each device is looked at by itself; that several requests
need the same one is the business of `shortages`.
"""

import enum
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from mooring.model.devices.resource_claim import DeviceConstraint, ResourceClaim
from mooring.model.devices.resource_slice import DeviceTaint
from mooring.model.node import Node
from mooring.model.quantity import Quantity
from mooring.model.quantity_texts import show
from mooring.model.resources import MEMORY
from mooring.model.taints import untolerated
from mooring.plugins.devices.claim_tracker import ClaimTracker
from mooring.plugins.devices.consumable_capacity import fits
from mooring.plugins.devices.counters import AvailableCounters
from mooring.plugins.devices.diagnosis.device_holders import DeviceHolders, Holder
from mooring.plugins.devices.diagnosis.selector_parts import SelectorParts
from mooring.plugins.devices.pooled_device import PooledDevice, PreparedSlice
from mooring.plugins.devices.pools import Pool
from mooring.plugins.devices.requests import PreparedRequest
from mooring.plugins.devices.selectors import Selection
from mooring.state.devices.published_pools import PoolID, is_for

_WHOLE: Final = 10**9
_MEBI: Final = 2**20


class Why(enum.Enum):
    """Why a request cannot have a device, in the order in which it is found out."""

    OTHER_CLASS = enum.auto()
    SELECTOR = enum.auto()
    FAILURE = enum.auto()
    IN_USE = enum.auto()
    ATTRIBUTE = enum.auto()
    CAPACITY = enum.auto()
    SHARED = enum.auto()
    COUNTERS = enum.auto()
    TAINT = enum.auto()


class DeviceRejection(NamedTuple):
    """A device that a request cannot have.

    Attributes:
        why: the kind of reason.
        device: the device.
        what: the selector, taint, attribute, capacity or counter.
        value: what the device has instead.
        selector: the number of the request's selector that rejects it or fails; -1 if none does.
        holders: who has it.
    """

    why: Why
    device: PooledDevice
    what: str = ""
    value: str = ""
    selector: int = -1
    holders: tuple[Holder, ...] = ()


class SurveyedDevices(msgspec.Struct, frozen=True):
    """The devices on a node, as a request sees them.

    Attributes:
        request: the request.
        available: the devices that it could have.
        rejected: the other devices of its class.
        others: the devices that are not of its class.
        pools: which pools cannot be used, and why.
    """

    request: PreparedRequest
    available: Sequence[PooledDevice] = ()
    rejected: Sequence[DeviceRejection] = ()
    others: Sequence[DeviceRejection] = ()
    pools: Sequence[str] = ()

    @property
    def enough(self) -> bool:
        """Whether there would be enough devices if nothing else needed them."""
        if self.request.count is None:
            return not self.rejected and bool(self.available)
        return len(self.available) >= self.request.count


class DeviceSurvey:
    """Looks at devices for explanations.

    Args:
        tracker: devices and claims of the cluster, which do not change meanwhile.
    """

    def __init__(self, tracker: ClaimTracker) -> None:
        self._tracker = tracker
        self._holders = DeviceHolders(tracker)
        self._counters = AvailableCounters(tracker.state)
        self._parts = SelectorParts()
        self._published = Counter(
            (one.pool_id, one.spec.pool.generation) for one in tracker.inventory.slices
        )
        self._of_node: dict[str, list[PreparedSlice]] = {}
        for one in tracker.inventory.slices:
            if one.spec.node_name:
                self._of_node.setdefault(one.spec.node_name, []).append(one)

    def of(self, claim: ResourceClaim, request: PreparedRequest, node: Node) -> SurveyedDevices:
        """The devices on a node, for a request of a claim."""
        constraints = claim.spec.devices.constraints or ()
        concerning = [one for one in constraints if concerns(one, request)]
        available, rejected, others = [], [], []
        pools = self._tracker.inventory.pools(node)
        for pool in pools:
            for one in pool.slices if pool.usable else ():
                for device in one.devices:
                    if one.spec.per_device_node_selection and not is_for(device.device, node):
                        continue
                    rejection = self._rejection(pool, one, device, request, concerning)
                    if rejection is None:
                        available.append(device)
                    elif rejection.why is Why.OTHER_CLASS:
                        others.append(rejection)
                    else:
                        rejected.append(rejection)
        problems = tuple(self._problems(pools, node))
        return SurveyedDevices(request, available, rejected, others, problems)

    def _rejection(
        self,
        pool: Pool,
        one: PreparedSlice,
        device: PooledDevice,
        request: PreparedRequest,
        constraints: Sequence[DeviceConstraint],
    ) -> DeviceRejection | None:
        of_class, own = request.selection
        for number, expression in enumerate(of_class):
            if not self._selects((of_class[: number + 1], ()), one, device):
                part = self._parts.rejecting(expression, device)
                return DeviceRejection(
                    Why.OTHER_CLASS, device, part, self._parts.values(part, device)
                )
        for number, expression in enumerate(own):
            if not self._selects((of_class, own[: number + 1]), one, device):
                part = self._parts.rejecting(expression, device)
                value = self._parts.values(part, device)
                return DeviceRejection(Why.SELECTOR, device, part, value, number)
        candidates = self._tracker.selectors.candidates(one, request.selection)
        failure = next((found.failure for found in candidates if found.device is device), None)
        if failure is not None:
            number = -1 if failure.of_class else failure.number
            return DeviceRejection(Why.FAILURE, device, failure.problem, "", number)
        for constraint in constraints:
            attribute = constraint.match_attribute or constraint.distinct_attribute or ""
            if device.attribute(attribute) is None:
                return DeviceRejection(Why.ATTRIBUTE, device, attribute)
        return self._in_use(pool, device, request)

    def _in_use(
        self, pool: Pool, device: PooledDevice, request: PreparedRequest
    ) -> DeviceRejection | None:
        """Why a device that matches cannot be had now."""
        state, holders = self._tracker.state, self._holders.of(device.id)
        if device.id in state.devices and not request.admin_access:
            return DeviceRejection(Why.IN_USE, device, holders=holders)
        shares = device.shares(request.capacity)
        if shares is None:
            name, amount = _impossible(device, request)
            return DeviceRejection(Why.CAPACITY, device, name, amount)
        used = state.consumed.get(device.id)
        if not fits(shares, used, ()):
            for share in shares:
                left = share.limit - (used or {}).get(share.name, 0)
                if share.amount > left:
                    text = _left(share.amount, left)
                    return DeviceRejection(Why.SHARED, device, share.name, text, holders=holders)
        if device.counters and not (device.shareable and used is not None):
            rejection = self._short_of_counters(pool, device)
            if rejection is not None:
                return rejection
        taints = untolerated_taints(device, request)
        return DeviceRejection(Why.TAINT, device, ", ".join(map(str, taints))) if taints else None

    def _short_of_counters(self, pool: Pool, device: PooledDevice) -> DeviceRejection | None:
        left, overdrawn = self._counters.of(pool)
        for (counter_set, name), amount in device.counters:
            if overdrawn or amount > left[counter_set, name]:
                sets = {one for (one, _), _ in device.counters}
                holders = dict.fromkeys(
                    holder
                    for other in pool.consumers()
                    if any(one in sets for (one, _), _ in other.counters)
                    for holder in self._holders.of(other.id)
                )
                text = _left(amount, left[counter_set, name])
                what = f"{counter_set}/{name}"
                return DeviceRejection(Why.COUNTERS, device, what, text, holders=tuple(holders))
        return None

    def _selects(self, selection: Selection, one: PreparedSlice, device: PooledDevice) -> bool:
        candidates = self._tracker.selectors.candidates(one, selection)
        return any(found.device is device for found in candidates)

    def _problems(self, pools: Sequence[Pool], node: Node) -> Iterator[str]:
        for pool in pools:
            if pool.incomplete:
                yield f"the pool {pool} is incomplete ({self._slices(pool.id, pool.generation)})"
            elif pool.problem:
                yield f"the pool {pool} is invalid ({pool.problem})"
        known = {pool.id for pool in pools}
        for one in self._of_node.get(node.name, ()):
            if one.pool_id not in known:
                known.add(one.pool_id)
                yield f"the pool {'/'.join(one.pool_id)} is being replaced by its driver"

    def _slices(self, pool: PoolID, generation: int) -> str:
        found = [
            one
            for one in self._tracker.inventory.slices
            if one.pool_id == pool and one.spec.pool.generation == generation
        ]
        there, needed = self._published[pool, generation], found[0].spec.pool.resource_slice_count
        if there > needed:
            return f"there are {there} slices instead of {needed}"
        return f"{there} of {needed} slices published"


def untolerated_taints(device: PooledDevice, request: PreparedRequest) -> list[DeviceTaint]:
    """The taints of a device that keep it from a request."""
    taints = device.device.taints or ()
    return [one for one in taints if untolerated((one,), request.tolerations) is not None]


def concerns(constraint: DeviceConstraint, request: PreparedRequest) -> bool:
    """Whether a constraint is about a request."""
    names = constraint.requests
    return not names or request.request in names or request.full_name in names


def amount_text(nano: int) -> str:
    """An amount in billionths as people write it; large round ones in binary units."""
    whole, rest = divmod(nano, _WHOLE)
    if not rest and whole and whole % _MEBI == 0:
        return show(MEMORY, whole)
    return str(Quantity(nano))


def _left(needed: int, left: int) -> str:
    return f"needs {amount_text(needed)}, {amount_text(max(left, 0))} is left"


def _impossible(device: PooledDevice, request: PreparedRequest) -> tuple[str, str]:
    """Which capacity a request asks too much of, and what the device has."""
    capacity = device.device.capacity or {}
    for name, amount in request.capacity:
        if name not in capacity:
            return name, ""
        if device.shares(((name, amount),)) is None:
            return name, f"has {capacity[name].value}"
    return request.capacity[0][0] if request.capacity else "", ""
