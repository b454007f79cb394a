"""How the claims of a pod get their volumes on the node that was chosen, and the plan for that.

VolumeBinding makes it when a node is chosen: what is going to be written is assumed at once, and
whoever binds the pod writes it and waits until the PV controller or a provisioner did the rest.
Nothing here talks to anybody.
"""

import functools

import msgspec

from mooring.framework.plans.plan import ObjectKey, Plan, Write
from mooring.framework.verdict import Verdict, fail
from mooring.model.node import Node
from mooring.model.storage import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from mooring.state.cluster import Cluster

Written = PersistentVolume | PersistentVolumeClaim


class ClaimBinding(msgspec.Struct, frozen=True):
    """How one claim gets its volume.

    Attributes:
        claim: the claim; if its volume is to be made, as it is to be written.
        volume: the existing volume for it, as it is to be written; None if one is to be made.
    """

    claim: PersistentVolumeClaim
    volume: PersistentVolume | None = None

    @property
    def written(self) -> Written:
        """The object that is to be written: a volume with its claim, or a claim with its node."""
        return self.volume if self.volume is not None else self.claim

    def write(self) -> Write:
        """What is to be written."""
        claim, thing = self.claim, self.written
        meta: dict[str, object] = {"resourceVersion": thing.resource_version or None}
        body: dict[str, object] = {"metadata": meta}
        if self.volume is None:
            meta["annotations"] = {SELECTED_NODE: claim.annotations[SELECTED_NODE]}
        else:
            meta["annotations"] = dict(thing.annotations)
            body["spec"] = {
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": claim.kind_name,
                    "namespace": claim.namespace,
                    "name": claim.name,
                    "uid": claim.uid,
                    "resourceVersion": claim.resource_version or None,
                }
            }
        return Write(verb="patch", kind=type(thing), key=thing.key, body=body)


class ClaimBindings(msgspec.Struct, frozen=True):
    """How the claims of a pod get their volumes.

    Attributes:
        node: the name of the node that was chosen.
        claims: the claims that are not bound yet.
    """

    node: str
    claims: tuple[ClaimBinding, ...] = ()

    @property
    def written(self) -> list[Written]:
        """The objects to write: volumes with their claims, then claims with their node."""
        volumes = [one.written for one in self.claims if one.volume is not None]
        return [*volumes, *(one.written for one in self.claims if one.volume is None)]

    def plan(self, seconds: float) -> Plan:
        """What has to be done before the pod is bound.

        Args:
            seconds: how long the claims may take to be bound.
        """
        objects: list[ObjectKey] = [(Node, self.node)]
        for one in self.claims:
            things = (one.claim, one.volume)
            objects += [(type(thing), thing.key) for thing in things if thing is not None]
        return Plan(
            doing="binding volumes",
            writes=tuple(one.write() for one in self.claims),
            ready=functools.partial(_are_bound, self),
            objects=tuple(objects),
            seconds=seconds,
        )


def bind_volume(claim: PersistentVolumeClaim, volume: PersistentVolume) -> ClaimBinding:
    """Give a claim an existing volume."""
    # parity v1.36.4: component-helpers/storage/volume/pv_helpers.go GetBindVolumeToClaim
    annotations = volume.annotations
    if not volume.is_meant_for(claim) and BOUND_BY_CONTROLLER not in annotations:
        annotations = {**annotations, BOUND_BY_CONTROLLER: "yes"}
    reference = ObjectReference(namespace=claim.namespace, name=claim.name, uid=claim.uid)
    return ClaimBinding(
        claim,
        msgspec.structs.replace(
            volume,
            metadata=msgspec.structs.replace(volume.metadata, annotations=annotations or None),
            spec=msgspec.structs.replace(volume.spec, claim_ref=reference),
        ),
    )


def provision_volume(claim: PersistentVolumeClaim, node: str) -> ClaimBinding:
    """Have a volume made for a claim."""
    annotations = {**claim.annotations, SELECTED_NODE: node}
    metadata = msgspec.structs.replace(claim.metadata, annotations=annotations)
    return ClaimBinding(msgspec.structs.replace(claim, metadata=metadata))


def _are_bound(bindings: ClaimBindings, cluster: Cluster) -> bool | Verdict:
    """Whether all claims are bound; a verdict that says why they never will be."""
    # parity v1.36.4: volumebinding/binder.go checkBindings
    node = bindings.node
    if node not in cluster.columns.row_of:
        return fail(f'failed to get node "{node}": node "{node}" not found')
    for one in bindings.claims:
        bound = _is_bound(one, node, cluster)
        if bound is not True:
            return bound
    return True


def _is_bound(one: ClaimBinding, node: str, cluster: Cluster) -> bool | Verdict:
    catalog = cluster.catalog
    claim = catalog.get(PersistentVolumeClaim, one.claim.key)
    if claim is None:
        return fail(f"claim {one.claim.key} is gone")
    if one.volume is not None:
        volume = catalog.get(PersistentVolume, one.volume.name)
        if volume is None:
            return fail(f"volume {one.volume.name} is gone")
        if volume.resource_version == one.volume.resource_version:
            return False  # what was written has not come back yet
        if not _reaches(cluster, volume.name, node):
            return _unreachable(volume.name, node)
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            return fail(f'ClaimRef got reset for pv "{volume.name}"')
    elif claim.resource_version == one.claim.resource_version:
        return False
    elif claim.annotations.get(SELECTED_NODE) != node:
        # A provisioner that fails takes the annotation off.
        what = "provisioning failed" if claim.annotations else "selectedNode annotation reset"
        return fail(f'{what} for PVC "{claim.name}"')
    elif not _reaches(cluster, claim.spec.volume_name, node):
        return _unreachable(claim.spec.volume_name, node)
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.annotations


def _reaches(cluster: Cluster, volume_name: str | None, node: str) -> bool:
    """Whether a volume can be used on a node; yes if it is not known yet."""
    volume = cluster.catalog.get(PersistentVolume, volume_name) if volume_name else None
    if volume is None or volume.node_selector is None:
        return True
    row = cluster.columns.row_of[node]
    return bool(cluster.columns.selector_mask(volume.node_selector)[row])


def _unreachable(volume_name: str | None, node: str) -> Verdict:
    return fail(f'pv "{volume_name}" node affinity doesn\'t match node "{node}"')
