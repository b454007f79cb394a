"""A pod that is counted on a node before the API server says that it is bound there.

A value; `Cluster` makes and holds it.
"""

from collections.abc import Mapping

import msgspec

from mooring.model.pod import Pod


class AssumedPod(msgspec.Struct, frozen=True, gc=False):
    """A pod and the node it is assumed on, and how to take that back.

    Attributes:
        pod: the pod, not yet bound.
        node_name: where it will run.
        annotations: those that the binding will add.
        confirmed: whether the API server has said that it bound the pod.
    """

    pod: Pod
    node_name: str
    annotations: Mapping[str, str]
    confirmed: bool = False

    def placed(self) -> Pod:
        """The pod as it is counted."""
        return self.pod.placed(self.node_name, self.annotations)
