"""A node together with what is in use on it, as policies see it.

Made by `Cluster` for every node that is put into it; the node that was given stays as it is, so
that it can be in several clusters at once. `mooring.testing` makes it, too.
"""

import msgspec

from mooring.model.node import Node
from mooring.state.usage import NodeUsage


class NodeInfo(Node, frozen=True, rename="camel", dict=True):
    """A node that knows what is in use on it."""

    # A field, because it is read for every node in every decision. Its key is in no JSON.
    #: What is in use.
    usage: NodeUsage = msgspec.field(default_factory=NodeUsage, name=".usage")

    @classmethod
    def of(cls, node: Node, usage: NodeUsage) -> "NodeInfo":
        """The same node, with its usage."""
        if isinstance(node, NodeInfo) and node.usage is usage:
            return node
        info = cls(node.metadata, spec=node.spec, status=node.status, usage=usage)
        # What was read from the node's fields already: `allocatable`, `raw` and so on.
        info.__dict__.update(node.__dict__)
        return info


def without_usage(node: Node) -> Node:
    """The node as the API server has it."""
    if not isinstance(node, NodeInfo):
        return node
    plain = Node(node.metadata, spec=node.spec, status=node.status)
    plain.__dict__.update(node.__dict__)
    return plain
