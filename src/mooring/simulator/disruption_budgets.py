"""Disruption budgets and a what-if: which would hold an operation up, and which would break.

A budget's status says how many of its pods may be missing. The eviction API respects it; a node
that is gone, and preemption if it must, do not. `BudgetBook` is told after each operation.
"""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from mooring.model.checks import check_object
from mooring.model.pod import Pod
from mooring.model.workloads import PodDisruptionBudget
from mooring.state.cluster import Cluster
from mooring.wording import are, counted


class BudgetVerdict(StrEnum):
    """What becomes of a budget, the worst first."""

    #: It allows no eviction, or no more of them: the operation stops at its pods.
    BLOCKS = "blocks"
    #: More of its pods end with their nodes than it allows; nobody asks it then.
    BREAKS = "breaks"
    #: Not all evictions are allowed at once: they go on as pods run elsewhere.
    WAITS = "waits"
    #: It allows all of them at once.
    HOLDS = "holds"


class BudgetOutcome(msgspec.Struct, frozen=True, rename="camel"):
    """A budget whose pods had to leave.

    Attributes:
        budget: ``namespace/name``.
        verdict: what becomes of it.
        text: the same in words.
        allowed: how many pods may be missing.
        evicted: how many are evicted.
        ended: how many ended with their node, or were preempted.
        missing: how many run nowhere in the end.
    """

    budget: str
    verdict: BudgetVerdict
    text: str
    allowed: int
    evicted: int
    ended: int
    missing: int


class Budgets:
    """The budgets of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._by_namespace: dict[str, list[PodDisruptionBudget]] = {}
        for one in cluster.catalog.all(PodDisruptionBudget).values():
            if one.spec.selector is not None and not check_object(one):
                self._by_namespace.setdefault(one.namespace, []).append(one)

    def of(self, pod: Pod) -> list[PodDisruptionBudget]:
        """The budgets that protect a pod; an empty selector is for all pods of the namespace."""
        return [
            one
            for one in self._by_namespace.get(pod.namespace, ())
            if one.spec.selector is not None
            and one.spec.selector.matches(pod.labels)
            and pod.name not in (one.status.disrupted_pods or ())
        ]

    def allow_eviction(self, pod: Pod) -> bool:
        """Whether the eviction API would evict a pod now: it rejects pods of several budgets."""
        found = self.of(pod)
        return len(found) < 2 and all(one.status.disruptions_allowed > 0 for one in found)


class _Entry:
    """What happened to the pods of one budget."""

    def __init__(self, budget: PodDisruptionBudget) -> None:
        self.budget = budget
        self.evicted = self.ended = self.shared = self.missing = 0
        # Most pods that are missing at a time, if all evictions of an operation happen at once.
        self.peak = self.abrupt = 0
        self.gone: dict[str, None] = {}


class BudgetBook:
    """Notes which budgets lose pods.

    Args:
        cluster: the fork.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._budgets = Budgets(cluster)
        self._entries: dict[str, _Entry] = {}

    def note(self, evicted: Sequence[Pod], ended: Sequence[Pod]) -> None:
        """An operation was carried out, and the scheduler has settled."""
        leaving: dict[str, list[int]] = {}
        for place, pods in enumerate((evicted, ended)):
            for pod in pods:
                found = self._budgets.of(pod)
                for budget in found:
                    entry = self._entries.setdefault(budget.key, _Entry(budget))
                    leaving.setdefault(budget.key, [0, 0])[place] += 1
                    entry.gone[pod.key] = None
                    entry.shared += len(found) > 1 and not place
        for key, (asked, abrupt) in leaving.items():
            entry = self._entries[key]
            before = entry.missing
            entry.evicted += asked
            entry.ended += abrupt
            entry.peak = max(entry.peak, before + asked + abrupt)
            entry.abrupt = max(entry.abrupt, before + abrupt if abrupt else 0)
        for entry in self._entries.values():
            entry.missing = self._missing(entry)

    def outcomes(self) -> list[BudgetOutcome]:
        """All budgets that lost pods, the worst first."""
        found = [self._outcome(one) for one in self._entries.values()]
        order = list(BudgetVerdict)
        return sorted(found, key=lambda one: (order.index(one.verdict), one.budget))

    def _missing(self, entry: _Entry) -> int:
        """How many of its pods run nowhere now."""
        found = (self._cluster.pod(*key.split("/", 1)) for key in entry.gone)
        return sum(pod is None or not pod.node_name for pod in found)

    def _outcome(self, entry: _Entry) -> BudgetOutcome:
        allowed = max(entry.budget.status.disruptions_allowed, 0)
        missing = self._missing(entry)
        verdict, text = _judge(entry, allowed, missing)
        return BudgetOutcome(
            entry.budget.key, verdict, text, allowed, entry.evicted, entry.ended, missing
        )


def _judge(entry: _Entry, allowed: int, missing: int) -> tuple[BudgetVerdict, str]:
    if entry.shared:
        shared = counted(entry.shared, "pod")
        return BudgetVerdict.BLOCKS, (
            f"{shared} {are(entry.shared)} under several budgets, which the eviction API rejects"
        )
    if entry.evicted and not allowed:
        return BudgetVerdict.BLOCKS, "allows no eviction now, so its pods are not evicted"
    if entry.abrupt > allowed:
        if missing > allowed:
            pods = counted(missing, "pod")
            return BudgetVerdict.BREAKS, f"{pods} would be missing, {allowed} may be"
        pods = counted(entry.abrupt, "pod")
        end = "ends" if entry.abrupt == 1 else "end"
        return BudgetVerdict.BREAKS, f"{pods} {end} at once, {allowed} may, all run elsewhere then"
    if missing > allowed:
        # Evictions only: the API would not let them get that far.
        pods = counted(missing, "pod")
        return BudgetVerdict.BLOCKS, (
            f"{pods} would have no node, {allowed} may be missing: the others are not evicted"
        )
    if entry.peak > allowed:
        return BudgetVerdict.WAITS, f"{allowed} at a time: each waits until others run elsewhere"
    return BudgetVerdict.HOLDS, f"allows all of them at once ({allowed})"
