"""A pod together with its shape: what the state holds for every pod.

Made by `Cluster`, which keeps one for each pod that it knows, the same one among the pods of a
node; the pod itself stays as it was given.
"""

from mooring.model.pod import Pod
from mooring.state.shapes import Shape, Shapes, have_same_shape


class PodInfo:
    """A pod and its shape, which is compiled when somebody first asks for it.

    Attributes:
        pod: the pod.
        compiled: the shape, if somebody has asked for it; those who ask for every pod look here
            first.
    """

    __slots__ = ("_shapes", "compiled", "pod")

    def __init__(self, pod: Pod, shapes: Shapes, shape: Shape | None = None) -> None:
        self.pod = pod
        self.compiled = shape
        self._shapes = shapes

    @property
    def shape(self) -> Shape:
        """The pod's compiled description.

        Raises:
            QuantityError: an amount in the pod is no quantity.
        """
        shape = self.compiled
        if shape is None:
            shape = self.compiled = self._shapes.of(self.pod)
        return shape

    def counts_like(self, pod: Pod) -> bool:
        """Whether a newer version of the pod surely counts the same on the same node."""
        then, now = self.pod.metadata, pod.metadata
        return (
            self.compiled is not None
            and self.pod.spec.node_name == pod.spec.node_name
            and (then.deletion_timestamp is None) == (now.deletion_timestamp is None)
            and then.uid == now.uid
            and have_same_shape(self.pod, pod)
        )

    def replaced_by(self, pod: Pod) -> "PodInfo":
        """The same for a newer version of the pod; it often has the same shape."""
        shape = self.compiled
        if shape is not None and not have_same_shape(self.pod, pod):
            shape = None
        return PodInfo(pod, self._shapes, shape)
