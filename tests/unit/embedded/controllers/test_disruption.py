from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.pods import evict
from mooring.embedded.refusals import Refused
from mooring.embedded.resources import DEPLOYMENTS, POD_DISRUPTION_BUDGETS, PODS
from tests.unit.embedded.controllers.world import World, template


@pytest.fixture
def world() -> World:
    world = World(kubelet=KubeletSettings(stop_seconds=5))
    world.node("n1")
    selector = {"matchLabels": {"app": "web"}}
    spec = {"replicas": 4, "selector": selector, "template": template(app="web")}
    world.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})
    world.run_all()
    return world


def budget(world: World, **spec: Any) -> None:
    selector = {"matchLabels": {"app": "web"}}
    obj = {"metadata": {"name": "guard"}, "spec": {"selector": selector, **spec}}
    world.create(POD_DISRUPTION_BUDGETS, obj)
    world.settle()


def numbers(world: World) -> tuple[int, int, int, int]:
    """Healthy, to be healthy, expected, allowed."""
    status = world.get(POD_DISRUPTION_BUDGETS, "guard")["status"]
    return (
        status["currentHealthy"], status["desiredHealthy"], status["expectedPods"],
        status["disruptionsAllowed"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 3}, (4, 3, 4, 1)),
        ({"minAvailable": "50%"}, (4, 2, 4, 2)),
        ({"minAvailable": "60%"}, (4, 3, 4, 1)),
        ({"maxUnavailable": 1}, (4, 3, 4, 1)),
        ({"maxUnavailable": "30%"}, (4, 2, 4, 2)),
        ({"minAvailable": 9}, (4, 9, 4, 0)),
    ],
)
def test_what_a_budget_allows(
    world: World, spec: dict[str, Any], expected: tuple[int, int, int, int]
) -> None:
    budget(world, **spec)
    assert numbers(world) == expected
    status = world.get(POD_DISRUPTION_BUDGETS, "guard")["status"]
    (condition,) = status["conditions"]
    assert condition["type"] == "DisruptionAllowed"
    assert condition["reason"] == ("SufficientPods" if expected[3] else "InsufficientPods")
    assert status["observedGeneration"] == 1


def test_an_eviction_uses_the_budget_until_the_pod_is_replaced(world: World) -> None:
    budget(world, maxUnavailable=1)
    first, second = world.names(PODS)[:2]
    evict(world.api, "default", first, {"metadata": {"name": first}})
    with pytest.raises(Refused) as caught:
        evict(world.api, "default", second, {"metadata": {"name": second}})
    assert caught.value.code == 429
    world.settle()
    assert numbers(world) == (3, 3, 4, 0)
    world.wait(6)
    world.run_all()
    assert numbers(world) == (4, 3, 4, 1)
    evict(world.api, "default", second, {"metadata": {"name": second}})


def test_a_budget_without_pods_allows_nothing(world: World) -> None:
    obj = {
        "metadata": {"name": "guard"},
        "spec": {"selector": {"matchLabels": {"app": "none"}}, "maxUnavailable": 1},
    }
    world.create(POD_DISRUPTION_BUDGETS, obj)
    world.settle()
    assert numbers(world) == (0, 0, 0, 0)
