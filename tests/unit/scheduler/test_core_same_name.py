"""Pods of one name that follow each other, as those of a StatefulSet: reports are about one pod."""

from msgspec.structs import replace

import mooring as mr
from mooring import Pod, hook
from mooring.framework.cycle import Cycle
from mooring.model.change import Gone
from mooring.model.node import Node
from mooring.scheduler.effects import BindFailed, Bound
from mooring.testing import make_node, make_pod
from tests.unit.scheduler.world import World


def db_0(uid: str) -> Pod:
    whole = make_pod("db-0", requests={"cpu": "3"}).raw
    return Pod.from_dict({**whole, "metadata": {**whole["metadata"], "uid": uid}})


def two_in_flight() -> World:
    """The first pod is deleted while it is being bound; the second is being bound as well."""
    world = World(make_node("n", cpu="4"))
    world.prompt = False
    first = db_0("uid-1")
    world.put(first)
    world.run()
    world.delete(first)
    world.put(db_0("uid-2"))
    world.run()
    assert [one.pod.uid for one in world.binds] == ["uid-1", "uid-2"]
    return world


def test_the_failure_of_the_first_takes_nothing_from_the_second() -> None:
    world = two_in_flight()
    world.do(world.core.report(BindFailed(world.binds[0].pod, "n", "not found"), world.now))
    assert world.used == [3000]
    assert [one.queued.pod.uid for one in world.core.binding] == ["uid-2"]
    world.put(make_pod("other", requests={"cpu": "3"}))
    world.wait(30)
    assert len(world.binds) == 2


def test_the_success_of_the_first_does_not_hide_the_failure_of_the_second() -> None:
    world = two_in_flight()
    world.do(world.core.report(Bound(world.binds[0].pod, "n"), world.now))
    world.do(world.core.report(BindFailed(world.binds[1].pod, "n", "no"), world.now))
    assert world.used == [0]
    assert world.core.queue.get("default/db-0") is not None
    world.wait(30)
    assert [one.pod.uid for one in world.binds] == ["uid-1", "uid-2", "uid-2"]


def test_a_second_pod_that_is_first_seen_finished_ends_the_first() -> None:
    world = World(make_node("n", cpu="4"))
    world.put(db_0("uid-1"))
    world.run()
    assert world.used == [3000]
    second = db_0("uid-2")
    world.put(replace(second, status=replace(second.status, phase="Succeeded")))
    assert (world.used, world.cluster.pods) == ([0], 0)


def test_a_finished_pod_that_is_gone_takes_nothing_from_the_second() -> None:
    world = World(make_node("n", cpu="4"))
    world.put(db_0("uid-2"))
    world.run()
    first = db_0("uid-1")
    world.core.handle([Gone(replace(first, status=replace(first.status, phase="Failed")))], 1000.0)
    assert (world.used, world.cluster.pods) == ([3000], 1)


def test_what_failed_to_be_reserved_is_given_back_once() -> None:
    calls: list[str] = []

    class Counting(hook.Reserve):
        name = "Counting"

        def reserve(self, cycle: Cycle, node: Node) -> None:
            calls.append("reserve")
            raise ValueError("no")

        def unreserve(self, cycle: Cycle, node: Node) -> None:
            calls.append("unreserve")

    policy = mr.Policy("counting")
    policy.add(Counting())
    world = World(make_node("n", cpu="4"), policy=policy)
    world.put(make_pod("p"))
    world.run()
    assert calls == ["reserve", "unreserve"]
    assert world.used == [0]
