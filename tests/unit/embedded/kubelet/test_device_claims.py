"""A pod that uses devices starts when they are allocated to it, and not before."""

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import PODS, RESOURCE_CLAIMS
from tests.unit.embedded.controllers.device_claims import (
    FROM_TEMPLATE,
    allocate,
    claim_of,
    create_claim,
    create_template,
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
    said = [message for _, message in cluster.events("train")]
    assert f"Failed to prepare dynamic resources: {text} ({claim['uid']})" in said


def test_a_pod_waits_for_the_claim_for_its_extended_resources(cluster: FakeCluster) -> None:
    pod = cluster.pod("train")
    create_claim(cluster, "special")
    status = {"resourceClaimName": "special", "requestMappings": []}
    cluster.change(
        PODS, "train", lambda obj: obj["status"].update(extendedResourceClaimStatus=status),
        "status",
    )  # fmt: skip
    cluster.bind_all("n1")
    assert phase(cluster, "train") == "Pending"
    allocate(cluster, "special", pod)
    assert phase(cluster, "train") == "Running"
    kept = cluster.get(PODS, "train")["status"]["extendedResourceClaimStatus"]
    assert kept["resourceClaimName"] == "special"


def test_a_claim_of_another_pod_does_not_start_it(cluster: FakeCluster) -> None:
    create_claim(cluster, "shared")
    other = cluster.pod("other", resourceClaims=[using("shared")])
    allocate(cluster, "shared")
    cluster.pod("train", resourceClaims=[using("shared")])
    allocate_for = cluster.get(PODS, "other")
    assert allocate_for["metadata"]["uid"] == other["metadata"]["uid"]
    cluster.bind_all("n1")
    # The controller reserves an allocated claim for pods that have a node.
    assert phase(cluster, "train") == "Running"
    assert phase(cluster, "other") == "Running"
