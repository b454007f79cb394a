"""Labels and taints of nodes that state a fact: nobody changes the fact by changing them.

Read by the remedies of plugins, which propose no such thing: a node does not move to another zone
by a label, and does not become ready by losing a taint.
"""

from typing import Final

from mooring.model.taints import Taint

_FACTS: Final = frozenset(
    {
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "node.kubernetes.io/windows-build",
    }
)
#: Where the node is, what its hardware is, which pool made it.
_PREFIXES: Final = (
    "topology.",
    "failure-domain.beta.kubernetes.io/",
    "feature.node.kubernetes.io/",
    "node-role.kubernetes.io/",
    "nvidia.com/",
    "cloud.google.com/",
    "eks.amazonaws.com/",
    "kubernetes.azure.com/",
    "karpenter.",
)
_CONTROL_PLANE: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
_CONDITIONS: Final = frozenset(
    {
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/out-of-service",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/unreachable",
        "node.cloudprovider.kubernetes.io/shutdown",
        "node.cloudprovider.kubernetes.io/uninitialized",
    }
)


def states_a_fact(label: str) -> bool:
    """Whether a label of a node says what the node is, and not what people want of it."""
    return label in _FACTS or label.startswith(_PREFIXES)


def is_control_plane(taint: Taint) -> bool:
    """Whether a taint keeps workloads off the control plane."""
    return taint.key in _CONTROL_PLANE


def is_condition(taint: Taint) -> bool:
    """Whether a taint says that something is wrong with the node."""
    return taint.key in _CONDITIONS
