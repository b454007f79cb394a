"""The fake kube-scheduler drives every verb, with the node cache and without."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import mooring as mr
from mooring.testing import FakeKubeScheduler, FilterResult, Rejected, make_node, make_pod

CACHE_MODES = pytest.mark.parametrize("node_cache", [True, False], ids=["names", "whole-nodes"])
NODES = [make_node("a", labels={"disk": "ssd"}), make_node("b"), make_node("c", cpu="2")]
GPU = "nvidia.com/gpu"


def harbour() -> mr.Policy:
    """A policy with every verb that needs no usage."""
    policy = mr.Policy("harbour", usage=False)

    @policy.filter
    def ssd(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
        return mr.accept_if(node.labels.get("disk") == "ssd" or pod.name == "any", "no SSD")

    @policy.filter_nodes(reason="too small", unresolvable=True)
    def large(pod: mr.Pod, nodes: mr.Nodes) -> mr.Mask:
        return nodes.allocatable["cpu"] > 2000

    @policy.score
    def by_name(pod: mr.Pod, node: mr.Node) -> float:
        return {"a": 20, "b": 100, "c": 44}[node.name]

    @policy.preempt
    def spare_the_old(pod: mr.Pod, node: mr.Node, victims: Sequence[mr.Pod]) -> Sequence[mr.Pod]:
        return [victim for victim in victims if victim.priority < 5]

    @policy.bind
    def mark(binding: mr.Binding) -> mr.Binding:
        return binding.annotate({"berth": binding.node_name})

    return policy


@CACHE_MODES
def test_filter_tells_which_nodes_are_left_and_why_others_are_not(node_cache: bool) -> None:
    scheduler = FakeKubeScheduler(harbour(), NODES, node_cache=node_cache)
    assert scheduler.filter(make_pod()) == FilterResult(
        kept=["a"],
        failed={"b": "no SSD", "c": "no SSD,too small"},
        unresolvable={"c": "no SSD,too small"},
    )
    assert scheduler.filter(make_pod("any")).kept == ["a", "b"]
    assert scheduler.filter(make_pod(), ["b"]).kept == []


@CACHE_MODES
def test_prioritize_tells_scores_from_zero_to_ten(node_cache: bool) -> None:
    scheduler = FakeKubeScheduler(harbour(), NODES, node_cache=node_cache)
    assert scheduler.prioritize(make_pod()) == {"a": 2, "b": 10, "c": 4}
    assert scheduler.prioritize(make_pod(), ["c"]) == {"c": 4}


@CACHE_MODES
def test_preempt_tells_the_victims_that_remain(node_cache: bool) -> None:
    young, old = make_pod("young", node="a"), make_pod("old", node="a", priority=9)
    veteran = make_pod("veteran", node="b", priority=7)
    pods = [young, old, veteran]
    scheduler = FakeKubeScheduler(harbour(), NODES, pods, node_cache=node_cache)
    victims = {"a": [young, old], "b": [veteran]}
    assert scheduler.preempt(make_pod(), victims) == {"a": [young.uid]}


@CACHE_MODES
def test_bind_runs_the_bind_function(node_cache: bool) -> None:
    scheduler = FakeKubeScheduler(harbour(), NODES, node_cache=node_cache)
    binding = scheduler.bind(make_pod("p"), "b")
    assert (binding.key, binding.node_name) == ("default/p", "b")
    assert binding.annotations == {"berth": "b"}
    assert (binding.pod is not None) is node_cache
    assert (binding.node is not None) is node_cache


@CACHE_MODES
def test_schedule_takes_the_best_node_that_is_left(node_cache: bool) -> None:
    scheduler = FakeKubeScheduler(harbour(), NODES, node_cache=node_cache)
    assert scheduler.schedule(make_pod("any")) == "b"
    assert scheduler.schedule(make_pod("p")) == "a"


@CACHE_MODES
def test_schedule_places_nothing_where_no_node_is_left(node_cache: bool) -> None:
    scheduler = FakeKubeScheduler(harbour(), NODES[1:], node_cache=node_cache)
    assert scheduler.schedule(make_pod()) == ""


def test_the_first_of_the_best_nodes_is_taken() -> None:
    nodes = [make_node(name) for name in ("z", "y", "x")]
    assert FakeKubeScheduler(mr.Policy("empty"), nodes).schedule(make_pod()) == "z"


def packing() -> mr.Policy:
    policy = mr.Policy("packing")

    @policy.filter(reason="too few GPUs")
    def fits(pod: mr.Pod, node: mr.Node) -> bool:
        return node.free[GPU] >= pod.requests[GPU]

    @policy.score(max_score=8)
    def pack(pod: mr.Pod, node: mr.Node) -> float:
        return node.used[GPU]

    return policy


def test_with_the_node_cache_bound_pods_count_in_the_next_decision() -> None:
    nodes = [make_node("a", extended={GPU: 2}), make_node("b", extended={GPU: 2})]
    running = [make_pod("r", requests={GPU: 1}, node="b")]
    scheduler = FakeKubeScheduler(packing(), nodes, running)
    pods = [make_pod(name, requests={GPU: 1}) for name in "pqrst"]
    assert [scheduler.schedule(pod) for pod in pods[:2]] == ["b", "a"]
    assert scheduler.filter(make_pod("large", requests={GPU: 2})).kept == []
    assert scheduler.nodes["a"].free[GPU] == 1
    assert scheduler.cluster is not None
    assert scheduler.cluster.assumed == 0


def test_without_the_node_cache_usage_is_not_available() -> None:
    scheduler = FakeKubeScheduler(packing(), NODES, node_cache=False)
    with pytest.raises(mr.PolicyError, match=r"filter 'fits' failed on node a: node\.used"):
        scheduler.filter(make_pod())


def test_pods_that_a_node_was_made_with_count() -> None:
    node = make_node("a", extended={GPU: 2}, pods=[make_pod("r", requests={GPU: 1})])
    scheduler = FakeKubeScheduler(packing(), [node])
    assert scheduler.filter(make_pod(requests={GPU: 2})).failed == {"a": "too few GPUs"}
    assert scheduler.schedule(make_pod("p", requests={GPU: 1})) == "a"


def test_two_schedulers_with_the_same_nodes_know_nothing_of_each_other() -> None:
    nodes = [make_node("a", extended={GPU: 1}, pods=[])]
    pod = make_pod(requests={GPU: 1})
    first, second = (FakeKubeScheduler(packing(), nodes) for _ in range(2))
    assert first.schedule(pod) == "a"
    assert second.schedule(pod) == "a"
    assert nodes[0].free[GPU] == 1


def test_a_node_nobody_knows_is_not_kept() -> None:
    scheduler = FakeKubeScheduler(mr.Policy("empty"), NODES)
    reply = scheduler.filter(make_pod(), ["a", "nowhere"])
    assert reply.kept == ["a"]
    assert list(reply.failed) == ["nowhere"]
    assert scheduler.prioritize(make_pod(), ["nowhere"]) == {"nowhere": 0}


def test_a_victim_nobody_knows_drops_the_node() -> None:
    scheduler = FakeKubeScheduler(harbour(), NODES)
    assert scheduler.preempt(make_pod(), {"a": [make_pod("stranger")]}) == {}


def test_a_policy_can_be_given_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", list(sys.path))
    path = tmp_path / "policy.py"
    path.write_text(
        "import mooring\npolicy = mooring.Policy('from-file')\npolicy.score(name='s')(max)\n"
    )
    for source in (path, str(path)):
        assert FakeKubeScheduler(source, NODES).answers.policy.name == "from-file"


def rejecting(*, late: bool = False) -> mr.Policy:
    policy = mr.Policy("rejecting")

    def reject(binding: mr.Binding) -> mr.Verdict:
        return mr.reject("no card is free")

    async def reject_later(binding: mr.Binding) -> mr.Verdict:
        return mr.reject("no card is free")

    policy.bind(name="cards")(reject_later if late else reject)
    return policy


@CACHE_MODES
@pytest.mark.parametrize("late", [False, True], ids=["plain", "async"])
def test_a_rejected_binding_places_nothing(node_cache: bool, late: bool) -> None:
    scheduler = FakeKubeScheduler(rejecting(late=late), NODES, node_cache=node_cache)
    with pytest.raises(Rejected, match=r"^no card is free$"):
        scheduler.bind(make_pod("p", requests={"cpu": "1"}), "a")
    if scheduler.cluster is not None:
        assert scheduler.cluster.assumed == 0
        assert scheduler.nodes["a"].used["cpu"] == 0


def test_an_async_bind_function_is_waited_for() -> None:
    policy = mr.Policy("late")

    @policy.bind
    async def mark(binding: mr.Binding) -> mr.Binding:
        assert binding.node is not None
        return binding.annotate({"cpu": str(binding.node.used["cpu"])})

    scheduler = FakeKubeScheduler(policy, NODES)
    assert scheduler.bind(make_pod("p", requests={"cpu": "1"}), "a").annotations == {"cpu": "1000"}
    (pod,) = scheduler.nodes["a"].pods
    assert pod.annotations == {"cpu": "1000"}


@pytest.mark.parametrize("late", [False, True], ids=["plain", "async"])
def test_a_broken_bind_function_places_nothing(late: bool) -> None:
    policy = mr.Policy("broken")

    def fail(binding: mr.Binding) -> None:
        raise OSError("no route")

    async def fail_later(binding: mr.Binding) -> None:
        raise OSError("no route")

    policy.bind(name="cards")(fail_later if late else fail)
    scheduler = FakeKubeScheduler(policy, NODES)
    with pytest.raises(mr.PolicyError, match="bind 'cards' failed on node a: OSError: no route"):
        scheduler.bind(make_pod("p", requests={"cpu": "1"}), "a")
    assert scheduler.cluster is not None
    assert scheduler.cluster.assumed == 0
    assert scheduler.nodes["a"].used["cpu"] == 0


def test_a_policy_that_declines_usage_cannot_read_it_with_a_node_cache_either() -> None:
    """Nobody watches pods for it, so what it would read is wrong: every node would look empty."""
    policy = mr.Policy("no-usage", usage=False)
    policy.score(name="empty")(lambda _, node: node.free["cpu"] and 0)
    busy = make_pod("busy", requests={"cpu": "4"}, node="a")
    scheduler = FakeKubeScheduler(policy, [make_node("a")], [busy])
    with pytest.raises(mr.PolicyError, match=r"score 'empty' failed on node a.*usage=False"):
        scheduler.prioritize(make_pod("p"))
