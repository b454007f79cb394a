"""What might help a pod that gets no devices on a node.

Inherited by DynamicResources. Each request that cannot be met is looked at with the eyes of the
explanation (`shortages`); what is proposed is what stands in the way of devices that are there. A
claim's spec cannot be changed: a claim that is made from a template is changed there, any other one
is created anew.
"""

from abc import abstractmethod
from collections.abc import Iterator

from msgspec.structs import replace

from mooring.framework.hook import Remedies
from mooring.framework.remedies.remedy import Cost, Remedy, RemedyCase
from mooring.framework.verdict import Verdict
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.pod import Pod
from mooring.plugins.devices.claim_tracker import ClaimTracker, tracker_of
from mooring.plugins.devices.diagnosis.absent_claims import absent_claim_remedies
from mooring.plugins.devices.diagnosis.changed_claims import freed
from mooring.plugins.devices.diagnosis.claim_names import shown_claim
from mooring.plugins.devices.diagnosis.own_claims import own_claim_remedy, without_claims
from mooring.plugins.devices.diagnosis.request_remedies import RequestRemedies
from mooring.plugins.devices.diagnosis.shortages import ShortageFinder
from mooring.plugins.devices.pod_claims import EXTENDED_RESOURCE_CLAIM
from mooring.plugins.devices.pod_devices import PodDevices


class DeviceRemedies(Remedies):
    """The remedies of DynamicResources."""

    @abstractmethod
    def pod_devices(self, pod: Pod, tracker: ClaimTracker) -> PodDevices | Verdict | None:
        """The devices of a pod; a rejection if a claim cannot be used, None if it needs none."""

    def remedies(self, case: RemedyCase) -> Iterator[Remedy]:
        """Change the claims so that there are devices for them, or free devices."""
        tracker = tracker_of(case.cluster)
        state = self.pod_devices(case.pod, tracker)
        if isinstance(state, Verdict):
            yield from absent_claim_remedies(case.pod, tracker)
            yield from without_claims(case.pod)
        if not isinstance(state, PodDevices):
            return
        state.verdict(case.node)
        for index in state.unavailable.get(case.node.name, ()):
            yield from _elsewhere(state, index)
            yield from without_claims(case.pod, state.claims[index])
        if state.stale is not None:
            yield _without_stale(state.stale)
        wanted = state.to_allocate_on(case.node)
        finder = ShortageFinder(tracker)
        if not wanted.claims or finder.fits(wanted.claims, case.node):
            return
        shortage = finder.find(wanted, case.node)
        if shortage is not None:
            yield from RequestRemedies(case, wanted.claims, shortage, tracker, finder).all()
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


def _elsewhere(state: PodDevices, index: int) -> Iterator[Remedy]:
    """What helps against a claim whose devices are on other nodes, or have failed."""
    claim: ResourceClaim = state.claims[index]
    shown = shown_claim(state.pod, claim)
    if state.may_deallocate(index):
        yield Remedy(
            f"deallocate {shown}, which no other pod uses",
            Cost.TRIVIAL,
            frozenset({f"free {claim.key}"}),
            created=(freed(claim),),
        )
    else:
        yield own_claim_remedy(state.pod, claim)
