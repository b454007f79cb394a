"""Disruption budgets in a what-if: holds, waits, blocks, breaks."""

import pytest

from mooring.model.pod import Pod
from mooring.model.workloads import PodDisruptionBudget
from mooring.simulator.disruption_budgets import BudgetBook, BudgetVerdict
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod


def web(number: int, node: str = "n1") -> Pod:
    return make_pod(f"web-{number}", labels={"app": "web"}, node=node)


def budget(name: str, allowed: int) -> PodDisruptionBudget:
    return PodDisruptionBudget.from_dict(
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
            "status": {"disruptionsAllowed": allowed},
        }
    )


@pytest.mark.parametrize(
    ("allowed", "evicted", "ended", "pending", "verdict"),
    [
        (2, 2, 0, 0, BudgetVerdict.HOLDS),
        (1, 2, 0, 0, BudgetVerdict.WAITS),
        (0, 1, 0, 0, BudgetVerdict.BLOCKS),
        (1, 3, 0, 2, BudgetVerdict.BLOCKS),  # the eviction API stops after the first
        (1, 0, 3, 2, BudgetVerdict.BREAKS),
        (1, 2, 1, 2, BudgetVerdict.BLOCKS),
        (1, 0, 2, 0, BudgetVerdict.BREAKS),
        (2, 0, 2, 0, BudgetVerdict.HOLDS),
    ],
)
def test_what_becomes_of_a_budget(
    allowed: int, evicted: int, ended: int, pending: int, verdict: BudgetVerdict
) -> None:
    cluster = Cluster()
    cluster.put(make_node("n1"))
    cluster.put(budget("web", allowed))
    book = BudgetBook(cluster)
    pods = [web(number) for number in range(evicted + ended)]
    for number, pod in enumerate(pods):
        cluster.put(web(number, "") if number < pending else pod)
    book.note(pods[:evicted], pods[evicted:])
    (found,) = book.outcomes()
    assert (found.verdict, found.missing, found.evicted) == (verdict, pending, evicted)


def test_a_pod_under_two_budgets_cannot_be_evicted() -> None:
    cluster = Cluster()
    for name in ("one", "two"):
        cluster.put(budget(name, 5))
    book = BudgetBook(cluster)
    book.note([web(1)], [])
    assert {one.verdict for one in book.outcomes()} == {BudgetVerdict.BLOCKS}


def test_operations_one_after_the_other_do_not_add_up() -> None:
    cluster = Cluster()
    cluster.put(make_node("n1"))
    cluster.put(budget("web", 1))
    book = BudgetBook(cluster)
    for number in range(3):
        cluster.put(web(number))
        book.note([web(number)], [])
    (found,) = book.outcomes()
    assert (found.verdict, found.evicted) == (BudgetVerdict.HOLDS, 3)
