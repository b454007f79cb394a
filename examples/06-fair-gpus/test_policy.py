"""No namespace gets more than half of a node's GPUs, and nodes in use fill up first."""

from pathlib import Path

import pytest

import mooring as mr
from mooring.testing import FakeKubeScheduler, make_node, make_pod

HERE = Path(__file__).parent
GPU = "nvidia.com/gpu"
REASON = "namespace would use more than half of the GPUs"


def pod(name: str, gpus: int = 1, *, namespace: str = "default", node: str = "") -> mr.Pod:
    return make_pod(name, namespace=namespace, requests={GPU: gpus}, node=node)


def cluster(*pods: mr.Pod) -> FakeKubeScheduler:
    nodes = [make_node(f"gpu-{number}", extended={GPU: 8}) for number in (1, 2, 3)]
    return FakeKubeScheduler(HERE / "policy.py", nodes, pods)


def test_half_of_a_node_fills_before_the_next() -> None:
    fake = cluster()
    placed = [fake.schedule(pod(f"pod-{number}")) for number in range(13)]
    assert placed == ["gpu-1"] * 4 + ["gpu-2"] * 4 + ["gpu-3"] * 4 + [""]
    assert set(fake.filter(pod("one-more")).failed.values()) == {REASON}


def test_another_namespace_gets_the_other_half() -> None:
    fake = cluster(pod("theirs", 4, namespace="other", node="gpu-2"))
    placed = [fake.schedule(pod(f"pod-{number}")) for number in range(5)]
    assert placed == ["gpu-2"] * 4 + ["gpu-1"]


def test_a_pod_that_asks_for_more_than_half_fits_nowhere() -> None:
    assert cluster().filter(pod("large", 5)).kept == []
    assert cluster().filter(pod("half", 4)).kept == ["gpu-1", "gpu-2", "gpu-3"]


def test_a_pod_without_gpus_may_go_anywhere_and_is_not_drawn_to_gpus() -> None:
    fake = cluster(pod("first", 4, node="gpu-1"))
    web = make_pod("web")
    assert fake.filter(web).failed == {}
    assert set(fake.prioritize(web).values()) == {0}


def test_without_the_node_cache_the_reply_says_what_is_missing() -> None:
    fake = FakeKubeScheduler(HERE / "policy.py", [make_node("gpu-1")], node_cache=False)
    with pytest.raises(mr.PolicyError, match=r"need the cluster's pods"):
        fake.filter(pod("new"))


def test_the_reply_in_the_readme_is_the_real_one() -> None:
    fake = cluster(pod("first", 4, node="gpu-1"), pod("second", 2, node="gpu-2"))
    reply = fake.answers.filter((HERE / "request.json").read_bytes())
    assert reply.decode() == (HERE / "response.json").read_text().strip()
