from typing import Any

import pytest

from mooring.plugins.resources.node_resources_allocatable import NodeResourcesAllocatable
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import cluster_of, made, normalized, problems, scored

MIB = 2**20
CLUSTER = cluster_of(
    make_node("small", cpu="1", memory="1000Mi"),
    make_node("large", cpu="4", memory="8000Mi"),
    make_pod("p", requests={"cpu": "1"}, node="large"),
)


def test_small_nodes_are_better_by_default() -> None:
    # A thousandth of a core counts like a MiB; the weights are 2**20 and 1.
    expected = {
        "small": -(2000 * MIB // (MIB + 1)),
        "large": -(12000 * MIB // (MIB + 1)),
    }
    assert scored(made(NodeResourcesAllocatable), CLUSTER, make_pod()) == expected
    assert scored(made(NodeResourcesAllocatable, mode=""), CLUSTER, make_pod()) == expected


def test_large_nodes_are_better_on_demand() -> None:
    args: dict[str, Any] = {"mode": "Most", "resources": [{"name": "cpu", "weight": 3}]}
    plugin = made(NodeResourcesAllocatable, **args)
    assert scored(plugin, CLUSTER, make_pod()) == {"small": 1000, "large": 4000}
    assert scored(plugin, CLUSTER, make_pod(), ["large"]) == {"large": 4000}


def test_quotients_are_cut_toward_zero() -> None:
    resources = [{"name": "cpu", "weight": 2}, {"name": "foo", "weight": 1}]
    plugin = made(NodeResourcesAllocatable, resources=resources)
    assert scored(plugin, CLUSTER, make_pod()) == {"small": -666, "large": -2666}


def test_the_last_weight_of_a_resource_counts() -> None:
    resources = [{"name": "cpu", "weight": 2}, {"name": "cpu", "weight": 5}]
    plugin = made(NodeResourcesAllocatable, mode="Most", resources=resources)
    assert scored(plugin, CLUSTER, make_pod()) == {"small": 1000, "large": 4000}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ([-4000, -1000], [0, 100]),
        ([-4000, -4000], [0, 0]),
        ([10, 13], [0, 100]),
        ([], []),
    ],
)
def test_scores_are_stretched_between_the_worst_and_the_best(
    raw: list[int], expected: list[int]
) -> None:
    assert normalized(made(NodeResourcesAllocatable), CLUSTER, make_pod(), raw) == expected


def test_scores_in_between_are_cut() -> None:
    found = normalized(made(NodeResourcesAllocatable), CLUSTER, make_pod(), [10, 11, 13])
    assert found == [0, 33, 100]


def test_a_node_that_grows_is_seen() -> None:
    cluster = cluster_of(make_node("a", cpu="1"))
    plugin = made(NodeResourcesAllocatable, mode="Most", resources=[{"name": "cpu", "weight": 1}])
    assert scored(plugin, cluster, make_pod()) == {"a": 1000}
    cluster.put(make_node("a", cpu="2"))
    assert scored(plugin, cluster, make_pod()) == {"a": 2000}


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"mode": "least"}, "args.mode: 'least' is not supported: use Least or Most"),
        (
            {"resources": [{"name": "cpu"}]},
            "args.resources[0].weight: 0 for cpu is out of range: must be at least 1",
        ),
    ],
)
def test_wrong_arguments(args: dict[str, Any], problem: str) -> None:
    assert problems(NodeResourcesAllocatable, **args) == [problem]
