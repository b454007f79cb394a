"""Remedies: changes to a pod or to the cluster that might make the pod fit, and their costs.

Plugins make them (`hook.Remedies`), since each knows best what would help against its own
rejection; the search in `explaining` tries them and suggests what works. Values only: nothing is
tried and nothing is changed here.

The costs rank suggestions, the smallest first. They say how much a remedy asks of people: a pod's
wish is given up more easily than a demand, a pod is changed more easily than a node, and nothing is
dearer than a machine. Less of a resource costs 1 to 5: 1, and 4 times the part of the request that
is given up. A combination costs the sum.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from mooring.framework.verdict import Verdict
from mooring.model import changed_copies
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster

#: So many remedies are combined at most.
MAX_REMEDIES: Final = 3


class Cost:
    """How much effort a `Remedy` takes; any other number greater than 0 is allowed as well.

    Attributes:
        TRIVIAL: 1; remove a scheduling gate, use a scheduler that exists.
        GIVE_UP_CONDITION: 2; tolerate a taint, drop a requirement, create or bind a claim.
        GIVE_UP_PORT: 2.5; remove a host port.
        MAKE_PREFERRED: 2.5; turn a requirement into a preference.
        GIVE_UP_TERM: 3; drop an affinity or anti-affinity term.
        CHANGE_NODE: 3; change a label of a node, or uncordon it.
        REMOVE_TAINT: 3.5; remove a taint from a node.
        MEND_NODE: 3.5; repair a node that is not ready or is under pressure.
        USE_CONTROL_PLANE: 4; added if the pod would run on a control plane node.
        MOVE_POD: 4; remove another pod from a node.
        TOLERATE_CORDON: 4; run on cordoned nodes.
        GIVE_UP_VOLUME: 5; remove a volume.
        REPLACE_KUBELET: 5; run another kubelet on a node.
        ADD_NODE: 6; one more node.
    """

    TRIVIAL: Final = 1.0
    GIVE_UP_CONDITION: Final = 2.0
    GIVE_UP_PORT: Final = 2.5
    MAKE_PREFERRED: Final = 2.5
    GIVE_UP_TERM: Final = 3.0
    CHANGE_NODE: Final = 3.0
    REMOVE_TAINT: Final = 3.5
    MEND_NODE: Final = 3.5
    USE_CONTROL_PLANE: Final = 4.0
    MOVE_POD: Final = 4.0
    TOLERATE_CORDON: Final = 4.0
    GIVE_UP_VOLUME: Final = 5.0
    REPLACE_KUBELET: Final = 5.0
    ADD_NODE: Final = 6.0


class Remedy(msgspec.Struct, frozen=True):
    """One change that might help: one of `pod` to `added` is set, or `created`, or both.

    Attributes:
        text: what to do, as a clause such as ``uncordon node-3``.
        cost: how much effort it takes; see `Cost`.
        kinds: what is changed, such as ``cordon``, the same for every node; a suggestion is omitted
        if another one changes less. If empty, the text.
        pod: the pod as it would be.
        node: the node as it would be.
        moved: ``namespace/name`` of another pod, which is removed from its node.
        added: a node that is added.
        created: other objects that are created or replaced, such as claims.
        caution: what to consider first, as a clause; empty if it is harmless.
    """

    text: str
    cost: float
    kinds: frozenset[str] = frozenset()
    pod: Pod | None = None
    node: Node | None = None
    moved: str = ""
    added: Node | None = None
    created: tuple[KubeObject, ...] = ()
    caution: str = ""

    @classmethod
    def label_node(cls, node: Node, labels: Mapping[str, str | None]) -> "Remedy":
        """Change labels of a node; None removes a label."""
        add = [f"{key}={value}" for key, value in labels.items() if value is not None]
        drop = [key for key, value in labels.items() if value is None]
        texts = []
        if add:
            texts.append(f"label {node.name} with {' and '.join(add)}")
        if drop:
            texts.append(f"remove the label {' and '.join(drop)} from {node.name}")
        return cls(
            " and ".join(texts),
            Cost.CHANGE_NODE * len(labels),
            frozenset(f"label {key}" for key in labels),
            node=changed_copies.with_labels(node, labels),
        )

    @classmethod
    def take_off(cls, pod: Pod, why: str = "", kind: str = "move") -> "Remedy":
        """Remove another pod from its node; `why` is added to the text, `kind` names the change."""
        return cls(
            f"remove {pod.key} from {pod.node_name}{why}",
            Cost.MOVE_POD,
            frozenset({kind}),
            moved=pod.key,
        )


class RemedyCase(msgspec.Struct, frozen=True):
    """A pod that a plugin rejects on a node, for which remedies are wanted.

    Attributes:
        pod: the pod, including the remedies applied before this one.
        node: the node in question, likewise.
        verdict: the plugin's verdict on it.
        cluster: the cluster's state, likewise; do not modify it.
        accepts: whether the plugin would accept another pod on this node, as a changed copy of
            `pod`; for a remedy that has to find the right amount. A plugin that is not mooring's
            own may call it 100 times.
        nominated: the plugin accepts the node as it is, but not with the pods nominated to it.
    """

    pod: Pod
    node: Node
    verdict: Verdict
    cluster: Cluster
    accepts: Callable[[Pod], bool]
    nominated: bool = False
