from typing import Any

import pytest

from mooring.framework.hook import SKIP
from mooring.plugins.resources.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import begin, cluster_of, made, pre_scored, problems, scored

GPU = "example.com/gpu"


def balanced(*names: str) -> NodeResourcesBalancedAllocation:
    args: dict[str, Any] = {"resources": [{"name": name, "weight": 1} for name in names]}
    return made(NodeResourcesBalancedAllocation, **(args if names else {}))


def test_a_pod_that_uses_everything_alike_changes_nothing() -> None:
    cluster = cluster_of(make_node("a", cpu="4", memory="8Gi"))
    pod = make_pod(requests={"cpu": "1", "memory": "2Gi"})
    assert scored(balanced(), cluster, pod) == {"a": 75}


def test_evening_out_is_better_than_the_opposite() -> None:
    cluster = cluster_of(
        make_node("a", cpu="4", memory="8Gi"),
        make_node("b", cpu="4", memory="8Gi"),
        make_node("c", cpu="4", memory="8Gi"),
        make_pod("cpu", requests={"cpu": "2"}, node="a"),
        make_pod("memory", requests={"memory": "4Gi"}, node="b"),
    )
    pod = make_pod(requests={"memory": "4Gi"})
    # The halves of the differences: a 1/4 to 0, b 1/4 to 1/2, c 0 to 1/4.
    assert scored(balanced(), cluster, pod) == {"a": 87, "b": 62, "c": 62}
    assert scored(balanced(), cluster, pod, ["a", "c"]) == {"a": 87, "c": 62}


def test_more_than_there_is_counts_as_full() -> None:
    cluster = cluster_of(
        make_node("a", cpu="1", memory="1Gi"), make_pod("p", requests={"cpu": "3"}, node="a")
    )
    # 1 against 0 (50) becomes 1 against 1 (100).
    pod = make_pod(requests={"cpu": "1", "memory": "5Gi"})
    assert scored(balanced(), cluster, pod) == {"a": 100}


def test_three_resources_have_a_standard_deviation() -> None:
    cluster = cluster_of(make_node("a", cpu="10", memory="10", extended={GPU: 10}))
    pod = make_pod(requests={"cpu": "1", "memory": "4", GPU: "7"})
    # Of 0.1, 0.4 and 0.7: the mean is 0.4, the deviation sqrt(0.06) = 0.2449, 75 against 100.
    assert scored(balanced("cpu", "memory", GPU), cluster, pod) == {"a": 62}


def test_a_resource_that_a_node_does_not_have_does_not_count_there() -> None:
    cluster = cluster_of(
        make_node("all", cpu="10", memory="10", extended={GPU: 10}),
        make_node("two", cpu="10", memory="10"),
        make_node("one", cpu="10", memory="0"),
        make_node("none", cpu="0", memory="0"),
    )
    pod = make_pod(requests={"cpu": "1", "memory": "4", GPU: "7"})
    # Two: (0.4 - 0.1) / 2 = 0.15, 85 against 100. With one resource all is in balance.
    expected = {"all": 62, "two": 67, "one": 75, "none": 75}
    assert scored(balanced("cpu", "memory", GPU), cluster, pod) == expected


def test_a_scalar_resource_counts_only_for_pods_that_ask_for_it() -> None:
    cluster = cluster_of(
        make_node("a", cpu="10", memory="10", extended={GPU: 10}),
        make_pod("p", requests={GPU: "5"}, node="a"),
    )
    plugin = balanced("cpu", "memory", GPU)
    pod = make_pod(requests={"cpu": "1", "memory": "1"})
    assert scored(plugin, cluster, pod) == {"a": 75}


@pytest.mark.parametrize("requests", [{}, {"cpu": "0"}, {GPU: "1"}])
def test_pods_that_ask_for_none_of_the_resources_are_skipped(requests: dict[str, str]) -> None:
    cluster = cluster_of(make_node("a"))
    assert pre_scored(balanced(), cluster, make_pod(requests=requests)) is SKIP


def test_without_pre_score_such_pods_get_0() -> None:
    cycle = begin(cluster_of(make_node("a"), make_node("b")), make_pod())
    assert balanced().score_nodes(cycle.pod, cycle.nodes).tolist() == [0, 0]


def test_pod_level_requests_count() -> None:
    cluster = cluster_of(make_node("a", cpu="4", memory="8Gi"))
    pod = make_pod(spec={"resources": {"requests": {"cpu": "2"}}})
    assert scored(balanced(), cluster, pod) == {"a": 62}


def test_scores_follow_changes() -> None:
    cluster = cluster_of(*(make_node(f"n{number}", cpu="4", memory="8Gi") for number in range(8)))
    plugin, pod = balanced(), make_pod(requests={"cpu": "2"})
    assert scored(plugin, cluster, pod)["n3"] == 62
    cluster.put(make_pod("p", requests={"memory": "4Gi"}, node="n3"))
    assert scored(plugin, cluster, pod) == {
        **{f"n{number}": 62 for number in range(8)},
        "n3": 87,
    }
    other = make_pod("other", requests={"cpu": "1"})
    assert scored(plugin, cluster, other)["n3"] == 81  # 75 becomes 87


@pytest.mark.parametrize(
    ("resources", "problem"),
    [
        ([{"name": "cpu", "weight": 2}], "args.resources[0].weight: 2 is not supported: must be 1"),
        (
            [{"name": "cpu"}, {"name": "cpu"}],
            "args.resources[1].name: 'cpu' occurs more than once: remove one",
        ),
        ([{"weight": 1}], "args.resources[0].name: required value is missing"),
    ],
)
def test_wrong_arguments(resources: list[dict[str, Any]], problem: str) -> None:
    assert problems(NodeResourcesBalancedAllocation, resources=resources) == [problem]
