"""What has to be written before a pod with claims can be bound, as a value.

VolumeBinding makes a plan when a node is chosen and keeps it in the decision; whoever binds the pod
writes what the plan says and waits until the claims are bound. Nothing here talks to anybody.
"""

import msgspec

from mooring.model.storage import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from mooring.state.assumed_volumes import AssumedVolumes


class ClaimPlan(msgspec.Struct, frozen=True):
    """How one claim gets its volume.

    Attributes:
        claim: the claim; if its volume is to be made, as it is to be written.
        volume: the existing volume for it, as it is to be written; None if one is to be made.
    """

    claim: PersistentVolumeClaim
    volume: PersistentVolume | None = None


class VolumePlan(msgspec.Struct, frozen=True):
    """How the claims of a pod get their volumes on the node that was chosen.

    Attributes:
        node: the node's name.
        claims: the claims that are not bound yet.
    """

    node: str
    claims: tuple[ClaimPlan, ...] = ()

    @property
    def writes(self) -> list[PersistentVolume | PersistentVolumeClaim]:
        """The objects to write: volumes with their claims, then claims with their node."""
        volumes = [one.volume for one in self.claims if one.volume is not None]
        return [*volumes, *(one.claim for one in self.claims if one.volume is None)]

    def assume(self, assumed: AssumedVolumes) -> str:
        """Let the next decision see the plan; returns why that is not possible, else nothing."""
        # parity v1.36.4: volumebinding/binder.go AssumePodVolumes
        done: list[PersistentVolume | PersistentVolumeClaim] = []
        for thing in self.writes:
            problem = assumed.assume(thing)
            if problem:
                for other in done:
                    assumed.restore(other)
                return problem
            done.append(thing)
        return ""

    def give_up(self, assumed: AssumedVolumes) -> None:
        """Take back what `assume` did; harmless if it was taken back already."""
        for thing in self.writes:
            assumed.restore(thing)


def bind_volume(claim: PersistentVolumeClaim, volume: PersistentVolume) -> ClaimPlan:
    """The plan to give a claim an existing volume."""
    # parity v1.36.4: component-helpers/storage/volume/pv_helpers.go GetBindVolumeToClaim
    annotations = volume.annotations
    if not volume.is_meant_for(claim) and BOUND_BY_CONTROLLER not in annotations:
        annotations = {**annotations, BOUND_BY_CONTROLLER: "yes"}
    reference = ObjectReference(namespace=claim.namespace, name=claim.name, uid=claim.uid)
    return ClaimPlan(
        claim,
        msgspec.structs.replace(
            volume,
            metadata=msgspec.structs.replace(volume.metadata, annotations=annotations or None),
            spec=msgspec.structs.replace(volume.spec, claim_ref=reference),
        ),
    )


def provision_volume(claim: PersistentVolumeClaim, node: str) -> ClaimPlan:
    """The plan to have a volume made for a claim."""
    annotations = {**claim.annotations, SELECTED_NODE: node}
    metadata = msgspec.structs.replace(claim.metadata, annotations=annotations)
    return ClaimPlan(msgspec.structs.replace(claim, metadata=metadata))
