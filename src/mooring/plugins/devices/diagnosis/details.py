"""Which devices a pod does not get, and why: by nodes, and for a pod whose claims are not there.

Called by the hook of `diagnosed_devices`.
"""

from collections.abc import Iterator, Sequence

from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import ResourceClaim, ResourceClaimTemplate
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.selector_texts import requirement_text
from mooring.plugins.devices.claim_tracker import ClaimTracker, tracker_of
from mooring.plugins.devices.diagnosis.claim_names import of_request, shown_claim
from mooring.plugins.devices.diagnosis.shortage_texts import ShortOn, kind_of, shortage_text
from mooring.plugins.devices.diagnosis.shortages import ShortageFinder
from mooring.plugins.devices.diagnosis.wanted_claims import (
    WantedClaims,
    is_here,
    not_ready,
    wanted_claims,
)
from mooring.state.catalog import Catalog

#: So many names are told.
_NAMED = 3


def device_details(rejected: RejectedNodes) -> str | list[str]:
    """Which devices there are, why the pod cannot have them, and who has them."""
    tracker = tracker_of(rejected.nodes.cycle.cluster)
    wanted = wanted_claims(rejected.pod, tracker)
    if wanted is None:
        return _of_pod(rejected.pod, tracker)
    return _NodeDetails(rejected, wanted, ShortageFinder(tracker)).texts()


class _NodeDetails:
    """What there is to say about some nodes."""

    def __init__(
        self, rejected: RejectedNodes, wanted: WantedClaims, finder: ShortageFinder
    ) -> None:
        self._rejected = rejected
        self._wanted = wanted
        self._finder = finder

    def texts(self) -> str | list[str]:
        elsewhere: dict[int, str] = {}
        short: dict[int, ShortOn] = {}
        for index, node in enumerate(self._rejected.nodes):
            claims = self._wanted.to_allocate(node)
            unavailable = self._wanted.unavailable(node)
            if self._wanted.stale is not None:
                elsewhere[index] = _left_behind(self._wanted.stale)
            elif unavailable and self._finder.fits(claims.claims, node):
                elsewhere[index] = _unavailable(self._rejected.pod, unavailable[0], node)
            elif claims.claims:
                shortage = self._finder.find(claims, node)
                if shortage is not None:
                    short[index] = ShortOn(node.name, shortage)
        if self._rejected.usable:
            return self._of_usable(elsewhere, list(short.values()))
        return self._of_each(elsewhere, short)

    def _of_usable(self, elsewhere: dict[int, str], short: Sequence[ShortOn]) -> str:
        """One text for all nodes, about those where the pod comes closest to its devices."""
        if elsewhere:
            return next(iter(elsewhere.values()))
        if not short:
            return ""
        closest = max(one.shortage.place for one in short)
        places = [one for one in short if one.shortage.place == closest]
        joint = [one for one in places if any(way.enough for way in one.shortage.ways)]
        return shortage_text(self._rejected.pod, joint or places, self._rejected)

    def _of_each(self, elsewhere: dict[int, str], short: dict[int, ShortOn]) -> list[str]:
        alike: dict[object, list[ShortOn]] = {}
        for one in short.values():
            alike.setdefault(kind_of(one.shortage), []).append(one)
        told = {
            kind: shortage_text(self._rejected.pod, places, self._rejected)
            for kind, places in alike.items()
        }
        texts = [elsewhere.get(index, "") for index in range(len(self._rejected.nodes))]
        for index, one in short.items():
            texts[index] = told[kind_of(one.shortage)]
        return texts


def _unavailable(pod: Pod, claim: ResourceClaim, node: Node) -> str:
    """Why an allocated claim cannot be used on a node."""
    shown = shown_claim(pod, claim)
    problem = not_ready(claim)
    if problem and is_here(claim, node):
        return f"uses {shown}, whose devices are not ready: {problem}"
    return f"uses {shown}, whose devices can be used only {_place(claim)}"


def _left_behind(claim: ResourceClaim) -> str:
    """Why nothing is allocated for extended resources."""
    return (
        f"has the claim {claim.name} of an earlier attempt, which its scheduler deletes before the "
        "next one"
    )


def _place(claim: ResourceClaim) -> str:
    allocation = claim.status.allocation
    selector = allocation.node_selector if allocation is not None else None
    terms = selector.node_selector_terms if selector is not None else None
    fields = [one for term in terms or () for one in term.match_fields or ()]
    names = [value for one in fields for value in one.values or ()]
    if names:
        return f"on {', '.join(names[:_NAMED])}"
    labels = [one for term in terms or () for one in term.match_expressions or ()]
    shown = " and ".join(map(requirement_text, labels[:_NAMED]))
    return f"on nodes with {shown}" if shown else "elsewhere"


def _of_pod(pod: Pod, tracker: ClaimTracker) -> str:
    """Why a pod's claims cannot be used; empty if the plugin's reason says it all."""
    return next(_problems(pod, tracker), "")


def _problems(pod: Pod, tracker: ClaimTracker) -> Iterator[str]:
    catalog = tracker.catalog
    made = {one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses or ()}
    for one in pod.spec.resource_claims or ():
        template = one.resource_claim_template_name
        name = one.resource_claim_name
        if template is not None:
            if one.name not in made:
                gone = catalog.get(ResourceClaimTemplate, f"{pod.namespace}/{template}") is None
                yield (
                    f"needs the claim {one.name} from the template {template}, which does not exist"
                    if gone
                    else f"needs the claim {one.name}, which is not created yet from the template "
                    f"{template}"
                )
                continue
            name = made[one.name]
        claim = catalog.get(ResourceClaim, f"{pod.namespace}/{name}") if name else None
        if name and claim is None:
            yield f"needs the claim {name}, which does not exist"
        elif claim is not None:
            yield from _claim_problems(pod, claim, tracker)


def _claim_problems(pod: Pod, claim: ResourceClaim, tracker: ClaimTracker) -> Iterator[str]:
    shown = shown_claim(pod, claim)
    if claim.deleting:
        yield f"needs {shown}, which is being deleted"
    if claim.status.allocation is not None:
        return
    if tracker.is_in_flight(claim):
        yield f"needs {shown}, which is being allocated for another pod"
    for request in claim.spec.devices.requests or ():
        ways = [request.exactly] if request.exactly is not None else request.first_available or ()
        for way in ways:
            if way.device_class_name and tracker.find_class(way.device_class_name) is None:
                whose = of_request(claim, request.name, shown)
                yield (
                    f"needs devices of the class {way.device_class_name} for {whose}, and there is "
                    f"no such class{_classes(tracker.catalog)}"
                )


def _classes(catalog: Catalog) -> str:
    names = sorted(one.name for one in catalog.all(DeviceClass).values())
    if not names:
        return " (there are none)"
    more = f" and {len(names) - _NAMED} more" if names[_NAMED:] else ""
    are = "is" if len(names) == 1 else "are"
    return f" (there {are} {', '.join(names[:_NAMED])}{more})"
