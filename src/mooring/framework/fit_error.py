"""The sentence about a pod that fits on no node, in kube-scheduler's own form.

Users know it from events: ``0/3 nodes are available: 1 node(s) had untolerated taint(s), 2
Insufficient cpu.`` Called by whoever has counted the reasons.
"""

# parity v1.36.4: framework/types.go FitError

from collections.abc import Mapping
from typing import Final

#: What is said of a cluster without nodes.
# parity v1.36.4: scheduler.go ErrNoNodesAvailable
NO_NODES: Final = "no nodes available to schedule pods"


def fit_error(size: int, reasons: Mapping[str, int]) -> str:
    """Why no node is possible.

    Args:
        size: how many nodes there are.
        reasons: on how many nodes each reason was given.
    """
    counted = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return nodes_available(size, counted)


def nodes_available(size: int, why: str) -> str:
    """The same for a reason that is not counted, such as a rejection of the pod as such."""
    start = f"0/{size} nodes are available:"
    return f"{start} {why}." if why else start
