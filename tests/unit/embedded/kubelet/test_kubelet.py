"""Pods that are bound run, end and go as a kubelet would have it."""

from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.kubelet.pod_status import full_image, image_id
from mooring.embedded.resources import NODES, PODS, Obj
from tests.unit.embedded.fake_cluster import FakeCluster


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(kubelet=KubeletSettings(), controllers=False)
    cluster.node("n1")
    return cluster


def asking(**requests: str) -> list[Obj]:
    return [{"name": "main", "image": "nginx", "resources": {"requests": requests}}]


def phase(cluster: FakeCluster, name: str) -> str:
    return str(cluster.get(PODS, name)["status"]["phase"])


def conditions(pod: Obj) -> dict[str, tuple[str, str]]:
    return {
        one["type"]: (one["status"], one.get("reason", "")) for one in pod["status"]["conditions"]
    }


def test_a_bound_pod_runs(cluster: FakeCluster) -> None:
    cluster.pod("p", initContainers=[
        {"name": "first", "image": "busybox:1"},
        {"name": "side", "image": "proxy", "restartPolicy": "Always"},
    ])  # fmt: skip
    cluster.settle()
    assert phase(cluster, "p") == "Pending"
    cluster.now += 3
    cluster.bind_all("n1")
    cluster.now += 2
    cluster.settle()
    pod = cluster.get(PODS, "p")
    status = pod["status"]
    assert status["phase"] == "Running"
    assert (status["podIP"], status["hostIP"]) == ("10.244.0.1", "192.168.0.1")
    assert status["podIPs"] == [{"ip": "10.244.0.1"}]
    assert status["qosClass"] == "BestEffort"
    assert status["startTime"] == "2027-01-15T08:00:05Z"
    assert status["observedGeneration"] == pod["metadata"]["generation"]
    assert conditions(pod) == {
        "PodReadyToStartContainers": ("True", ""), "Initialized": ("True", ""),
        "Ready": ("True", ""), "ContainersReady": ("True", ""), "PodScheduled": ("True", ""),
    }  # fmt: skip
    times = {one["type"]: one["lastTransitionTime"] for one in status["conditions"]}
    assert times["PodScheduled"] == "2027-01-15T08:00:03Z"
    assert times["Ready"] == "2027-01-15T08:00:05Z"
    (main,) = status["containerStatuses"]
    assert main["state"] == {"running": {"startedAt": "2027-01-15T08:00:05Z"}}
    assert (main["ready"], main["started"], main["restartCount"]) == (True, True, 0)
    first, side = status["initContainerStatuses"]
    assert first["state"]["terminated"]["exitCode"] == 0
    assert "running" in side["state"]


def test_every_pod_has_an_address_of_its_own(cluster: FakeCluster) -> None:
    for number in range(300):
        cluster.pod(f"p{number}")
    cluster.change(NODES, "n1", lambda node: _allow(node, "1000"), "status")
    cluster.bind_all("n1")
    cluster.settle()
    addresses = {pod["status"]["podIP"] for pod in cluster.all(PODS)}
    assert len(addresses) == 300
    assert "10.244.1.44" in addresses


def _allow(node: Obj, pods: str) -> None:
    for field in ("capacity", "allocatable"):
        node["status"][field]["pods"] = pods


def test_addresses_go_on_after_those_of_pods_that_were_there(cluster: FakeCluster) -> None:
    cluster.pod("a", node="n1")
    cluster.settle()
    from mooring.embedded.controller_manager import ControllerManager

    manager = ControllerManager(
        cluster.api, KubeletSettings(), controllers=False, clock=lambda: cluster.now
    )
    cluster.pod("b", node="n1")
    manager.settle()
    assert cluster.get(PODS, "b")["status"]["podIP"] == "10.244.0.2"


def test_a_pod_on_the_host_network_has_the_address_of_its_node(cluster: FakeCluster) -> None:
    cluster.pod("p", node="n1", hostNetwork=True)
    cluster.settle()
    assert cluster.get(PODS, "p")["status"]["podIP"] == "192.168.0.1"


def test_a_pod_for_a_node_that_does_not_exist_waits_for_it(cluster: FakeCluster) -> None:
    cluster.pod("p", node="n2")
    cluster.settle()
    assert phase(cluster, "p") == "Pending"
    cluster.node("n2")
    cluster.settle()
    assert phase(cluster, "p") == "Running"


def test_a_pod_may_take_its_time_to_start(cluster: FakeCluster) -> None:
    cluster = FakeCluster(kubelet=KubeletSettings(start_seconds=2), controllers=False)
    cluster.node("n1")
    cluster.pod("p", node="n1")
    cluster.wait(1.9)
    assert phase(cluster, "p") == "Pending"
    cluster.wait(0.2)
    assert phase(cluster, "p") == "Running"


@pytest.mark.parametrize(("code", "expected"), [("0", "Succeeded"), ("2", "Failed")])
def test_a_pod_ends_when_its_annotation_says_so(
    cluster: FakeCluster, code: str, expected: str
) -> None:
    annotations = {"mooring.dev/run-seconds": "3", "mooring.dev/exit-code": code}
    cluster.pod("p", node="n1", metadata={"annotations": annotations})
    cluster.wait(2.9)
    assert phase(cluster, "p") == "Running"
    cluster.wait(0.2)
    pod = cluster.get(PODS, "p")
    assert pod["status"]["phase"] == expected
    (main,) = pod["status"]["containerStatuses"]
    ended = main["state"]["terminated"]
    assert ended["exitCode"] == int(code)
    assert ended["reason"] == ("Error" if int(code) else "Completed")
    assert not main["ready"]
    reason = "PodFailed" if int(code) else "PodCompleted"
    assert conditions(pod)["Ready"] == ("False", reason)
    assert pod["status"]["podIP"] == "10.244.0.1"


def test_a_pod_may_run_for_no_time_at_all(cluster: FakeCluster) -> None:
    cluster.pod("p", node="n1", metadata={"annotations": {"mooring.dev/run-seconds": "0"}})
    cluster.settle()
    assert phase(cluster, "p") == "Succeeded"


def test_a_deleted_pod_is_gone_at_once(cluster: FakeCluster) -> None:
    cluster.pod("p", node="n1")
    cluster.settle()
    cluster.delete(PODS, "p")
    assert "deletionTimestamp" in cluster.get(PODS, "p")["metadata"]
    cluster.settle()
    assert cluster.names(PODS) == []


def test_a_deleted_pod_may_take_its_time(cluster: FakeCluster) -> None:
    cluster = FakeCluster(kubelet=KubeletSettings(stop_seconds=4, events=True), controllers=False)
    cluster.node("n1")
    cluster.pod("p", node="n1")
    cluster.settle()
    cluster.delete(PODS, "p")
    cluster.wait(3.9)
    assert cluster.names(PODS) == ["p"]
    cluster.wait(0.2)
    assert cluster.names(PODS) == []
    assert [reason for reason, _ in cluster.events("p")] == [
        "Pulled", "Created", "Started", "Killing",
    ]  # fmt: skip


def test_a_deleted_pod_of_a_node_that_is_gone_goes_too(cluster: FakeCluster) -> None:
    cluster.pod("p", node="n1")
    cluster.settle()
    cluster.delete(NODES, "n1")
    cluster.delete(PODS, "p")
    cluster.settle()
    assert cluster.names(PODS) == []


def test_a_pod_that_is_held_says_how_it_ended(cluster: FakeCluster) -> None:
    cluster.pod("p", node="n1", metadata={"finalizers": ["example.com/hold"]})
    cluster.settle()
    cluster.delete(PODS, "p")
    cluster.settle()
    assert phase(cluster, "p") == "Failed"
    cluster.change(PODS, "p", lambda pod: pod["metadata"].pop("finalizers"))
    cluster.settle()
    assert cluster.names(PODS) == []


# -- what a kubelet turns away


def test_pods_beyond_the_room_of_a_node_are_rejected(cluster: FakeCluster) -> None:
    cluster.pod("first", node="n1", containers=asking(cpu="3"))
    cluster.settle()
    cluster.pod("second", node="n1", containers=asking(cpu="1500m"))
    cluster.settle()
    status = cluster.get(PODS, "second")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert status["message"] == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 1500, used: 3000, "
        "capacity: 4000"
    )
    cluster.pod("third", node="n1", containers=asking(cpu="1"))
    cluster.settle()
    assert phase(cluster, "third") == "Running"


def test_room_comes_back_when_pods_end_or_go(cluster: FakeCluster) -> None:
    annotations = {"mooring.dev/run-seconds": "1"}
    cluster.pod(
        "ends", node="n1", containers=asking(cpu="2"), metadata={"annotations": annotations}
    )
    cluster.pod("goes", node="n1", containers=asking(cpu="2"))
    cluster.settle()
    cluster.wait(2)
    cluster.delete(PODS, "goes")
    cluster.settle()
    cluster.pod("all", node="n1", containers=asking(cpu="4"))
    cluster.settle()
    assert phase(cluster, "all") == "Running"


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        ({"memory": "17Gi"}, "OutOfmemory"),
        ({"example.com/device": "3"}, "OutOfexample.com/device"),
        ({"example.com/unheard-of": "3"}, None),
        ({"cpu": "4", "memory": "16Gi"}, None),
    ],
)
def test_each_resource_counts(requests: dict[str, str], reason: str | None) -> None:
    cluster = FakeCluster(kubelet=KubeletSettings(), controllers=False)
    cluster.node("n1", **{"example.com/device": "2"})
    containers = asking(**requests)
    containers[0]["resources"]["limits"] = {
        name: amount for name, amount in requests.items() if "/" in name
    }
    cluster.pod("p", node="n1", containers=containers)
    cluster.settle()
    assert cluster.get(PODS, "p")["status"].get("reason") == reason


def test_the_number_of_pods_counts() -> None:
    cluster = FakeCluster(kubelet=KubeletSettings(), controllers=False)
    cluster.node("n1", pods="2")
    for name in "abc":
        cluster.pod(name, node="n1")
    cluster.settle()
    assert cluster.get(PODS, "c")["status"]["message"] == (
        "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 2, "
        "capacity: 2"
    )


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": {"disk": "ssd"}},
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n9"]},
            ]}]}}}},
    ],
)  # fmt: skip
def test_a_pod_that_is_not_for_this_node_is_rejected(
    cluster: FakeCluster, spec: dict[str, Any]
) -> None:
    cluster.pod("p", node="n1", **spec)
    cluster.settle()
    status = cluster.get(PODS, "p")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "NodeAffinity")
    assert status["message"] == (
        "Pod was rejected: Predicate NodeAffinity failed: "
        "node(s) didn't match Pod's node affinity/selector"
    )


def test_a_host_port_is_given_once(cluster: FakeCluster) -> None:
    containers = [
        {"name": "main", "image": "nginx", "ports": [{"containerPort": 80, "hostPort": 80}]}
    ]
    cluster.pod("a", node="n1", containers=containers)
    cluster.pod("b", node="n1", containers=containers)
    cluster.settle()
    assert (phase(cluster, "a"), cluster.get(PODS, "b")["status"]["reason"]) == (
        "Running",
        "NodePorts",
    )


def test_pods_that_ran_before_count_before_new_ones_are_let_in() -> None:
    cluster = FakeCluster(kubelet=KubeletSettings(), controllers=False)
    cluster.node("n1")
    cluster.pod("z-old", node="n1", containers=asking(cpu="3"))
    cluster.settle()
    from mooring.embedded.controller_manager import ControllerManager

    cluster.pod("a-new", node="n1", containers=asking(cpu="3"))
    manager = ControllerManager(
        cluster.api, KubeletSettings(), controllers=False, clock=lambda: cluster.now
    )
    manager.settle()
    assert cluster.get(PODS, "a-new")["status"]["reason"] == "OutOfcpu"


@pytest.mark.parametrize(
    ("image", "whole"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("nginx:1", "docker.io/library/nginx:1"),
        ("team/app:2", "docker.io/team/app:2"),
        ("registry.k8s.io/pause", "registry.k8s.io/pause:latest"),
        ("localhost:5000/app", "localhost:5000/app:latest"),
    ],
)
def test_images_have_whole_names(image: str, whole: str) -> None:
    assert full_image(image) == whole
    assert image_id(image).startswith(whole.rpartition(":")[0] + "@sha256:")
