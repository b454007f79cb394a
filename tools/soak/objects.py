"""The fields of pods and nodes that the soak test looks at, decoded by itself."""

import msgspec

from tools.soak.quantities import Amounts, amounts


class Metadata(msgspec.Struct, rename="camel", frozen=True):
    """The metadata of an object."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}


class _Resources(msgspec.Struct, frozen=True):
    requests: dict[str, str] = {}


class _Container(msgspec.Struct, frozen=True):
    resources: _Resources = _Resources()


class _PodSpec(msgspec.Struct, rename="camel", frozen=True):
    node_name: str = ""
    node_selector: dict[str, str] = {}
    priority: int = 0
    containers: list[_Container] = []


class _PodStatus(msgspec.Struct, rename="camel", frozen=True):
    phase: str = ""
    nominated_node_name: str = ""


class Pod(msgspec.Struct, frozen=True):
    """A pod."""

    metadata: Metadata
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()

    @property
    def name(self) -> str:
        """Its name; all pods of the soak test are in the namespace `default`."""
        return self.metadata.name

    @property
    def node(self) -> str:
        """The node it is bound to; empty for none."""
        return self.spec.node_name

    @property
    def kind(self) -> str:
        """Which part of the workload it is, such as ``plain``: its name begins with it."""
        return self.name.partition("-")[0]

    @property
    def finished(self) -> bool:
        """Whether it takes no room any more."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def requests(self) -> Amounts:
        """What it asks for."""
        total = Amounts(pods=1)
        for container in self.spec.containers:
            total = total.plus(amounts(container.resources.requests, pods=0))
        return total


class _Taint(msgspec.Struct, frozen=True):
    key: str
    effect: str


class _NodeSpec(msgspec.Struct, frozen=True):
    unschedulable: bool = False
    taints: list[_Taint] = []


class _NodeStatus(msgspec.Struct, frozen=True):
    allocatable: dict[str, str] = {}


class Node(msgspec.Struct, frozen=True):
    """A node."""

    metadata: Metadata
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def allocatable(self) -> Amounts:
        """What it has for pods."""
        return amounts(self.status.allocatable)

    def takes(self, pod: Pod) -> bool:
        """Whether it may get a pod, room aside; pods of the soak test tolerate nothing."""
        labels = self.metadata.labels
        wanted = pod.spec.node_selector.items()
        return (
            not self.spec.unschedulable
            and not self.spec.taints
            and all(labels.get(key) == value for key, value in wanted)
        )
