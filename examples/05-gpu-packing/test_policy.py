"""GPU pods fill one node before the next, and no device is given twice."""

from pathlib import Path

import pytest

import mooring as mr
from mooring.testing import FakeKubeScheduler, Rejected, make_node, make_pod

HERE = Path(__file__).parent
GPU = "nvidia.com/gpu"
DEVICES = "mooring.example/gpu-devices"


def gpu_node(name: str, gpus: int = 4) -> mr.Node:
    return make_node(name, extended={GPU: gpus})


def gpu_pod(name: str, gpus: int = 1, *, node: str = "", devices: str = "") -> mr.Pod:
    annotations = {DEVICES: devices} if devices else {}
    return make_pod(name, requests={GPU: gpus}, node=node, annotations=annotations)


def cluster(*pods: mr.Pod) -> FakeKubeScheduler:
    nodes = [gpu_node("gpu-a"), gpu_node("gpu-b"), make_node("plain")]
    return FakeKubeScheduler(HERE / "policy.py", nodes, pods)


def test_only_nodes_with_enough_free_gpus_are_kept() -> None:
    fake = cluster(gpu_pod("first", 3, node="gpu-a", devices="0,1,2"))
    assert fake.filter(gpu_pod("one")).kept == ["gpu-a", "gpu-b"]
    reply = fake.filter(gpu_pod("two", 2))
    assert reply.kept == ["gpu-b"]
    assert reply.failed == {"gpu-a": "too few free GPUs", "plain": "too few free GPUs"}
    assert reply.unresolvable == {}


def test_the_fuller_node_is_better() -> None:
    fake = cluster(gpu_pod("first", 2, node="gpu-b", devices="0,1"))
    assert fake.prioritize(gpu_pod("new"), ["gpu-a", "gpu-b"]) == {"gpu-a": 3, "gpu-b": 10}
    assert fake.prioritize(gpu_pod("new", 2), ["gpu-a", "gpu-b"]) == {"gpu-a": 5, "gpu-b": 10}


def test_a_pod_without_gpus_finds_no_node_better() -> None:
    fake = cluster(gpu_pod("first", 2, node="gpu-b", devices="0,1"))
    assert set(fake.prioritize(make_pod("web")).values()) == {0}


def test_a_node_that_filled_up_meanwhile_is_no_error() -> None:
    fake = cluster(gpu_pod("first", 4, node="gpu-b", devices="0,1,2,3"))
    assert fake.prioritize(gpu_pod("new", 2), ["gpu-b"]) == {"gpu-b": 10}


def test_one_node_fills_before_the_next_and_devices_are_unique() -> None:
    fake = cluster()
    placed = [fake.schedule(gpu_pod(f"pod-{number}")) for number in range(9)]
    assert placed == ["gpu-a"] * 4 + ["gpu-b"] * 4 + [""]
    assert fake.cluster is not None
    for node in ("gpu-a", "gpu-b"):
        devices = [pod.annotations[DEVICES] for pod in fake.cluster.nodes[node].pods]
        assert devices == ["0", "1", "2", "3"]


def test_a_pod_gets_all_the_devices_it_asks_for() -> None:
    fake = cluster(gpu_pod("first", node="gpu-a", devices="1"))
    assert fake.bind(gpu_pod("new", 2), "gpu-a").annotations == {DEVICES: "0,2"}


def test_the_device_of_a_pod_that_left_is_given_again() -> None:
    fake = cluster(*(gpu_pod(f"p{n}", node="gpu-a", devices=str(n)) for n in range(3)))
    assert fake.cluster is not None
    fake.cluster.remove_pod("default/p1")
    assert fake.bind(gpu_pod("new"), "gpu-a").annotations == {DEVICES: "1"}


def test_asking_twice_for_one_pod_gives_the_same_devices() -> None:
    fake = cluster(gpu_pod("first", node="gpu-a", devices="0"))
    pod = gpu_pod("new")
    assert fake.bind(pod, "gpu-a").annotations == {DEVICES: "1"}
    assert fake.bind(pod, "gpu-a").annotations == {DEVICES: "1"}


def test_binding_is_rejected_when_no_device_is_free() -> None:
    # It holds the devices without a request, so counting alone would still say yes.
    fake = cluster(make_pod("odd", node="gpu-a", annotations={DEVICES: "0, 1, 2, 3, x"}))
    pod = gpu_pod("new")
    assert "gpu-a" in fake.filter(pod).kept
    with pytest.raises(Rejected, match="node gpu-a has too few free GPU devices"):
        fake.bind(pod, "gpu-a")
    assert fake.bind(pod, "gpu-b").annotations == {DEVICES: "0"}


def test_binding_is_rejected_on_a_node_that_is_not_known() -> None:
    with pytest.raises(Rejected, match="not known to the extender yet"):
        cluster().bind(gpu_pod("new"), "nowhere")


def test_a_pod_without_gpus_is_bound_without_devices() -> None:
    assert cluster().bind(make_pod("web"), "plain").annotations == {}


def test_without_the_node_cache_the_reply_says_what_is_missing() -> None:
    fake = FakeKubeScheduler(HERE / "policy.py", [gpu_node("gpu-a")], node_cache=False)
    with pytest.raises(mr.PolicyError, match=r"node\.free and node\.pods need the cluster's pods"):
        fake.filter(gpu_pod("new"))


def test_the_reply_in_the_readme_is_the_real_one() -> None:
    fake = cluster(gpu_pod("first", node="gpu-a", devices="0"))
    reply = fake.answers.prioritize((HERE / "request.json").read_bytes())
    assert reply.decode() == (HERE / "response.json").read_text().strip()
