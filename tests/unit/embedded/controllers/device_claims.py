"""Claims to devices for tests: templates, claims, pods that use them, and what a scheduler does."""

from typing import Any

from mooring.embedded.resources import (
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    Obj,
)
from tests.unit.embedded.fake_cluster import FakeCluster

DRIVER = "gpu.example.com"
RESOURCE = "example.com/gpu"
FINALIZER = "resource.kubernetes.io/delete-protection"
SPEC: Obj = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": DRIVER}}]}}
FROM_TEMPLATE = {"name": "gpu", "resourceClaimTemplateName": "one-gpu"}


def create_template(cluster: FakeCluster, name: str = "one-gpu", **metadata: Any) -> Obj:
    spec: Obj = {"spec": SPEC}
    if metadata:
        spec["metadata"] = metadata
    return cluster.create(RESOURCE_CLAIM_TEMPLATES, {"metadata": {"name": name}, "spec": spec})


def create_claim(cluster: FakeCluster, name: str, **metadata: Any) -> Obj:
    return cluster.create(RESOURCE_CLAIMS, {"metadata": {"name": name, **metadata}, "spec": SPEC})


def using(name: str) -> Obj:
    """What a pod says that uses a claim that is there."""
    return {"name": name, "resourceClaimName": name}


def consumer(pod: Obj) -> Obj:
    metadata = pod["metadata"]
    return {"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}


def allocate(cluster: FakeCluster, claim: str, *pods: Obj, device: str = "gpu-0") -> None:
    """Do what a scheduler does with a claim before it binds pods."""

    def protect(obj: Obj) -> None:
        obj["metadata"]["finalizers"] = [FINALIZER]

    def fill(obj: Obj) -> None:
        result = {"request": "gpu", "driver": DRIVER, "pool": "p", "device": device}
        obj["status"]["allocation"] = {"devices": {"results": [result]}}
        obj["status"]["reservedFor"] = [consumer(one) for one in pods]

    cluster.change(RESOURCE_CLAIMS, claim, protect)
    cluster.change(RESOURCE_CLAIMS, claim, fill, "status")
    cluster.settle()


def claim_of(cluster: FakeCluster, pod: str) -> str:
    """The name of the claim that was created for a pod."""
    found = cluster.get(PODS, pod)["status"]["resourceClaimStatuses"]
    assert len(found) == 1
    name: str = found[0]["resourceClaimName"]
    return name


def finish(cluster: FakeCluster, pod: str, phase: str = "Succeeded") -> None:
    cluster.change(PODS, pod, lambda obj: obj["status"].update(phase=phase), "status")
    cluster.settle()


def extended_pod(cluster: FakeCluster, name: str, claim: str) -> Obj:
    """A pod whose extended resource is a device of a claim that a scheduler has created."""
    resources = {"limits": {RESOURCE: "1"}}
    container = {"name": "main", "image": "nginx", "resources": resources}
    pod = cluster.pod(name, containers=[container])
    owner = {
        "apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"],
        "controller": True,
    }  # fmt: skip
    create_claim(
        cluster, claim, ownerReferences=[owner],
        annotations={"resource.kubernetes.io/extended-resource-claim": "true"},
    )  # fmt: skip
    mapping = {"containerName": "main", "resourceName": RESOURCE, "requestName": "gpu"}
    status = {"resourceClaimName": claim, "requestMappings": [mapping]}
    return cluster.change(
        PODS, name, lambda obj: obj["status"].update(extendedResourceClaimStatus=status), "status"
    )
