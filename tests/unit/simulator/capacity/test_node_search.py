"""Which nodes are needed: the fewest, the cheapest mix, or none at all."""

from typing import Any

import pytest

from mooring.explaining.explainer import Explainer
from mooring.model.pod import Pod
from mooring.simulator.capacity.filling import capacity
from mooring.simulator.capacity.node_search import NodeKind, NodeSearch, NodesNeeded
from mooring.simulator.capacity.pod_sets import WantedPod, copies
from mooring.simulator.forked_scheduler import Deciders
from mooring.simulator.node_groups import NodeGrouping
from mooring.testing import make_node, make_pod
from tests.unit.plugins.devices.device_objects import (
    DRIVER,
    claiming,
    device,
    device_class,
    published,
    template,
)

NODES = (("small", "2"), ("large", "8"))


def needed(
    wanted: list[Pod], prices: dict[str, float], objects: list[Any] | None = None
) -> NodesNeeded:
    full = [make_node(name, cpu=cpu) for name, cpu in NODES]
    taken = [
        make_pod(f"on-{name}", requests={"cpu": cpu}, node=name, priority=1000)
        for name, cpu in NODES
    ]
    things = [{"kind": one.kind_name, "apiVersion": "v1", **one.raw} for one in (*full, *taken)]
    explainer = Explainer([*things, *(objects or [])])
    deciders = Deciders(explainer.profiles, explainer.registry)
    kinds = [NodeKind(explainer.cluster.nodes[name], price) for name, price in prices.items()]
    stored = [explainer.pod(one) for one in wanted]
    return NodeSearch(explainer, deciders, stored, kinds, 1000).search()


def pods(number: int, cpu: str, name: str = "p") -> list[Pod]:
    wanted = WantedPod(name, make_pod(name, requests={"cpu": cpu}), number)
    return [pod for _, pod in copies((wanted,), 1)]


@pytest.mark.parametrize(
    ("wanted", "prices", "expected"),
    [
        (pods(5, "1"), {"small": 1}, {"small": 3}),
        (pods(5, "1500m"), {"small": 1}, {"small": 5}),
        (pods(40, "1"), {"large": 1}, {"large": 5}),
        # 9 cores: a large one and a small one cost less than five small ones or two large ones.
        (pods(9, "1"), {"small": 1.0, "large": 3.0}, {"small": 1, "large": 1}),
        (pods(9, "1"), {"small": 1.0, "large": 9.0}, {"small": 5, "large": 0}),
        (pods(9, "1"), {"small": 2.0, "large": 1.0}, {"small": 0, "large": 2}),
        # Only a large node has room for the second kind of pod.
        (
            [*pods(2, "1"), *pods(1, "5", "q")],
            {"small": 1.0, "large": 9.0},
            {"small": 0, "large": 1},
        ),
        (
            [*pods(1, "7", "q"), *pods(4, "1")],
            {"small": 1.0, "large": 9.0},
            {"small": 2, "large": 1},
        ),
        # If it comes last, the scheduler has spread the others over the large nodes by then.
        (
            [*pods(4, "1"), *pods(1, "7", "q")],
            {"small": 1.0, "large": 9.0},
            {"small": 0, "large": 3},
        ),
        (pods(3, "1"), {"small": 0.0}, {"small": 2}),
    ],
)
def test_what_is_needed(
    wanted: list[Pod], prices: dict[str, float], expected: dict[str, int]
) -> None:
    found = needed(wanted, prices)
    assert found.nodes == expected
    assert found.cheapest
    assert found.price == sum(prices[name] * number for name, number in expected.items())


def test_nothing_is_needed_for_what_fits() -> None:
    assert needed(pods(3, "0"), {"small": 1.0}).nodes == {"small": 0}


@pytest.mark.parametrize("prices", [{"small": 1.0}, {"small": 1.0, "large": 2.0}])
def test_no_number_helps_a_pod_that_is_too_large(prices: dict[str, float]) -> None:
    found = needed(pods(1, "9"), prices)
    assert found.nodes is None
    assert found.text == "needs 9 cpu, and the largest node it may use has 8 (large)"


def test_no_number_helps_a_pod_that_wants_other_nodes() -> None:
    picky = make_pod("picky", requests={"cpu": "1"}, spec={"nodeSelector": {"disk": "ssd"}})
    found = needed([picky], {"small": 1.0})
    assert found.nodes is None
    assert "disk=ssd" in found.text
    assert found.trials < 10


def test_pods_that_are_pending_if_none_are_given() -> None:
    waiting = [
        {"kind": "Pod", "apiVersion": "v1", **make_pod(f"w{n}", requests={"cpu": "1"}).raw}
        for n in range(3)
    ]
    found = needed([], {"small": 1.0}, waiting)
    assert (found.pods, found.nodes) == (3, {"small": 2})


@pytest.mark.parametrize(
    "pod",
    [claiming("p", templates=["gpu"]), make_pod("p", requests={"example.com/gpu": "1"})],
    ids=["a claim from a template", "an extended resource"],
)
def test_new_nodes_have_devices_like_the_one_that_is_there(pod: Pod) -> None:
    explainer = Explainer(
        [
            make_node("gpus"), device_class(DRIVER, resource="example.com/gpu"), template("gpu"),
            published("gpus", device("g0"), device("g1")),
        ]
    )  # fmt: skip
    deciders = Deciders(explainer.profiles, explainer.registry)
    wanted = [one for _, one in copies((WantedPod("p", pod, 7),), 1)]
    kinds = [NodeKind(explainer.cluster.nodes["gpus"], 1.0)]
    assert NodeSearch(explainer, deciders, wanted, kinds, 100).search().nodes == {"gpus": 3}
    groups = NodeGrouping(explainer.cluster.nodes.values())
    found = capacity(explainer, (WantedPod("p", pod),), deciders, groups, 100)
    assert (found.sets, found.stopped) == (2, 0)
    assert "device for " in found.text
    assert "not created" not in found.text
