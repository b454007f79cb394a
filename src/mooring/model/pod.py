"""The pod, with what scheduling reads."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import msgspec
from msgspec.structs import force_setattr, replace

from mooring.model.meta import KubeObject, KubeStruct
from mooring.model.resources import (
    ResourceList,
    ResourceRequirements,
    Resources,
    ResourceStatus,
    pod_requests,
)
from mooring.model.selectors import Affinity, LabelSelector
from mooring.model.taints import Toleration
from mooring.model.volumes import Volume


class ContainerPort(KubeStruct, frozen=True, rename="camel"):
    """A port of a container."""

    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class ContainerRestartRule(KubeStruct, frozen=True, rename="camel"):
    """What happens when a container ends in a certain way."""

    action: str = ""


class Container(KubeStruct, frozen=True, rename="camel"):
    """A container; ``restart_policy`` is ``Always`` for a sidecar among the init containers."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements | None = None
    ports: list[ContainerPort] | None = None
    restart_policy: str | None = None
    restart_policy_rules: list[ContainerRestartRule] | None = None


class TopologySpreadConstraint(KubeStruct, frozen=True, rename="camel"):
    """How evenly pods are to be spread over parts of the topology."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class PodSchedulingGate(KubeStruct, frozen=True, rename="camel"):
    """A named hold; a pod with gates is not scheduled."""

    name: str = ""


class PodResourceClaim(KubeStruct, frozen=True, rename="camel"):
    """A claim to devices: the pod's name for it, and the claim, or the template it is made of."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(KubeStruct, frozen=True, rename="camel"):
    """The group with which a pod is to be scheduled; only that there is one matters."""


#: What `copy.copy` calls, at half its cost: every pod that gets a node is copied.
_copied: Final[Callable[[Any], Any]] = msgspec.Struct.__copy__  # type: ignore[attr-defined]


@functools.lru_cache(maxsize=64)
def _shared(toleration: Toleration) -> Toleration:
    return toleration


class PodSpec(KubeStruct, frozen=True, rename="camel"):
    """What a pod asks for."""

    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    node_name: str | None = None
    scheduler_name: str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    scheduling_gates: list[PodSchedulingGate] | None = None
    overhead: ResourceList | None = None
    resources: ResourceRequirements | None = None
    host_network: bool | None = None
    host_users: bool | None = None
    volumes: list[Volume] | None = None
    resource_claims: list[PodResourceClaim] | None = None
    scheduling_group: PodSchedulingGroup | None = None

    def __post_init__(self) -> None:
        """Share tolerations: an API server gives the same two to nearly every pod."""
        if self.tolerations:
            self.tolerations[:] = map(_shared, self.tolerations)

    def without_node(self, volumes: list[Volume] | None) -> "PodSpec":
        """The same for no node, with other volumes."""
        # A copy, because `replace` would look at all tolerations again.
        spec: PodSpec = _copied(self)
        force_setattr(spec, "node_name", None)
        force_setattr(spec, "volumes", volumes)
        return spec


class PodCondition(KubeStruct, frozen=True, rename="camel"):
    """A condition in a pod's status."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None


class PodResourceClaimStatus(KubeStruct, frozen=True, rename="camel"):
    """The claim that was made of a template; None if the pod needs none."""

    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(KubeStruct, frozen=True, rename="camel"):
    """What is known of a pod's life."""

    phase: str | None = None
    nominated_node_name: str | None = None
    conditions: list[PodCondition] | None = None
    container_statuses: list[ResourceStatus] | None = None
    init_container_statuses: list[ResourceStatus] | None = None
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None
    start_time: str | None = None
    resource_claim_statuses: list[PodResourceClaimStatus] | None = None


class Pod(KubeObject, frozen=True, rename="camel", dict=True):
    """A pod: one to be scheduled, or one that is on a node."""

    kind_name: ClassVar[str] = "Pod"

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @functools.cached_property
    def requests(self) -> Resources:
        """What the pod requests, such as ``pod.requests["cpu"]`` in thousandths of a core.

        A resource the pod does not ask for has amount 0. Limits do not count: the API server copies
        them to requests that are missing when it stores a pod.

        Raises:
            QuantityError: an amount in the pod is no quantity.
        """
        return pod_requests(self)

    @functools.cached_property
    def images(self) -> tuple[str, ...]:
        """The images of the containers, in order."""
        return tuple(container.image for container in self.spec.containers or ())

    @property
    def containers(self) -> list[Container]:
        """The containers, without init containers."""
        return self.spec.containers or []

    @property
    def node_name(self) -> str:
        """The node the pod is bound to; empty while it is pending."""
        return self.spec.node_name or ""

    @property
    def priority(self) -> int:
        """The pod's priority."""
        return self.spec.priority or 0

    @property
    def scheduler_name(self) -> str:
        """The scheduler that the pod specifies."""
        return self.spec.scheduler_name or "default-scheduler"

    @property
    def node_selector(self) -> dict[str, str]:
        """Labels the node must have."""
        return self.spec.node_selector or {}

    @property
    def tolerations(self) -> list[Toleration]:
        """The taints the pod tolerates."""
        return self.spec.tolerations or []

    @property
    def phase(self) -> str:
        """``Pending``, ``Running``, ``Succeeded``, ``Failed`` or ``Unknown``."""
        return self.status.phase or "Pending"

    @property
    def finished(self) -> bool:
        """Whether the pod has finished and no longer uses resources."""
        return self.status.phase in ("Succeeded", "Failed")

    def placed(self, node_name: str, annotations: Mapping[str, str]) -> "Pod":
        """The pod as it will be once it is bound.

        Args:
            node_name: where it will run.
            annotations: the annotations that the binding will add.
        """
        # Copies, because `replace` would look at all tolerations again.
        spec: PodSpec = _copied(self.spec)
        placed: Pod = _copied(self)
        force_setattr(spec, "node_name", node_name)
        force_setattr(placed, "spec", spec)
        if annotations:
            metadata = replace(self.metadata, annotations={**self.annotations, **annotations})
            force_setattr(placed, "metadata", metadata)
        if "requests" in self.__dict__:  # it asks for the same
            placed.__dict__["requests"] = self.requests
        return placed

    def __repr__(self) -> str:
        return f"<Pod {self.key}>"
