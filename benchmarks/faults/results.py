"""What a whole run found, as it is written to JSON; called by `__main__`, `report` and `goals`."""

from typing import TypeVar

import msgspec

from benchmarks.environment import Environment
from benchmarks.faults.leader import Leader
from benchmarks.faults.requeued import Requeued
from benchmarks.faults.slow import Slow
from benchmarks.faults.waiting import Waiting
from benchmarks.reporting import Goal

Measured = TypeVar("Measured", Waiting, Slow, Leader, Requeued)


class FaultResults(msgspec.Struct):
    """What was measured, by scenario; empty where it was not asked for.

    Attributes:
        waiting: claims that nobody provisions.
        slow: a slow API server.
        leader: the leader ends.
        requeued: many pods that fit nowhere are requeued.
    """

    waiting: list[Waiting] = []
    slow: list[Slow] = []
    leader: list[Leader] = []
    requeued: list[Requeued] = []


class Report(msgspec.Struct):
    """Everything a run found.

    Attributes:
        nodes: how many nodes there were.
        other_load: the share of the machine's CPU time that other programs used meanwhile.
        failures: what went wrong, one sentence each.
    """

    environment: Environment
    quick: bool
    nodes: int
    other_load: float
    found: FaultResults
    goals: list[Goal]
    failures: list[str]
