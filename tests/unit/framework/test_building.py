"""Policies in a profile: their functions are one plugin, their plugins more."""

from typing import Any

import pytest

import mooring as mr
from mooring import Node, Nodes, Pod, hook
from mooring.errors import InputError
from mooring.framework.arrays import Amounts
from mooring.framework.building import build_profiles, build_runtime
from mooring.framework.cycle import Cycle
from mooring.framework.examine import examine
from mooring.framework.registry import Registry
from mooring.framework.runtime import Runtime
from mooring.plugins.in_tree import default_registry
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod


def runtime(policy: mr.Policy, config: dict[str, Any] | None = None) -> Runtime:
    registry: Registry = default_registry()
    profiles = build_profiles(config, registry, [policy])
    cluster = Cluster()
    for name in "abc":
        cluster.put_node(make_node(name, cpu="4", memory="8Gi", labels={"name": name}))
    return build_runtime(profiles["default-scheduler"], registry, cluster, lambda: 0)


def simple() -> mr.Policy:
    policy = mr.Policy("house")

    @policy.filter
    def not_a(pod: Pod, node: Node) -> str | None:
        return "a is for guests" if node.name == "a" else None

    @policy.filter(unresolvable=True)
    def not_ab(pod: Pod, node: Node) -> bool:
        return node.name not in "ab"

    @policy.score(weight=3, max_score=10)
    def first(pod: Pod, node: Node) -> float:
        return 10 if node.name == "c" else 0

    @policy.score_nodes
    def second(pod: Pod, nodes: Nodes) -> list[float]:
        return [50.0] * len(nodes)

    return policy


def test_a_policys_functions_are_one_plugin() -> None:
    record = examine(runtime(simple()), make_pod("p")).to_dict()
    assert record["filter"]["house"] == {
        "a": {
            "code": "UnschedulableAndUnresolvable",
            "reasons": ["a is for guests", "rejected by not_ab"],
        },
        "b": {"code": "UnschedulableAndUnresolvable", "reasons": ["rejected by not_ab"]},
        "c": {"code": "Success"},
    }
    assert record["feasible"] == ["c"]
    assert record["score"]["house"] == {
        "weight": 1,
        "skipped": False,
        "raw": {"c": 88},  # (3 * 100 + 50) / 4, halves up
        "normalized": {"c": 88},
    }


def test_the_configuration_weighs_a_policy_by_its_name() -> None:
    config = {"profiles": [{"plugins": {"score": {"enabled": [{"name": "house", "weight": 5}]}}}]}
    made = runtime(simple(), config)
    assert [one.weight for one in made.points["score"] if one.name == "house"] == [5]
    assert [one.name for one in made.points["filter"] if one.name == "house"] == ["house"]


def test_the_configuration_may_leave_a_policy_out() -> None:
    config = {"profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "house"}]}}}]}
    assert examine(runtime(simple(), config), make_pod("p")).feasible == ["a", "b", "c"]


class Prepared(hook.PreFilter, hook.FilterNodes, hook.ScoreNodes, hook.Normalize):
    """Prepares itself, so it is a plugin of its own."""

    name = "Prepared"
    weight = 4

    def pre_filter(self, cycle: Cycle) -> None:
        cycle.data[self.name] = {"b", "c"}

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> list[bool]:
        return [name in nodes.cycle.data[self.name] for name in nodes.names]

    def score_nodes(self, pod: Pod, nodes: Nodes) -> list[float]:
        return [7.0 if name == "b" else 3.0 for name in nodes.names]

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:
        return scores * 10


class Holding(hook.PreEnqueue, hook.Filter):
    """Has a hook that only a scheduler runs, and a filter that runs everywhere."""

    def pre_enqueue(self, pod: Pod) -> str:
        return "not before nine"

    def filter(self, pod: Pod, node: Node) -> bool:
        return node.name != "a"


def test_a_plugin_that_prepares_itself_is_installed_whole() -> None:
    policy = mr.Policy("empty")
    policy.add(Prepared())
    assert policy.rules == []
    record = examine(runtime(policy), make_pod("p")).to_dict()
    assert record["feasible"] == ["b", "c"]
    assert record["filter"]["Prepared"]["a"]["reasons"] == ["rejected by Prepared"]
    assert record["score"]["Prepared"] == {
        "weight": 4,
        "skipped": False,
        "raw": {"b": 7, "c": 3},
        "normalized": {"b": 70, "c": 30},
    }
    assert "empty" not in record["filter"]


def test_simple_hooks_join_the_policys_functions_and_the_others_stay_with_the_plugin() -> None:
    policy = mr.Policy("house")
    policy.add(Holding())
    made = runtime(policy)
    assert [one.name for one in made.points["preEnqueue"]][-1] == "Holding"
    assert "Holding" not in [one.name for one in made.points["filter"]]
    record = examine(made, make_pod("p"))
    assert record.message == "not before nine"
    assert record.feasible == ["b", "c"]


def test_two_plugins_of_one_name_are_refused() -> None:
    policy = mr.Policy("house")
    policy.add(Prepared())
    with pytest.raises(InputError, match="two plugins named 'Prepared'"):
        policy.add(Prepared())


def test_a_policy_cannot_have_the_name_of_a_plugin() -> None:
    policy = mr.Policy("NodeName")
    policy.filter(name="any")(lambda pod, node: True)
    with pytest.raises(InputError, match="choose another name"):
        runtime(policy)
