"""Preemption of pods for their devices: only if the argument says so, and as few as possible."""

from typing import Any

import pytest

from mooring.explaining.explainer import explain
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.model.workloads import PodDisruptionBudget
from mooring.plugins.devices.claim_tracker import tracker_of
from mooring.testing import make_node, make_pod
from tests.unit.plugins.devices.opt_in.device_world import (
    CLASS,
    DRIVER,
    claim,
    config,
    gpu,
    slice_of,
    using,
)
from tests.unit.scheduler.world import World

ON = config(preemption=True)


def low(name: str, *claims: str, node: str = "a", **fields: Any) -> Pod:
    return using(name, *claims, node=node, **fields)


def important(*claims: str, **fields: Any) -> Pod:
    return using("important", *claims, priority=10, **fields)


def world(*objects: KubeObject, args: dict[str, Any] = ON, nodes: str = "ab") -> World:
    """Nodes with one device each, and whatever else is given."""
    made = World(
        *(make_node(one) for one in nodes),
        CLASS,
        *(slice_of(one, gpu(f"{one}-0")) for one in nodes),
        *objects,
        config=args,
    )
    made.run()
    return made


def victims(made: World) -> list[tuple[str, list[str]]]:
    """For whom which pods were preempted."""
    return [(one.preemptor.name, [victim.name for victim in one.victims]) for one in made.evicts]


def one_each() -> list[KubeObject]:
    """Both nodes' devices are in use, by pods of priorities 1 and 2."""
    x, y = low("x", "cx", priority=2), low("y", "cy", node="b", priority=1)
    return [
        x, y, claim("cx", "a-0", pods=[x]), claim("cy", "b-0", pods=[y], pool="b"), claim("mine")
    ]  # fmt: skip


def test_nobody_is_preempted_without_the_argument() -> None:
    made = world(*one_each(), important("mine"), args=config())
    assert victims(made) == []
    assert made.conditions[-1][2] == (
        "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_the_least_important_pod_makes_room() -> None:
    made = world(*one_each(), important("mine"))
    assert victims(made) == [("important", ["y"])]
    assert made.pods["default/important"].status.nominated_node_name == "b"


def test_equals_and_more_important_pods_keep_their_devices() -> None:
    made = world(*one_each(), using("late", "mine", priority=1))
    assert victims(made) == []


def test_it_does_not_preempt_if_it_must_not() -> None:
    calm = important("mine")
    spec = {**calm.raw["spec"], "preemptionPolicy": "Never"}
    made = world(*one_each(), Pod.from_dict({**calm.raw, "spec": spec}))
    assert victims(made) == []


def test_only_pods_with_devices_leave() -> None:
    bystander = low("bystander", requests={"cpu": "1"})
    x, small = low("x", "cx"), low("small", "cs")
    made = world(
        bystander, x, small, claim("cx", "a-0", pods=[x]), claim("mine"), claim("cs"),
        important("mine"), nodes="a",
    )  # fmt: skip
    assert victims(made) == [("important", ["x"])]


def test_as_few_as_possible_leave() -> None:
    pods = [low(f"p{index}", f"c{index}", priority=index) for index in range(3)]
    claims = [claim(f"c{index}", f"g-{index}", pods=[pods[index]]) for index in range(3)]
    made = World(
        make_node("a"), CLASS, slice_of("a", *(gpu(f"g-{index}") for index in range(3))),
        *pods, *claims, claim("mine", count=2), important("mine"), config=ON,
    )  # fmt: skip
    made.run()
    assert victims(made) == [("important", ["p1", "p0"])]


def test_disruption_budgets_count() -> None:
    x = low("x", "cx", labels={"app": "x"})
    y = low("y", "cy", node="b", priority=5)
    budget = PodDisruptionBudget.from_dict(
        {
            "metadata": {"name": "x", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "x"}}},
            "status": {"disruptionsAllowed": 0},
        }
    )
    made = world(
        x, y, budget, claim("cx", "a-0", pods=[x]), claim("cy", "b-0", pods=[y], pool="b"),
        claim("mine"), important("mine"),
    )  # fmt: skip
    assert victims(made) == [("important", ["y"])]


def test_all_users_of_a_shared_claim_leave() -> None:
    x, y = low("x", "shared"), low("y", "shared", priority=3)
    made = world(
        x, y, claim("shared", "a-0", pods=[x, y]), claim("mine"), important("mine"), nodes="a"
    )
    assert victims(made) == [("important", ["y", "x"])]


def test_a_claim_that_others_use_elsewhere_stays() -> None:
    x, y = low("x", "net"), low("y", "net", node="b", priority=20)
    made = World(
        make_node("a"), make_node("b"), CLASS, slice_of("net", gpu("g"), allNodes=True), x, y,
        claim("net", "g", pods=[x, y], pool="net"), claim("mine"), important("mine"), config=ON,
    )  # fmt: skip
    made.run()
    assert victims(made) == []


def test_the_pods_own_claim_is_no_prize() -> None:
    # The victim shares a claim with the pod; what the pod lacks is another device.
    x = low("x", "shared")
    made = world(
        x, claim("shared", "a-0", pods=[x]), claim("mine"), important("shared", "mine"), nodes="a"
    )
    assert victims(made) == []


def test_a_claim_that_is_not_written_yet_counts() -> None:
    made = world(claim("cx"), claim("mine"), using("x", "cx"), nodes="a")
    assert [one.binding.node_name for one in made.binds] == ["a"]
    # The test's API server binds the pod, and shows nothing of the claim.
    assert tracker_of(made.cluster).is_in_flight(claim("cx"))
    made.put(important("mine"))
    made.run()
    assert victims(made) == [("important", ["x"])]


def test_extended_resources_make_room_too() -> None:
    resource = "example.com/gpu"
    of_class = CLASS.from_dict(
        {"metadata": {"name": DRIVER}, "spec": {"extendedResourceName": resource}}
    )
    x = low("x", "cx")
    pod = make_pod("important", requests={resource: 1}, priority=10)
    made = World(
        make_node("a"), of_class, slice_of("a", gpu("g")), x, claim("cx", "g", pods=[x]), pod,
        config=ON,
    )  # fmt: skip
    made.run()
    assert victims(made) == [("important", ["x"])]


class TestAfterwards:
    def test_the_pod_gets_the_devices_when_they_are_released(self) -> None:
        made = world(*one_each(), important("mine"))
        assert made.where("important") == ""
        made.put(claim("cy"))  # the controller deallocates it
        made.wait(1)
        assert made.where("important") == "b"
        assert victims(made) == [("important", ["y"])]

    def test_nobody_else_is_preempted_meanwhile(self) -> None:
        made = world(*one_each(), important("mine"))
        made.put(make_node("c"))  # wakes the pod, which fits nowhere yet
        made.wait(60)
        assert victims(made) == [("important", ["y"])]
        assert made.conditions[-1][2] == (
            "0/3 nodes are available: 3 cannot allocate all claims. "
            "waiting for the devices of deleted pods to be released"
        )
        assert made.pods["default/important"].status.nominated_node_name == "b"
        made.put(claim("cy"))
        made.wait(60)
        assert made.where("important") == "b"

    def test_less_important_pods_do_not_get_them(self) -> None:
        made = world(*one_each(), important("mine"), claim("late"))
        made.prompt = False
        # In this order: without the nomination, the later pod would be first.
        made.put(claim("cy"), using("late", "late"))
        made.run()
        assert [(one.pod.name, one.binding.node_name) for one in made.binds] == [("important", "b")]

    def test_what_was_tried_leaves_nothing_behind(self) -> None:
        made = world(*one_each(), using("late", "mine", priority=1), claim("other"))
        state = tracker_of(made.cluster).state
        assert sorted(state.devices) == [f"{DRIVER}/a/a-0", f"{DRIVER}/b/b-0"]
        assert state.devices == dict.fromkeys(state.devices, 1)
        made.put(make_node("c"), slice_of("c", gpu("c-0")))
        made.wait(60)
        assert made.where("late") == "c"


def test_explanations_say_who_would_leave() -> None:
    x, y = low("x", "cx", priority=2), low("y", "cy", node="b", priority=1)
    record = explain(
        {
            "nodes": [make_node("a").raw, make_node("b").raw],
            "deviceClasses": [CLASS.raw],
            "resourceSlices": [slice_of(one, gpu(f"{one}-0")).raw for one in "ab"],
            "resourceClaims": [
                claim("cx", "a-0", pods=[x]).raw,
                claim("cy", "b-0", pods=[y], pool="b").raw,
                claim("mine").raw,
            ],
            "pods": [x.raw, y.raw],
        },
        important("mine"),
        config=ON,
    ).to_dict()
    assert record["postFilter"]["nominatedNode"] == "b"
    assert {
        node: found["victims"] for node, found in record["postFilter"]["candidates"].items()
    } == {"a": ["default/x"], "b": ["default/y"]}


def test_other_rejections_stay_as_they_are() -> None:
    # A class that is not there cannot be helped by anybody who leaves.
    x = low("x", "cx")
    wrong = claim("mine", deviceClassName="none")
    made = world(x, claim("cx", "a-0", pods=[x]), wrong, important("mine"), nodes="a")
    assert victims(made) == []
    assert isinstance(wrong, ResourceClaim)


def test_the_argument_is_a_yes_or_no() -> None:
    with pytest.raises(Exception, match="preemption"):
        world(args=config(preemption="yes"))
