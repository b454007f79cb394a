"""Preemption for devices on random clusters: it helps, takes no more than it has to, and is undone.

Whoever is preempted is less important; once the victims are gone and their claims deallocated, the
pod runs on the node it was nominated to; and without any one of the victims' devices it would not.
"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.model.devices.resource_claim import ResourceClaim, ResourceClaimStatus
from mooring.model.pod import Pod
from mooring.plugins.devices.claim_tracker import tracker_of
from mooring.testing import make_node
from tests.unit.plugins.devices.opt_in.device_world import (
    CLASS,
    claim,
    config,
    gpu,
    slice_of,
    using,
)
from tests.unit.scheduler.world import World

NODES = "abc"
PER_NODE = 3


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Pod], list[ResourceClaim], int]:
    """Pods that have devices, their claims, and how many devices the important pod needs."""
    pods: list[Pod] = []
    claims: list[ResourceClaim] = []
    for node in NODES:
        free = [f"{node}-{index}" for index in range(PER_NODE)]
        keep = draw(st.sampled_from((0, 0, 0, 1)))
        while len(free) > keep:
            taken = free[: draw(st.integers(1, len(free)))]
            free = free[len(taken) :]
            number = len(claims)
            users = [
                using(
                    f"p{number}-{user}", f"c{number}", node=node, priority=draw(st.integers(0, 9))
                )
                for user in range(draw(st.integers(1, 2)))
            ]
            pods += users
            claims.append(claim(f"c{number}", *taken, pods=users, pool=node, count=len(taken)))
    return pods, claims, draw(st.integers(1, PER_NODE))


def world(pods: list[Pod], claims: list[ResourceClaim], count: int) -> World:
    made = World(
        *map(make_node, NODES),
        CLASS,
        *(slice_of(one, *(gpu(f"{one}-{index}") for index in range(PER_NODE))) for one in NODES),
        *pods,
        *claims,
        claim("mine", count=count),
        config=config(preemption=True),
    )
    made.prompt = False
    return made


def deallocated(one: ResourceClaim) -> ResourceClaim:
    return replace(one, status=ResourceClaimStatus())


def in_use(made: World) -> dict[Any, int]:
    return dict(tracker_of(made.cluster).state.devices)


@given(clusters())
@settings(max_examples=60, deadline=None)
def test_victims_make_room_and_no_more(given_: tuple[list[Pod], list[ResourceClaim], int]) -> None:
    pods, claims, count = given_
    made = world(pods, claims, count)
    before = in_use(made)
    made.put(using("important", "mine", priority=5))
    made.run()
    if made.binds:
        assert not made.evicts
        return
    assert in_use(made) == before
    if not made.evicts:
        free = dict.fromkeys(NODES, PER_NODE)
        for one, users in ((one, users_of(one, pods)) for one in claims):
            if any(pod.priority >= 5 for pod in users):
                free[users[0].node_name] -= size(one)
        assert all(left < count for left in free.values())
        return
    (evicted,) = made.evicts
    victims = {pod.name for pod in evicted.victims}
    assert all(pod.priority < 5 and pod.node_name == evicted.node for pod in evicted.victims)
    freed = [one for one in claims if {pod.name for pod in users_of(one, pods)} <= victims]
    there = [one for one in claims if users_of(one, pods)[0].node_name == evicted.node]
    left = PER_NODE - sum(size(one) for one in there if one not in freed)
    assert left >= count
    # All users of a claim leave, or none; and without any of these claims it would not do.
    assert victims == {pod.name for one in freed for pod in users_of(one, pods)}
    assert all(left - size(one) < count for one in freed)
    made.prompt = True
    made.evict(evicted)
    made.put(*map(deallocated, freed))
    made.wait(60)
    assert made.where("important") == evicted.node
    assert len(made.evicts) == 1


def users_of(one: ResourceClaim, pods: list[Pod]) -> list[Pod]:
    names = {user.name for user in one.status.reserved_for or ()}
    return [pod for pod in pods if pod.name in names]


def size(one: ResourceClaim) -> int:
    allocation = one.status.allocation
    return len(allocation.devices.results or ()) if allocation is not None else 0
