"""The search for room: which pods would have to leave a node so that another fits there.

For each node all pods of lower priority are taken off as a what-if; if the pod fits then, as many
as possible are put back, the most important first. Nothing of this outlives the search: pods are
put back before it returns, also when a plugin fails. Called by DefaultPreemption.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Candidate, Rejection
from mooring.framework.handle import Handle
from mooring.framework.pod_importance import have_equals, most_important_first
from mooring.framework.verdict import Verdict, fail, reject
from mooring.model.pod import Pod
from mooring.plugins.preemption.disruption_budgets import DisruptionBudgets
from mooring.plugins.preemption.what_if_filters import WhatIfFilters

_NO_VICTIMS: Final = reject("No preemption victims found for incoming pod", unresolvable=True)


class VictimSearchResult(NamedTuple):
    """What a search found.

    Attributes:
        candidates: the nodes on which preempting pods makes room; those that violate no disruption
            budget come first.
        rejected: why it does not on the other nodes.
    """

    candidates: dict[str, Candidate]
    rejected: dict[str, Verdict]


class _NodeDryRun:
    """The dry run of one node that has pods of lower priority."""

    __slots__ = (
        "before",
        "breaking",
        "lower",
        "off",
        "row",
        "turn",
        "victims",
        "violations",
        "waiting",
    )

    def __init__(self, row: int, before: tuple[Pod, ...], lower: list[Pod]) -> None:
        self.row = row
        #: The pods on the node before the search, and those of them that may be preempted.
        self.before = before
        self.lower = lower
        #: The pods that are off the node now; by identity, because it is asked often.
        self.off: set[int] = set()
        #: The pods to be put back if possible, in this order; the first ones violate a budget.
        self.waiting: list[Pod] = []
        self.breaking = 0
        self.turn = 0
        #: The pods that cannot be put back, and how many of them violate a budget.
        self.victims: list[Pod] = []
        self.violations = 0


class VictimSearch:
    """A search for victims, for one pod.

    Args:
        handle: the scheduler, which changes the state for a what-if and asks the filters.
        cycle: the decision that found no node.
        budgets: the disruption budgets.
    """

    def __init__(self, handle: Handle, cycle: Cycle, budgets: DisruptionBudgets) -> None:
        self._handle = handle
        self._cycle = cycle
        self._budgets = budgets
        self._columns = handle.cluster.columns

    def run(
        self, rows: Sequence[int], *, limit: int | None = None, start: int = 0
    ) -> VictimSearchResult:
        """Look for victims on some nodes.

        Args:
            rows: the nodes.
            limit: so many candidates are enough, if one of them violates no disruption budget; None
                looks at all nodes.
            start: the place in `rows` at which to begin; the search goes round.
        """
        # parity v1.36.4: framework/preemption/preemption.go DryRunPreemption
        ordered = [*rows[start:], *rows[:start]]
        filters = WhatIfFilters(self._handle, self._cycle, ordered)
        harmless: dict[str, Candidate] = {}
        breaking: dict[str, Candidate] = {}
        rejected: dict[str, Verdict] = {}
        at_once = 1 if filters.one_by_one else limit or len(ordered)
        for begin in range(0, len(ordered), max(at_once, 1)):
            for node, found in self._dry_run(ordered[begin : begin + at_once], filters):
                if isinstance(found, Verdict):
                    rejected[node] = found
                elif not found.pdb_violations:
                    harmless[node] = found
                elif limit is None or len(breaking) < limit:
                    breaking[node] = found
                if limit is not None and harmless and len(harmless) + len(breaking) >= limit:
                    return VictimSearchResult(harmless | breaking, rejected)
        return VictimSearchResult(harmless | breaking, rejected)

    def _dry_run(
        self, rows: Sequence[int], filters: WhatIfFilters
    ) -> Iterator[tuple[str, Candidate | Verdict]]:
        """Look for victims on nodes that do not influence each other, on all of them at once."""
        priority, columns = self._cycle.pod.priority, self._columns
        dry_runs: dict[int, _NodeDryRun] = {}
        for row in rows:
            pods = columns.usage(row).pods
            lower = [pod for pod in pods if pod.priority < priority]
            if lower:
                dry_runs[row] = _NodeDryRun(row, pods, lower)
        hopeful = list(dry_runs.values())
        try:
            rejections = self._reprieve(hopeful, filters)
            self._put_all_back(hopeful)
        except BaseException:
            self._restore(hopeful)
            raise
        for row in rows:
            node, dry_run = columns.nodes[row].name, dry_runs.get(row)
            if dry_run is None:
                yield node, _NO_VICTIMS
            else:
                yield node, self._candidate_or_verdict(dry_run, node, rejections.get(row))

    def _reprieve(
        self, dry_runs: Sequence[_NodeDryRun], filters: WhatIfFilters
    ) -> dict[int, Rejection]:
        """Find each node's victims; returns the nodes on which no preemption helps."""
        # parity v1.36.4: plugins/defaultpreemption/default_preemption.go SelectVictimsOnNode
        for dry_run in dry_runs:
            for pod in dry_run.lower:
                self._take_off(dry_run, pod)
        hopeless = filters.rejections([dry_run.row for dry_run in dry_runs])
        left = [dry_run for dry_run in dry_runs if dry_run.row not in hopeless]
        for dry_run in left:
            breaking, harmless = self._budgets.split(most_important_first(dry_run.lower))
            dry_run.waiting = breaking + harmless
            dry_run.breaking = len(breaking)
        while left := [dry_run for dry_run in left if dry_run.turn < len(dry_run.waiting)]:
            for dry_run in left:
                self._put_back(dry_run, dry_run.waiting[dry_run.turn])
            rejected = filters.rejections([dry_run.row for dry_run in left])
            for dry_run in left:
                if dry_run.row in rejected:
                    pod = dry_run.waiting[dry_run.turn]
                    self._take_off(dry_run, pod)
                    dry_run.victims.append(pod)
                    dry_run.violations += dry_run.turn < dry_run.breaking
                dry_run.turn += 1
        return hopeless

    def _candidate_or_verdict(
        self, dry_run: _NodeDryRun, node: str, rejection: Rejection | None
    ) -> Candidate | Verdict:
        if rejection is not None:
            return _as_status(rejection)
        victims = dry_run.victims
        if not victims:
            return fail(f'expected at least one victim pod on node "{node}"')
        if 0 < dry_run.breaking < len(dry_run.waiting):
            victims = most_important_first(victims)
        return Candidate(node, tuple(victims), dry_run.violations)

    # -- what-if changes, and how they are taken back

    def _take_off(self, dry_run: _NodeDryRun, pod: Pod) -> None:
        dry_run.off.add(id(pod))
        self._handle.remove_pod(self._cycle, pod, dry_run.row)

    def _put_back(self, dry_run: _NodeDryRun, pod: Pod) -> None:
        self._handle.add_pod(self._cycle, pod, dry_run.row)
        dry_run.off.remove(id(pod))

    def _put_all_back(self, dry_runs: Sequence[_NodeDryRun]) -> None:
        for dry_run in dry_runs:
            if len(dry_run.off) < len(dry_run.lower) and have_equals(dry_run.lower):
                # Among equally important pods their order on the node decides: restore it as well.
                for pod in dry_run.lower:
                    if id(pod) not in dry_run.off:
                        self._take_off(dry_run, pod)
            for pod in dry_run.lower:
                if id(pod) in dry_run.off:
                    self._put_back(dry_run, pod)

    def _restore(self, dry_runs: Sequence[_NodeDryRun]) -> None:
        """Put the state right after a failure; the decision is lost, so no plugin is called."""
        cluster = self._handle.cluster
        for dry_run in dry_runs:
            stayed = {id(pod) for pod in dry_run.before}.difference(map(id, dry_run.lower))
            for pod in self._columns.usage(dry_run.row).pods:
                if id(pod) not in stayed:
                    cluster.remove_what_if(pod, dry_run.row)
            for pod in dry_run.lower:
                cluster.add_what_if(pod, dry_run.row)


def _as_status(rejection: Rejection) -> Verdict:
    verdict = rejection.verdict
    if not verdict.error:
        return verdict
    # parity v1.36.4: runtime/framework.go RunFilterPlugins
    return fail(f'running "{rejection.plugin}" filter plugin: {", ".join(verdict.reasons)}')
