"""kube-apiserver takes what the kubelet and the controllers write, and keeps it as it is."""

import copy
from typing import Any

import pytest

from mooring.embedded.fleet import make_fleet
from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import (
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    Obj,
)
from mooring.testing.real_kubernetes import ControlPlane
from tests.unit.embedded.fake_cluster import FakeCluster, template

pytestmark = pytest.mark.kube

#: Set by the server for each object anew, or tied to an object that is not there.
_NOT_COPIED = (
    "uid", "resourceVersion", "creationTimestamp", "generation", "ownerReferences", "managedFields",
    "finalizers", "generateName", "deletionTimestamp", "deletionGracePeriodSeconds",
)  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> FakeCluster:
    """A cluster in which a bit of everything happened."""
    cluster = FakeCluster(kubelet=KubeletSettings(job_seconds=1))
    cluster.node("real-1")
    pods = {"selector": {"matchLabels": {"app": "x"}}, "template": template(app="x")}
    cluster.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": {"replicas": 2, **pods}})
    cluster.create(DEPLOYMENTS, {"metadata": {"name": "wait"}, "spec": {"paused": True, **pods}})
    cluster.create(
        STATEFUL_SETS, {"metadata": {"name": "db"}, "spec": {"serviceName": "d", **pods}}
    )
    cluster.create(DAEMON_SETS, {"metadata": {"name": "log"}, "spec": pods})
    budget = {"selector": {"matchLabels": {"app": "x"}}, "maxUnavailable": 1}
    cluster.create(POD_DISRUPTION_BUDGETS, {"metadata": {"name": "guard"}, "spec": budget})
    cluster.create(
        STORAGE_CLASSES, {"metadata": {"name": "fast"}, "provisioner": "csi.example.com"}
    )
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "5Gi"}},
        "storageClassName": "fast",
    }
    cluster.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": "c"}, "spec": claim})
    inner = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    for name, code, more in (
        ("good", "0", {"completions": 2, "completionMode": "Indexed"}),
        ("bad", "1", {"backoffLimit": 0}),
        ("later", "0", {"suspend": True}),
    ):
        annotations = {"mooring.dev/exit-code": code}
        pod = {"metadata": {"annotations": annotations}, "spec": inner}
        cluster.create(JOBS, {"metadata": {"name": name}, "spec": {"template": pod, **more}})
    greedy = [{"name": "a", "image": "b", "resources": {"requests": {"cpu": "99"}}}]
    cluster.pod("greedy", node="real-1", containers=greedy)
    sidecar = {"name": "side", "image": "proxy", "restartPolicy": "Always"}
    first = {"name": "first", "image": "busybox"}
    cluster.pod("init", node="real-1", initContainers=[first, sidecar])
    for _ in range(10):
        cluster.run_all("real-1")
        cluster.wait(1)
    return cluster


RESOURCES = (
    PODS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS, JOBS, POD_DISRUPTION_BUDGETS,
    PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS,
)  # fmt: skip


def as_new(obj: Obj, namespace: str) -> Obj:
    manifest = copy.deepcopy(obj)
    metadata = manifest["metadata"]
    for name in _NOT_COPIED:
        metadata.pop(name, None)
    if "namespace" in metadata:
        metadata["namespace"] = namespace
    manifest.pop("status", None)
    if obj["kind"] == "Job":
        # Its labels hold the id that the Job has here; the server makes new ones.
        manifest["spec"].pop("selector", None)
        manifest["spec"]["template"]["metadata"].pop("labels", None)
    if obj["kind"] == "PersistentVolume":
        manifest["spec"]["claimRef"]["namespace"] = namespace
        manifest["spec"]["claimRef"].pop("uid")
    return manifest


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda one: str(one.plural))
def test_every_status_is_taken_as_it_is(
    cluster: FakeCluster, control_plane: ControlPlane, namespace: str, resource: Any
) -> None:
    objects = cluster.all(resource)
    assert objects
    for obj in objects:
        made = control_plane.create(as_new(obj, namespace))
        try:
            wanted = copy.deepcopy(obj["status"])
            # The generation is another one on this server.
            for part in (wanted, *wanted.get("conditions", ())):
                if "observedGeneration" in part:
                    part["observedGeneration"] = made["metadata"].get("generation", 1)
            metadata = made["metadata"]
            path = control_plane.path(
                made["kind"], metadata["name"], metadata.get("namespace"),
                api_version=made["apiVersion"],
            )  # fmt: skip
            made["status"] = wanted
            stored = control_plane.request("PUT", f"{path}/status", made)
            assert stored["status"] == wanted, obj["metadata"]["name"]
        finally:
            if resource is PERSISTENT_VOLUMES:
                control_plane.delete(
                    made["kind"], made["metadata"]["name"], api_version=made["apiVersion"]
                )


def test_the_fleet_is_taken_as_it_is(control_plane: ControlPlane) -> None:
    for node in make_fleet(10, prefix="fleet-"):
        stored = control_plane.create(copy.deepcopy(node))
        try:
            assert stored["status"]["allocatable"] == node["status"]["allocatable"]
            no_times = {"lastHeartbeatTime": None, "lastTransitionTime": None}
            told = [{**no_times, **one} for one in node["status"]["conditions"]]
            assert stored["status"]["conditions"] == told
            assert stored["metadata"]["labels"] == node["metadata"]["labels"]
            assert stored["spec"]["podCIDR"] == node["spec"]["podCIDR"]
            info, given = stored["status"]["nodeInfo"], node["status"]["nodeInfo"]
            assert {key: info[key] for key in given} == given
        finally:
            control_plane.delete(NODES.kind, node["metadata"]["name"], api_version="v1")
