"""Policies that read the devices of nodes, in a scheduler: what they see is up to date."""

import numpy as np

import mooring as mr
from mooring.explaining.explainer import Explainer
from mooring.testing import make_node, make_pod
from tests.unit.plugins.devices.opt_in.device_world import (
    CLASS,
    DRIVER,
    claim,
    gpu,
    slice_of,
    using,
)
from tests.unit.scheduler.world import World


def packing() -> mr.Policy:
    """Nodes with a free device only, and rather those with few."""
    policy = mr.Policy("packing")

    @policy.filter
    def has_some(pod: mr.Pod, node: mr.Node) -> bool:
        return bool(node.devices.of(DRIVER).free)

    @policy.score_nodes
    def few(pod: mr.Pod, nodes: mr.Nodes) -> mr.Scores:
        free: mr.Scores = 100 / np.maximum(nodes.devices.free[DRIVER], 1)
        return free

    return policy


def test_decisions_see_what_earlier_ones_took() -> None:
    world = World(
        make_node("a"), make_node("b"), CLASS,
        slice_of("a", gpu("a-0"), gpu("a-1"), gpu("a-2")), slice_of("b", gpu("b-0"), gpu("b-1")),
        policy=packing(),
    )  # fmt: skip
    # Nothing is written into claims here: what counts is what is being written.
    for number in range(6):
        world.put(claim(f"c{number}"), using(f"p{number}", f"c{number}"))
        world.run()
    placed = [world.where(f"p{number}") for number in range(6)]
    assert placed == ["b", "b", "a", "a", "a", ""]


def test_rejected_pods_are_tried_again_when_devices_come() -> None:
    config = {
        "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}}]
    }
    world = World(make_node("a"), make_pod("p"), policy=packing(), config=config)
    world.run()
    assert world.where("p") == ""
    world.put(claim("c", "a-0"), slice_of("a", gpu("a-0")))
    world.wait(60)
    assert world.where("p") == ""
    world.put(claim("c"))
    world.wait(60)
    assert world.where("p") == "a"


def test_explanations_see_them_too() -> None:
    nodes = [make_node("a"), make_node("b")]
    objects = [*nodes, CLASS, slice_of("b", gpu("b-0"))]
    record = Explainer(objects, policy=packing()).record(make_pod("p"))
    assert record.feasible == ["b"]
