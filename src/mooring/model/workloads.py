"""What stands around pods: namespaces, controllers, services, disruption budgets, priorities.

Owns these kinds with the few fields scheduling reads. The state keeps them by kind and key;
topology spread, pod affinity, preemption and the API server's defaults read them.
"""

from typing import ClassVar

from mooring.model.meta import KubeObject, KubeStruct
from mooring.model.selectors import LabelSelector


class Namespace(KubeObject, frozen=True, rename="camel", dict=True):
    """A namespace; scheduling reads its labels."""

    kind_name: ClassVar[str] = "Namespace"
    namespaced: ClassVar[bool] = False


class PriorityClass(KubeObject, frozen=True, rename="camel", dict=True):
    """A named priority that pods can ask for."""

    kind_name: ClassVar[str] = "PriorityClass"
    namespaced: ClassVar[bool] = False

    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None


class ServiceSpec(KubeStruct, frozen=True, rename="camel"):
    """The pods a service is for; None selects none."""

    selector: dict[str, str] | None = None


class Service(KubeObject, frozen=True, rename="camel", dict=True):
    """A service; the pods behind it are spread by default."""

    kind_name: ClassVar[str] = "Service"

    spec: ServiceSpec = ServiceSpec()


class PodTemplateMeta(KubeStruct, frozen=True, rename="camel"):
    """The metadata a controller gives its pods."""

    labels: dict[str, str] | None = None


class PodTemplateSpec(KubeStruct, frozen=True, rename="camel"):
    """What a controller makes its pods of."""

    metadata: PodTemplateMeta = PodTemplateMeta()


class ReplicationControllerSpec(KubeStruct, frozen=True, rename="camel"):
    """The pods of a replication controller; without a selector, the template's labels select."""

    selector: dict[str, str] | None = None
    template: PodTemplateSpec | None = None


class ReplicationController(KubeObject, frozen=True, rename="camel", dict=True):
    """The forerunner of the replica set."""

    kind_name: ClassVar[str] = "ReplicationController"

    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class ControllerSpec(KubeStruct, frozen=True, rename="camel"):
    """The pods of a replica set or stateful set."""

    selector: LabelSelector | None = None


class ReplicaSet(KubeObject, frozen=True, rename="camel", dict=True):
    """Equal pods in a certain number."""

    kind_name: ClassVar[str] = "ReplicaSet"

    spec: ControllerSpec = ControllerSpec()


class StatefulSet(KubeObject, frozen=True, rename="camel", dict=True):
    """Numbered pods with a lasting identity."""

    kind_name: ClassVar[str] = "StatefulSet"

    spec: ControllerSpec = ControllerSpec()


class PodDisruptionBudgetSpec(KubeStruct, frozen=True, rename="camel"):
    """The pods a budget protects."""

    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(KubeStruct, frozen=True, rename="camel"):
    """How many pods may be evicted now, and which evictions are already under way, by pod name."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str | None] | None = None


class PodDisruptionBudget(KubeObject, frozen=True, rename="camel", dict=True):
    """How many pods of a kind may be evicted at a time."""

    kind_name: ClassVar[str] = "PodDisruptionBudget"

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
