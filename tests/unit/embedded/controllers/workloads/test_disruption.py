from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.pod_subresources import evict
from mooring.embedded.resources import DEPLOYMENTS, POD_DISRUPTION_BUDGETS, PODS
from mooring.embedded.status_errors import StatusError
from tests.unit.embedded.fake_cluster import FakeCluster, template


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(kubelet=KubeletSettings(stop_seconds=5))
    cluster.node("n1")
    selector = {"matchLabels": {"app": "web"}}
    spec = {"replicas": 4, "selector": selector, "template": template(app="web")}
    cluster.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})
    cluster.run_all()
    return cluster


def budget(cluster: FakeCluster, **spec: Any) -> None:
    selector = {"matchLabels": {"app": "web"}}
    obj = {"metadata": {"name": "guard"}, "spec": {"selector": selector, **spec}}
    cluster.create(POD_DISRUPTION_BUDGETS, obj)
    cluster.settle()


def numbers(cluster: FakeCluster) -> tuple[int, int, int, int]:
    """Healthy, to be healthy, expected, allowed."""
    status = cluster.get(POD_DISRUPTION_BUDGETS, "guard")["status"]
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
    cluster: FakeCluster, spec: dict[str, Any], expected: tuple[int, int, int, int]
) -> None:
    budget(cluster, **spec)
    assert numbers(cluster) == expected
    status = cluster.get(POD_DISRUPTION_BUDGETS, "guard")["status"]
    (condition,) = status["conditions"]
    assert condition["type"] == "DisruptionAllowed"
    assert condition["reason"] == ("SufficientPods" if expected[3] else "InsufficientPods")
    assert status["observedGeneration"] == 1


def test_an_eviction_uses_the_budget_until_the_pod_is_replaced(cluster: FakeCluster) -> None:
    budget(cluster, maxUnavailable=1)
    first, second = cluster.names(PODS)[:2]
    evict(cluster.api, "default", first, {"metadata": {"name": first}})
    with pytest.raises(StatusError) as caught:
        evict(cluster.api, "default", second, {"metadata": {"name": second}})
    assert caught.value.code == 429
    cluster.settle()
    assert numbers(cluster) == (3, 3, 4, 0)
    cluster.wait(6)
    cluster.run_all()
    assert numbers(cluster) == (4, 3, 4, 1)
    evict(cluster.api, "default", second, {"metadata": {"name": second}})


def test_a_budget_without_pods_allows_nothing(cluster: FakeCluster) -> None:
    obj = {
        "metadata": {"name": "guard"},
        "spec": {"selector": {"matchLabels": {"app": "none"}}, "maxUnavailable": 1},
    }
    cluster.create(POD_DISRUPTION_BUDGETS, obj)
    cluster.settle()
    assert numbers(cluster) == (0, 0, 0, 0)
