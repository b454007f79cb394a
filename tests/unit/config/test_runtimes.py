import pytest

import mooring as mr
from mooring.config.runtimes import build_profiles, build_runtime
from mooring.errors import InputError
from mooring.plugins.in_tree import default_registry
from mooring.state.cluster import Cluster


def test_one_plugin_serves_all_its_points() -> None:
    registry = default_registry()
    profile = build_profiles(None, registry)["default-scheduler"]
    cluster = Cluster()
    runtime = build_runtime(profile, registry, cluster, lambda: 7)
    assert (runtime.name, runtime.now_ns(), runtime.cluster) == ("default-scheduler", 7, cluster)
    places = [
        placed.plugin
        for point in ("preFilter", "filter", "preScore", "score")
        for placed in runtime.points[point]
        if placed.name == "NodeAffinity"
    ]
    assert len(places) == 4
    assert len(set(map(id, places))) == 1
    weights = {placed.name: placed.weight for placed in runtime.points["score"]}
    assert weights["TaintToleration"] == 3


def test_a_policy_is_a_plugin_after_the_default_ones() -> None:
    policy = mr.Policy("mine")

    @policy.filter
    def yes(pod: mr.Pod, node: mr.Node) -> bool:
        return True

    profile = build_profiles(None, default_registry(), [policy])["default-scheduler"]
    assert profile.points["filter"][-1].name == "mine"
    assert "mine" not in [one.name for one in profile.points["score"]]


def test_a_configuration_can_weigh_a_policy() -> None:
    policy = mr.Policy("mine")

    @policy.score
    def one(pod: mr.Pod, node: mr.Node) -> float:
        return 1

    enabled = {"enabled": [{"name": "mine", "weight": 9}]}
    config = {"profiles": [{"plugins": {"multiPoint": enabled}}]}
    profile = build_profiles(config, default_registry(), [policy])["default-scheduler"]
    assert [one.weight for one in profile.points["score"] if one.name == "mine"] == [9]


def test_a_policy_cannot_take_the_name_of_a_plugin() -> None:
    policy = mr.Policy("NodePorts")

    @policy.filter
    def yes(pod: mr.Pod, node: mr.Node) -> bool:
        return True

    with pytest.raises(InputError, match="'NodePorts'"):
        build_profiles(None, default_registry(), [policy])


def test_a_plugin_whose_attach_raises_cannot_be_used() -> None:
    class Lazy(mr.hook.PreEnqueue):
        def attach(self, handle: mr.hook.Handle) -> None:
            raise KeyError("no handle")

        def pre_enqueue(self, pod: mr.Pod) -> bool:
            return True

    policy = mr.Policy("mine")
    policy.add(Lazy())
    registry = default_registry()
    profile = build_profiles(None, registry, [policy])["default-scheduler"]
    sentence = "^plugin Lazy cannot be used: its attach raised KeyError: 'no handle'$"
    with pytest.raises(InputError, match=sentence):
        build_runtime(profile, registry, Cluster(), lambda: 0)
