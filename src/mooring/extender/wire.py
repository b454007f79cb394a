"""The wire types of ``k8s.io/kube-scheduler/extender/v1``, as kube-scheduler v1.36 sends them.

Keys are capitalised and nothing is omitted: absent values travel as ``null``. Only the shape is
known here; `bodies` reads requests and writes replies.
"""

from typing import Final

import msgspec

MAX_SCORE: Final = 10


class NodeList(msgspec.Struct):
    """Whole nodes, not yet read."""

    items: list[msgspec.Raw] | None = None


class ExtenderArgs(msgspec.Struct, rename="pascal"):
    """Filter and prioritize: a pod, and nodes either whole or by name."""

    pod: msgspec.Raw = msgspec.Raw(b"null")
    nodes: NodeList | None = None
    node_names: list[str] | None = None


class LongExtenderArgs(msgspec.Struct, rename="pascal"):
    """The same of a long request, whose names are counted before they are read."""

    pod: msgspec.Raw = msgspec.Raw(b"null")
    nodes: NodeList | None = None
    node_names: msgspec.Raw = msgspec.Raw(b"null")


class HostPriority(msgspec.Struct, rename="pascal", gc=False):
    """A node's score, from 0 to 10."""

    host: str
    score: int


class Victims(msgspec.Struct, rename="pascal"):
    """Victims on a node, whole."""

    pods: list[msgspec.Raw] | None = None
    num_pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class MetaPod(msgspec.Struct, rename="pascal", gc=False):
    """A pod by its unique id."""

    uid: str = msgspec.field(default="", name="UID")


class MetaVictims(msgspec.Struct, rename="pascal"):
    """Victims on a node, by id."""

    pods: list[MetaPod] | None = None
    num_pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class ExtenderPreemptionArgs(msgspec.Struct, rename="pascal"):
    """Preempt: the pod that needs room, and the victims node by node."""

    pod: msgspec.Raw = msgspec.Raw(b"null")
    node_name_to_victims: dict[str, Victims | None] | None = None
    node_name_to_meta_victims: dict[str, MetaVictims | None] | None = None


class ExtenderPreemptionResult(msgspec.Struct, rename="pascal"):
    """Preempt's reply: always victims by id."""

    node_name_to_meta_victims: dict[str, MetaVictims]


class ExtenderBindingArgs(msgspec.Struct, rename="pascal"):
    """Bind: names only."""

    pod_name: str = ""
    pod_namespace: str = ""
    pod_uid: str = msgspec.field(default="", name="PodUID")
    node: str = ""


class ExtenderBindingResult(msgspec.Struct, rename="pascal"):
    """Bind's reply; an empty error means that the pod is bound."""

    error: str = ""


class ExtenderFilterResult(msgspec.Struct, rename="pascal"):
    """Filter's reply, for nodes by name and for errors; whole nodes are spliced by `bodies`."""

    nodes: None = None
    node_names: list[str] | None = None
    failed_nodes: dict[str, str] | None = None
    failed_and_unresolvable_nodes: dict[str, str] | None = None
    error: str = ""
