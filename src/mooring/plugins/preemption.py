"""The search for room: which pods would have to leave a node so that another fits there.

For each node all pods of lower priority are taken off in thought; if the pod fits then, as many as
possible are put back, the most important first. Nothing of this outlives the search: pods are put
back before it returns, also when a plugin fails. Called by DefaultPreemption.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Candidate, Refusal
from mooring.framework.handle import Handle
from mooring.framework.importance import have_equals, most_important_first
from mooring.framework.verdict import Verdict, fail, reject
from mooring.model.pod import Pod
from mooring.plugins.disruption_budgets import Budgets
from mooring.plugins.what_if_filters import WhatIfFilters

_NOBODY: Final = reject("No preemption victims found for incoming pod", unresolvable=True)


class Found(NamedTuple):
    """What a search found.

    Attributes:
        candidates: the nodes on which evicting pods makes room; those that break no disruption
            budget come first.
        refused: why it does not on the other nodes.
    """

    candidates: dict[str, Candidate]
    refused: dict[str, Verdict]


class _Trial:
    """One node on trial."""

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

    def __init__(self, row: int, before: tuple[Pod, ...], priority: int) -> None:
        self.row = row
        #: The pods on the node before the search, and those of them that may be evicted.
        self.before = before
        self.lower = [pod for pod in before if pod.priority < priority]
        #: The pods that are off the node now, in thought; by identity, because it is asked often.
        self.off: set[int] = set()
        #: The pods to be put back if possible, in this order; the first ones break a budget.
        self.waiting: list[Pod] = []
        self.breaking = 0
        self.turn = 0
        #: The pods that cannot be put back, and how many of them break a budget.
        self.victims: list[Pod] = []
        self.violations = 0


class Search:
    """A search for victims, for one pod.

    Args:
        handle: the scheduler, which changes the state in thought and asks the filters.
        cycle: the decision that found no node.
        budgets: the disruption budgets.
    """

    def __init__(self, handle: Handle, cycle: Cycle, budgets: Budgets) -> None:
        self._handle = handle
        self._cycle = cycle
        self._budgets = budgets
        self._columns = handle.cluster.columns

    def run(self, rows: Sequence[int], *, limit: int | None = None, start: int = 0) -> Found:
        """Look for victims on some nodes.

        Args:
            rows: the nodes.
            limit: so many candidates are enough, if one of them breaks no disruption budget; None
                looks at all nodes.
            start: the place in `rows` at which to begin; the search goes round.
        """
        # parity v1.36.4: framework/preemption/preemption.go DryRunPreemption
        ordered = [*rows[start:], *rows[:start]]
        filters = WhatIfFilters(self._handle, self._cycle, ordered)
        harmless: dict[str, Candidate] = {}
        breaking: dict[str, Candidate] = {}
        refused: dict[str, Verdict] = {}
        at_once = 1 if filters.one_by_one else limit or len(ordered)
        for begin in range(0, len(ordered), max(at_once, 1)):
            for node, found in self._try(ordered[begin : begin + at_once], filters):
                if isinstance(found, Verdict):
                    refused[node] = found
                elif not found.pdb_violations:
                    harmless[node] = found
                elif limit is None or len(breaking) < limit:
                    breaking[node] = found
                if limit is not None and harmless and len(harmless) + len(breaking) >= limit:
                    return Found(harmless | breaking, refused)
        return Found(harmless | breaking, refused)

    def _try(
        self, rows: Sequence[int], filters: WhatIfFilters
    ) -> Iterator[tuple[str, Candidate | Verdict]]:
        """Look for victims on nodes that do not influence each other, on all of them at once."""
        priority = self._cycle.pod.priority
        trials = [_Trial(row, self._columns.usage(row).pods, priority) for row in rows]
        hopeful = [trial for trial in trials if trial.lower]
        try:
            refusals = self._reprieve(hopeful, filters)
            self._put_all_back(hopeful)
        except BaseException:
            self._restore(hopeful)
            raise
        for trial in trials:
            node = self._columns.nodes[trial.row].name
            yield node, self._outcome(trial, node, refusals.get(trial.row))

    def _reprieve(self, trials: Sequence[_Trial], filters: WhatIfFilters) -> dict[int, Refusal]:
        """Find each node's victims; returns the nodes on which no eviction helps."""
        # parity v1.36.4: plugins/defaultpreemption/default_preemption.go SelectVictimsOnNode
        for trial in trials:
            for pod in trial.lower:
                self._take_off(trial, pod)
        hopeless = filters.refusals([trial.row for trial in trials])
        left = [trial for trial in trials if trial.row not in hopeless]
        for trial in left:
            breaking, harmless = self._budgets.split(most_important_first(trial.lower))
            trial.waiting = breaking + harmless
            trial.breaking = len(breaking)
        while left := [trial for trial in left if trial.turn < len(trial.waiting)]:
            for trial in left:
                self._put_back(trial, trial.waiting[trial.turn])
            refused = filters.refusals([trial.row for trial in left])
            for trial in left:
                if trial.row in refused:
                    pod = trial.waiting[trial.turn]
                    self._take_off(trial, pod)
                    trial.victims.append(pod)
                    trial.violations += trial.turn < trial.breaking
                trial.turn += 1
        return hopeless

    def _outcome(self, trial: _Trial, node: str, refusal: Refusal | None) -> Candidate | Verdict:
        if not trial.lower:
            return _NOBODY
        if refusal is not None:
            return _as_status(refusal)
        victims = trial.victims
        if not victims:
            return fail(f'expected at least one victim pod on node "{node}"')
        if 0 < trial.breaking < len(trial.waiting):
            victims = most_important_first(victims)
        return Candidate(node, tuple(victims), trial.violations)

    # -- changes in thought, and how they are taken back

    def _take_off(self, trial: _Trial, pod: Pod) -> None:
        trial.off.add(id(pod))
        self._handle.remove_pod(self._cycle, pod, trial.row)

    def _put_back(self, trial: _Trial, pod: Pod) -> None:
        self._handle.add_pod(self._cycle, pod, trial.row)
        trial.off.remove(id(pod))

    def _put_all_back(self, trials: Sequence[_Trial]) -> None:
        for trial in trials:
            if len(trial.off) < len(trial.lower) and have_equals(trial.lower):
                # Among equally important pods their order on the node decides: restore it as well.
                for pod in trial.lower:
                    if id(pod) not in trial.off:
                        self._take_off(trial, pod)
            for pod in trial.lower:
                if id(pod) in trial.off:
                    self._put_back(trial, pod)

    def _restore(self, trials: Sequence[_Trial]) -> None:
        """Put the state right after a failure; the decision is lost, so no plugin is told."""
        cluster = self._handle.cluster
        for trial in trials:
            stayed = {id(pod) for pod in trial.before}.difference(map(id, trial.lower))
            for pod in self._columns.usage(trial.row).pods:
                if id(pod) not in stayed:
                    cluster.remove_in_thought(pod, trial.row)
            for pod in trial.lower:
                cluster.add_in_thought(pod, trial.row)


def _as_status(refusal: Refusal) -> Verdict:
    verdict = refusal.verdict
    if not verdict.error:
        return verdict
    # parity v1.36.4: runtime/framework.go RunFilterPlugins
    return fail(f'running "{refusal.plugin}" filter plugin: {", ".join(verdict.reasons)}')
