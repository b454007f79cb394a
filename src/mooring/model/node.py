"""The node, with what scheduling reads.

A `Node` is the API object, a plain value. Who knows the pods on it (the state, or a test) makes a
`mooring.state.node_info.NodeInfo` of it: a node that has a `Usage`, too.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

import msgspec

from mooring.errors import NotAvailable
from mooring.model.devices.device_info import Devices
from mooring.model.meta import KubeObject, KubeStruct
from mooring.model.pod import Pod
from mooring.model.resources import ResourceList, Resources, read_resources
from mooring.model.taints import Taint


class NodeSpec(KubeStruct, frozen=True, rename="camel"):
    """What is set for a node."""

    taints: list[Taint] | None = None
    unschedulable: bool | None = None
    provider_id: str | None = msgspec.field(default=None, name="providerID")


class ContainerImage(KubeStruct, frozen=True, rename="camel"):
    """An image on a node, under all its names."""

    names: list[str] | None = None
    size_bytes: int = 0


class NodeCondition(KubeStruct, frozen=True, rename="camel"):
    """A condition in a node's status."""

    type: str = ""
    status: str = ""
    reason: str | None = None


class NodeStatus(KubeStruct, frozen=True, rename="camel"):
    """What a node reports."""

    capacity: ResourceList | None = None
    allocatable: ResourceList | None = None
    conditions: list[NodeCondition] | None = None
    images: list[ContainerImage] | None = None
    declared_features: list[str] | None = None


class Usage(Protocol):
    """What is in use on one node, kept by whoever knows the pods."""

    @property
    def used(self) -> Mapping[str, int]:
        """The sum of the pods' requests; a resource nobody uses has amount 0."""

    @property
    def pods(self) -> Sequence[Pod]:
        """The pods on the node that are not finished."""

    def free(self, allocatable: Mapping[str, int]) -> Mapping[str, int]:
        """What is left of so much."""


class Node(KubeObject, frozen=True, rename="camel", dict=True):
    """A node of the cluster."""

    kind_name: ClassVar[str] = "Node"
    namespaced: ClassVar[bool] = False

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @functools.cached_property
    def allocatable(self) -> Resources:
        """What pods can use, such as ``node.allocatable["cpu"]`` in thousandths of a core.

        A resource the node does not have has amount 0.

        Raises:
            QuantityError: an amount in the node is no quantity.
        """
        return read_resources(self.status.allocatable)

    @functools.cached_property
    def capacity(self) -> Resources:
        """What the machine has, before reservations for the system are subtracted."""
        return read_resources(self.status.capacity)

    @functools.cached_property
    def images(self) -> tuple[str, ...]:
        """The names of the images on the node; an image can have several (by tag, by digest)."""
        return tuple(name for image in self.status.images or () for name in image.names or ())

    @property
    def taints(self) -> list[Taint]:
        """The node's taints."""
        return self.spec.taints or []

    @property
    def unschedulable(self) -> bool:
        """Whether the node is cordoned."""
        return bool(self.spec.unschedulable)

    @functools.cached_property
    def ready(self) -> bool:
        """Whether the kubelet reports the node as ready."""
        return any(
            one.type == "Ready" and one.status == "True" for one in self.status.conditions or ()
        )

    @property
    def usage(self) -> Usage:
        """What is in use; without it, `used`, `free` and `pods` are not available.

        Raises:
            NotAvailable: nobody watches the cluster's pods here.
        """
        raise NotAvailable(
            "node.used, node.free and node.pods need the cluster's pods, which are not "
            "watched here: start the server with --kubeconfig FILE, and do not set usage=False"
        )

    @property
    def used(self) -> Mapping[str, int]:
        """The sum of the requests of the pods on the node, by resource."""
        return self.usage.used

    @property
    def free(self) -> Mapping[str, int]:
        """Allocatable minus used, by resource."""
        return self.usage.free(self.allocatable)

    @property
    def pods(self) -> Sequence[Pod]:
        """The pods on the node that are not finished."""
        return self.usage.pods

    @property
    def devices(self) -> Devices:
        """The devices that pods on the node can claim, and who has them.

        Raises:
            NotAvailable: nobody watches the cluster's devices here.
        """
        raise NotAvailable(
            "node.devices needs the cluster's ResourceSlices and ResourceClaims, which are not "
            "watched here: start the server with --kubeconfig FILE, and set devices=True for the "
            "policy if no function in its files reads node.devices"
        )

    def __repr__(self) -> str:
        return f"<Node {self.name}>"
