"""Nodes and pods come, change and go by the hundred while ``moor run`` schedules.

At the end the state it has kept, change by change, must be that of a fresh list.
"""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import BaseControlPlane, wait_for
from tests.e2e.fault_helpers import (
    PATIENCE,
    AuditLog,
    check_bound_once,
    check_capacity,
    check_nothing_left,
    each,
    many_nodes,
    many_pods,
)

ROUNDS = 4
MERGE = "application/merge-patch+json"


class Churn:
    """A cluster that never rests; each method is one kind of trouble, a hundred at a time.

    Args:
        plane: the cluster.
        chance: decides who is hit.
    """

    def __init__(self, plane: BaseControlPlane, chance: random.Random) -> None:
        self._plane = plane
        self._chance = chance
        #: These only change; the others may go, and come again as they were.
        self._steady = [f"steady-{i}" for i in range(100)]
        self._passing = [f"passing-{i}" for i in range(200)]
        self._absent = self._passing[100:]
        self._pods = 0

    def begin(self) -> None:
        """The nodes and pods of the beginning."""
        self._add_nodes([*self._steady, *self._passing[:100]])
        self.add_pods(600)

    def rounds(self, count: int) -> None:
        """Everything at the same time, several times."""
        for _ in range(count):
            pods = self._plane.list_objects("Pod", "default")
            self._chance.shuffle(pods)
            names = [one["metadata"]["name"] for one in pods]
            on_nodes = [
                one["metadata"]["name"] for one in pods[200:] if one["spec"].get("nodeName")
            ]
            present = sorted(set(self._passing) - set(self._absent))
            leaving = self._chance.sample(present, 50)
            coming, self._absent = self._absent[:50], [*self._absent[50:], *leaving]
            troubles: list[Callable[[], None]] = [
                partial(self.add_pods, 200),
                partial(self._delete_pods, names[:100]),
                partial(self._replace_pods, names[100:200]),
                partial(self._finish_pods, on_nodes[:50]),
                partial(self._add_nodes, coming),
                # The pods on them stay, as they do until somebody collects them.
                partial(self._delete_nodes, leaving),
                self._change_nodes,
            ]
            with ThreadPoolExecutor(len(troubles)) as pool:
                for done in [pool.submit(trouble) for trouble in troubles]:
                    done.result()

    def settle(self) -> list[dict[str, Any]]:
        """Let all pods find room; the unfinished pods, each with a node that exists."""
        self._patch_steady({"spec": {"unschedulable": False}})
        self._add_nodes(self._absent)
        self._add_nodes([f"late-{i}" for i in range(100)])
        found: list[dict[str, Any]] = []

        def all_bound() -> bool:
            listed = self._plane.list_objects("Pod", "default")
            found[:] = [one for one in listed if one["status"]["phase"] != "Succeeded"]
            return all(one["spec"].get("nodeName") for one in found)

        wait_for(all_bound, "all pods to be bound", PATIENCE)
        return found

    def add_pods(self, count: int) -> None:
        """Create pods under new names."""
        first, self._pods = self._pods, self._pods + count
        self._plane.create_many(many_pods(f"p{i}" for i in range(first, self._pods)), 4)

    def _delete_pods(self, names: list[str]) -> None:
        each(lambda name: self._plane.delete("Pod", name), names, 2)

    def _replace_pods(self, names: list[str]) -> None:
        """Other pods under the same names, at once."""

        def replace(name: str) -> None:
            self._plane.delete("Pod", name)
            self._plane.create(many_pods([name], cpu="500m")[0])

        each(replace, names, 2)

    def _finish_pods(self, names: list[str]) -> None:
        done = {"status": {"phase": "Succeeded"}}

        def finish(name: str) -> None:
            path = f"{self._plane.path('Pod', name, 'default')}/status"
            self._plane.request("PATCH", path, done, content_type=MERGE)

        each(finish, names, 2)

    def _add_nodes(self, names: list[str]) -> None:
        self._plane.create_many(many_nodes(names, cpu="8"), 2)

    def _delete_nodes(self, names: list[str]) -> None:
        each(lambda name: self._plane.delete("Node", name), names, 2)

    def _change_nodes(self) -> None:
        """Labels, cordons, and more room."""
        self._patch_steady({"spec": {"unschedulable": True}}, self._chance.sample(self._steady, 30))
        self._patch_steady({"metadata": {"labels": {"pool": str(self._chance.random())}}})
        more = {"status": {"allocatable": {"cpu": "12"}}}
        self._patch_steady(more, self._chance.sample(self._steady, 30), "/status")

    def _patch_steady(
        self, patch: object, names: list[str] | None = None, subresource: str = ""
    ) -> None:
        def change(name: str) -> None:
            path = f"/api/v1/nodes/{name}{subresource}"
            self._plane.request("PATCH", path, patch, content_type=MERGE)

        each(change, names or self._steady, 2)


def test_the_state_equals_a_fresh_list_after_hundreds_of_nodes_and_pods_came_and_went(
    own_plane: BaseControlPlane,
) -> None:
    churn = Churn(own_plane, random.Random(6))
    with MoorRun(own_plane) as scheduler:
        churn.begin()
        churn.rounds(ROUNDS)
        pods = churn.settle()
        check_bound_once(pods, AuditLog(own_plane))
        check_capacity(own_plane, pods)
        check_nothing_left(pods, scheduler)
