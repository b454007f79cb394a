"""Nobody is evicted whom the plugin that makes room may not name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mooring as mr
from mooring import Pod, hook
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Candidate, Filtering, Preemption
from mooring.testing import make_node, make_pod
from tests.unit.scheduler.world import World

Answer = Callable[[Cycle, dict[str, Pod]], Any]


class Evictor(hook.PostFilter, hook.FilterNodes):
    """Finds no node possible for the pod ``asker``, and room as the test says."""

    name = "Evictor"

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def filter_nodes(self, pod: Pod, nodes: mr.Nodes) -> Any:
        return [mr.reject("full")] * len(nodes) if pod.name == "asker" else None

    def post_filter(self, cycle: Cycle, filtering: Filtering) -> Any:
        rows = range(len(cycle.cluster.columns))
        pods = {pod.name: pod for row in rows for pod in cycle.cluster.pods_on(row)}
        return self._answer(cycle, pods)


def pod(name: str, node: str, priority: int) -> Pod:
    return make_pod(name, node=node, priority=priority, requests={"cpu": "1"})


def world_of(answer: Answer, **asker: Any) -> World:
    policy = mr.Policy("test")
    policy.add(Evictor(answer))
    # Before DefaultPreemption, which would end the search.
    points = {"disabled": [{"name": "DefaultPreemption"}], "enabled": [{"name": "Evictor"}]}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": {"postFilter": points}}],
    }
    world = World(
        make_node("a", cpu="8"), make_node("b", cpu="8"),
        pod("low", "a", 0), pod("lower", "a", -5), pod("elsewhere", "b", 0),
        pod("equal", "a", 10), pod("precious", "a", 1000),
        policy=policy, config=config,
    )  # fmt: skip
    world.prompt = False
    world.put(make_pod("asker", priority=10, **asker))
    world.run()
    return world


def room(*candidates: Candidate, **parts: Any) -> Preemption:
    return Preemption(
        mr.accept(), eligible=True, candidates={one.node: one for one in candidates}, **parts
    )


def unlike(one: Pod, **more: Any) -> Pod:
    return Pod.from_dict({**one.raw, "metadata": {**one.raw["metadata"], **more}})


ILLEGAL: dict[str, Answer] = {
    "of higher priority": lambda _, pods: room(Candidate("a", (pods["precious"],))),
    "of the same priority": lambda _, pods: room(Candidate("a", (pods["equal"],))),
    "one of two": lambda _, pods: room(Candidate("a", (pods["low"], pods["precious"]))),
    "on another node": lambda _, pods: room(Candidate("b", (pods["low"],))),
    "of no node": lambda _, pods: room(Candidate("nowhere", (pods["low"],))),
    "the pod itself": lambda cycle, _: room(Candidate("a", (cycle.pod,))),
    "nobody known": lambda *_: room(Candidate("a", (make_pod("nobody"),))),
    "another one of that name": lambda _, pods: room(
        Candidate("a", (unlike(pods["low"], uid="other"),))
    ),
    "a forged priority": lambda *_: room(Candidate("a", (pod("precious", "a", -1),))),
    "no pod": lambda *_: room(Candidate("a", (3,))),  # type: ignore[arg-type]
    "no victims at all": lambda *_: room(Candidate("a", None)),  # type: ignore[arg-type]
    "a budget below none": lambda _, pods: room(Candidate("a", (pods["low"],), -1)),
    "a budget that is no number": lambda _, pods: room(
        Candidate("a", (pods["low"],), "x")  # type: ignore[arg-type]
    ),
    "half a budget": lambda _, pods: room(
        Candidate("a", (pods["low"],), 0.5)  # type: ignore[arg-type]
    ),
    "more budgets than victims": lambda _, pods: room(Candidate("a", (pods["low"],), 2)),
    "under another name": lambda _, pods: Preemption(
        mr.accept(), candidates={"b": Candidate("a", (pods["low"],))}
    ),
    "a best one that is none": lambda _, pods: room(Candidate("a", (pods["low"],)), best=["b"]),
    "no names": lambda _, pods: room(Candidate("a", (pods["low"],)), potential=[1]),
    "no rejections": lambda _, pods: room(Candidate("a", (pods["low"],)), rejected={"b": "no"}),
    "no candidates": lambda *_: Preemption(mr.accept(), candidates=[1]),  # type: ignore[arg-type]
    "no verdict": lambda *_: Preemption("yes"),  # type: ignore[arg-type]
    "a pod of its own": lambda cycle, pods: _forge(
        cycle, room(Candidate("a", (pods["precious"],)))
    ),
}  # fmt: skip


def _forge(cycle: Cycle, found: Preemption) -> Preemption:
    cycle.pod = make_pod("asker", priority=10_000)
    return found


@pytest.mark.parametrize("what", ILLEGAL)
def test_nobody_else_is_evicted(what: str) -> None:
    world = world_of(ILLEGAL[what])
    assert world.evicts == []
    (note,) = [note for name, _, note in world.events if name == "asker"]
    assert note.startswith("plugin Evictor failed in post_filter for pod default/asker: it ")


def test_a_pod_that_never_preempts_evicts_nobody() -> None:
    world = world_of(
        lambda _, pods: room(Candidate("a", (pods["low"],))), spec={"preemptionPolicy": "Never"}
    )
    assert world.evicts == []
    assert "preemptionPolicy" in world.events[-1][2]


def victims(world: World) -> list[str]:
    (evict,) = world.evicts
    return [one.name for one in evict.victims]


LEGAL: dict[str, tuple[Answer, list[str]]] = {
    "lower ones": (
        lambda _, pods: room(Candidate("a", (pods["low"], pods["lower"]))), ["low", "lower"],
    ),
    "twice the same": (
        lambda _, pods: room(Candidate("a", (pods["low"], pods["low"]))), ["low"],
    ),
    "a copy": (lambda _, pods: room(Candidate("a", (unlike(pods["low"]),))), ["low"]),
    "a list": (
        lambda _, pods: room(Candidate("a", [pods["low"]])), ["low"],  # type: ignore[arg-type]
    ),
    "numbers of numpy": (
        lambda _, pods: room(
            Candidate("b", (pods["elsewhere"],), np.int64(1)),  # type: ignore[arg-type]
            Candidate("a", (pods["low"],), np.int64(0)),  # type: ignore[arg-type]
        ),
        ["low"],
    ),
    "nobody: there will be room": (lambda *_: room(Candidate("b", ())), []),
    "nobody here, somebody there": (
        lambda _, pods: room(Candidate("a", (pods["low"],)), Candidate("b", ())), [],
    ),
    "nobody anywhere": (lambda *_: room(Candidate("a", ()), Candidate("b", ())), []),
}  # fmt: skip


@pytest.mark.parametrize("what", LEGAL)
def test_pods_of_lower_priority_on_that_node_are(what: str) -> None:
    answer, names = LEGAL[what]
    world = world_of(answer)
    assert victims(world) == names
    own = {id(one) for row in (0, 1) for one in world.cluster.pods_on(row)}
    assert all(id(one) in own for one in world.evicts[0].victims)


def test_a_plugin_with_an_attribute_like_the_schedulers_own_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DefaultPreemption has such a set, and the scheduler writes into it."""
    monkeypatch.setattr(Evictor, "evicting", None, raising=False)
    assert victims(world_of(LEGAL["lower ones"][0])) == ["low", "lower"]
