"""Volumes that wait for their first consumer: `moor run` and kube-scheduler on both API servers.

Every test runs with both, so that what is expected here is what kube-scheduler does.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import BaseControlPlane, KubeScheduler
from tests.e2e.pod_helpers import node_of, nodes, note_of, pod, unschedulable
from tests.e2e.provisioner import SELECTED_NODE, Provisioner, local_volume

CONFIG: dict[str, Any] = {
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 1,
    "profiles": [
        {"schedulerName": "patient"},
        {
            "schedulerName": "hasty",
            "pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 1}}],
        },
    ],
}
CLASSES = {"made": "example.com/provisioner", "found": "kubernetes.io/no-provisioner"}
STORAGE = "storage.k8s.io/v1"


@pytest.fixture(scope="module", params=["moor", pytest.param("kube", marks=pytest.mark.kube)])
def scheduler(
    plane: BaseControlPlane, request: pytest.FixtureRequest
) -> Iterator[MoorRun | KubeScheduler]:
    """One of the two schedulers, with two nodes and two storage classes."""
    for name, provisioner in CLASSES.items():
        plane.create(
            {
                "apiVersion": STORAGE,
                "kind": "StorageClass",
                "metadata": {"name": name},
                "provisioner": provisioner,
                "volumeBindingMode": "WaitForFirstConsumer",
            }
        )
    kind: type[MoorRun] | type[KubeScheduler] = MoorRun
    kind = KubeScheduler if request.param == "kube" else MoorRun
    try:
        with nodes(plane, a={}, b={}), kind(plane, CONFIG) as running:
            yield running
    finally:
        for name in CLASSES:
            plane.delete("StorageClass", name, api_version=STORAGE)


@pytest.fixture
def priority(plane: BaseControlPlane) -> Iterator[str]:
    """A priority class above that of pods without one."""
    name, version = "volumes-high", "scheduling.k8s.io/v1"
    meta = {"apiVersion": version, "kind": "PriorityClass", "metadata": {"name": name}}
    plane.create({**meta, "value": 9})
    yield name
    plane.delete("PriorityClass", name, api_version=version)


@pytest.fixture
def provisioner(
    plane: BaseControlPlane,
    scheduler: MoorRun | KubeScheduler,
    namespace: str,
) -> Iterator[Provisioner]:
    """The PV controller and the provisioner of a test."""
    with Provisioner(plane, namespace) as running:
        yield running


def claim(plane: BaseControlPlane, name: str, namespace: str, of: str, size: str = "1Gi") -> None:
    spec = {
        "storageClassName": of,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
    }
    made = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": spec}
    plane.create({**made, "metadata": {"name": name, "namespace": namespace}})


def user(name: str, namespace: str, *claims: str, scheduler: str = "patient") -> dict[str, Any]:
    """A pod that uses claims."""
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    return pod(name, namespace, scheduler, volumes=volumes)


def test_a_volume_is_made_where_the_pod_goes(
    plane: BaseControlPlane, namespace: str, provisioner: Provisioner
) -> None:
    for name in ("one", "two"):
        claim(plane, name, namespace, "made")
    plane.create(user("p", namespace, "one", "two"))
    where = node_of(plane, "p", namespace)
    assert provisioner.nodes == {"one": [where], "two": [where]}
    for name in ("one", "two"):
        found = plane.get("PersistentVolumeClaim", name, namespace)
        assert found["metadata"]["annotations"][SELECTED_NODE] == where
        assert found["spec"]["volumeName"] == f"made-{found['metadata']['uid']}"
    note_of(plane, "p", namespace, "Scheduled")
    # The volumes are on that node now, and so is whoever uses them next.
    plane.delete("Pod", "p", namespace)
    plane.create(user("next", namespace, "one"))
    assert node_of(plane, "next", namespace) == where


@pytest.mark.usefixtures("provisioner")
def test_a_pod_goes_where_a_volume_is_that_fits(plane: BaseControlPlane, namespace: str) -> None:
    plane.create(local_volume("small-a", "a", "found", "1Gi"))
    plane.create(local_volume("large-b", "b", "found", "10Gi"))
    for name in ("first", "second"):
        claim(plane, name, namespace, "found", "5Gi")
    plane.create(user("p", namespace, "first"))
    assert node_of(plane, "p", namespace) == "b"
    volume = plane.get("PersistentVolume", "large-b")
    assert volume["spec"]["claimRef"]["name"] == "first"
    assert volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"
    plane.create(user("q", namespace, "second"))
    unschedulable(
        plane, "q", namespace,
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.",
    )  # fmt: skip
    plane.create(local_volume("large-a", "a", "found", "20Gi"))
    assert node_of(plane, "q", namespace) == "a"


def test_a_provisioner_that_fails_makes_the_pod_try_again(
    plane: BaseControlPlane, namespace: str, provisioner: Provisioner
) -> None:
    claim(plane, "fail", namespace, "made")
    plane.create(user("p", namespace, "fail"))
    where = node_of(plane, "p", namespace)
    assert len(provisioner.nodes["fail"]) == 2
    assert provisioner.nodes["fail"][1] == where
    note = note_of(plane, "p", namespace, "FailedScheduling", "PreBind")
    assert note == (
        'running PreBind plugin "VolumeBinding": binding volumes: '
        'selectedNode annotation reset for PVC "fail"'
    )


def test_a_pod_waits_no_longer_than_the_configuration_says(
    plane: BaseControlPlane, namespace: str, provisioner: Provisioner
) -> None:
    claim(plane, "stall", namespace, "made")
    plane.create(user("p", namespace, "stall", scheduler="hasty"))
    note = note_of(plane, "p", namespace, "FailedScheduling", "PreBind")
    assert note == (
        'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
    )
    assert provisioner.nodes["stall"]
    assert "nodeName" not in plane.get("Pod", "p", namespace)["spec"]


def test_a_pod_that_goes_while_its_volumes_are_made_leaves_nothing_behind(
    plane: BaseControlPlane,
    namespace: str,
    provisioner: Provisioner,
    scheduler: MoorRun | KubeScheduler,
) -> None:
    claim(plane, "stall", namespace, "made")
    big = user("big", namespace, "stall")
    big["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "6"}
    plane.create(big)
    plane.wait_for(lambda: "stall" in provisioner.nodes, "a node to be chosen for the claim")
    nominated = plane.wait_for(
        lambda: plane.get("Pod", "big", namespace)["status"].get("nominatedNodeName"),
        "the pod to have a nominated node while it waits",
    )
    assert nominated == provisioner.nodes["stall"][0]
    plane.delete("Pod", "big", namespace)
    for name in ("x", "y"):  # both fit only if the place of the pod that went is free
        plane.create(pod(name, namespace, "patient", requests={"cpu": "6"}))
    assert {node_of(plane, name, namespace) for name in ("x", "y")} == {"a", "b"}
    assert "Traceback" not in scheduler.log()


def test_a_victim_whose_volumes_are_being_made_goes_back_to_the_queue(
    plane: BaseControlPlane,
    namespace: str,
    provisioner: Provisioner,
    scheduler: MoorRun | KubeScheduler,
    priority: str,
) -> None:
    """It is not deleted: nothing of it runs yet."""
    claim(plane, "stall", namespace, "made")
    low = user("low", namespace, "stall")
    low["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "6"}
    plane.create(low)
    plane.wait_for(lambda: "stall" in provisioner.nodes, "a node to be chosen for the claim")
    (where,) = provisioner.nodes["stall"]
    other = "b" if where == "a" else "a"
    plane.create(
        pod(
            "rock", namespace, "nobody", requests={"cpu": "6"}, nodeName=other,
            priorityClassName=priority,
        )
    )  # fmt: skip
    vip = plane.create(
        pod("vip", namespace, "patient", requests={"cpu": "6"}, priorityClassName=priority)
    )
    assert node_of(plane, "vip", namespace) == where
    assert note_of(plane, "low", namespace, "Preempted") == (
        f"Preempted by pod {vip['metadata']['uid']} on node {where} (in kube-scheduler memory)."
    )
    told = 'running PreBind plugin "VolumeBinding": preempted by DefaultPreemption'
    assert note_of(plane, "low", namespace, "FailedScheduling", "PreBind") == told
    found = plane.get("Pod", "low", namespace)
    assert "deletionTimestamp" not in found["metadata"]
    assert "nodeName" not in found["spec"]
    assert [one["type"] for one in found["status"]["conditions"]] == ["PodScheduled"]
    assert "Traceback" not in scheduler.log()
