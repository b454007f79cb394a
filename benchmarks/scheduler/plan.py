"""Which scheduler places which pods in which way, part by part; called by `__main__`."""

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.scheduler.claim_workloads import ALL_WORKLOADS, CLAIM_WORKLOADS
from benchmarks.scheduler.contenders import (
    ALL_NODES,
    KUBE_LIMITED,
    KUBE_SCHEDULER,
    MOORING,
    MOORING_LIMITED,
    POLICY,
)
from benchmarks.scheduler.ways import CREATE, DRAIN, RATES, STEADY, at_rate
from benchmarks.scheduler.workloads import LARGE, TWO, WORKLOADS, Workload

BOTH = (KUBE_SCHEDULER, MOORING)
#: The part that has no workload of its own.
MEMORY = "memory"


class Part(NamedTuple):
    """A part of the benchmark.

    Attributes:
        title: what it is about.
        ways: how pods come.
        schedulers: who takes part.
        all_workloads: whether it is about all workloads and sizes, not only two at 5,000 nodes.
        claims: whether it is about the workloads whose pods need devices, and no others.
    """

    title: str
    ways: tuple[str, ...]
    schedulers: tuple[str, ...]
    all_workloads: bool = False
    claims: bool = False

    def workloads(self, chosen: Sequence[str]) -> list[str]:
        """Its workloads, or those of them that were chosen, if any were."""
        every = CLAIM_WORKLOADS if self.claims else WORKLOADS
        usual = every if self.all_workloads else TWO
        return [name for name in chosen or usual if name in every]

    def ways_of(self, workload: Workload) -> tuple[str, ...]:
        """How the pods of a workload come."""
        return (STEADY,) if workload.steady else self.ways


#: All parts by name, but for `MEMORY`.
PARTS = {
    "drain": Part("pods that wait before the scheduler starts", (DRAIN,), BOTH, True),
    "create": Part("pods that are created meanwhile", (CREATE,), BOTH, True),
    "claims": Part("pods with claims for devices", (DRAIN,), BOTH, True, claims=True),
    "rates": Part("pods that come at fixed rates", tuple(map(at_rate, RATES)), BOTH),
    "sampling": Part("kube-scheduler when it scores all nodes, too", (DRAIN,), (ALL_NODES,)),
    "policy": Part("mooring with the policy of the README", (DRAIN,), (POLICY,)),
    "limited": Part(
        "both with kube-scheduler's default limits", (DRAIN,), (KUBE_LIMITED, MOORING_LIMITED)
    ),
}


class Step(NamedTuple):
    """One run to do."""

    way: str
    scheduler: str

    @property
    def compared_with_limit(self) -> bool:
        """Whether a table compares it with what the API server can do alone."""
        return self.way in (DRAIN, CREATE, STEADY) and self.scheduler in BOTH


#: The runs to do on one prepared cluster, by workload and number of nodes.
Plan = dict[tuple[str, int], list[Step]]


def plan(
    parts: Sequence[str],
    workloads: Sequence[str],
    nodes: Sequence[int],
    schedulers: Sequence[str],
) -> Plan:
    """The runs to do.

    Args:
        parts: the parts.
        workloads: of these; those of the parts themselves if empty.
        nodes: at these sizes; those of the workloads if empty.
        schedulers: only these; all if empty.
    """
    found: Plan = {}
    for part in (PARTS[name] for name in parts if name in PARTS):
        for workload in part.workloads(workloads):
            known = ALL_WORKLOADS[workload]
            usual = known.nodes if part.all_workloads else (LARGE,)
            for count in _sizes(known, nodes or usual):
                steps = found.setdefault((workload, count), [])
                steps += [
                    Step(way, scheduler)
                    for way in part.ways_of(known)
                    for scheduler in part.schedulers
                    if not schedulers or scheduler in schedulers
                ]
    ordered = sorted(found, key=lambda key: (key[1], list(ALL_WORKLOADS).index(key[0])))
    return {key: found[key] for key in ordered if found[key]}


def _sizes(workload: Workload, nodes: Sequence[int]) -> list[int]:
    """The numbers of nodes at which a workload can be measured, of some."""
    return [count for count in nodes if not workload.sizes or count in workload.sizes]
