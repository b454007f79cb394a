"""Fake kubelets: pods run, are rejected where there is no room, are collected without a node."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from tests.unit.tools.test_soak_checks import node, pod
from tools.soak import kubelets as module
from tools.soak.api import Admin
from tools.soak.history import History, PodHistory
from tools.soak.kubelets import Kubelets
from tools.soak.objects import Node, Pod


class FakeAdmin:
    """Remembers what was written."""

    def __init__(self) -> None:
        self.patched: dict[str, str] = {}
        self.deleted: list[str] = []

    def patch(self, path: str, patch: dict[str, Any]) -> None:
        self.patched[path.split("/")[-2]] = patch["status"]["phase"]

    def delete_pod(self, name: str, uid: str) -> None:
        self.deleted.append(name)


class Known:
    """Objects that are known."""

    def __init__(self, *objects: Pod | Node) -> None:
        self.objects = objects

    def all(self) -> tuple[Pod | Node, ...]:
        return self.objects


class FakeHistory:
    def __init__(self, pods: list[Pod], nodes: list[Node]) -> None:
        self.pods, self.nodes = Known(*pods), Known(*nodes)


def turned(pods: list[Pod], nodes: list[Node], shrunk: str = "") -> tuple[Kubelets, FakeAdmin]:
    admin = FakeAdmin()
    history = cast("History", FakeHistory(pods, nodes))
    kubelets = Kubelets(cast("Admin", admin), history)
    if shrunk:
        kubelets.shrinks(shrunk)
    with ThreadPoolExecutor(1) as pool:
        kubelets._turn(pool)
    return kubelets, admin


def test_a_bound_pod_runs_and_a_waiting_one_does_not() -> None:
    pending = {"phase": "Pending"}
    pods = [pod("a", "n", status=pending), pod("b", status=pending)]
    kubelets, admin = turned(pods, [node("n")])
    assert admin.patched == {"a": "Running"}
    assert kubelets.overcommitted == []
    assert not kubelets.idle


def test_a_pod_without_room_is_rejected_and_reported() -> None:
    running = {"phase": "Running"}
    pods = [pod("z", "n", status=running), pod("a", "n", cpu="1500m"), pod("b", "n")]
    kubelets, admin = turned(pods, [node("n")])
    assert admin.patched == {"a": "Failed"}
    assert kubelets.overcommitted == ["pod a had no room on node n"]
    assert kubelets.rejected == 1


def test_a_pod_without_room_on_a_node_that_shrank_is_nobodys_fault() -> None:
    kubelets, admin = turned([pod("a", "n", cpu="9")], [node("n")], shrunk="n")
    assert admin.patched == {"a": "Failed"}
    assert (kubelets.overcommitted, kubelets.rejected) == ([], 1)


def test_pods_that_end_or_have_no_node_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ORPHAN_SECONDS", -1)
    ending = pod("a", "n")
    ending = type(ending)(
        type(ending.metadata)(name="a", uid="u", deletion_timestamp="now"), ending.spec
    )
    _, admin = turned([ending, pod("b", "gone")], [node("n")])
    assert sorted(admin.deleted) == ["a", "b"]


def test_nothing_to_do_is_rest() -> None:
    kubelets, _ = turned([pod("a", "n", status={"phase": "Running"}), pod("b")], [node("n")])
    assert kubelets.idle


def test_a_pod_that_moves_is_noticed() -> None:
    history = PodHistory(cast("Admin", FakeAdmin()))
    for found in (pod("a"), pod("a", "n"), pod("a", "n")):
        history.seen(found)
    assert history.moved == []
    history.seen(pod("a", "m"))
    history.seen(pod("a"))
    assert history.moved == [
        "pod a was bound to n, then to m",
        "pod a was bound and is not any more",
    ]
