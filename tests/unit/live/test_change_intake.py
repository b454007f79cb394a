"""Changes before and after the loop takes them."""

import itertools
from typing import Any

import pytest

from mooring import Node, Pod, Policy, hook
from mooring.live.change_intake import ChangeIntake
from mooring.live.metrics import SchedulerMetrics
from mooring.model.change import Gone, Put
from mooring.process.deadline import Deadline
from mooring.testing import make_node, make_pod
from tests.unit.extender.asgi import sample
from tests.unit.scheduler.world import World


def test_before_the_loop_changes_are_applied_at_once() -> None:
    world = World()
    intake = ChangeIntake(world.core, lambda: 5.0, Deadline(10), SchedulerMetrics())
    intake.on_changes([Put(make_node("a")), Put(make_node("b")), Put(make_pod("p"))])
    intake.on_changes([Gone(make_node("b"))])
    assert list(world.cluster.nodes) == ["a"]
    queued = world.core.queue.get("default/p")
    assert queued is not None
    assert queued.since == 5.0


def test_then_the_loop_takes_them() -> None:
    world = World()
    intake = ChangeIntake(world.core, lambda: 5.0, Deadline(10), SchedulerMetrics())
    taken: list[Any] = []
    intake.forward_to(taken.append)
    changes: list[Any] = [Put(make_node("a"))]
    intake.on_changes(changes)
    assert taken == [changes]
    assert not world.cluster.nodes


def test_a_process_that_is_to_stop_does_not_wait_for_hooks_over_what_is_left() -> None:
    """They may hang over each pod of the first list, and nobody else has a turn meanwhile."""
    asked: list[str] = []

    class Stopping(hook.PreEnqueue):
        name = "Stopping"

        def pre_enqueue(self, pod: Pod) -> None:
            asked.append(pod.name)
            intake.stop()

    policy = Policy("stopping")
    policy.add(Stopping())
    core = World(policy=policy).core
    intake = ChangeIntake(core, lambda: 5.0, Deadline(10), SchedulerMetrics())
    intake.on_changes([Put(make_pod("p")), Put(make_pod("q"))])
    intake.on_changes([Put(make_pod("r"))])
    assert asked == ["p"]
    assert intake.incomplete


def test_an_impossible_object_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    whole = make_node("bad").raw
    whole["status"]["allocatable"]["cpu"] = "many"
    ChangeIntake(world.core, lambda: 5.0, Deadline(10), SchedulerMetrics()).on_changes(
        [Put(Node.from_dict(whole)), Put(make_node("good"))]
    )
    assert list(world.cluster.nodes) == ["good"]
    assert "skipped" in caplog.text


def test_changes_are_timed_by_kind() -> None:
    world, metrics, ticks = World(), SchedulerMetrics(), itertools.count()
    intake = ChangeIntake(world.core, lambda: float(next(ticks)), Deadline(10), metrics)
    intake.on_changes([Put(make_node("a")), Put(make_node("b")), Put(make_pod("p"))])
    name = "scheduler_event_handling_duration_seconds"
    assert sample(metrics.text(), f"{name}_count", event="Node") == 2
    assert sample(metrics.text(), f"{name}_sum", event="Node") == 2
    assert sample(metrics.text(), f"{name}_count", event="Pod") == 1
