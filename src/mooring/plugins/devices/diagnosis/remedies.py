"""What might help a pod that gets no devices on a node.

Called by the hook of `diagnosed_devices`. Each request that cannot be met is looked at with the
eyes of the explanation (`shortages`); what is proposed is what stands in the way of devices that
are there. A claim's spec cannot be changed: a claim that is made from a template is changed there,
any other one is created anew.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from mooring.framework.remedies.remedy import Cost, Remedy, RemedyCase
from mooring.model.devices.resource_claim import EXTENDED_RESOURCE_CLAIM, ResourceClaim
from mooring.plugins.devices.claim_tracker import tracker_of
from mooring.plugins.devices.diagnosis.absent_claims import absent_claim_remedies
from mooring.plugins.devices.diagnosis.changed_claims import freed
from mooring.plugins.devices.diagnosis.claim_names import shown_claim
from mooring.plugins.devices.diagnosis.own_claims import own_claim_remedy, without_claims
from mooring.plugins.devices.diagnosis.request_remedies import RequestRemedies
from mooring.plugins.devices.diagnosis.shortages import ShortageFinder
from mooring.plugins.devices.diagnosis.wanted_claims import WantedClaims, wanted_claims


def device_remedies(case: RemedyCase) -> Iterator[Remedy]:
    """Change the claims so that there are devices for them, or free devices."""
    tracker = tracker_of(case.cluster)
    wanted = wanted_claims(case.pod, tracker)
    if wanted is None:
        yield from absent_claim_remedies(case.pod, tracker)
        yield from without_claims(case.pod)
        return
    for claim in wanted.unavailable(case.node):
        yield _elsewhere(wanted, claim)
        yield from without_claims(case.pod, claim)
    if wanted.stale is not None:
        yield _without_stale(wanted.stale)
    claims = wanted.to_allocate(case.node)
    finder = ShortageFinder(tracker)
    if not claims.claims or finder.fits(claims.claims, case.node):
        return
    shortage = finder.find(claims, case.node)
    if shortage is not None:
        yield from RequestRemedies(case, claims.claims, shortage, tracker, finder).all()
        yield from without_claims(case.pod, shortage.claim)


def _without_stale(claim: ResourceClaim) -> Remedy:
    """The claim of an earlier attempt is gone, or does not stand for one any more."""
    annotations = dict(claim.annotations)
    annotations.pop(EXTENDED_RESOURCE_CLAIM, None)
    metadata = replace(claim.metadata, annotations=annotations)
    return Remedy(
        f"delete the claim {claim.name} of an earlier attempt, as the scheduler does",
        Cost.TRIVIAL,
        frozenset({"stale claim"}),
        created=(replace(claim, metadata=metadata),),
    )


def _elsewhere(wanted: WantedClaims, claim: ResourceClaim) -> Remedy:
    """What helps against a claim whose devices are on other nodes, or have failed."""
    if not wanted.may_deallocate(claim):
        return own_claim_remedy(wanted.pod, claim)
    return Remedy(
        f"deallocate {shown_claim(wanted.pod, claim)}, which no other pod uses",
        Cost.TRIVIAL,
        frozenset({f"free {claim.key}"}),
        created=(freed(claim),),
    )
