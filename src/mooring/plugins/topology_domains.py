"""Counts by topology domain: the sums of a column over all nodes with the same value of a label.

Shared by topology spread and pod affinity; knows nothing of their rules.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from mooring.framework.arrays import Amounts, Mask
from mooring.model.pod import Pod
from mooring.model.selectors import NodeSelector
from mooring.model.taints import untolerated
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns
from mooring.state.shapes import Shape


def domain_sums(columns: Columns, key: str, counts: npt.NDArray[np.integer]) -> Amounts:
    """(n_values,) a column summed by a label's value; nodes without the label count nowhere."""
    column = columns.labels(key)
    sums = np.bincount(column.ids, counts, len(column.values)).astype(np.int64)
    sums[0] = 0
    return sums


class DomainCounts:
    """Counts by topology key and domain, with what-if changes."""

    __slots__ = ("_columns", "by_key")

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        #: For each topology key (n_values,) the counts; the first, for "no such label", is 0.
        self.by_key: dict[str, Amounts] = {}

    def add(self, key: str, counts: npt.NDArray[np.integer]) -> None:
        """Count a column with one number for each node."""
        sums = domain_sums(self._columns, key, counts)
        known = self.by_key.get(key)
        self.by_key[key] = sums if known is None else known + sums

    def change(self, key: str, row: int, count: int) -> None:
        """Count so many more, or fewer, in the domain of one node."""
        column = self._columns.labels(key)
        place = column.ids[row]
        if place:
            known = self.by_key.get(key)
            if known is None:
                known = self.by_key[key] = np.zeros(len(column.values), np.int64)
            known[place] += count

    def __bool__(self) -> bool:
        return any(counts.any() for counts in self.by_key.values())


def affinity_mask(columns: Columns, pod: Pod, shape: Shape) -> Mask | None:
    """(n,) the nodes that the pod's node selector and node affinity allow; None for all."""
    affinity = pod.spec.affinity
    node_affinity = affinity.node_affinity if affinity else None
    required = (
        node_affinity.required_during_scheduling_ignored_during_execution if node_affinity else None
    )
    if not pod.spec.node_selector and required is None:
        return None
    return columns.remember(
        ("affinity", shape),
        lambda: _affinity_mask(columns, pod.node_selector, required),
        Aspect.LABELS,
    )


def _affinity_mask(
    columns: Columns, wanted: Mapping[str, str], required: NodeSelector | None
) -> Mask:
    mask = np.ones(len(columns), np.bool_)
    for key, value in wanted.items():
        column = columns.labels(key)
        mask &= column.ids == column.place(value)
    if required is not None:
        mask &= columns.selector_mask(required)
    return mask


def tolerated_mask(columns: Columns, pod: Pod, shape: Shape) -> Mask:
    """(n,) the nodes all whose taints that keep pods away are tolerated."""

    def compute() -> Mask:
        answers = [untolerated(taints, pod.tolerations) is None for taints in columns.taint_sets]
        return np.array(answers, np.bool_)[columns.taint_ids]

    return columns.remember(("tolerated", shape), compute, Aspect.TAINTS)
