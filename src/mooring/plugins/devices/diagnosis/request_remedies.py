"""What might help against one request that cannot be met on a node.

Owns `RequestRemedies`, which `remedies` makes for each node. Only what stands in the way of devices
that are there is proposed; amounts and classes are tried here, because there may be many.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from mooring.framework.remedies.remedy import Cost, Remedy, RemedyCase
from mooring.model import changed_copies
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import EXACT_COUNT, ResourceClaim
from mooring.model.quantity import parse_quantity
from mooring.model.resources import spec_requests
from mooring.plugins.devices.claim_tracker import ClaimTracker
from mooring.plugins.devices.diagnosis import changed_claims
from mooring.plugins.devices.diagnosis.claim_names import of_request, shown_source
from mooring.plugins.devices.diagnosis.device_survey import (
    SurveyedDevices,
    Why,
    amount_text,
    untolerated_taints,
)
from mooring.plugins.devices.diagnosis.freed_devices import freeing_remedies
from mooring.plugins.devices.diagnosis.own_claims import WITHOUT_DEVICES
from mooring.plugins.devices.diagnosis.selector_parts import conjuncts, short
from mooring.plugins.devices.diagnosis.shortages import Shortage, ShortageFinder
from mooring.wording import counted, natural_key

#: So many selectors, taints and classes are proposed for a request.
_TRIED: Final = 3
#: So many other classes are looked at.
_CLASSES: Final = 20
#: So many amounts of an extended resource are tried.
_LESS: Final = 16
_CAUTION: Final = "first find out why the device is tainted"


class RequestRemedies:
    """The remedies for one request.

    Args:
        case: the pod and the node.
        claims: the claims to allocate there.
        shortage: the request that cannot be met.
        tracker: devices and claims of the cluster.
        finder: tries changed claims.
    """

    def __init__(
        self,
        case: RemedyCase,
        claims: Sequence[ResourceClaim],
        shortage: Shortage,
        tracker: ClaimTracker,
        finder: ShortageFinder,
    ) -> None:
        self._case = case
        self._claims = claims
        self._shortage = shortage
        self._claim = shortage.claim
        self._tracker = tracker
        self._finder = finder

    def all(self) -> Iterator[Remedy]:
        """Everything that might help."""
        if self._shortage.resource:
            yield from self._less_of_resource()
        for way in self._shortage.ways:
            if not self._shortage.resource:
                yield from self._fewer(way)
                yield from self._selectors(way)
                yield from self._taints(way)
                yield from self._capacity(way)
                yield from self._other_classes(way)
            yield from freeing_remedies(self._case, way, self._tracker)
        yield from self._constraints()
        yield from self._do_without()

    def _changed(
        self, text: str, cost: float, kind: str, claim: ResourceClaim, caution: str = ""
    ) -> Remedy:
        """A change of the claim; it is of the same kind on every node."""
        kinds = frozenset({f"{kind} in {self._claim.key}"})
        return Remedy(text, cost, kinds, created=(claim,), caution=caution)

    def _source(self, way: SurveyedDevices) -> str:
        shown = shown_source(self._case.pod, self._claim)
        return of_request(self._claim, way.request.full_name, shown)

    def _fits(self, changed: ResourceClaim) -> bool:
        """Whether all claims could be allocated if this one was changed."""
        claims = [changed if one is self._claim else one for one in self._claims]
        return self._finder.fits(claims, self._case.node)

    def _most(self, way: SurveyedDevices) -> int:
        """The most devices that the request could have, fewer than it asks for; 0 for none."""
        request, available = way.request, len(way.available)
        most = available if request.count is None else min(request.count - 1, available)
        for count in range(most, 0, -1):
            fewer = changed_claims.with_way(
                self._claim, request.request, request.name,
                allocation_mode=EXACT_COUNT, count=count,
            )  # fmt: skip
            if self._fits(fewer):
                return count
        return 0

    def _fewer(self, way: SurveyedDevices) -> Iterator[Remedy]:
        request, most = way.request, self._most(way)
        if not most:
            return
        fewer = changed_claims.with_way(
            self._claim, request.request, request.name, allocation_mode=EXACT_COUNT, count=most
        )
        kind = f"fewer for {request.full_name}"
        if request.count is None:
            text = f"ask for {counted(most, 'device')} instead of all in {self._source(way)}"
            yield self._changed(text, Cost.GIVE_UP_CONDITION, kind, fewer)
            return
        cut = request.count - most
        text = (
            f"ask for {counted(cut, 'device')} less ({most} instead of {request.count}) in "
            f"{self._source(way)}"
        )
        yield self._changed(text, 1 + 4 * cut / request.count, kind, fewer)

    def _less_of_resource(self) -> Iterator[Remedy]:
        """Less of the extended resource that a request is for, in one container or in several."""
        pod, name = self._case.pod, self._shortage.resource
        before = spec_requests(pod)[name]
        for left in range(before - 1, max(0, before - 1 - _LESS), -1):
            less = changed_copies.requesting_less(pod, {name: before - left})
            if less is not None and self._case.accepts(less):
                cut = before - left
                yield Remedy(
                    f"request {cut} less {name} ({left} instead of {before})",
                    1 + 4 * cut / before,
                    frozenset({f"less {name}"}),
                    pod=less,
                )
                return

    def _selectors(self, way: SurveyedDevices) -> Iterator[Remedy]:
        """Without the condition that rejects most devices, and so on."""
        request = way.request
        rejections = Counter(
            (one.selector, one.what if one.why is Why.SELECTOR else "")
            for one in way.rejected
            if one.selector >= 0
        )
        for (number, part), _ in rejections.most_common(_TRIED):
            expression = request.selection[1][number]
            parts = conjuncts(expression)
            left = [one for one in parts if one != part]
            one_of_several = 0 < len(left) < len(parts)
            changed = changed_claims.with_selector(
                self._claim, request, number, " && ".join(left) if one_of_several else ""
            )
            what = f"condition {short(part)}" if one_of_several else f"selector {short(expression)}"
            yield self._changed(
                f"drop the {what} from {self._source(way)}",
                Cost.GIVE_UP_CONDITION,
                f"{what} of {request.full_name}",
                changed,
            )

    def _taints(self, way: SurveyedDevices) -> Iterator[Remedy]:
        tainted = {
            one.what: untolerated_taints(one.device, way.request)
            for one in way.rejected
            if one.why is Why.TAINT
        }
        for what, taints in list(tainted.items())[:_TRIED]:
            yield self._changed(
                f"tolerate the device taint{'s' if taints[1:] else ''} {what} in "
                f"{self._source(way)}",
                Cost.GIVE_UP_CONDITION * len(taints),
                f"tolerate {what} for {way.request.full_name}",
                changed_claims.tolerating(self._claim, way.request, taints),
                _CAUTION,
            )

    def _capacity(self, way: SurveyedDevices) -> Iterator[Remedy]:
        """As much of a capacity as a device has left."""
        request, wanted = way.request, dict(way.request.capacity)
        left: dict[str, int] = {}
        for one in way.rejected:
            if one.what in wanted and one.why in (Why.SHARED, Why.CAPACITY):
                capacity = (one.device.device.capacity or {}).get(one.what)
                if capacity is None:
                    continue
                used = self._tracker.state.consumed.get(one.device.id, {}).get(one.what, 0)
                free = parse_quantity(capacity.value).nano - used
                left[one.what] = max(left.get(one.what, 0), free)
        for name, free in left.items():
            before = parse_quantity(wanted[name]).nano
            if not 0 < free < before:
                continue
            amount = amount_text(free)
            changed = changed_claims.with_capacity(self._claim, request, name, amount)
            if parse_quantity(amount).nano <= free and self._fits(changed):
                yield self._changed(
                    f"ask for {amount} instead of {wanted[name]} of {name} in {self._source(way)}",
                    1 + 4 * (before - free) / before,
                    f"less {name} for {request.full_name}",
                    changed,
                )

    def _other_classes(self, way: SurveyedDevices) -> Iterator[Remedy]:
        """Other classes with devices for all claims, also without the request's selectors."""
        request, found = way.request, 0
        names = sorted(
            (one.name for one in self._tracker.catalog.all(DeviceClass).values()), key=natural_key
        )
        for name in names[:_CLASSES]:
            if name == request.device_class.name or found >= _TRIED:
                continue
            fields = {"device_class_name": name}
            other = changed_claims.with_way(self._claim, request.request, request.name, **fields)
            without = changed_claims.with_way(other, request.request, request.name, selectors=None)
            selectors = len(request.selection[1])
            text = f"ask for the device class {name} instead of {request.device_class.name}"
            kind = f"class {name} for {request.full_name}"
            if self._fits(other):
                found += 1
                yield self._changed(
                    f"{text} in {self._source(way)}", Cost.GIVE_UP_CONDITION, kind, other
                )
            elif selectors and self._fits(without):
                found += 1
                yield self._changed(
                    f"{text}, without {'its selectors' if selectors > 1 else 'its selector'}, in "
                    f"{self._source(way)}",
                    Cost.GIVE_UP_CONDITION * (1 + selectors),
                    kind,
                    without,
                )

    def _constraints(self) -> Iterator[Remedy]:
        """Without a constraint that cannot be satisfied, or that a device knows nothing of."""
        unknown = {
            one.what
            for way in self._shortage.ways
            for one in way.rejected
            if one.why is Why.ATTRIBUTE
        }
        source = shown_source(self._case.pod, self._claim)
        for number, one in enumerate(self._claim.spec.devices.constraints or ()):
            attribute = one.match_attribute or one.distinct_attribute or ""
            if one is not self._shortage.constraint and attribute not in unknown:
                continue
            kind = "matchAttribute" if one.match_attribute is not None else "distinctAttribute"
            yield self._changed(
                f"drop the constraint {kind} {attribute} from {source}",
                Cost.GIVE_UP_CONDITION,
                f"constraint {number}",
                changed_claims.without_constraint(self._claim, number),
            )

    def _do_without(self) -> Iterator[Remedy]:
        """Without the request, if the claim has others."""
        pod, claim = self._case.pod, self._claim
        left = [
            one for one in claim.spec.devices.requests or () if one.name != self._shortage.request
        ]
        if left and not self._shortage.resource:
            yield self._changed(
                f"drop the request {self._shortage.request} from {shown_source(pod, claim)}",
                Cost.MOVE_POD,
                f"without {self._shortage.request}",
                changed_claims.with_requests(claim, left),
                WITHOUT_DEVICES,
            )
