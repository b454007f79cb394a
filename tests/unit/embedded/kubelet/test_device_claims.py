"""A pod that uses devices starts when they are allocated to it, and not before."""

import pytest

from mooring.embedded.controller_manager import ControllerManager
from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import PODS, RESOURCE_CLAIMS, Obj
from tests.unit.embedded.controllers.device_claims import (
    FROM_TEMPLATE,
    allocate,
    claim_of,
    create_claim,
    create_template,
    extended_pod,
    using,
)
from tests.unit.embedded.fake_cluster import FakeCluster


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(kubelet=KubeletSettings(events=True))
    cluster.node("n1")
    return cluster


def phase(cluster: FakeCluster, name: str) -> str:
    cluster.settle()
    found: str = cluster.get(PODS, name)["status"]["phase"]
    return found


def test_a_pod_waits_for_the_claim_from_its_template(cluster: FakeCluster) -> None:
    pod = cluster.pod("train", node="n1", resourceClaims=[FROM_TEMPLATE])
    assert phase(cluster, "train") == "Pending"
    text = 'Failed to prepare dynamic resources: pod "default/train": ResourceClaim not created yet'
    assert ("FailedPrepareDynamicResources", text) in cluster.events("train")
    create_template(cluster)
    assert phase(cluster, "train") == "Pending"
    allocate(cluster, claim_of(cluster, "train"), pod)
    assert phase(cluster, "train") == "Running"
    assert claim_of(cluster, "train") in cluster.names(RESOURCE_CLAIMS)


def test_a_pod_waits_for_all_its_claims(cluster: FakeCluster) -> None:
    pod = cluster.pod("train", node="n1", resourceClaims=[using("first"), using("second")])
    assert phase(cluster, "train") == "Pending"
    for name in ("first", "second"):
        assert phase(cluster, "train") == "Pending"
        create_claim(cluster, name)
        assert phase(cluster, "train") == "Pending"
        allocate(cluster, name, pod, device=name)
    assert phase(cluster, "train") == "Running"
    metadata = pod["metadata"]
    claim = cluster.get(RESOURCE_CLAIMS, "first")["metadata"]
    text = f"pod train ({metadata['uid']}) is not allowed to use ResourceClaim first"
    expected = f"Failed to prepare dynamic resources: {text} ({claim['uid']})"
    assert expected in said(cluster, "train")


def test_a_pod_waits_for_the_claim_for_its_extended_resources(cluster: FakeCluster) -> None:
    pod = extended_pod(cluster, "train", "special")
    cluster.bind_all("n1")
    assert phase(cluster, "train") == "Pending"
    allocate(cluster, "special", pod)
    assert phase(cluster, "train") == "Running"
    kept = cluster.get(PODS, "train")["status"]["extendedResourceClaimStatus"]
    assert kept["resourceClaimName"] == "special"


def test_an_allocated_claim_starts_all_pods_with_a_node(cluster: FakeCluster) -> None:
    create_claim(cluster, "shared")
    allocate(cluster, "shared")
    for name in ("first", "second"):
        cluster.pod(name, resourceClaims=[using("shared")])
    cluster.bind_all("n1")
    # The controller reserves an allocated claim for pods that have a node.
    assert phase(cluster, "first") == "Running"
    assert phase(cluster, "second") == "Running"


def test_a_pod_does_not_use_the_claim_of_another(cluster: FakeCluster) -> None:
    create_template(cluster)
    pod = cluster.pod("train", resourceClaims=[FROM_TEMPLATE])
    cluster.settle()
    name = claim_of(cluster, "train")

    def disown(obj: Obj) -> None:
        del obj["metadata"]["ownerReferences"]

    cluster.controller_manager = ControllerManager(
        cluster.api, KubeletSettings(events=True), controllers=False, clock=lambda: cluster.now
    )
    cluster.change(RESOURCE_CLAIMS, name, disown)
    allocate(cluster, name, pod)
    cluster.bind_all("n1")
    assert phase(cluster, "train") == "Pending"
    whose = f"ResourceClaim default/{name} was not created for Pod default/train (Pod is not owner)"
    assert f"Failed to prepare dynamic resources: {whose}" in said(cluster, "train")


def test_a_missing_claim_is_an_event(cluster: FakeCluster) -> None:
    pod = cluster.pod("train", node="n1", resourceClaims=[using("shared")])
    assert phase(cluster, "train") == "Pending"
    text = 'fetch ResourceClaim shared: resourceclaims.resource.k8s.io "shared" not found'
    assert f"Failed to prepare dynamic resources: {text}" in said(cluster, "train")
    cluster.delete(PODS, pod["metadata"]["name"])
    cluster.settle()
    assert not cluster.names(PODS)


def said(cluster: FakeCluster, pod: str) -> list[str]:
    return [message for _, message in cluster.events(pod)]
