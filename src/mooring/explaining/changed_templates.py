"""A combination of remedies for one pod, carried out for all pods of its template, on a fork.

Each pod of a template has claims to devices of its own, made from one claim template: what changes
the claim of one pod changes those of the others alike. A pod that is placed takes its devices, so
that they do not count for the next one. Called by `pending_pods`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.explaining.suggestion import Combination
from mooring.framework.decisions.decision_cycle import decide, without_extenders
from mooring.framework.decisions.recording import record_decision
from mooring.framework.runtime import Runtime
from mooring.model.changed_copies import with_spec, with_status
from mooring.model.devices.allocation import AllocationResult
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.meta import ObjectMeta, OwnerReference
from mooring.model.pod import Pod, PodResourceClaimStatus
from mooring.state.cluster import Cluster

#: What records have under this name: by node and claim, what would be written.
_ALLOCATIONS = "allocations"


def claims_key(cluster: Cluster, pod: Pod) -> tuple[object, ...]:
    """What pods of one template have in common as to their claims to devices."""
    found: list[object] = []
    for entry in pod.spec.resource_claims or ():
        if entry.resource_claim_name is not None:
            found.append(entry.resource_claim_name)
            continue
        claim = _claim_of(cluster, pod, entry.name)
        found.append(
            None
            if claim is None
            else msgspec.json.encode((claim.spec, claim.status.allocation, claim.deleting))
        )
    return tuple(found)


def carry_out(combination: Combination, pods: Sequence[Pod], cluster: Cluster) -> None:
    """Make a combination's changes of a cluster.

    Args:
        combination: the combination, which was made for the first of the pods.
        pods: the pods of a template.
        cluster: a fork.
    """
    for remedy in combination.remedies:
        if remedy.node is not None:
            cluster.put_node(remedy.node)
        if remedy.added is not None:
            cluster.put_node(remedy.added)
        for thing in remedy.created:
            cluster.put(thing)
            entry = _entry_of(combination, pods[0], thing.name)
            if entry and isinstance(thing, ResourceClaim):
                for pod in pods[1:]:
                    cluster.put(_alike(cluster, thing, pod, entry))
        if remedy.moved:
            cluster.remove_pod(remedy.moved)


def changed_pod(combination: Combination, pod: Pod) -> Pod:
    """A pod as a combination for another pod of its template would change it."""
    changes = [one.pod for one in combination.remedies if one.pod is not None]
    if not changes:
        return pod
    spec = changes[-1].spec
    pod = with_spec(pod, **{name: getattr(spec, name) for name in spec.__struct_fields__})
    known = {one.name for one in pod.status.resource_claim_statuses or ()}
    made = [
        PodResourceClaimStatus(name=one.name, resource_claim_name=_new_name(pod, one.name))
        for one in changes[-1].status.resource_claim_statuses or ()
        if one.name not in known
    ]
    if not made:
        return pod
    statuses = [*(pod.status.resource_claim_statuses or ()), *made]
    return with_status(pod, resource_claim_statuses=statuses)


def place(runtime: Runtime, pod: Pod) -> bool:
    """Put a pod on the node that it would get, if any; then its devices are in use."""
    cluster = runtime.cluster
    if any(not verdict.accepted for verdict in runtime.pre_enqueue(pod).values()):
        return False
    if _may_have_devices(cluster, pod):
        record = record_decision(runtime, pod)
        if not record.selected:
            return False
        node = record.selected[0]
        _allocate(cluster, pod, record.notes.get(_ALLOCATIONS, {}).get(node, {}))
    else:
        decision = without_extenders(decide(runtime, pod))
        if decision.error or not len(decision.best):
            return False
        node = cluster.columns.nodes[int(decision.best[0])].name
    cluster.put_pod(with_spec(pod, node_name=node))
    return True


def _may_have_devices(cluster: Cluster, pod: Pod) -> bool:
    if pod.spec.resource_claims:
        return True
    requests = pod.requests
    classes = cluster.catalog.all(DeviceClass).values()
    return any(requests.get(name) for one in classes for name in one.extended_resources)


def _allocate(cluster: Cluster, pod: Pod, allocations: dict[str, Any]) -> None:
    for key, allocation in allocations.items():
        claim = cluster.catalog.get(ResourceClaim, key)
        if claim is None:  # it would be created for extended resources
            metadata = ObjectMeta(name=f"{pod.name}-extended-resources", namespace=pod.namespace)
            claim = ResourceClaim(metadata=metadata)
        given = msgspec.convert(allocation, AllocationResult)
        cluster.put(replace(claim, status=replace(claim.status, allocation=given)))


def _claim_of(cluster: Cluster, pod: Pod, entry: str) -> ResourceClaim | None:
    """The claim that was made for an entry of a pod's spec."""
    for one in pod.status.resource_claim_statuses or ():
        if one.name == entry and one.resource_claim_name is not None:
            return cluster.catalog.get(ResourceClaim, f"{pod.namespace}/{one.resource_claim_name}")
    return None


def _entry_of(combination: Combination, pod: Pod, claim: str) -> str:
    """The entry of a pod's spec that a claim is made for; empty if it is for none."""
    changed = [one.pod for one in combination.remedies if one.pod is not None]
    for one in (changed[-1] if changed else pod).status.resource_claim_statuses or ():
        if one.resource_claim_name == claim:
            return one.name
    return ""


def _alike(cluster: Cluster, claim: ResourceClaim, pod: Pod, entry: str) -> ResourceClaim:
    """The claim of another pod of the template, changed alike or made anew."""
    there = _claim_of(cluster, pod, entry)
    if there is not None:
        return replace(claim, metadata=there.metadata)
    name = _new_name(pod, entry)
    owner = OwnerReference(kind="Pod", name=pod.name, uid=pod.uid, controller=True)
    metadata = ObjectMeta(
        name=name,
        namespace=pod.namespace,
        uid=f"uid-{pod.namespace}-{name}",
        owner_references=[owner],
    )
    return replace(claim, metadata=metadata)


def _new_name(pod: Pod, entry: str) -> str:
    return f"{pod.name}-{entry}"
