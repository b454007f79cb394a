"""Which victims violate a disruption budget."""

from typing import Any

import pytest

from mooring.model.pod import Pod
from mooring.plugins.preemption.disruption_budgets import DisruptionBudgets
from tests.unit.plugins.preemption.preemption_rig import budget, low

APP = {"matchLabels": {"app": "web"}}


def web(name: str, **more: Any) -> Pod:
    return low(name, "n", labels={"app": "web"}, **more)


def broken(budgets: DisruptionBudgets, *pods: Pod) -> list[str]:
    breaking, others = budgets.split(pods)
    assert [*breaking, *others] == sorted([*breaking, *others], key=[*breaking, *others].index)
    assert {pod.name for pod in (*breaking, *others)} == {pod.name for pod in pods}
    return [pod.name for pod in breaking]


def test_without_budgets_nothing_breaks() -> None:
    assert DisruptionBudgets([]).split([web("a"), web("b")]) == ([], [web("a"), web("b")])


def test_the_first_pods_use_a_budget_up() -> None:
    assert broken(DisruptionBudgets([budget("b", 1, APP)]), web("a"), web("b"), web("c")) == [
        "b",
        "c",
    ]


def test_each_node_starts_with_the_whole_budget() -> None:
    budgets = DisruptionBudgets([budget("b", 1, APP)])
    assert broken(budgets, web("a")) == []
    assert broken(budgets, web("b")) == []


def test_every_budget_of_a_pod_counts() -> None:
    tier = {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}
    both = low("both", "n", labels={"app": "web", "tier": "x"})
    budgets = DisruptionBudgets([budget("one", 1, APP), budget("two", 5, tier)])
    assert broken(budgets, both, web("a")) == ["a"]
    budgets = DisruptionBudgets([budget("one", 5, APP), budget("two", 0, tier)])
    assert broken(budgets, both, web("a")) == ["both"]


def test_a_negative_budget_is_used_up() -> None:
    assert broken(DisruptionBudgets([budget("b", -1, APP)]), web("a")) == ["a"]


def test_other_namespaces_are_not_protected() -> None:
    budgets = DisruptionBudgets([budget("b", 0, APP, namespace="other")])
    assert broken(budgets, web("a"), web("x", namespace="other")) == ["x"]


def test_an_eviction_under_way_is_counted_already() -> None:
    budgets = DisruptionBudgets([budget("b", 1, APP, disrupted=["gone"])])
    assert broken(budgets, web("gone"), web("a"), web("b")) == ["b"]


def test_a_pod_without_labels_is_never_protected() -> None:
    nobody = {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}
    budgets = DisruptionBudgets([budget("b", 0, nobody)])
    assert broken(budgets, low("bare", "n"), low("other", "n", labels={"x": "y"})) == ["other"]


@pytest.mark.parametrize(
    "selector",
    [
        None,
        {},
        {"matchExpressions": [{"key": "app", "operator": "Resembles", "values": ["web"]}]},
        {"matchExpressions": [{"key": "app", "operator": "In"}]},
        {"matchExpressions": [{"key": "app", "operator": "Exists", "values": ["web"]}]},
        {"matchExpressions": [{"key": "app", "operator": "Gt", "values": ["1"]}]},
        {"matchLabels": {"app": "web", "no key!": "x"}},
    ],
)
def test_a_selector_that_is_absent_empty_or_wrong_protects_nobody(
    selector: dict[str, Any] | None,
) -> None:
    assert broken(DisruptionBudgets([budget("b", 0, selector)]), web("a")) == []
