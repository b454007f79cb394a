"""A policy has half the say unless it or the configuration says otherwise."""

from typing import Any

import pytest

import mooring as mr
from mooring import hook
from mooring.config.configuration import read_configuration
from mooring.config.policy_say import (
    KUBE_SCHEDULER_WEIGHT,
    PolicySay,
    extender_say,
    policy_say,
)
from mooring.config.profiles import Profile
from mooring.config.runtimes import build_profiles
from mooring.plugins.in_tree import default_registry


class Spreading(hook.PreScore, hook.Score):
    """Prepares its own score, so it runs in mooring's scheduler alone."""

    weight = 1

    def pre_score(self, cycle: hook.Cycle, nodes: mr.Nodes) -> None:
        pass

    def score(self, pod: mr.Pod, node: mr.Node) -> float:
        return 0


def packing(weight: int | None = None) -> mr.Policy:
    policy = mr.Policy("mine", weight=weight)

    @policy.score
    def pack(pod: mr.Pod, node: mr.Node) -> float:
        return 0

    return policy


def weights(profile: Profile) -> dict[str, int]:
    return {one.name: one.weight for one in profile.points["score"]}


def built(policy: mr.Policy, config: dict[str, Any] | None = None) -> Profile:
    return build_profiles(config, default_registry(), [policy])["default-scheduler"]


def with_plugins(**plugins: Any) -> dict[str, Any]:
    return {"profiles": [{"plugins": plugins}]}


def test_it_counts_as_much_as_the_other_scores_together() -> None:
    found = weights(built(packing()))
    # kube-scheduler gives it no weight: it scores only behind a feature gate that is off.
    assert found.pop("VolumeBinding") == 1
    assert found.pop("mine") == sum(found.values()) == KUBE_SCHEDULER_WEIGHT


def test_disabled_plugins_do_not_count() -> None:
    off = {"disabled": [{"name": "TaintToleration"}, {"name": "PodTopologySpread"}]}
    assert weights(built(packing(), with_plugins(score=off)))["mine"] == 14 - 3 - 2
    assert weights(built(packing(), with_plugins(multiPoint=off)))["mine"] == 14 - 3 - 2


def test_other_weights_and_plugins_count() -> None:
    config = with_plugins(
        multiPoint={
            "enabled": [
                {"name": "ImageLocality", "weight": 20},
                {"name": "NodeResourcesAllocatable", "weight": 5},
            ]
        }
    )
    assert weights(built(packing(), config))["mine"] == 14 - 1 + 20 + 5


def test_a_default_plugin_that_gets_a_weight_counts() -> None:
    policy = packing()
    given = {"enabled": [{"name": "VolumeBinding", "weight": 4}]}
    profile = built(policy, with_plugins(multiPoint=given))
    assert policy_say(policy, profile) == PolicySay("mine", 18, 36)


def test_alone_it_decides_everything() -> None:
    policy = packing()
    profile = built(policy, with_plugins(score={"disabled": [{"name": "*"}], "enabled": [
        {"name": "mine"}
    ]}))  # fmt: skip
    assert weights(profile) == {"mine": 1}
    assert policy_say(policy, profile) == PolicySay("mine", 1, 1)


def test_the_policy_says_how_much_it_counts() -> None:
    assert weights(built(packing(weight=3)))["mine"] == 3


@pytest.mark.parametrize("point", ["multiPoint", "score"])
def test_the_configuration_says_it_above_the_policy(point: str) -> None:
    config = with_plugins(**{point: {"enabled": [{"name": "mine", "weight": 9}]}})
    assert weights(built(packing(weight=3), config))["mine"] == 9


@pytest.mark.parametrize("point", ["multiPoint", "score"])
def test_a_policy_that_is_named_without_a_weight_keeps_its_say(point: str) -> None:
    config = with_plugins(**{point: {"enabled": [{"name": "mine"}]}})
    assert weights(built(packing(), config))["mine"] == 14
    assert weights(built(packing(weight=3), config))["mine"] == 3


def test_the_say_is_divided_among_a_policys_scores() -> None:
    policy = packing()
    policy.add(Spreading())
    found = weights(built(policy))
    assert (found["mine"], found["Spreading"]) == (7, 7)
    say = policy_say(policy, built(policy))
    assert say == PolicySay("mine", 14, 28)


def test_a_plugin_of_a_policy_has_all_its_say() -> None:
    policy = mr.Policy("mine")
    policy.add(Spreading())
    assert weights(built(policy))["Spreading"] == 14


def test_two_policies_have_as_much_say_as_each_other() -> None:
    other = mr.Policy("other")

    @other.score
    def zero(pod: mr.Pod, node: mr.Node) -> float:
        return 0

    profiles = build_profiles(None, default_registry(), [packing(), other])
    found = weights(profiles["default-scheduler"])
    assert (found["mine"], found["other"]) == (14, 14)


def test_the_say_counts_plugins_and_extenders_that_score() -> None:
    extenders = read_configuration({
        "extenders": [
            {"urlPrefix": "http://a", "prioritizeVerb": "prioritize", "weight": 7},
            {"urlPrefix": "http://b", "filterVerb": "filter", "weight": 100},
        ]
    }).extenders  # fmt: skip
    policy = packing()
    say = policy_say(policy, built(policy), extenders)
    assert say == PolicySay("mine", 14, 14 + 14 + 7)
    assert str(say) == "policy mine can decide 40% of a node's total score (weight 14 of 35)"


def test_a_policy_without_scores_has_no_say_in_them() -> None:
    policy = mr.Policy("mine")
    policy.filter(name="all")(lambda _pod, _node: True)
    assert policy_say(policy, built(policy)) is None
    assert extender_say(policy) is None


@pytest.mark.parametrize(
    ("weight", "total", "percent"),
    [(1, 1, 100), (1, 1000, 1), (999, 1000, 99), (14, 28, 50), (1, 15, 7)],
)
def test_percents_are_rounded_but_never_to_all_or_nothing(
    weight: int, total: int, percent: int
) -> None:
    assert PolicySay("mine", weight, total).percent == percent


def test_an_extender_has_the_say_that_the_policy_has_in_a_scheduler() -> None:
    for policy in (packing(), packing(weight=3)):
        assert extender_say(policy) == policy_say(policy, built(policy))
