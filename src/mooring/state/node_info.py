"""A node together with what is in use on it, as policies see it.

Made by `Cluster` for every node that is put into it; the node that was given stays as it is, so
that it can be in several clusters at once. `mooring.testing` makes it, too.
"""

import msgspec

from mooring.model.devices.device_info import Devices
from mooring.model.node import Node
from mooring.state.devices.cluster_devices import ClusterDevices
from mooring.state.usage import NodeUsage


class NodeWithDevices(Node, frozen=True, rename="camel", dict=True):
    """A node that knows its devices, for policies that do not need to know its pods."""

    # A field, as `NodeInfo.usage`. Its key is in no JSON.
    #: Who knows the devices; None if nobody does.
    cluster_devices: ClusterDevices | None = msgspec.field(default=None, name=".cluster_devices")

    @property
    def devices(self) -> Devices:
        """The devices that pods on the node can claim, and who has them."""
        known = self.cluster_devices
        return known.of(self) if known is not None else super().devices


class NodeInfo(NodeWithDevices, frozen=True, rename="camel", dict=True):
    """A node that knows what is in use on it."""

    # A field, because it is read for every node in every decision. Its key is in no JSON.
    #: What is in use.
    usage: NodeUsage = msgspec.field(default_factory=NodeUsage, name=".usage")

    @classmethod
    def of(cls, node: Node, usage: NodeUsage, devices: ClusterDevices | None = None) -> "NodeInfo":
        """The same node, with its usage and with who knows its devices."""
        if (
            isinstance(node, NodeInfo)
            and node.usage is usage
            and (devices is None or node.cluster_devices is devices)
        ):
            return node
        info = cls(
            node.metadata, spec=node.spec, status=node.status, usage=usage, cluster_devices=devices
        )
        # What was read from the node's fields already: `allocatable`, `raw` and so on.
        info.__dict__.update(node.__dict__)
        return info


def without_usage(node: Node, devices: ClusterDevices | None = None) -> Node:
    """The node as the API server has it, with who knows its devices."""
    if devices is None and not isinstance(node, NodeWithDevices):
        return node
    plain = (
        Node(node.metadata, spec=node.spec, status=node.status)
        if devices is None
        else NodeWithDevices(
            node.metadata, spec=node.spec, status=node.status, cluster_devices=devices
        )
    )
    plain.__dict__.update(node.__dict__)
    return plain
