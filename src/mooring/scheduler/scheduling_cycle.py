"""The scheduling cycle of one pod, on one page.

A generator: it stops where the configuration's extenders have to be asked and goes on with their
answer, so that the cycle itself waits for nobody. Called by `Core`.
"""

from collections.abc import Callable, Generator, Set
from typing import Any, NamedTuple

import numpy as np

from mooring.framework.arrays import Amounts, Rows
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Candidate, Filtering, Preemption
from mooring.framework.pod_importance import equally_good
from mooring.framework.runtime import Runtime, pending_message
from mooring.model.pod import Pod
from mooring.scheduler.effects import AskExtenders

#: Chooses one of so many equals.
Choose = Callable[[int], int]
#: The unique ids of pods on a node.
Leaving = Callable[[str], Set[str]]
#: The cycle: questions to extenders come out, answers go in.
NodeChoice = Generator[AskExtenders, Any, "Chosen | NoNode"]

#: Stands where a plugin's name would, for nodes an extender rejected.
EXTENDER = "Extender"


def _nobody_leaves(_: str) -> Set[str]:
    return frozenset()


class Chosen(NamedTuple):
    """The node for a pod.

    Attributes:
        cycle: the decision, for the hooks that follow.
        node_name: the node.
        feasible: how many nodes were possible.
    """

    cycle: Cycle
    node_name: str
    feasible: int


class NoNode(NamedTuple):
    """Why there is no node for a pod, and what may be done about it.

    Attributes:
        cycle: the decision.
        message: for the pod's event and condition.
        plugins: who rejected nodes; a change that helps one of them is worth another try.
        preempt: the node and the victims there whose preemption makes room, if that was found.
        keep_nomination: whether the node it was nominated to before stays its nominated node.
        deferred: there are victims, but it has to be seen first what becomes of others.
    """

    cycle: Cycle
    message: str
    plugins: set[str]
    preempt: Candidate | None = None
    keep_nomination: bool = True
    deferred: bool = False


def choose_node(
    runtime: Runtime,
    pod: Pod,
    choose: Choose,
    *,
    extended: bool,
    leaving: Leaving = _nobody_leaves,
) -> NodeChoice:
    """Find the best node for a pod.

    Args:
        runtime: the plugins of the pod's profile.
        pod: the pod.
        choose: picks one of so many equals.
        extended: whether extenders take part for this pod.
        leaving: the victims of others on a node that the state does not show to be going yet.

    Raises:
        PluginError: a plugin failed, or could not answer for some node.
    """
    cycle = runtime.begin(pod)
    filtering = runtime.filter(cycle)
    runtime.check(cycle, filtering)
    columns = runtime.cluster.columns
    rows = filtering.feasible
    nominated_row = columns.row_of.get(pod.status.nominated_node_name or "")
    if nominated_row is not None and nominated_row in rows:
        name = columns.nodes[nominated_row].name
        kept = [name]
        if extended:
            kept, _ = yield AskExtenders("filter", pod, (name,))
        if kept:
            return Chosen(cycle, name, 1)
    if extended and len(rows):
        kept, rejected = yield AskExtenders("filter", pod, _names(runtime, rows))
        rows = np.array(sorted(columns.row_of[name] for name in kept), np.intp)
        filtering = filtering.without(
            {columns.row_of[name]: verdict for name, verdict in rejected.items()}, EXTENDER
        )
    if not len(rows):
        return (
            yield from _post_filter(
                runtime, cycle, filtering, choose, extended=extended, leaving=leaving
            )
        )
    if len(rows) == 1:
        return Chosen(cycle, columns.nodes[int(rows[0])].name, 1)
    total = runtime.score(cycle, rows).total
    if extended:
        names = _names(runtime, rows)
        scores = yield AskExtenders("prioritize", pod, names)
        total = total + np.array([scores.get(name, 0) for name in names], np.int64)
    best = _best(rows, total)
    row = int(best[choose(len(best))])
    return Chosen(cycle, columns.nodes[row].name, len(rows))


def _best(rows: Rows, total: Amounts) -> Rows:
    best: Rows = rows[total == total.max()]
    return best


def _post_filter(
    runtime: Runtime,
    cycle: Cycle,
    filtering: Filtering,
    choose: Choose,
    *,
    extended: bool,
    leaving: Leaving,
) -> NodeChoice:
    """No node is possible: look for victims whose preemption would change that."""
    result = runtime.post_filter(cycle, filtering)
    found = result.preemption
    message = pending_message(filtering, result)
    plugins = filtering.plugins
    if found is None or not found.verdict.accepted:
        # parity v1.36.4: schedule_one.go schedulingAlgorithm, framework/preemption Preempt: a
        # search that finds nothing clears the nominated node, as does no search at all.
        fruitless = found is not None and found.eligible and not found.verdict.error
        keep = bool(runtime.post_filters) and filtering.size > 0 and not fruitless
        return NoNode(cycle, message, plugins, keep_nomination=keep)
    candidates = _reviewed(runtime, cycle.pod, found)
    calm = _undisturbed(cycle.pod, candidates, leaving)
    if candidates and not calm:
        return NoNode(cycle, message, plugins, deferred=True)
    candidates = calm
    if extended:
        candidates = yield AskExtenders("preempt", cycle.pod, tuple(candidates), victims=candidates)
    if not candidates:
        return NoNode(cycle, message, plugins)
    best = equally_good(candidates.values())
    return NoNode(cycle, message, plugins, preempt=best[choose(len(best))])


def _reviewed(runtime: Runtime, pod: Pod, found: Preemption) -> dict[str, Candidate]:
    """The candidates as the policies leave them."""
    candidates = dict(found.candidates)
    nodes = runtime.cluster.nodes
    for rule in runtime.preempts:
        for name, candidate in list(candidates.items()):
            kept = rule.remaining(pod, nodes[name], candidate.victims)
            if kept:
                candidates[name] = Candidate(name, tuple(kept), candidate.pdb_violations)
            else:
                del candidates[name]
    return candidates


def _undisturbed(
    pod: Pod, candidates: dict[str, Candidate], leaving: Leaving
) -> dict[str, Candidate]:
    """The candidates that take nobody for others who are on their way out already.

    A pod whose nominated node is being emptied for others as well takes none: there will be result.
    """
    if leaving(pod.status.nominated_node_name or ""):
        return {}
    return {
        name: one
        for name, one in candidates.items()
        if not (going := leaving(name)) or going <= {victim.uid for victim in one.victims}
    }


def _names(runtime: Runtime, rows: Rows) -> tuple[str, ...]:
    nodes = runtime.cluster.columns.nodes
    return tuple(nodes[row].name for row in rows.tolist())
