"""What might help if a pod's claims, or the classes they ask for, are not there.

Called by `remedies` for a pod that is rejected before any node is looked at.
"""

from collections.abc import Iterator
from typing import Final

from mooring.framework.remedies.remedy import Cost, Remedy
from mooring.framework.verdict import Verdict
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import (
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
)
from mooring.model.pod import Pod, PodResourceClaim
from mooring.plugins.devices.claim_tracker import ClaimTracker
from mooring.plugins.devices.diagnosis.changed_claims import with_way
from mooring.plugins.devices.diagnosis.claim_names import of_request, shown_source
from mooring.plugins.devices.diagnosis.own_claims import created_claim, knowing_claim
from mooring.plugins.devices.pod_claims import claims_of
from mooring.wording import natural_key

#: So many classes are tried.
_CLASSES: Final = 6


def absent_claim_remedies(pod: Pod, tracker: ClaimTracker) -> Iterator[Remedy]:
    """Create what is not there, or ask for a class that is."""
    yield from _of_templates(pod, tracker)
    for one in pod.spec.resource_claims or ():
        name = one.resource_claim_name or one.resource_claim_template_name
        if one.resource_claim_name is not None:
            there = tracker.catalog.get(ResourceClaim, f"{pod.namespace}/{name}") is not None
        else:
            there = _template(pod, one, tracker) is not None or not _awaited(pod, one)
        if not there:
            yield from _unknown(pod, one, tracker)
    found = claims_of(pod, tracker.catalog)
    if not isinstance(found, Verdict):
        for claim in found:
            yield from _classes(pod, claim, tracker)


def _of_templates(pod: Pod, tracker: ClaimTracker) -> Iterator[Remedy]:
    """The claims that are to be made from templates, all at once."""
    changed, made, shown = pod, [], []
    for one in pod.spec.resource_claims or ():
        template = _template(pod, one, tracker)
        if template is None or not _awaited(pod, one):
            continue
        claim = created_claim(pod, f"{pod.name}-{one.name}", template.spec.spec, owned=True)
        changed = knowing_claim(changed, one.name, claim.name)
        made.append(claim)
        shown.append(f"the claim {one.name} from the template {template.name}")
    if made:
        yield Remedy(
            f"create {' and '.join(shown)}, as the resource claim controller does",
            Cost.TRIVIAL,
            frozenset(f"claim {one.name}" for one in made),
            pod=changed,
            created=tuple(made),
        )


def _unknown(pod: Pod, entry: PodResourceClaim, tracker: ClaimTracker) -> Iterator[Remedy]:
    """A claim of which nobody knows what it is for: one device of each class is tried."""
    for name in _known_classes(tracker):
        exactly = ExactDeviceRequest(device_class_name=name)
        request = DeviceRequest(name=entry.name, exactly=exactly)
        spec = ResourceClaimSpec(devices=DeviceClaim(requests=[request]))
        if entry.resource_claim_name is not None:
            claim = created_claim(pod, entry.resource_claim_name, spec, owned=False)
            changed, what = None, f"the claim {claim.name}"
        else:
            claim = created_claim(pod, f"{pod.name}-{entry.name}", spec, owned=True)
            changed = knowing_claim(pod, entry.name, claim.name)
            what = f"the claim template {entry.resource_claim_template_name}"
        yield Remedy(
            f"create {what} for a device of the class {name}",
            Cost.GIVE_UP_CONDITION,
            frozenset({f"claim {entry.name} for {name}"}),
            pod=changed,
            created=(claim,),
        )


def _classes(pod: Pod, claim: ResourceClaim, tracker: ClaimTracker) -> Iterator[Remedy]:
    """Classes that are there, instead of one that is not."""
    for request in claim.spec.devices.requests or ():
        ways = [request.exactly] if request.exactly is not None else request.first_available or ()
        for way in ways:
            missing = way.device_class_name
            if tracker.find_class(missing) is not None:
                continue
            source = of_request(claim, request.name, shown_source(pod, claim))
            name = getattr(way, "name", "")
            for other in _known_classes(tracker):
                changed = with_way(claim, request.name, name, device_class_name=other)
                yield Remedy(
                    f"ask for the device class {other} instead of {missing} in {source}",
                    Cost.GIVE_UP_CONDITION,
                    frozenset({f"class {other} in {claim.key} {request.name} {name}"}),
                    created=(changed,),
                )


def _template(
    pod: Pod, entry: PodResourceClaim, tracker: ClaimTracker
) -> ResourceClaimTemplate | None:
    name = entry.resource_claim_template_name
    key = f"{pod.namespace}/{name}"
    return tracker.catalog.get(ResourceClaimTemplate, key) if name is not None else None


def _awaited(pod: Pod, entry: PodResourceClaim) -> bool:
    """Whether a claim has not been made from its template yet."""
    made = (one.name for one in pod.status.resource_claim_statuses or ())
    return entry.resource_claim_name is None and entry.name not in made


def _known_classes(tracker: ClaimTracker) -> list[str]:
    names = (one.name for one in tracker.catalog.all(DeviceClass).values())
    return sorted(names, key=natural_key)[:_CLASSES]
