"""Shapes for plugins that look at a pod outside of a decision, where no cycle has its shape.

A base of such plugins: they sign pods, or say whether a change helps one. A shape, and what plugins
remember with it, belongs to the cluster that a plugin was made for.
"""

from mooring.framework.handle import Handle
from mooring.framework.hook import Hook
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster
from mooring.state.shapes import Shape


class ShapeReader(Hook):
    """A plugin that reads the shapes of pods."""

    _of_cluster: Cluster | None = None

    def attach(self, handle: Handle) -> None:
        """Read shapes where the plugin runs."""
        self._of_cluster = handle.cluster

    @property
    def cluster(self) -> Cluster:
        """The cluster that the plugin was made for."""
        if self._of_cluster is None:  # it was made by hand
            self._of_cluster = Cluster()
        return self._of_cluster

    def shape_of(self, pod: Pod) -> Shape:
        """The compiled description of a pod; at hand for the pods of the cluster."""
        return self.cluster.shape_of(pod)
