"""A policy gives the same verdicts and scores through the extender and in mooring's scheduler.

The extender is asked with the bytes kube-scheduler would send (`FakeKubeScheduler`); the other side
is what ``moor explain --policy`` shows.
"""

import random
from pathlib import Path
from typing import Any

import pytest

import mooring as mr
from mooring.explaining.explainer import Explainer
from mooring.testing import FakeKubeScheduler, make_node, make_pod

EXAMPLES = Path(__file__).parents[2] / "examples"
POLICIES = ["03-image-score", "04-ssd-filter", "05-gpu-packing"]
GPU = "nvidia.com/gpu"


def cluster(seed: int) -> tuple[list[mr.Node], list[mr.Pod], mr.Pod]:
    """Thirty nodes with pods on them, and a pod to place."""
    rng = random.Random(seed)
    images = [f"registry.example/app:{number}" for number in range(6)]
    nodes, pods = [], []
    for number in range(30):
        name = f"n{number}"
        labels = {"disktype": rng.choice(["ssd", "hdd"]), "kubernetes.io/hostname": name}
        nodes.append(
            make_node(
                name,
                cpu="16",
                memory="64Gi",
                labels={key: value for key, value in labels.items() if rng.random() < 0.9},
                images=rng.sample(images, rng.randrange(4)),
                extended={GPU: rng.randrange(9)},
            )
        )
        pods += [
            make_pod(
                f"p{number}-{place}",
                node=name,
                requests={"cpu": "1", GPU: str(rng.randrange(3))},
            )
            for place in range(rng.randrange(3))
        ]
    pod = make_pod(
        "new", images=rng.sample(images, 2), requests={"cpu": "1", GPU: str(rng.randrange(4))}
    )
    return nodes, pods, pod


def odd() -> mr.Policy:
    """Scores that fall between whole numbers, several functions, several reasons."""
    policy = mr.Policy("odd")

    @policy.filter
    def free_gpu(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
        return mr.accept_if(node.free[GPU] >= pod.requests[GPU], "too few GPUs")

    @policy.filter(unresolvable=True)
    def not_seven(pod: mr.Pod, node: mr.Node) -> str | None:
        return "ends in seven" if node.name.endswith("7") else None

    @policy.score(weight=3, max_score=7)
    def by_name(pod: mr.Pod, node: mr.Node) -> float:
        return len(node.name) + node.used["cpu"] / 1000 % 2

    @policy.score_nodes(weight=0.5)
    def by_use(pod: mr.Pod, nodes: mr.Nodes) -> mr.Scores:
        return 100 * nodes.used["cpu"] / nodes.allocatable["cpu"]

    return policy


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("source", [*POLICIES, "odd"])
def test_both_give_the_same(source: str, seed: int) -> None:
    policy = odd() if source == "odd" else mr.load(EXAMPLES / source / "policy.py")
    nodes, pods, pod = cluster(seed)
    served = FakeKubeScheduler(policy, nodes, pods)
    objects: list[Any] = [*nodes, *pods]
    record = Explainer(objects, policy=policy).record(pod).to_dict()

    if policy.filters:
        reply = served.filter(pod)
        verdicts = record["filter"][policy.name]
        assert reply.kept == [name for name, one in verdicts.items() if one["code"] == "Success"]
        assert {name: set(reasons.split(",")) for name, reasons in reply.failed.items()} == {
            name: set(one["reasons"]) for name, one in verdicts.items() if "reasons" in one
        }
        assert set(reply.unresolvable) == {
            name for name, one in verdicts.items() if one["code"].endswith("Unresolvable")
        }
    if policy.scores:
        scores = record["score"][policy.name]["normalized"]
        assert scores
        wire = served.prioritize(pod, list(scores))
        assert wire == {name: (score + 5) // 10 for name, score in scores.items()}


def test_a_score_of_ten_is_the_same_number_on_both_sides() -> None:
    policy = mr.Policy("tens")

    @policy.score(name="tens", max_score=10)
    def tens(pod: mr.Pod, node: mr.Node) -> float:
        return int(node.name[1:]) % 11

    nodes, pods, pod = cluster(7)
    record = Explainer([*nodes, *pods], policy=policy).record(pod).to_dict()
    scores = record["score"]["tens"]["raw"]
    wire = FakeKubeScheduler(policy, nodes, pods).prioritize(pod, list(scores))
    assert {name: score / 10 for name, score in scores.items()} == wire
