"""The requests about claims: of those who create and remove them, and of a scheduler.

Called by `claim_task`. There is no controller manager beside the measured schedulers: claims are
created and removed here as its controllers do it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from benchmarks.scheduler.clients import Reply, Request, delete, patch, post
from benchmarks.scheduler.devices import CLAIM, FINALIZER, Allocation
from benchmarks.scheduler.kinds import Object

_API = "resource.k8s.io/v1"


class _Created(msgspec.Struct):
    class Metadata(msgspec.Struct):
        uid: str

    metadata: Metadata


def uid_of(reply: Reply) -> str:
    """The unique id of what was created."""
    return msgspec.json.decode(reply.body, type=_Created).metadata.uid


def claims_path(namespace: str) -> str:
    """Where claims are created."""
    return f"/apis/{_API}/namespaces/{namespace}/resourceclaims"


def claim(name: str, namespace: str, spec: Object, metadata: Mapping[str, Any]) -> Object:
    """A claim."""
    return {
        "apiVersion": _API,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"devices": spec},
    }


def _owned(pod: str, uid: str, annotation: str, value: str) -> Object:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid, "controller": True}
    return {
        "annotations": {f"resource.kubernetes.io/{annotation}": value},
        "ownerReferences": [owner],
    }


def claim_of_pod(pod: str, uid: str) -> Object:
    """The metadata of a claim that was made from a template."""
    return _owned(pod, uid, "pod-claim-name", CLAIM)


def extended_claim(pod: str, uid: str) -> Object:
    """The metadata of a claim that a scheduler makes for extended resources."""
    return _owned(pod, uid, "extended-resource-claim", "true")


def create(manifest: Object) -> Request:
    """The request that creates a claim."""
    return post(claims_path(manifest["metadata"]["namespace"]), manifest)


def tell_pod(namespace: str, pod: str, claim_name: str) -> Request:
    """The request that tells a pod the name of its claim."""
    status = {"resourceClaimStatuses": [{"name": CLAIM, "resourceClaimName": claim_name}]}
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/status"
    return patch(path, pod, {"status": status})


def nominate(namespace: str, pod: str, node: str) -> Request:
    """The request of a scheduler that tells a pod its node when writes come before the binding."""
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/status"
    return patch(path, pod, {"status": {"nominatedNodeName": node}})


def tell_pod_extended(namespace: str, pod: str, claim_name: str, resource: str) -> Request:
    """The request of a scheduler that tells a pod which claim is for its extended resources."""
    mapping = {
        "containerName": "pause", "resourceName": resource, "requestName": "container-0-request-0"
    }  # fmt: skip
    status = {"resourceClaimName": claim_name, "requestMappings": [mapping]}
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/status"
    return patch(path, pod, {"status": {"extendedResourceClaimStatus": status}})


def protect(namespace: str, name: str) -> Request:
    """The request of a scheduler that keeps a claim from being deleted."""
    body = {"metadata": {"finalizers": [FINALIZER]}}
    return patch(f"{claims_path(namespace)}/{name}", name, body)


def allocate(
    namespace: str, name: str, allocation: Allocation, pods: Sequence[tuple[str, str]]
) -> Request:
    """The request of a scheduler that allocates a claim and reserves it.

    Args:
        namespace: of the claim.
        name: its name.
        allocation: its devices.
        pods: the names and unique ids of the pods that use it.
    """
    status = allocation.status()
    if pods:
        status["reservedFor"] = [{"resource": "pods", "name": pod, "uid": uid} for pod, uid in pods]
    return patch(f"{claims_path(namespace)}/{name}/status", name, {"status": status})


def remove(namespace: str, pod: str, claim_name: str) -> tuple[Request, ...]:
    """The requests that remove a pod and its claim, as kubelet and controllers do."""
    path = f"{claims_path(namespace)}/{claim_name}"
    freed = {"status": {"allocation": None, "reservedFor": None}}
    return (
        delete(f"/api/v1/namespaces/{namespace}/pods/{pod}?gracePeriodSeconds=0", pod),
        patch(f"{path}/status", claim_name, freed),
        patch(path, claim_name, {"metadata": {"finalizers": None}}),
        delete(path, claim_name),
    )
