"""DefaultPreemption: makes room for a pod by preempting pods of lower priority.

Decides whether the pod may do that at all, where it helps, and which node is the cheapest; nothing
is preempted here. The scheduler carries it out and says so through `Handle.preempting`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

import msgspec

from mooring.framework import hook
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Filtering, Preemption
from mooring.framework.fit_error import fit_error
from mooring.framework.handle import Handle
from mooring.framework.pod_importance import equally_good
from mooring.framework.verdict import ACCEPT, Verdict, fail, reject
from mooring.model.pod import Pod
from mooring.model.workloads import PodDisruptionBudget
from mooring.plugins.preemption.disruption_budgets import DisruptionBudgets
from mooring.plugins.preemption.victim_search import VictimSearch

_PERCENT: Final = 100
_NEVER: Final = "not eligible due to preemptionPolicy=Never."
_TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."
_NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
_WAITING: Final = reject(
    "waiting for the preemption for this pod to be finished", unresolvable=True
)


class DefaultPreemptionArgs(
    msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True
):
    """Arguments of DefaultPreemption.

    Attributes:
        min_candidate_nodes_percentage: so many candidates in a hundred nodes are enough.
        min_candidate_nodes_absolute: but not fewer than this number.
    """

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100

    def check(self) -> Iterable[tuple[str, str]]:
        """What kube-scheduler would reject."""
        # parity v1.36.4: apis/config/validation/validation_pluginargs.go
        percentage, absolute = "minCandidateNodesPercentage", "minCandidateNodesAbsolute"
        if not 0 <= self.min_candidate_nodes_percentage <= _PERCENT:
            said = self.min_candidate_nodes_percentage
            yield percentage, f"{said} is out of range: must be from 0 to {_PERCENT}"
        if self.min_candidate_nodes_absolute < 0:
            said = self.min_candidate_nodes_absolute
            yield absolute, f"{said} is out of range: must be at least 0"
        if not (self.min_candidate_nodes_percentage or self.min_candidate_nodes_absolute):
            yield percentage, f"is 0 and so is {absolute}: one of them must be greater than 0"
            yield absolute, f"is 0 and so is {percentage}: one of them must be greater than 0"


class DefaultPreemption(hook.PreEnqueue, hook.PostFilter, hook.Requeues):
    """Makes room for a pod by preempting pods of lower priority."""

    name = "DefaultPreemption"
    reads = (PodDisruptionBudget,)
    Args: ClassVar[type[msgspec.Struct]] = DefaultPreemptionArgs

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        self._args = args
        self._handle = handle

    def pre_enqueue(self, pod: Pod) -> Verdict:
        """Hold a pod back while victims are being preempted for it."""
        preempting = self._handle.preempting
        return _WAITING if preempting and pod.uid and pod.uid in preempting else ACCEPT

    def requeue_on(self) -> Sequence[hook.RequeueHint]:
        """Nothing by itself: the plugins that rejected the pod know what helps it."""
        # parity v1.36.4: plugins/defaultpreemption isPodSchedulableAfterPodDeletion
        return (hook.RequeueHint(Pod, hook.Action.DELETE, lambda pod, old, new: False),)  # noqa: ARG005

    def post_filter(self, cycle: Cycle, filtering: Filtering) -> Preemption:
        """Look for the nodes on which preempting pods of lower priority makes room."""
        potential = len(filtering.resolvable)
        if cycle.thorough or not potential:
            return self.search(cycle, filtering)
        start = self._handle.choose(potential)
        return self.search(cycle, filtering, limit=self.candidates_wanted(potential), start=start)

    def candidates_wanted(self, potential: int) -> int:
        """How many candidates are enough, by the arguments, if so many nodes might help."""
        # parity v1.36.4: plugins/defaultpreemption calculateNumCandidates
        part = potential * self._args.min_candidate_nodes_percentage // _PERCENT
        return min(max(part, self._args.min_candidate_nodes_absolute), potential)

    def search(
        self,
        cycle: Cycle,
        filtering: Filtering,
        *,
        limit: int | None = None,
        start: int = 0,
    ) -> Preemption:
        """Look for room.

        Args:
            cycle: the decision that found no node.
            filtering: why not.
            limit: so many candidates are enough (see `candidates_wanted`); None looks at all nodes.
            start: the place among the nodes that might help at which to begin.
        """
        # parity v1.36.4: framework/preemption/preemption.go Preempt
        not_eligible = self._why_not_eligible(cycle.pod, filtering)
        if not_eligible:
            return Preemption(_reject(not_eligible))
        names = cycle.cluster.columns.names
        rows = filtering.resolvable
        potential = [names[row] for row in rows]
        if not rows:
            return Preemption(_reject(self._not_helpful(filtering.size, {})), eligible=True)
        budgets = DisruptionBudgets(cycle.cluster.catalog.all(PodDisruptionBudget).values())
        search = VictimSearch(self._handle, cycle, budgets)
        candidates, rejected = search.run(rows, limit=limit, start=start)
        found = Preemption(ACCEPT, True, potential, candidates, rejected)
        if not candidates:
            verdict = (
                fail(_prefixed(found.error))
                if found.error
                else _reject(self._not_helpful(filtering.size, rejected))
            )
            return msgspec.structs.replace(found, verdict=verdict)
        best = [one.node for one in equally_good(candidates.values())]
        return msgspec.structs.replace(found, best=best)

    def _why_not_eligible(self, pod: Pod, filtering: Filtering) -> str:
        """Why the pod may not preempt others; empty if it may."""
        # parity v1.36.4: plugins/defaultpreemption PodEligibleToPreemptOthers
        if pod.spec.preemption_policy == "Never":
            return _NEVER
        columns = self._handle.cluster.columns
        row = columns.row_of.get(pod.status.nominated_node_name or "")
        if row is None:
            return ""
        rejection = filtering.rejection(row)
        if rejection is not None and rejection.verdict.unresolvable:
            return ""
        leaving = any(
            other.priority < pod.priority and _preempted_by_scheduler(other)
            for other in columns.usage(row).pods
        )
        return _TERMINATING if leaving else ""

    def _not_helpful(self, size: int, rejected: Mapping[str, Verdict]) -> str:
        counts = Counter(reason for one in rejected.values() for reason in one.reasons)
        if len(rejected) < size:
            counts[_NOT_HELPFUL] += size - len(rejected)
        return fit_error(size, counts)


def _preempted_by_scheduler(pod: Pod) -> bool:
    if not pod.deleting:
        return False
    for condition in pod.status.conditions or ():
        if condition.type == "DisruptionTarget":
            return condition.status == "True" and condition.reason == "PreemptionByScheduler"
    return False


def _prefixed(text: str) -> str:
    return f"preemption: {text}"


def _reject(text: str) -> Verdict:
    return reject(_prefixed(text))
