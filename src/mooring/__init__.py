"""Mooring: customize Kubernetes scheduling in Python.

A policy is written once and served as a scheduler extender (``moor serve policy.py``)::

    import mooring as mr

    policy = mr.Policy("ssd-only")


    @policy.filter
    def ssd(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
        return mr.accept_if(node.labels.get("disktype") == "ssd", "node has no SSD")
"""

import typing

from mooring import hook
from mooring.errors import (
    ApiError,
    ConfigError,
    InputError,
    KubeError,
    MooringError,
    NotAvailable,
    PluginError,
    PolicyError,
    PolicyFileError,
    QuantityError,
)
from mooring.framework.arrays import Amounts, Mask, Scores
from mooring.framework.binding import Binding
from mooring.framework.decisions.record import Record
from mooring.framework.loading import load
from mooring.framework.nodes import Nodes
from mooring.framework.policy import Policy
from mooring.framework.verdict import Verdict, Verdicts, accept, accept_if, reject
from mooring.model.node import Node
from mooring.model.pod import Container, Pod
from mooring.model.quantity import Quantity, parse_quantity
from mooring.model.resources import Resources
from mooring.model.selectors import LabelSelector, NodeSelector, Requirement
from mooring.model.taints import Taint, Toleration, untolerated
from mooring.version import __version__

if typing.TYPE_CHECKING:
    from mooring.explaining.explainer import explain

__all__ = [
    "Amounts",
    "ApiError",
    "Binding",
    "ConfigError",
    "Container",
    "InputError",
    "KubeError",
    "LabelSelector",
    "Mask",
    "MooringError",
    "Node",
    "NodeSelector",
    "Nodes",
    "NotAvailable",
    "PluginError",
    "Pod",
    "Policy",
    "PolicyError",
    "PolicyFileError",
    "Quantity",
    "QuantityError",
    "Record",
    "Requirement",
    "Resources",
    "Scores",
    "Taint",
    "Toleration",
    "Verdict",
    "Verdicts",
    "__version__",
    "accept",
    "accept_if",
    "explain",
    "hook",
    "load",
    "parse_quantity",
    "reject",
    "untolerated",
]


def __getattr__(name: str) -> typing.Any:
    if name != "explain":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # A policy does not need it; all plugins come with it, and that takes time.
    from mooring.explaining.explainer import explain  # noqa: PLC0415

    return explain
