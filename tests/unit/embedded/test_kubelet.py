"""Pods that are bound run, end and go as a kubelet would have it."""

from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.kubelet.status import full_image, image_id
from mooring.embedded.resources import NODES, PODS, Obj
from tests.unit.embedded.controllers.world import World


@pytest.fixture
def world() -> World:
    world = World(kubelet=KubeletSettings(), controllers=False)
    world.node("n1")
    return world


def asking(**requests: str) -> list[Obj]:
    return [{"name": "main", "image": "nginx", "resources": {"requests": requests}}]


def phase(world: World, name: str) -> str:
    return str(world.get(PODS, name)["status"]["phase"])


def conditions(pod: Obj) -> dict[str, tuple[str, str]]:
    return {
        one["type"]: (one["status"], one.get("reason", "")) for one in pod["status"]["conditions"]
    }


def test_a_bound_pod_runs(world: World) -> None:
    world.pod("p", initContainers=[
        {"name": "first", "image": "busybox:1"},
        {"name": "side", "image": "proxy", "restartPolicy": "Always"},
    ])  # fmt: skip
    world.settle()
    assert phase(world, "p") == "Pending"
    world.now += 3
    world.bind_all("n1")
    world.now += 2
    world.settle()
    pod = world.get(PODS, "p")
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


def test_every_pod_has_an_address_of_its_own(world: World) -> None:
    for number in range(300):
        world.pod(f"p{number}")
    world.change(NODES, "n1", lambda node: _allow(node, "1000"), "status")
    world.bind_all("n1")
    world.settle()
    addresses = {pod["status"]["podIP"] for pod in world.all(PODS)}
    assert len(addresses) == 300
    assert "10.244.1.44" in addresses


def _allow(node: Obj, pods: str) -> None:
    for field in ("capacity", "allocatable"):
        node["status"][field]["pods"] = pods


def test_addresses_go_on_after_those_of_pods_that_were_there(world: World) -> None:
    world.pod("a", node="n1")
    world.settle()
    from mooring.embedded.life import Life

    life = Life(world.api, KubeletSettings(), controllers=False, clock=lambda: world.now)
    world.pod("b", node="n1")
    life.settle()
    assert world.get(PODS, "b")["status"]["podIP"] == "10.244.0.2"


def test_a_pod_on_the_host_network_has_the_address_of_its_node(world: World) -> None:
    world.pod("p", node="n1", hostNetwork=True)
    world.settle()
    assert world.get(PODS, "p")["status"]["podIP"] == "192.168.0.1"


def test_a_pod_for_a_node_that_does_not_exist_waits_for_it(world: World) -> None:
    world.pod("p", node="n2")
    world.settle()
    assert phase(world, "p") == "Pending"
    world.node("n2")
    world.settle()
    assert phase(world, "p") == "Running"


def test_a_pod_may_take_its_time_to_start(world: World) -> None:
    world = World(kubelet=KubeletSettings(start_seconds=2), controllers=False)
    world.node("n1")
    world.pod("p", node="n1")
    world.wait(1.9)
    assert phase(world, "p") == "Pending"
    world.wait(0.2)
    assert phase(world, "p") == "Running"


@pytest.mark.parametrize(("code", "expected"), [("0", "Succeeded"), ("2", "Failed")])
def test_a_pod_ends_when_its_annotation_says_so(world: World, code: str, expected: str) -> None:
    annotations = {"mooring.dev/run-seconds": "3", "mooring.dev/exit-code": code}
    world.pod("p", node="n1", metadata={"annotations": annotations})
    world.wait(2.9)
    assert phase(world, "p") == "Running"
    world.wait(0.2)
    pod = world.get(PODS, "p")
    assert pod["status"]["phase"] == expected
    (main,) = pod["status"]["containerStatuses"]
    ended = main["state"]["terminated"]
    assert ended["exitCode"] == int(code)
    assert ended["reason"] == ("Error" if int(code) else "Completed")
    assert not main["ready"]
    reason = "PodFailed" if int(code) else "PodCompleted"
    assert conditions(pod)["Ready"] == ("False", reason)
    assert pod["status"]["podIP"] == "10.244.0.1"


def test_a_pod_may_run_for_no_time_at_all(world: World) -> None:
    world.pod("p", node="n1", metadata={"annotations": {"mooring.dev/run-seconds": "0"}})
    world.settle()
    assert phase(world, "p") == "Succeeded"


def test_a_deleted_pod_is_gone_at_once(world: World) -> None:
    world.pod("p", node="n1")
    world.settle()
    world.delete(PODS, "p")
    assert "deletionTimestamp" in world.get(PODS, "p")["metadata"]
    world.settle()
    assert world.names(PODS) == []


def test_a_deleted_pod_may_take_its_time(world: World) -> None:
    world = World(kubelet=KubeletSettings(stop_seconds=4, events=True), controllers=False)
    world.node("n1")
    world.pod("p", node="n1")
    world.settle()
    world.delete(PODS, "p")
    world.wait(3.9)
    assert world.names(PODS) == ["p"]
    world.wait(0.2)
    assert world.names(PODS) == []
    assert [reason for reason, _ in world.events("p")] == [
        "Pulled", "Created", "Started", "Killing",
    ]  # fmt: skip


def test_a_deleted_pod_of_a_node_that_is_gone_goes_too(world: World) -> None:
    world.pod("p", node="n1")
    world.settle()
    world.delete(NODES, "n1")
    world.delete(PODS, "p")
    world.settle()
    assert world.names(PODS) == []


def test_a_pod_that_is_held_says_how_it_ended(world: World) -> None:
    world.pod("p", node="n1", metadata={"finalizers": ["example.com/hold"]})
    world.settle()
    world.delete(PODS, "p")
    world.settle()
    assert phase(world, "p") == "Failed"
    world.change(PODS, "p", lambda pod: pod["metadata"].pop("finalizers"))
    world.settle()
    assert world.names(PODS) == []


# -- what a kubelet turns away


def test_pods_beyond_the_room_of_a_node_are_rejected(world: World) -> None:
    world.pod("first", node="n1", containers=asking(cpu="3"))
    world.settle()
    world.pod("second", node="n1", containers=asking(cpu="1500m"))
    world.settle()
    status = world.get(PODS, "second")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert status["message"] == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 1500, used: 3000, "
        "capacity: 4000"
    )
    world.pod("third", node="n1", containers=asking(cpu="1"))
    world.settle()
    assert phase(world, "third") == "Running"


def test_room_comes_back_when_pods_end_or_go(world: World) -> None:
    annotations = {"mooring.dev/run-seconds": "1"}
    world.pod("ends", node="n1", containers=asking(cpu="2"), metadata={"annotations": annotations})
    world.pod("goes", node="n1", containers=asking(cpu="2"))
    world.settle()
    world.wait(2)
    world.delete(PODS, "goes")
    world.settle()
    world.pod("all", node="n1", containers=asking(cpu="4"))
    world.settle()
    assert phase(world, "all") == "Running"


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
    world = World(kubelet=KubeletSettings(), controllers=False)
    world.node("n1", **{"example.com/device": "2"})
    containers = asking(**requests)
    containers[0]["resources"]["limits"] = {
        name: amount for name, amount in requests.items() if "/" in name
    }
    world.pod("p", node="n1", containers=containers)
    world.settle()
    assert world.get(PODS, "p")["status"].get("reason") == reason


def test_the_number_of_pods_counts() -> None:
    world = World(kubelet=KubeletSettings(), controllers=False)
    world.node("n1", pods="2")
    for name in "abc":
        world.pod(name, node="n1")
    world.settle()
    assert world.get(PODS, "c")["status"]["message"] == (
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
def test_a_pod_that_is_not_for_this_node_is_rejected(world: World, spec: dict[str, Any]) -> None:
    world.pod("p", node="n1", **spec)
    world.settle()
    status = world.get(PODS, "p")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "NodeAffinity")
    assert status["message"] == (
        "Pod was rejected: Predicate NodeAffinity failed: "
        "node(s) didn't match Pod's node affinity/selector"
    )


def test_a_host_port_is_given_once(world: World) -> None:
    containers = [
        {"name": "main", "image": "nginx", "ports": [{"containerPort": 80, "hostPort": 80}]}
    ]
    world.pod("a", node="n1", containers=containers)
    world.pod("b", node="n1", containers=containers)
    world.settle()
    assert (phase(world, "a"), world.get(PODS, "b")["status"]["reason"]) == ("Running", "NodePorts")


def test_pods_that_ran_before_count_before_new_ones_are_let_in() -> None:
    world = World(kubelet=KubeletSettings(), controllers=False)
    world.node("n1")
    world.pod("z-old", node="n1", containers=asking(cpu="3"))
    world.settle()
    from mooring.embedded.life import Life

    world.pod("a-new", node="n1", containers=asking(cpu="3"))
    life = Life(world.api, KubeletSettings(), controllers=False, clock=lambda: world.now)
    life.settle()
    assert world.get(PODS, "a-new")["status"]["reason"] == "OutOfcpu"


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
