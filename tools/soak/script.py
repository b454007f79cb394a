"""What happens in a run, as data that the seed alone decides.

`driver` carries phases out one after the other until the time is up; a longer run of the same seed
begins with the phases of the shorter one. Every kind of trouble comes once before any comes twice.
"""

import random
from collections.abc import Iterator
from typing import Final

import msgspec

#: Kinds of trouble; those in the second list need a second replica.
TROUBLES: Final = (
    "quiet",
    "kill-leader",
    "terminate-leader",
    "pause-briefly",
    "pause-beyond-the-lease",
    "restart-apiserver",
    "restart-etcd",
    "refuse-the-lease",
    "steal-the-lease",
    "cut-off-the-leader",
    "slow-network",
    "broken-network",
    "busy-apiserver",
    "broken-watches",
    "silent-watches",
    "old-events",
    "start-in-the-dark",
)
TROUBLES_OF_TWO: Final = ("kill-standby", "kill-both", "swap-leaders")


class Workload(msgspec.Struct, frozen=True):
    """Pods that are created in a phase.

    Attributes:
        plain: fit everywhere.
        oversized: fit nowhere.
        claims: wait for volumes that nobody provisions.
        fillers: of low priority, for the few nodes of the pool `tight`.
        important: of high priority, for the same nodes: they must preempt.
        finished: so many of the pods that run come to their end.
    """

    plain: int
    oversized: int
    claims: int
    fillers: int
    important: int
    finished: int


class Churn(msgspec.Struct, frozen=True):
    """What happens to nodes in a phase: how many are added, deleted, and so on."""

    added: int
    deleted: int
    cordoned: int
    tainted: int
    resized: int


class Phase(msgspec.Struct, frozen=True):
    """One part of a run.

    Attributes:
        number: from 1.
        trouble: one of `TROUBLES`.
        seconds: how long the trouble lasts, where that can be said.
        hard: without warning where there is a choice: SIGKILL instead of SIGTERM.
        chance: how likely a fault of the network is.
        seed: for choices within the phase: which nodes, which pods.
        workload: the pods that come and go meanwhile.
        churn: the nodes that come and go meanwhile.
    """

    number: int
    trouble: str
    seconds: float
    hard: bool
    chance: float
    seed: int
    workload: Workload
    churn: Churn


def phases(seed: int, replicas: int) -> Iterator[Phase]:
    """The phases of a run, without end."""
    draw = random.Random(f"{seed} {replicas}")  # noqa: S311 - no secret
    number = 0
    while True:
        troubles = [*TROUBLES, *(TROUBLES_OF_TWO if replicas > 1 else ())]
        draw.shuffle(troubles)
        for trouble in troubles:
            number += 1
            yield _phase(draw, number, trouble)


def _phase(draw: random.Random, number: int, trouble: str) -> Phase:
    workload = Workload(
        plain=draw.randint(100, 300),
        oversized=draw.choice((0, 10, 50)),
        claims=draw.choice((0, 0, 30, 100, 600)),
        fillers=draw.randint(10, 25),
        important=draw.randint(0, 15),
        finished=draw.randint(20, 150),
    )
    churn = Churn(
        added=draw.randint(0, 10),
        deleted=draw.randint(0, 5),
        cordoned=draw.randint(0, 8),
        tainted=draw.randint(0, 5),
        resized=draw.randint(0, 5),
    )
    return Phase(
        number=number,
        trouble=trouble,
        seconds=round(draw.uniform(3, 8), 1),
        hard=draw.random() < 0.5,
        chance=round(draw.uniform(0.05, 0.3), 2),
        seed=draw.getrandbits(32),
        workload=workload,
        churn=churn,
    )
