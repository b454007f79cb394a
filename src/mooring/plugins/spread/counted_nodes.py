"""Which nodes count when pods are counted by topology domain: those where a pod may go.

Called by `constraint_counts`; knows nothing of constraints.
"""

from collections.abc import Mapping

import numpy as np

from mooring.framework.arrays import Mask
from mooring.model.pod import Pod
from mooring.model.selectors import NodeSelector
from mooring.model.taints import untolerated
from mooring.plugins.pod_keys import node_selection_key, tolerations_key
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns
from mooring.state.shapes import Shape


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
        ("affinity", node_selection_key(pod, shape)),
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
        return np.array(answers, np.bool_).take(columns.taint_ids)

    return columns.remember(("tolerated", tolerations_key(pod, shape)), compute, Aspect.TAINTS)
