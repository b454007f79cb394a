"""Disruption budgets: which victims on a node would violate one.

Made anew for each search for victims, which asks it about one node after the other.
"""

from collections.abc import Iterable, Sequence

from mooring.model.checks import check_object
from mooring.model.pod import Pod
from mooring.model.workloads import PodDisruptionBudget


class DisruptionBudgets:
    """The disruption budgets of a cluster."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self._by_namespace: dict[str, list[PodDisruptionBudget]] = {}
        for budget in budgets:
            selector = budget.spec.selector
            # parity v1.36.4: plugins/defaultpreemption: a selector that is empty, absent or
            # wrong selects no pod.
            if selector is None or not (selector.match_labels or selector.match_expressions):
                continue
            if check_object(budget):
                continue
            self._by_namespace.setdefault(budget.namespace, []).append(budget)
        self._protecting: dict[object, list[PodDisruptionBudget]] = {}

    def split(self, pods: Sequence[Pod]) -> tuple[list[Pod], list[Pod]]:
        """The pods whose preemption violates a budget, and the others, each in the given order.

        The pods count as preempted in this order, so the first ones use a budget up.
        """
        if not self._by_namespace:
            return [], list(pods)
        broken: list[Pod] = []
        spared: list[Pod] = []
        left: dict[str, int] = {}
        for pod in pods:
            breaks = False
            for budget in self._budgets_of(pod):
                status = budget.status
                if pod.name in (status.disrupted_pods or ()):
                    continue  # its eviction is under way and counted already
                key = budget.key
                left[key] = allowed = left.get(key, status.disruptions_allowed) - 1
                breaks = breaks or allowed < 0
            (broken if breaks else spared).append(pod)
        return broken, spared

    def _budgets_of(self, pod: Pod) -> list[PodDisruptionBudget]:
        if not pod.labels:
            return []
        key = (pod.namespace, frozenset(pod.labels.items()))
        found = self._protecting.get(key)
        if found is None:
            found = self._protecting[key] = [
                budget
                for budget in self._by_namespace.get(pod.namespace, ())
                if budget.spec.selector is not None and budget.spec.selector.matches(pod.labels)
            ]
        return found
