"""Pods of a template that fits nowhere are not evaluated again until something changes."""

import pytest

from mooring import Pod
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.observer import NOBODY, Observer
from mooring.framework.filtering import Filtering
from mooring.testing import make_node
from mooring.testing import make_pod as made_pod
from tests.unit.scheduler.world import World


def make_pod(name: str, *, cpu: str, node: str = "", priority: int = 0) -> Pod:
    return made_pod(name, requests={"cpu": cpu}, node=node, priority=priority)


class Filterings(Observer):
    """Counts decisions that asked the filters."""

    def __init__(self) -> None:
        self.count = 0

    def filtered(self, filtering: Filtering) -> None:
        self.count += 1


def world(*objects: Pod, nodes: int = 2) -> tuple[World, Filterings]:
    watching = Filterings()
    made = [make_node(f"n{number}", cpu="4") for number in range(nodes)]
    return World(*made, *objects, observers={"default-scheduler": watching}), watching


def test_a_template_that_fits_nowhere_is_evaluated_once() -> None:
    pods = [make_pod(f"p{number}", cpu="8") for number in range(20)]
    made, watching = world(*pods)
    made.run()
    assert watching.count == 1
    assert len(made.conditions) == 20
    assert len({message for _, _, message in made.conditions}) == 1
    assert "Insufficient cpu" in made.conditions[0][2]


def test_every_template_is_evaluated_once_however_they_come() -> None:
    pods = [make_pod(f"p{number}", cpu=str(8 + number % 3)) for number in range(20)]
    made, watching = world(*pods)
    made.run()
    assert watching.count == 3


def test_a_more_important_pod_of_the_same_requests_is_another_template() -> None:
    low = make_pod("low", cpu="3", node="n0")
    pods = [make_pod(f"p{number}", cpu="4") for number in range(3)]
    made, _ = world(low, *pods, nodes=1)
    made.run()
    assert not made.binds
    made.put(make_pod("important", cpu="4", priority=10))
    made.run()
    assert [victim.name for one in made.evicts for victim in one.victims] == ["low"]


@pytest.mark.parametrize("change", ["pod gone", "node", "node grows"])
def test_whatever_helps_is_seen(change: str) -> None:
    full = make_pod("full", cpu="3", node="n0")
    pods = [make_pod(f"p{number}", cpu="3") for number in range(3)]
    made, _ = world(full, *pods, nodes=1)
    made.run()
    assert not made.binds
    if change == "pod gone":
        made.delete(full)
    elif change == "node":
        made.put(make_node("more", cpu="4"))
    else:
        made.put(make_node("n0", cpu="6"))
    made.wait(20)
    made.run()
    assert len(made.binds) == 1


def test_what_ifs_of_preemption_change_nothing() -> None:
    # Victims are looked for, and none helps: templates that take turns are still decided once.
    low = make_pod("low", cpu="1", node="n0")
    pods = [make_pod(f"p{number}", cpu=str(5 + number % 2), priority=5) for number in range(10)]
    made, watching = world(low, *pods, nodes=1)
    made.run()
    assert watching.count == 2


def test_a_pod_with_claims_of_its_own_is_looked_at_again() -> None:
    # Of the next pod of this name, the same claim may be its own.
    template = {"spec": {"accessModes": ["ReadWriteOnce"]}}
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": template}}
    pods = [made_pod(f"p{number}", spec={"volumes": [volume]}) for number in range(3)]
    made, _ = world(*pods)
    made.run()
    runtime = made.runtimes["default-scheduler"]
    assert all(runtime.decide_from_kept(Cycle(one, made.cluster), NOBODY) is None for one in pods)
