"""Which pods matter more, and which eviction is the cheapest."""

import pytest

from mooring.errors import InputError
from mooring.framework.filtering import Candidate
from mooring.framework.pod_importance import (
    equally_good,
    have_equals,
    most_important_first,
    start_time,
)
from mooring.model.pod import Pod
from tests.unit.plugins.preemption.preemption_rig import low


def names(pods: list[Pod]) -> list[str]:
    return [pod.name for pod in pods]


def candidate(node: str, *pods: Pod, violations: int = 0) -> Candidate:
    return Candidate(node, pods, violations)


def best(*candidates: Candidate) -> list[str]:
    return [one.node for one in equally_good(candidates)]


def test_priority_comes_before_age() -> None:
    pods = [low("young", "n", 5, start="09:00"), low("old", "n", 5, start="08:00")]
    pods += [low("top", "n", 6, start="10:00"), low("bottom", "n", -1, start="01:00")]
    assert names(most_important_first(pods)) == ["top", "old", "young", "bottom"]


def test_pods_of_one_age_keep_their_order() -> None:
    pods = [low(name, "n", start="08:00") for name in ("b", "c", "a")]
    assert names(most_important_first(pods)) == ["b", "c", "a"]
    assert have_equals(pods)


def test_pods_that_have_not_started_come_last_and_turned_round() -> None:
    pods = [low("x", "n"), low("y", "n"), low("started", "n", start="23:59"), low("z", "n")]
    assert names(most_important_first(pods)) == ["started", "z", "y", "x"]


def test_equals_need_the_same_priority_and_the_same_start() -> None:
    assert not have_equals([low("a", "n", 1, start="08:00"), low("b", "n", 2, start="08:00")])
    assert not have_equals([low("a", "n", start="08:00"), low("b", "n", start="08:01")])
    assert have_equals([low("a", "n"), low("b", "n", start="08:01"), low("c", "n")])


def test_start_times_are_compared_across_time_zones() -> None:
    def at(text: str) -> Pod:
        return Pod.from_dict({"metadata": {"name": "p"}, "status": {"startTime": text}})

    assert start_time(at("2026-01-01T02:00:00+02:00")) == start_time(at("2026-01-01T00:00:00Z"))
    assert start_time(at("2026-01-01T00:00:00")) == 1767225600.0
    assert start_time(low("p", "n")) > start_time(at("9999-12-31T23:59:59Z"))


def test_a_start_time_that_is_no_time_names_pod_and_field() -> None:
    pod = Pod.from_dict({"metadata": {"name": "p"}, "status": {"startTime": "noon"}})
    with pytest.raises(InputError, match=r"^Pod default/p: field status.startTime: 'noon'"):
        start_time(pod)


def test_fewest_broken_budgets_win_over_everything_else() -> None:
    assert best(
        candidate("broken", low("a", "n", 0), violations=1), candidate("dear", low("b", "n", 9))
    ) == ["dear"]


def test_then_the_lowest_highest_priority() -> None:
    assert best(candidate("one", low("a", "n", 5)), candidate("two", *[low("b", "n", 4)] * 9)) == [
        "two"
    ]


def test_then_the_lowest_sum_in_which_negative_priorities_count_too() -> None:
    few = candidate("few", low("a", "n", -5), low("b", "n", -5))
    many = candidate("many", *[low("c", "n", -5)] * 3)
    assert best(many, few) == ["few"]
    assert best(
        candidate("high", low("a", "n", 5), low("b", "n", 4)),
        candidate("low", low("a", "n", 5), low("b", "n", 3)),
    ) == ["low"]


def test_then_the_fewest_victims() -> None:
    # One more victim of the lowest possible priority adds nothing to the sum.
    lowest = -(2**31)
    assert best(
        candidate("more", low("a", "n", 5), low("b", "n", lowest)),
        candidate("less", low("a", "n", 5)),
    ) == ["less"]


def test_then_the_latest_start_of_the_most_important_victims() -> None:
    old = candidate("old", low("a", "n", 5, start="08:00"), low("b", "n", 1, start="12:00"))
    young = candidate("young", low("a", "n", 5, start="09:00"), low("b", "n", 1, start="01:00"))
    assert best(old, young) == ["young"]
    unborn = candidate("unborn", low("a", "n", 5), low("b", "n", 1, start="01:00"))
    assert best(old, young, unborn) == ["unborn"]


def test_what_nothing_tells_apart_is_left_in_order() -> None:
    same = [candidate(name, low("a", "n", 5, start="08:00")) for name in ("c", "a", "b")]
    assert best(*same) == ["c", "a", "b"]
    assert best() == []
