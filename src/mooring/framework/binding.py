"""What a bind function gets: a pod that is to be tied to a node."""

from collections.abc import Mapping

import msgspec

from mooring.model.node import Node
from mooring.model.pod import Pod


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """A pod and the node it goes to.

    kube-scheduler sends names only; `pod` and `node` are set if mooring watches the cluster.

    Attributes:
        namespace: the pod's namespace.
        name: the pod's name.
        uid: the pod's UID.
        node_name: the node's name.
        annotations: added to the pod by the API server in the same step that binds it.
        pod: the pod, if known.
        node: the node with the pods on it, if known.
    """

    namespace: str
    name: str
    uid: str
    node_name: str
    annotations: Mapping[str, str] = {}
    pod: Pod | None = None
    node: Node | None = None

    @property
    def key(self) -> str:
        """The pod's namespace and name."""
        return f"{self.namespace}/{self.name}"

    def annotate(self, annotations: Mapping[str, str]) -> "Binding":
        """A copy of the binding that also adds these annotations to the pod."""
        return msgspec.structs.replace(self, annotations={**self.annotations, **annotations})
