"""Objects as the API server would have stored them, from objects as a user writes them.

Owns the defaults that scheduling can notice and the priority that admission gives a pod. Called for
objects that did not come from an API server: files, simulations, test vectors. It changes no
object; it returns the object itself when nothing is missing, so applying it twice is harmless.
"""

from collections.abc import Iterable
from typing import Final, TypeVar, cast

import msgspec

from mooring.errors import InputError, QuantityError
from mooring.model.checks import check_object
from mooring.model.devices.resource_claim import (
    ResourceClaim,
    ResourceClaimTemplate,
    default_claim_spec,
)
from mooring.model.meta import KubeObject, ObjectMeta, keep_raw
from mooring.model.node import Node, NodeStatus
from mooring.model.pod import Pod, PodSpec
from mooring.model.pod_defaults import (
    default_spec,
    default_status,
    rounded,
    rounded_requirements,
    with_fields,
)
from mooring.model.storage import PersistentVolume, PersistentVolumeClaim, default_storage
from mooring.model.workloads import Namespace, PriorityClass, ReplicationController

T = TypeVar("T", bound=KubeObject)

#: Every namespace carries its name under this label.
NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
PREEMPT_LOWER_PRIORITY: Final = "PreemptLowerPriority"
#: Classes every cluster has.
SYSTEM_CLASSES: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


class Defaults:
    """Brings objects to what the API server would have stored.

    Args:
        priority_classes: the cluster's priority classes; a pod that gives no priority gets it from
            them.
    """

    def __init__(self, priority_classes: Iterable[PriorityClass] = ()) -> None:
        classes = list(priority_classes)
        self._classes = {one.name: one for one in classes}
        marked = [one for one in classes if one.global_default]
        self._default_class = min(marked, key=lambda one: one.value, default=None)

    def apply(self, thing: T) -> T:
        """The object as the API server would have stored it; the same object if nothing is missing.

        Raises:
            InputError: the object names a priority class that does not exist, or an amount in it is
                no quantity; the text names the object and the field.
        """
        try:
            if isinstance(thing, Pod):
                return cast("T", self._pod(thing))
            return _default_other(thing)
        except QuantityError as error:
            problem = next(iter(check_object(thing)), f"{thing.kind_name} {thing.key}: {error}")
            raise InputError(problem) from error

    def _pod(self, pod: Pod) -> Pod:
        metadata = default_meta(pod)
        spec = default_spec(pod.spec, pod.labels)
        status = default_status(pod.status)
        if spec.priority is None:
            spec = self._with_priority(pod, spec)
        if metadata is pod.metadata and spec is pod.spec and status is pod.status:
            return pod
        stored = msgspec.structs.replace(pod, metadata=metadata, spec=spec, status=status)
        keep_raw(stored, pod)
        return stored

    def _with_priority(self, pod: Pod, spec: PodSpec) -> PodSpec:
        # parity v1.36.4: plugin/pkg/admission/priority/admission.go
        name = spec.priority_class_name
        value, policy = 0, None
        if name:
            found = self._classes.get(name)
            if name in SYSTEM_CLASSES:
                value = SYSTEM_CLASSES[name]
            elif found is not None:
                value, policy = found.value, found.preemption_policy
            else:
                raise InputError(
                    f"Pod {pod.key}: field spec.priorityClassName: there is no PriorityClass "
                    f"{name!r}; create it, or use one that exists"
                )
        elif self._default_class is not None:
            name = self._default_class.name
            value, policy = self._default_class.value, self._default_class.preemption_policy
        return msgspec.structs.replace(
            spec,
            priority=value,
            priority_class_name=name,
            preemption_policy=spec.preemption_policy or policy or PREEMPT_LOWER_PRIORITY,
        )


def default_meta(thing: KubeObject) -> ObjectMeta:
    """The metadata with a namespace, where the kind has one, and a unique id."""
    metadata = thing.metadata
    namespace = metadata.namespace
    if not namespace and thing.namespaced:
        namespace = "default"
    elif metadata.uid:
        return metadata
    uid = metadata.uid or f"uid-{namespace or ''}-{metadata.name}"
    return msgspec.structs.replace(metadata, namespace=namespace, uid=uid)


def _default_other(thing: T) -> T:
    stored = default_storage(thing)
    fields = {"metadata": default_meta(thing), **_other_fields(stored)}
    missing = {name: new for name, new in fields.items() if getattr(stored, name) is not new}
    if missing:
        stored = msgspec.structs.replace(stored, **missing)
    if stored is not thing:
        keep_raw(stored, thing)
    return stored


def _other_fields(thing: KubeObject) -> dict[str, object]:
    """The fields besides the metadata that may have been missing, as they should be."""
    # parity v1.36.4: pkg/apis/core/v1/defaults.go, pkg/apis/scheduling/v1/defaults.go
    if isinstance(thing, Node):
        return {"status": _node_status(thing.status)}
    if isinstance(thing, PersistentVolumeClaim):
        resources = rounded_requirements(thing.spec.resources)
        return {"spec": with_fields(thing.spec, resources=resources)}
    if isinstance(thing, PersistentVolume):
        return {"spec": with_fields(thing.spec, capacity=rounded(thing.spec.capacity))}
    if isinstance(thing, PriorityClass):
        return {"preemption_policy": thing.preemption_policy or PREEMPT_LOWER_PRIORITY}
    if isinstance(thing, Namespace):
        return _namespace(thing)
    if isinstance(thing, ResourceClaim):
        return {"spec": default_claim_spec(thing.spec)}
    if isinstance(thing, ResourceClaimTemplate):
        return {"spec": with_fields(thing.spec, spec=default_claim_spec(thing.spec.spec))}
    if isinstance(thing, ReplicationController):
        return _replication_controller(thing)
    return {}


def _node_status(status: NodeStatus) -> NodeStatus:
    allocatable = status.capacity if status.allocatable is None else status.allocatable
    return with_fields(status, capacity=rounded(status.capacity), allocatable=rounded(allocatable))


def _namespace(thing: Namespace) -> dict[str, object]:
    if not thing.name or thing.labels.get(NAMESPACE_LABEL) == thing.name:
        return {}
    labels = {**thing.labels, NAMESPACE_LABEL: thing.name}
    return {"metadata": msgspec.structs.replace(default_meta(thing), labels=labels)}


def _replication_controller(thing: ReplicationController) -> dict[str, object]:
    labels = thing.spec.template.metadata.labels if thing.spec.template else None
    if not labels:
        return {}
    return {
        "metadata": with_fields(default_meta(thing), labels=thing.metadata.labels or labels),
        "spec": with_fields(thing.spec, selector=thing.spec.selector or labels),
    }
