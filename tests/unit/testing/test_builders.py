import pytest

from mooring import NotAvailable, QuantityError
from mooring.testing import make_node, make_pod


def test_a_pod_needs_nothing_but_defaults() -> None:
    pod = make_pod()
    assert (pod.key, pod.uid, pod.images) == ("default/pod", "uid-default-pod", ("app:1",))
    assert (pod.phase, pod.node_name, pod.priority, pod.requests) == ("Pending", "", 0, {})


def test_a_pod_has_what_was_given() -> None:
    pod = make_pod(
        "web",
        namespace="shop",
        requests={"cpu": "500m", "nvidia.com/gpu": 2},
        images=("front", "side"),
        labels={"app": "web"},
        annotations={"note": "x"},
        node="a",
        priority=7,
        spec={"nodeSelector": {"disk": "ssd"}, "schedulerName": "mine"},
    )
    assert (pod.key, pod.uid) == ("shop/web", "uid-shop-web")
    assert pod.requests == {"cpu": 500, "nvidia.com/gpu": 2}
    assert pod.images == ("front", "side")
    assert (pod.labels, pod.annotations) == ({"app": "web"}, {"note": "x"})
    assert (pod.node_name, pod.phase, pod.priority) == ("a", "Running", 7)
    assert (pod.node_selector, pod.scheduler_name) == ({"disk": "ssd"}, "mine")


def test_a_pod_without_containers_asks_for_nothing() -> None:
    assert make_pod(images=(), requests={"cpu": "1"}).requests == {}


def test_impossible_requests_show_when_they_are_read() -> None:
    pod = make_pod(requests={"cpu": "lots"})
    with pytest.raises(QuantityError):
        _ = pod.requests


def test_a_node_is_ready_and_of_a_sensible_size() -> None:
    node = make_node()
    assert (node.name, node.ready, node.unschedulable) == ("node", True, False)
    assert node.allocatable == {"cpu": 8000, "memory": 32 * 2**30, "pods": 110}
    assert node.capacity == node.allocatable
    assert node.labels == {"kubernetes.io/hostname": "node"}
    assert (node.taints, node.images) == ([], ())
    with pytest.raises(NotAvailable):
        _ = node.free


def test_a_node_has_what_was_given() -> None:
    node = make_node(
        "a",
        cpu="4",
        memory="1Gi",
        extended={"nvidia.com/gpu": 4},
        labels={"zone": "x"},
        images=["app:1"],
        taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
        unschedulable=True,
        pods=[make_pod(requests={"cpu": "1"})],
    )
    assert node.allocatable["nvidia.com/gpu"] == 4
    assert node.labels == {"kubernetes.io/hostname": "a", "zone": "x"}
    assert node.images == ("app:1",)
    assert [str(taint) for taint in node.taints] == ["gpu=yes:NoSchedule"]
    assert node.unschedulable
    assert (node.free["cpu"], node.used["pods"]) == (3000, 1)


def test_an_empty_list_of_pods_makes_usage_known() -> None:
    assert make_node(pods=[]).free["cpu"] == 8000
