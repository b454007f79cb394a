"""ResourceClaims are created for pods, reserved, released and deleted, as in Kubernetes."""

import pytest

from mooring.embedded.resources import PODS, RESOURCE_CLAIMS, Obj
from tests.unit.embedded.controllers.device_claims import (
    DRIVER,
    FINALIZER,
    FROM_TEMPLATE,
    SPEC,
    allocate,
    claim_of,
    consumer,
    create_claim,
    create_template,
    extended_pod,
    finish,
    using,
)
from tests.unit.embedded.fake_cluster import FakeCluster


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


def claim(cluster: FakeCluster, name: str) -> Obj:
    return cluster.get(RESOURCE_CLAIMS, name)


def test_a_claim_is_created_from_a_template(cluster: FakeCluster) -> None:
    create_template(cluster, labels={"team": "a"}, annotations={"note": "b"})
    pod = cluster.pod("train", resourceClaims=[FROM_TEMPLATE])
    cluster.settle()
    made = claim(cluster, claim_of(cluster, "train"))
    metadata = made["metadata"]
    assert metadata["name"].startswith("train-gpu-")
    assert metadata["generateName"] == "train-gpu-"
    assert metadata["labels"] == {"team": "a"}
    assert metadata["annotations"] == {
        "note": "b", "resource.kubernetes.io/pod-claim-name": "gpu"
    }  # fmt: skip
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "v1", "kind": "Pod", "name": "train", "uid": pod["metadata"]["uid"],
            "controller": True,
        }
    ]  # fmt: skip
    exactly = {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": 1}
    assert made["spec"]["devices"]["requests"] == [{"name": "gpu", "exactly": exactly}]
    statuses = cluster.get(PODS, "train")["status"]["resourceClaimStatuses"]
    assert statuses == [{"name": "gpu", "resourceClaimName": metadata["name"]}]


def test_a_claim_is_created_for_every_template_and_only_once(cluster: FakeCluster) -> None:
    create_template(cluster)
    create_claim(cluster, "shared")
    other = {"name": "other", "resourceClaimTemplateName": "one-gpu"}
    cluster.pod("train", resourceClaims=[FROM_TEMPLATE, using("shared"), other])
    cluster.settle()
    cluster.change(PODS, "train", lambda obj: obj["metadata"].update(labels={"a": "b"}))
    cluster.settle()
    assert len(cluster.names(RESOURCE_CLAIMS)) == 3
    statuses = cluster.get(PODS, "train")["status"]["resourceClaimStatuses"]
    assert [one["name"] for one in statuses] == ["gpu", "other"]


def test_names_of_long_pods_and_claims_are_shortened_alike(cluster: FakeCluster) -> None:
    create_template(cluster)
    cluster.pod("p" * 100, resourceClaims=[{**FROM_TEMPLATE, "name": "c" * 50}])
    cluster.settle()
    name = claim(cluster, claim_of(cluster, "p" * 100))["metadata"]["generateName"]
    assert name == "p" * 37 + "-" + "c" * 18


def test_a_missing_template_is_an_event_until_it_is_there(cluster: FakeCluster) -> None:
    cluster.pod("train", resourceClaims=[FROM_TEMPLATE])
    cluster.settle()
    text = (
        'PodResourceClaim gpu: resource claim template "one-gpu": '
        'resourceclaimtemplate.resource.k8s.io "one-gpu" not found'
    )
    assert cluster.events("train") == [("FailedResourceClaimCreation", text)]
    assert not cluster.names(RESOURCE_CLAIMS)
    create_template(cluster)
    cluster.settle()
    assert claim_of(cluster, "train") in cluster.names(RESOURCE_CLAIMS)


def test_a_claim_that_was_deleted_is_created_again(cluster: FakeCluster) -> None:
    create_template(cluster)
    cluster.pod("train", resourceClaims=[FROM_TEMPLATE])
    cluster.settle()
    first = claim_of(cluster, "train")
    cluster.delete(RESOURCE_CLAIMS, first)
    cluster.settle()
    second = claim_of(cluster, "train")
    assert second != first
    assert cluster.names(RESOURCE_CLAIMS) == [second]


def test_a_claim_that_the_status_lacks_is_used(cluster: FakeCluster) -> None:
    create_template(cluster)
    cluster.pod("train", resourceClaims=[FROM_TEMPLATE])
    cluster.settle()
    first = claim_of(cluster, "train")
    cluster.change(PODS, "train", lambda obj: obj["status"].pop("resourceClaimStatuses"), "status")
    cluster.settle()
    assert claim_of(cluster, "train") == first
    assert cluster.names(RESOURCE_CLAIMS) == [first]


def test_a_foreign_claim_of_the_name_is_not_used(cluster: FakeCluster) -> None:
    create_template(cluster)
    cluster.pod("train", resourceClaims=[FROM_TEMPLATE])
    cluster.settle()
    first = claim_of(cluster, "train")
    cluster.delete(RESOURCE_CLAIMS, first)
    create_claim(cluster, first)
    cluster.settle()
    assert claim_of(cluster, "train") != first


def test_a_pod_that_is_being_deleted_gets_no_claim(cluster: FakeCluster) -> None:
    cluster.pod("train", resourceClaims=[FROM_TEMPLATE], metadata={"finalizers": ["a.io/b"]})
    cluster.delete(PODS, "train")
    create_template(cluster)
    cluster.settle()
    assert not cluster.names(RESOURCE_CLAIMS)


def test_an_allocated_claim_is_reserved_for_a_pod_with_a_node(cluster: FakeCluster) -> None:
    create_claim(cluster, "shared")
    first = cluster.pod("first", resourceClaims=[using("shared")])
    allocate(cluster, "shared", first)
    second = cluster.pod("second", node="n1", resourceClaims=[using("shared")])
    cluster.settle()
    users = claim(cluster, "shared")["status"]["reservedFor"]
    assert users == [consumer(first), consumer(second)]


def test_a_pod_without_node_is_left_to_the_scheduler(cluster: FakeCluster) -> None:
    create_claim(cluster, "shared")
    first = cluster.pod("first", resourceClaims=[using("shared")])
    allocate(cluster, "shared", first)
    cluster.pod("second", resourceClaims=[using("shared")])
    cluster.settle()
    assert claim(cluster, "shared")["status"]["reservedFor"] == [consumer(first)]


def test_a_shared_claim_is_deallocated_after_its_last_user(cluster: FakeCluster) -> None:
    create_claim(cluster, "shared")
    pods = [cluster.pod(name, resourceClaims=[using("shared")]) for name in ("first", "second")]
    allocate(cluster, "shared", *pods)
    finish(cluster, "first")
    found = claim(cluster, "shared")
    assert found["status"]["reservedFor"] == [consumer(pods[1])]
    assert found["status"]["allocation"]
    cluster.delete(PODS, "second")
    cluster.settle()
    found = claim(cluster, "shared")
    assert found["status"] == {}
    assert "finalizers" not in found["metadata"]


def test_devices_of_nobody_stay_allocated(cluster: FakeCluster) -> None:
    create_claim(cluster, "shared")
    allocate(cluster, "shared")
    assert claim(cluster, "shared")["status"]["allocation"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_the_claim_of_a_finished_pod_is_deleted(cluster: FakeCluster, phase: str) -> None:
    create_template(cluster)
    pod = cluster.pod("train", resourceClaims=[FROM_TEMPLATE])
    cluster.settle()
    allocate(cluster, claim_of(cluster, "train"), pod)
    finish(cluster, "train", phase)
    assert not cluster.names(RESOURCE_CLAIMS)


def test_the_claim_of_a_deleted_pod_is_deleted(cluster: FakeCluster) -> None:
    create_template(cluster)
    pod = cluster.pod("train", resourceClaims=[FROM_TEMPLATE])
    cluster.settle()
    allocate(cluster, claim_of(cluster, "train"), pod)
    cluster.delete(PODS, "train")
    cluster.settle()
    assert not cluster.names(RESOURCE_CLAIMS)


def test_the_claim_of_a_running_pod_stays(cluster: FakeCluster) -> None:
    create_template(cluster)
    pod = cluster.pod("train", resourceClaims=[FROM_TEMPLATE])
    cluster.settle()
    name = claim_of(cluster, "train")
    allocate(cluster, name, pod)
    finish(cluster, "train", "Running")
    assert claim(cluster, name)["status"]["reservedFor"] == [consumer(pod)]


def test_the_claim_for_extended_resources_is_deleted(cluster: FakeCluster) -> None:
    pod = extended_pod(cluster, "train", "special")
    allocate(cluster, "special", pod)
    assert cluster.names(RESOURCE_CLAIMS) == ["special"]
    finish(cluster, "train")
    assert not cluster.names(RESOURCE_CLAIMS)


def test_a_reservation_of_an_earlier_pod_of_the_name_is_released(cluster: FakeCluster) -> None:
    create_claim(cluster, "shared")
    pod = cluster.pod("train", resourceClaims=[using("shared")])
    gone = {**consumer(pod), "uid": "00000000-0000-4000-8000-00000000dead"}

    def add(obj: Obj) -> None:
        obj["status"]["reservedFor"].append(gone)

    allocate(cluster, "shared", pod)
    cluster.change(RESOURCE_CLAIMS, "shared", add, "status")
    cluster.settle()
    assert claim(cluster, "shared")["status"]["reservedFor"] == [consumer(pod)]


def test_reservations_of_others_than_pods_are_left_alone(cluster: FakeCluster) -> None:
    create_claim(cluster, "shared")
    other = {"apiGroup": "a.io", "resource": "jobs", "name": "j", "uid": "1"}

    def add(obj: Obj) -> None:
        obj["status"]["reservedFor"] = [other]

    allocate(cluster, "shared")
    cluster.change(RESOURCE_CLAIMS, "shared", add, "status")
    cluster.settle()
    assert claim(cluster, "shared")["status"]["reservedFor"] == [other]


def test_a_deleted_claim_that_nobody_uses_goes(cluster: FakeCluster) -> None:
    create_claim(cluster, "shared")
    allocate(cluster, "shared")
    cluster.delete(RESOURCE_CLAIMS, "shared")
    cluster.settle()
    assert not cluster.names(RESOURCE_CLAIMS)


def test_a_deleted_claim_in_use_stays_until_its_pod_is_done(cluster: FakeCluster) -> None:
    create_claim(cluster, "shared")
    pod = cluster.pod("train", resourceClaims=[using("shared")])
    allocate(cluster, "shared", pod)
    cluster.delete(RESOURCE_CLAIMS, "shared")
    cluster.settle()
    found = claim(cluster, "shared")
    assert found["metadata"]["finalizers"] == [FINALIZER]
    assert found["spec"]["devices"]["requests"][0]["name"] == SPEC["devices"]["requests"][0]["name"]
    finish(cluster, "train")
    assert not cluster.names(RESOURCE_CLAIMS)
