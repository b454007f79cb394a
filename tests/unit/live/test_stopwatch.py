"""How long extension points take, with a clock that moves one second each time it is read."""

import itertools
from typing import Any

import pytest

import mooring as mr
from mooring import Node, hook
from mooring.framework.cycle import Cycle
from mooring.live.metrics import SchedulerMetrics
from mooring.live.stopwatch import Stopwatch
from mooring.testing import make_node, make_pod
from tests.unit.extender.asgi import sample
from tests.unit.scheduler.world import World

POINTS = "scheduler_framework_extension_point_duration_seconds"


def timed(
    *objects: Any, every: int = 1, policy: mr.Policy | None = None
) -> tuple[World, SchedulerMetrics]:
    metrics, ticks = SchedulerMetrics(), itertools.count()
    profile = "default-scheduler"
    watch = Stopwatch(profile, metrics, clock=lambda: float(next(ticks)), every=every)
    return World(*objects, policy=policy, observers={profile: watch}), metrics


def points(metrics: SchedulerMetrics) -> dict[tuple[str, str], tuple[float, float]]:
    """How often and how long, by point and status."""
    text = metrics.text()
    found = {}
    for point in ("PreFilter", "Filter", "PostFilter", "Score", "Reserve", "Permit"):
        for status in ("Success", "Unschedulable", "UnschedulableAndUnresolvable", "Error", "Wait"):
            labels = {"extension_point": point, "status": status, "profile": "default-scheduler"}
            count = sample(text, f"{POINTS}_count", **labels)
            if count:
                found[point, status] = count, sample(text, f"{POINTS}_sum", **labels)
    return found


def test_a_pod_that_gets_a_node() -> None:
    world, metrics = timed(make_node("a"), make_node("b"), make_pod("p"))
    world.run()
    assert world.where("p")
    assert points(metrics) == {
        ("PreFilter", "Success"): (1, 1),
        ("Filter", "Success"): (1, 1),
        ("Score", "Success"): (1, 1),
        ("Reserve", "Success"): (1, 1),
        ("Permit", "Success"): (1, 1),
    }


def test_a_pod_that_gets_none() -> None:
    world, metrics = timed(make_node("a", cpu="1"), make_pod("p", requests={"cpu": "2"}))
    world.run()
    assert points(metrics).keys() == {
        ("PreFilter", "Success"), ("Filter", "Unschedulable"), ("PostFilter", "Unschedulable"),
    }  # fmt: skip
    assert sample(metrics.text(), "scheduler_preemption_attempts_total") == 1


def test_a_pod_that_makes_room() -> None:
    low = make_pod("low", node="a", requests={"cpu": "1"})
    high = make_pod("high", priority=10, requests={"cpu": "1"})
    world, metrics = timed(make_node("a", cpu="1"), low, high)
    world.run()
    assert points(metrics)["PostFilter", "Success"] == (1, 1)
    assert sample(metrics.text(), "scheduler_preemption_attempts_total") == 1


def test_a_plugin_that_raises_is_an_error() -> None:
    policy = mr.Policy("bad")

    @policy.filter
    def broken(pod: mr.Pod, node: Node) -> bool:
        raise ValueError("no")

    world, metrics = timed(make_node("a"), make_pod("p"), policy=policy)
    world.run()
    assert ("Filter", "Error") in points(metrics)


def test_one_decision_of_ten_is_measured() -> None:
    pods = [make_pod(f"p{number}") for number in range(25)]
    world, metrics = timed(make_node("a", cpu="64"), make_node("b", cpu="64"), *pods, every=10)
    world.run()
    assert points(metrics)["Score", "Success"] == (2, 2)


class Waits(hook.Permit):
    """Lets pods wait for three seconds."""

    name = "Waits"

    def permit(self, cycle: Cycle, node: Node) -> hook.Wait:
        return hook.Wait(3)


@pytest.mark.parametrize(
    ("end", "result"),
    [("allow", "Success"), ("", "Unschedulable"), ("preempt", "Error")],
    ids=["allowed", "late", "preempted"],
)
def test_waiting_for_permission(end: str, result: str) -> None:
    policy = mr.Policy("waiting")
    policy.add(Waits())
    world, metrics = timed(make_node("a"), make_pod("p"), policy=policy)
    world.run()
    assert points(metrics)["Permit", "Wait"] == (1, 1)
    waiting = world.core.waiting.get("default/p")
    assert waiting is not None
    if end:
        getattr(waiting, end)("Waits")
    world.wait(5)
    assert bool(world.where("p")) is (end == "allow")
    name = "scheduler_permit_wait_duration_seconds"
    assert sample(metrics.text(), f"{name}_count", result=result) == 1
    assert sample(metrics.text(), f"{name}_count") == 1


def test_other_schedulers_are_not_measured() -> None:
    _, metrics = timed()
    other = World(make_node("a"), make_node("b"), make_pod("p"))
    other.run()
    assert points(metrics) == {}
