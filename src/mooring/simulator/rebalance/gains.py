"""What a running pod would gain on another node: the scheduler's own scores, as if it were new.

The pod is taken off its node on the fork, and the one decision cycle scores all nodes for it. Pods
of one template on one node are asked about once.
"""

from typing import Final, NamedTuple

from mooring.explaining.decision_text import compare, difference_text
from mooring.explaining.explainer import Explainer
from mooring.explaining.trial import taken_off
from mooring.framework.decisions.decision_cycle import decide, without_extenders
from mooring.framework.decisions.observer import Observer
from mooring.framework.decisions.recording import record_decision
from mooring.model.changed_copies import as_new, with_spec
from mooring.model.pod import Pod
from mooring.simulator.forked_scheduler import Deciders
from mooring.simulator.pod_owners import comes_back, is_daemon
from mooring.state.cluster import Cluster

#: Ranks a pod that does not fit on its node any more before all that do.
MISPLACED: Final = 1_000_000


class _ScoresObserver(Observer):
    """Wants the scores of all nodes that fit."""

    each_score = True


class Gain(NamedTuple):
    """What a pod would gain.

    Attributes:
        points: how much higher the best node's total is; `MISPLACED` if the pod does not fit on its
            node any more and fits on another; 0 if no node is better.
        nodes: the best nodes.
    """

    points: int
    nodes: tuple[str, ...] = ()


class Gains:
    """Asks what pods of a cluster would gain.

    Args:
        explainer: an explainer of that cluster.
        deciders: what decides.
    """

    def __init__(self, explainer: Explainer, deciders: Deciders) -> None:
        self._explainer = explainer
        self._deciders = deciders
        self._cluster: Cluster = explainer.cluster

    def groups(self, namespace: str = "") -> list[list[Pod]]:
        """The pods that can be moved: those of one template on one node together."""
        alike: dict[object, list[Pod]] = {}
        for pod in self._cluster.all_pods():
            if (
                pod.node_name in self._cluster.nodes
                and not pod.deleting
                and namespace in ("", pod.namespace)
                and comes_back(pod)
                and not is_daemon(pod)
            ):
                shape = self._cluster.shape_of(pod)
                key = (shape, pod.node_name, pod.scheduler_name, pod.priority)
                alike.setdefault(key, []).append(pod)
        return list(alike.values())

    def of(self, pod: Pod) -> Gain:
        """What a pod would gain.

        Raises:
            PluginError: a plugin failed.
        """
        runtime = self._explainer.deciding(self._deciders.name_for(pod))
        with taken_off(self._cluster, pod):
            # It would not make room for itself by preempting others.
            new = with_spec(as_new(pod), preemption_policy="Never")
            decision = without_extenders(decide(runtime, new, _ScoresObserver()))
        names = self._cluster.columns.names
        rows = decision.filtering.feasible.tolist()
        own = self._cluster.columns.row_of[pod.node_name]
        best = tuple(names[row] for row in decision.best)
        if not rows or decision.error:
            return Gain(0)
        if own not in rows:
            return Gain(MISPLACED, best)
        if decision.scoring is None:
            return Gain(0)
        scoring = decision.scoring
        points = int(scoring.total.max()) - int(scoring.total[scoring.rows.tolist().index(own)])
        return Gain(points, best)

    def why(self, pod: Pod, target: str) -> str:
        """Why a node is better for a pod than its own, in words."""
        runtime = self._explainer.deciding(self._deciders.name_for(pod))
        with taken_off(self._cluster, pod):
            record = record_decision(runtime, as_new(pod))
        row_of = self._cluster.columns.row_of
        if pod.node_name not in record.feasible:
            reasons = record.filtering and record.filtering.rejection(row_of[pod.node_name])
            told = ", ".join(reasons.verdict.reasons) if reasons else ""
            return f"it does not fit on {pod.node_name} any more{': ' if told else ''}{told}"
        if record.scoring is None or target not in record.feasible:
            return ""
        margin = compare(record, row_of[target], row_of[pod.node_name])
        return difference_text(margin).removeprefix(": ")
