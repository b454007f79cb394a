"""Mooring: customize Kubernetes scheduling in Python.

Write a policy once and serve it as a scheduler extender (``moor serve policy.py``)::

    import mooring as mr

    policy = mr.Policy("ssd-only")


    @policy.filter
    def ssd(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
        return mr.accept_if(node.labels.get("disktype") == "ssd", "node has no SSD")
"""

import importlib
import typing

from mooring.version import __version__

if typing.TYPE_CHECKING:
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
    from mooring.explaining.explainer import explain
    from mooring.framework.arrays import Amounts, Mask, Scores
    from mooring.framework.binding import Binding
    from mooring.framework.decisions.record import Record
    from mooring.framework.loading import load
    from mooring.framework.nodes import Nodes
    from mooring.framework.policy import Policy
    from mooring.framework.verdict import Verdict, Verdicts, accept, accept_if, reject
    from mooring.model.devices.device_info import DeviceInfo, Devices
    from mooring.model.node import Node
    from mooring.model.pod import Container, Pod
    from mooring.model.quantity import Quantity, parse_quantity
    from mooring.model.resources import Resources
    from mooring.model.selectors import LabelSelector, NodeSelector, Requirement
    from mooring.model.taints import Taint, Toleration, untolerated

__all__ = [
    "Amounts",
    "ApiError",
    "Binding",
    "ConfigError",
    "Container",
    "DeviceInfo",
    "Devices",
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

#: Where the names come from. They are looked up when they are first used: the command line, which
#: passes through here as well, starts without numpy and everything else that policies need.
_HOMES: typing.Final = {
    "mooring.errors": (
        "ApiError",
        "ConfigError",
        "InputError",
        "KubeError",
        "MooringError",
        "NotAvailable",
        "PluginError",
        "PolicyError",
        "PolicyFileError",
        "QuantityError",
    ),
    "mooring.explaining.explainer": ("explain",),
    "mooring.framework.arrays": ("Amounts", "Mask", "Scores"),
    "mooring.framework.binding": ("Binding",),
    "mooring.framework.decisions.record": ("Record",),
    "mooring.framework.loading": ("load",),
    "mooring.framework.nodes": ("Nodes",),
    "mooring.framework.policy": ("Policy",),
    "mooring.framework.verdict": ("Verdict", "Verdicts", "accept", "accept_if", "reject"),
    "mooring.model.devices.device_info": ("DeviceInfo", "Devices"),
    "mooring.model.node": ("Node",),
    "mooring.model.pod": ("Container", "Pod"),
    "mooring.model.quantity": ("Quantity", "parse_quantity"),
    "mooring.model.resources": ("Resources",),
    "mooring.model.selectors": ("LabelSelector", "NodeSelector", "Requirement"),
    "mooring.model.taints": ("Taint", "Toleration", "untolerated"),
}
_HOME_OF: typing.Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> typing.Any:
    if name == "hook":
        return importlib.import_module("mooring.hook")  # which becomes an attribute by that
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = found  # so that nobody comes here a second time
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
