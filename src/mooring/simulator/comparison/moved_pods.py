"""Pods that two schedulers put on different nodes, in two results of the same workload."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from mooring.simulator.result import PodPlacement, SimulationResult


class PodElsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that lands elsewhere.

    Attributes:
        pod: ``namespace/name``.
        workload: what created it.
        baseline_node: where the first scheduler put it; empty if it stayed pending.
        node: where the other one did.
        baseline_why: why the first one decided so, if that was looked into.
        why: why the other one did.
    """

    pod: str
    workload: str = ""
    baseline_node: str = ""
    node: str = ""
    baseline_why: str = ""
    why: str = ""


class MovedPair(NamedTuple):
    """A pod that lands elsewhere, as both schedulers placed it."""

    baseline: PodPlacement
    other: PodPlacement


class PodMoves(NamedTuple):
    """Pods of two results.

    Attributes:
        moved: the pods that land elsewhere, in the order in which they were first bound.
        unmatched: how many pods are in one result only: controllers created others instead.
    """

    moved: list[MovedPair]
    unmatched: int


def moves_between(baseline: SimulationResult, other: SimulationResult) -> PodMoves:
    """Which pods land elsewhere, recognized by their names."""
    before, after = _by_name(baseline.pods), _by_name(other.pods)
    pairs = [MovedPair(before[name], after[name]) for name in before if name in after]
    moved = [pair for pair in pairs if pair.baseline.node != pair.other.node]
    moved.sort(key=lambda pair: min(_time(pair.baseline), _time(pair.other)))
    return PodMoves(moved, len(before) + len(after) - 2 * len(pairs))


def _by_name(pods: Iterable[PodPlacement]) -> dict[str, PodPlacement]:
    found: dict[str, PodPlacement] = {}
    for one in pods:
        found.setdefault(one.pod, one)
    return found


def _time(pod: PodPlacement) -> float:
    return pod.bound if pod.bound is not None else float("inf")
