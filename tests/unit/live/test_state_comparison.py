"""The state against a list: equal when it is, and every sort of difference found."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from mooring import Node, Pod
from mooring.errors import KubeError
from mooring.kube.client import Client
from mooring.live.state_comparison import (
    Difference,
    StateComparison,
    check_state,
    compare,
    log_comparison,
)
from mooring.testing import make_node, make_pod
from tests.unit.live.fake_cluster import fake_cluster
from tests.unit.scheduler.world import World

OURS = ("default-scheduler",)


def pod(name: str, node: str = "", cpu: str = "1") -> Pod:
    return make_pod(name, node=node, requests={"cpu": cpu, "memory": "1Gi"})


def compared(world: World, nodes: list[Node], pods: list[Pod]) -> StateComparison:
    return compare(world.core, nodes, pods, OURS)


def texts(found: StateComparison) -> list[str]:
    return sorted(one.text for one in found.differences)


@pytest.fixture
def world() -> World:
    return World(
        make_node("a"), make_node("b"), pod("on-a", "a"), pod("big", "b", "3"), pod("waits")
    )


NODES = ("a", "b")
PODS: list[Callable[[], Pod]] = [
    lambda: pod("on-a", "a"), lambda: pod("big", "b", "3"), lambda: pod("waits"),
]  # fmt: skip


def fresh() -> tuple[list[Node], list[Pod]]:
    return [make_node(name) for name in NODES], [make() for make in PODS]


class TestEqual:
    def test_the_same(self, world: World) -> None:
        assert compared(world, *fresh()) == StateComparison(2, 3, 0, [])

    def test_nothing(self) -> None:
        assert compared(World(), [], []) == StateComparison(0, 0, 0, [])

    def test_after_a_decision(self, world: World) -> None:
        world.run()
        nodes, pods = fresh()
        assert world.where("waits")
        assert compared(world, nodes, [*pods[:2], world.pods["default/waits"]]).differences == []

    def test_a_pod_that_is_being_bound(self, world: World) -> None:
        world.prompt = False
        world.run()
        assert compared(world, *fresh()) == StateComparison(2, 3, 1, [])

    def test_pods_of_others_that_wait(self, world: World) -> None:
        nodes, pods = fresh()
        other = make_pod("other", spec={"schedulerName": "somebody"})
        world.put(other)
        assert compared(world, nodes, [*pods, other]).differences == []

    def test_finished_pods_count_for_nobody(self, world: World) -> None:
        nodes, pods = fresh()
        done = pod("done", "a")
        done = replace(done, status=replace(done.status, phase="Succeeded"))
        assert compared(world, nodes, [*pods, done]) == StateComparison(2, 3, 0, [])

    def test_a_pod_on_its_way_out_need_not_wait(self, world: World) -> None:
        nodes, pods = fresh()
        leaving = pod("leaving")
        meta = replace(leaving.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
        assert compared(world, nodes, [*pods, replace(leaving, metadata=meta)]).differences == []


class TestDifferent:
    def test_nodes(self, world: World) -> None:
        _, pods = fresh()
        found = compared(world, [make_node("a"), make_node("c")], pods)
        assert texts(found) == [
            "node b is in the state, but not in the cluster",
            "node c is missing from the state",
        ]

    @pytest.mark.parametrize(
        ("changed", "about"),
        [
            ({"cpu": "4"}, "node a allocatable"),
            ({"labels": {"x": "y"}}, "node a labels"),
            ({"taints": [{"key": "k", "effect": "NoSchedule"}]}, "node a taints"),
            ({"unschedulable": True}, "node a unschedulable"),
        ],
    )
    def test_fields_of_nodes(self, world: World, changed: dict[str, Any], about: str) -> None:
        _, pods = fresh()
        found = compared(world, [make_node("a", **changed), make_node("b")], pods)
        assert [one.about for one in found.differences] == [about]

    def test_a_pod_that_is_missing_and_its_amounts(self, world: World) -> None:
        nodes, pods = fresh()
        found = compared(world, nodes, [*pods, pod("more", "a", "2")])
        about = "node a in use"
        assert texts(found) == [
            f"{about} cpu (usage) is 1000 in the state and 3000 in the cluster",
            f"{about} cpu for scores is 1000 in the state and 3000 in the cluster",
            f"{about} cpu is 1000 in the state and 3000 in the cluster",
            f"{about} memory (usage) is 1073741824 in the state and 2147483648 in the cluster",
            f"{about} memory for scores is 1073741824 in the state and 2147483648 in the cluster",
            f"{about} memory is 1073741824 in the state and 2147483648 in the cluster",
            f"{about} pods (usage) is 1 in the state and 2 in the cluster",
            f"{about} pods is 1 in the state and 2 in the cluster",
            "pod default/more (uid-default-more) is missing from node a in the state",
        ]

    def test_amounts_alone(self, world: World) -> None:
        world.cluster.columns._used.add_all(0, (("cpu", 7), ("pods", 1)), 1)
        found = compared(world, *fresh())
        assert texts(found) == [
            "node a in use cpu is 1007 in the state and 1000 in the cluster",
            "node a in use pods is 2 in the state and 1 in the cluster",
        ]

    def test_a_pod_that_is_elsewhere(self, world: World) -> None:
        nodes, pods = fresh()
        found = compared(world, nodes, [pod("on-a", "b"), *pods[1:]])
        assert "pod default/on-a (uid-default-on-a) is on node a only in the state" in texts(found)

    def test_another_pod_of_the_same_name(self, world: World) -> None:
        nodes, pods = fresh()
        again = replace(pods[0], metadata=replace(pods[0].metadata, uid="again"))
        found = compared(world, nodes, [again, *pods[1:]])
        assert texts(found) == [
            "pod default/on-a (again) is missing from node a in the state",
            "pod default/on-a (uid-default-on-a) is on node a only in the state",
        ]

    def test_a_waiting_pod_that_was_forgotten(self, world: World) -> None:
        world.core.queue.remove(pod("waits"))
        assert texts(compared(world, *fresh())) == [
            "pod default/waits is pending, but not in the queue"
        ]

    def test_a_pod_in_the_queue_that_does_not_wait(self, world: World) -> None:
        nodes, pods = fresh()
        assert texts(compared(world, nodes, pods[:2])) == [
            "pod default/waits is in the queue, but not pending"
        ]


class TestAsking:
    def check(
        self, world: World, change: Callable[[Any, int], None]
    ) -> tuple[StateComparison, int]:
        """Compare with a cluster that `change` prepares, and changes again after each pause."""

        async def run() -> tuple[StateComparison, int]:
            pauses = 0
            async with fake_cluster() as cluster, Client(cluster.config) as client:
                change(cluster, 0)

                async def sleep(seconds: float) -> None:
                    nonlocal pauses
                    pauses += 1
                    change(cluster, pauses)

                found = await check_state(client, world.core, OURS, sleep=sleep)
            return found, pauses

        return asyncio.run(run())

    def test_equal_at_once(self) -> None:
        world = World(make_node("a"))

        def change(cluster: Any, pauses: int) -> None:
            cluster.put_node(make_node("a"))
            for number in range(1200):  # three pages
                cluster.put_pod(make_pod(f"p{number}", spec={"schedulerName": "other"}))

        assert self.check(world, change) == (StateComparison(1, 1200, 0, []), 0)

    def test_what_changes_meanwhile_is_looked_at_again(self) -> None:
        world = World(make_node("a"))

        def change(cluster: Any, pauses: int) -> None:
            if pauses == 0:
                cluster.put_node(make_node("a"))
                cluster.put_node(make_node("b"))
            else:
                world.put(make_node("b"))

        assert self.check(world, change) == (StateComparison(2, 0, 0, []), 1)

    def test_what_differs_all_the_time_is_told(self) -> None:
        world = World(make_node("a"))

        def change(cluster: Any, pauses: int) -> None:
            if pauses == 0:
                cluster.put_node(make_node("b"))
            cluster.put_node(make_node(f"new-{pauses}"))
            world.put(make_node(f"new-{pauses - 1}"))

        found, pauses = self.check(world, change)
        assert pauses == 2
        assert sorted(one.about for one in found.differences) == ["node a", "node b", "node new--1"]

    def test_an_api_server_that_does_not_answer(self) -> None:
        async def run() -> None:
            async with fake_cluster() as cluster:
                config = cluster.config
            async with Client(config) as client:
                await check_state(client, World().core, OURS)

        with pytest.raises(KubeError, match="cannot be reached"):
            asyncio.run(run())


class TestReport:
    def test_equal(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level("INFO"):
            log_comparison(StateComparison(3, 7, 1, []))
        assert caplog.messages == [
            "the state matches the cluster: 3 nodes, 7 pods, 1 of them assumed"
        ]

    def test_different(self, caplog: pytest.LogCaptureFixture) -> None:
        found = [Difference(f"{number}", f"thing {number} differs") for number in range(30)]
        log_comparison(StateComparison(3, 7, 0, found))
        assert caplog.messages[0] == (
            "the state differs from the cluster in 30 points (3 nodes, 7 pods, 0 of them assumed):"
        )
        assert caplog.messages[1] == "  thing 0 differs"
        assert len(caplog.messages) == 11
