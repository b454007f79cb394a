"""Plans of moves: ranked, within budgets, each proved."""

from typing import Any

from mooring.explaining.explainer import Explainer
from mooring.simulator.forked_scheduler import Deciders
from mooring.simulator.rebalance.plan import Limits, RebalancePlan, Rebalancing
from tests.unit.simulator.whatif.test_operations_carried_out import node, owned, web


def budget(name: str, allowed: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": allowed},
    }  # fmt: skip


def planned(objects: list[Any], *, most: int = 20, least: int = 10) -> RebalancePlan:
    explainer = Explainer(objects)
    deciders = Deciders(explainer.profiles, explainer.registry)
    before = [(pod.key, pod.node_name) for pod in explainer.cluster.all_pods()]
    plan = Rebalancing(explainer, deciders, Limits(most, least)).plan()
    assert [(pod.key, pod.node_name) for pod in explainer.cluster.all_pods()] == before
    return plan


def crowded(number: int = 4) -> list[Any]:
    pods = [web(f"w{count}", node="n1") for count in range(number)]
    return [node("n1", cpu="4"), node("n2", cpu="4"), *pods]


def test_moves_spread_a_crowded_node() -> None:
    plan = planned(crowded())
    assert plan.looked_at == 4
    assert [(one.source, one.target, one.wave) for one in plan.moves][:2] == [
        ("n1", "n2", 1),
        ("n1", "n2", 1),
    ]
    assert len(plan.moves) == 2
    gains = [one.gain or 0 for one in plan.moves]
    assert gains == sorted(gains, reverse=True)
    assert all("gives" in one.why for one in plan.moves)


def test_a_budget_makes_waves() -> None:
    plan = planned([budget("web", 1), *crowded()])
    assert [one.wave for one in plan.moves] == [1, 2]
    assert plan.moves[0].budgets == ("default/web",)


def test_a_budget_that_allows_nothing_is_respected() -> None:
    plan = planned([budget("web", 0), *crowded()])
    assert plan.moves == ()
    assert plan.protected == 4


def test_pods_under_two_budgets_are_left_alone() -> None:
    assert planned([budget("a", 5), budget("b", 5), *crowded()]).moves == ()


def test_a_pod_that_does_not_fit_any_more_comes_first() -> None:
    wrong = web("wrong", node="n1", spec={"nodeSelector": {"disk": "ssd"}})
    labelled = node("n3", cpu="4", labels={"disk": "ssd"})
    plan = planned([*crowded(3), labelled, wrong])
    first = plan.moves[0]
    assert (first.pod, first.target, first.gain) == ("default/wrong", "n3", None)
    assert first.why.startswith("it does not fit on n1 any more")


def test_daemons_and_bare_pods_are_never_moved() -> None:
    objects = [node("n1", cpu="4"), node("n2", cpu="4")]
    objects += [
        owned(f"d{number}", "DaemonSet", "d", requests={"cpu": "1"}, node="n1")
        for number in range(3)
    ]
    assert planned(objects).looked_at == 0


def test_no_more_moves_than_wanted() -> None:
    plan = planned(crowded(), most=1)
    assert len(plan.moves) == 1
    assert plan.more


def test_small_gains_are_not_worth_it() -> None:
    assert planned(crowded(), least=10_000).moves == ()
