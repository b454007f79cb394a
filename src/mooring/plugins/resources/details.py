"""What a pod needs and what nodes have left of it, in numbers.

Called by the plugin about nodes that it rejects.
"""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from mooring.framework.arrays import Amounts
from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.nodes import Nodes
from mooring.model.quantity_texts import show, show_alike
from mooring.model.resources import PODS
from mooring.wording import counted

#: So many resources are told about.
_RESOURCES: Final = 3


class _Shortage(NamedTuple):
    """A resource of which nodes have too little.

    Attributes:
        resource: its name.
        needed: what the pod needs.
        nowhere: none of the nodes has enough left.
    """

    resource: str
    needed: int
    nowhere: bool


def resource_details(
    rejected: RejectedNodes, wanted: Sequence[tuple[str, int]], from_devices: Collection[str]
) -> str:
    """What is short, how much is needed and how much is left."""
    nodes = rejected.nodes
    short = []
    for name, amount in ((PODS, 1), *wanted):
        missing = nodes.free[name] < amount
        if name in from_devices:
            missing &= nodes.allocatable[name] > 0
        if missing.any():
            short.append(_Shortage(name, amount, bool(missing.all())))
    # What is short everywhere is why no node fits, whatever else some of them lack.
    everywhere = [one for one in short if one.nowhere]
    where = _where(rejected)
    if everywhere or len(nodes) == 1:
        return "; ".join(_text(one, nodes, where) for one in (everywhere or short)[:_RESOURCES])
    amounts = " and ".join(_amount(one) for one in short[:_RESOURCES])
    return f"needs {amounts}, and none of the nodes {where} has all of it free"


def _where(rejected: RejectedNodes) -> str:
    return "it may use" if rejected.usable else "here"


def _amount(one: _Shortage) -> str:
    return (
        "room for one more pod"
        if one.resource == PODS
        else f"{show(one.resource, one.needed)} {one.resource}"
    )


def _text(one: _Shortage, nodes: Nodes, where: str) -> str:
    free, allocatable = nodes.free[one.resource], nodes.allocatable[one.resource]
    if one.resource == PODS:
        return _too_many_pods(nodes, allocatable)
    best, largest = int(free.argmax()), int(allocatable.argmax())
    most, capacity = max(int(free[best]), 0), int(allocatable[largest])
    of = one.resource
    needed, most_text, capacity_text = show_alike(of, (one.needed, most, capacity))
    alone = len(nodes) == 1 and where == "here"
    if not capacity:
        nobody = "the node does not have" if alone else f"no node {where} has"
        return f"needs {show(of, one.needed)} {of}, which {nobody}"
    if capacity < one.needed:
        needed, capacity_text = show_alike(of, (one.needed, capacity))
        if alone:
            return f"needs {needed} {of}, and the whole node has {capacity_text}"
        name = nodes[largest].name
        return f"needs {needed} {of}, and the largest node {where} has {capacity_text} ({name})"
    if alone:
        return f"needs {needed} {of}, and {most_text} of {capacity_text} is free"
    needed, most_text = show_alike(of, (one.needed, most))
    name = nodes[best].name
    on = "on a node it may use" if where != "here" else where
    return f"needs {needed} {of}, and the most free {on} is {most_text} ({name})"


def _too_many_pods(nodes: Nodes, allocatable: Amounts) -> str:
    low, high = int(allocatable.min()), int(allocatable.max())
    limit = counted(low, "pod") if low == high else f"{low} to {high} pods"
    whole = "the node is" if len(nodes) == 1 else "the nodes are"
    return f"is one pod too many: {whole} limited to {limit}"
