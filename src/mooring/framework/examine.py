"""Making the full record of one decision.

Every plugin is asked about every node, whatever the others say; then the decision itself is made as
a scheduler makes it. Called by `explain`; a scheduler uses `Runtime.decide`, which gives the same
answers and asks only what it must.
"""

import numpy as np
from msgspec.structs import replace

from mooring.framework import hook
from mooring.framework.filtering import Filtering
from mooring.framework.record import PRE_FILTER_REJECTED, PreFiltered, Record
from mooring.framework.runtime import Runtime
from mooring.framework.verdict import SKIPPED, Verdict, Verdicts
from mooring.model.pod import Pod

#: kube-scheduler's words for a cluster without nodes.
_NO_NODES = "no nodes available to schedule pods"


def examine(runtime: Runtime, pod: Pod) -> Record:
    """Decide about a pod, and note everything that was said.

    Raises:
        PluginError: a plugin failed.
    """
    names = runtime.cluster.columns.names
    gates = runtime.pre_enqueue(pod)
    start = Record(
        pod=pod.key,
        profile=runtime.name,
        priority=pod.priority,
        nodes=names,
        pre_enqueue=gates,
    )
    if not names:
        return replace(start, error=_NO_NODES)
    cycle = runtime.begin(pod, thorough=True)
    answers = list(runtime.pre_filter(cycle))
    pre_filter = {name: _pre_filtered(answer) for name, answer in answers}
    whole, pre_filter_result = runtime.narrow(cycle, answers)

    size = len(names)
    mask = (
        pre_filter_result.mask.copy() if pre_filter_result is not None else np.ones(size, np.bool_)
    )
    said: dict[str, Verdicts | str | None] = {}
    ordered: list[tuple[str, Verdicts]] = []
    for asker in runtime.filters:
        before = pre_filter.get(asker.name)
        if asker.name in cycle.skipped:
            said[asker.name] = SKIPPED
        elif before is not None and before.verdict is not None and not before.verdict.accepted:
            said[asker.name] = PRE_FILTER_REJECTED
        else:
            verdicts = said[asker.name] = runtime.ask(asker, cycle)
            if verdicts is not None:
                ordered.append((asker.name, verdicts))
                mask &= verdicts.choice == 0
    plain: list[int] = [] if whole is not None else np.flatnonzero(mask).tolist()
    if whole is not None:
        filtering = Filtering(np.zeros(size, np.bool_), whole=whole)
        error = whole.verdict.reason if whole.verdict.error else ""
    else:
        special = runtime.ask_again(cycle, mask, pre_filter_result)
        filtering = Filtering(mask, ordered, pre_filter_result=pre_filter_result, special=special)
        error = filtering.error or ""
    record = replace(
        start,
        pre_filter=pre_filter,
        filter=said,
        filtering=filtering,
        feasible_without_nominated=plain,
        error=error,
    )
    if error:
        return record
    if not len(filtering.feasible):
        result = runtime.post_filter(cycle, filtering)
        error = result.preemption.error if result.preemption is not None else ""
        return replace(record, post_filter_result=result, error=error)
    scoring = runtime.score(cycle, filtering.feasible)
    best = filtering.feasible[scoring.total == scoring.total.max()].tolist()
    nominated_node = pod.status.nominated_node_name or ""
    row = runtime.cluster.columns.row_of.get(nominated_node)
    shortcut = nominated_node if row is not None and row in filtering.feasible else ""
    return replace(record, scoring=scoring, best=best, nominated_shortcut=shortcut)


def _pre_filtered(answer: hook.PreFilterAnswer) -> PreFiltered:
    if answer is hook.SKIP:
        return PreFiltered(skipped=True)
    if isinstance(answer, Verdict):
        return PreFiltered(verdict=answer)
    if answer is None:
        return PreFiltered()
    return PreFiltered(nodes=tuple(str(name) for name in answer))
