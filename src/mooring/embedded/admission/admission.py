"""What the API server asks of an object in view of the rest of the cluster, and adds because of it.

Owns the admission plugins that matter here: NamespaceLifecycle, LimitRanger, Priority,
DefaultTolerationSeconds, DefaultStorageClass, PodTopologyLabels, RuntimeClass, and by choice
ServiceAccount and TaintNodesByCondition; and who may have admin access to devices. `api` calls it
after defaults. There is no ResourceQuota, no PodSecurity, no webhook, and no
StorageObjectInUseProtection, whose finalizers nobody would take away. It reads the store and writes
nothing to it.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from mooring.embedded.admission.device_access import check_admin_access
from mooring.embedded.admission.limit_ranges import LimitRanges
from mooring.embedded.admission.runtime_classes import apply_runtime_class
from mooring.embedded.admission.service_addresses import allocate_addresses
from mooring.embedded.resources import (
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    SERVICES,
    STORAGE_CLASSES,
    Obj,
    Resource,
)
from mooring.embedded.status_errors import StatusError, forbidden, not_found
from mooring.embedded.store import Store
from mooring.embedded.watch_history import WatchEvent
from mooring.model.defaults import PREEMPT_LOWER_PRIORITY, SYSTEM_CLASSES

_UNDELETABLE: Final = frozenset({"default", "kube-system", "kube-public"})
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_TOLERATED_SECONDS: Final = 300
_TOPOLOGY: Final = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")
_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"


class _PriorityClass(NamedTuple):
    """What a pod gets from a priority class."""

    name: str
    value: int
    policy: str


_NO_CLASS: Final = _PriorityClass("", 0, PREEMPT_LOWER_PRIORITY)


class Admission:
    """Admits objects to a store.

    Args:
        store: the rest of the cluster.
        service_accounts: a pod that names no service account gets the one called ``default``. It
            gets no token: there is nothing behind it.
        taint_new_nodes: a new node is tainted as not ready until somebody finds it ready.
    """

    def __init__(
        self, store: Store, *, service_accounts: bool = False, taint_new_nodes: bool = False
    ) -> None:
        self._store = store
        self._service_accounts = service_accounts
        self._taint_new_nodes = taint_new_nodes
        self._limit_ranges = LimitRanges(store)
        self._terminating: frozenset[str] | None = None
        self._classes: dict[str, _PriorityClass] | None = None
        self._default = _NO_CLASS
        store.listen(NAMESPACES, self._forget_namespaces)
        store.listen(PRIORITY_CLASSES, self._forget_classes)
        self._plugins: dict[Resource, Callable[[Obj, Obj | None], None]] = {
            PODS: self._admit_pod,
            NODES: self._admit_node,
            SERVICES: self._admit_service,
            PERSISTENT_VOLUME_CLAIMS: self._admit_claim,
            PRIORITY_CLASSES: self._admit_priority_class,
            RESOURCE_CLAIMS: self._admit_device_claim,
            RESOURCE_CLAIM_TEMPLATES: self._admit_claim_template,
        }

    def admit(self, resource: Resource, obj: Obj, old: Obj | None, subresource: str = "") -> None:
        """Admit an object that is to be created or changed, and complete it in place.

        Args:
            resource: what it is.
            obj: the object, complete with defaults.
            old: the object as it is stored; None for a new one.
            subresource: what part of it is changed; nothing here applies to parts.

        Raises:
            StatusError: the cluster does not allow it.
        """
        if old is None and resource.namespaced:
            self._check_namespace(resource, obj)
        plugin = self._plugins.get(resource)
        if plugin is not None and not subresource:
            plugin(obj, old)

    def topology_labels(self, node: str) -> dict[str, str]:
        """The labels that a pod takes over from the node it is bound to."""
        # parity v1.36.4: plugin/pkg/admission/podtopologylabels
        item = self._store.get(NODES, "", node)
        if item is None:
            return {}
        return {name: item.labels[name] for name in _TOPOLOGY if name in item.labels}

    def _check_namespace(self, resource: Resource, obj: Obj) -> None:
        # parity v1.36.4: apiserver/pkg/admission/plugin/namespace/lifecycle
        metadata = obj["metadata"]
        name = metadata.get("namespace", "")
        if self._store.get(NAMESPACES, "", name) is None:
            raise not_found(NAMESPACES, name)
        if self._terminating is None:
            self._terminating = frozenset(
                item.name
                for item in self._store.all(NAMESPACES)
                if item.obj.get("status", {}).get("phase") == "Terminating"
            )
        if name in self._terminating:
            raise _terminating(resource, metadata.get("name", ""), name)

    def _admit_pod(self, pod: Obj, old: Obj | None) -> None:
        spec, metadata = pod["spec"], pod["metadata"]
        if old is None:
            if self._limit_ranges:
                self._limit_ranges.apply_to_pod(pod)
            if self._service_accounts and "serviceAccountName" not in spec:
                spec["serviceAccountName"] = spec["serviceAccount"] = "default"
            self._set_priority(spec, metadata.get("name", ""))
        else:
            for field in ("priority", "preemptionPolicy"):
                if field not in spec and field in old["spec"]:
                    spec[field] = old["spec"][field]
        _tolerate_for_a_while(spec)
        if old is None and spec.get("runtimeClassName"):
            apply_runtime_class(self._store, pod)
        if spec.get("nodeName"):
            labels = self.topology_labels(spec["nodeName"])
            if labels:
                metadata.setdefault("labels", {}).update(labels)
        if old is None and self._limit_ranges:
            self._limit_ranges.check_pod(pod)

    def _set_priority(self, spec: Obj, pod: str) -> None:
        # parity v1.36.4: plugin/pkg/admission/priority/admission.go
        if self._classes is None:
            self._classes = self._read_classes()
        name = spec.get("priorityClassName")
        found: _PriorityClass | None = self._classes.get(name) if name else self._default
        if found is None:
            raise forbidden(PODS, pod, f"no PriorityClass with name {name} was found")
        if spec.get("priority", found.value) != found.value:
            raise forbidden(
                PODS,
                pod,
                f"the integer value of priority ({spec['priority']}) must not be provided in pod "
                f"spec; priority admission controller computed {found.value} from the given "
                f"PriorityClass name",
            )
        if spec.get("preemptionPolicy", found.policy) != found.policy:
            raise forbidden(
                PODS,
                pod,
                f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be "
                f"provided in pod spec; priority admission controller computed {found.policy} "
                f"from the given PriorityClass name",
            )
        if found.name:
            spec["priorityClassName"] = found.name
        spec["priority"] = found.value
        spec["preemptionPolicy"] = found.policy

    def _read_classes(self) -> dict[str, _PriorityClass]:
        """The cluster's priority classes; those that every cluster has are always among them."""
        classes = {
            name: _PriorityClass(name, value, PREEMPT_LOWER_PRIORITY)
            for name, value in SYSTEM_CLASSES.items()
        }
        self._default = _NO_CLASS
        for item in self._store.all(PRIORITY_CLASSES):
            obj = item.obj
            policy = obj.get("preemptionPolicy", PREEMPT_LOWER_PRIORITY)
            one = classes[item.name] = _PriorityClass(item.name, obj.get("value", 0), policy)
            if obj.get("globalDefault") and (
                self._default is _NO_CLASS or one.value < self._default.value
            ):
                self._default = one
        return classes

    def _admit_priority_class(self, obj: Obj, _old: Obj | None) -> None:
        if not obj.get("globalDefault"):
            return
        if self._classes is None:
            self._classes = self._read_classes()
        name = obj["metadata"].get("name", "")
        if self._default is not _NO_CLASS and self._default.name != name:
            raise forbidden(
                PRIORITY_CLASSES,
                name,
                f"PriorityClass {self._default.name} is already marked as default. Only one "
                f"default can exist",
            )

    def _admit_node(self, node: Obj, old: Obj | None) -> None:
        # parity v1.36.4: plugin/pkg/admission/nodetaint/admission.go
        if old is not None or not self._taint_new_nodes:
            return
        taints = node["spec"].setdefault("taints", [])
        if not any(
            one.get("key") == _NOT_READY and one.get("effect") == "NoSchedule" for one in taints
        ):
            taints.append({"key": _NOT_READY, "effect": "NoSchedule"})

    def _admit_service(self, service: Obj, old: Obj | None) -> None:
        allocate_addresses(service, old, self._store)

    def _admit_claim(self, claim: Obj, old: Obj | None) -> None:
        # parity v1.36.4: plugin/pkg/admission/storage/storageclass/setdefault
        if old is not None:
            return
        if self._limit_ranges:
            self._limit_ranges.check_claim(claim)
        annotations = claim["metadata"].get("annotations", {})
        if "storageClassName" in claim["spec"] or _CLASS_ANNOTATION in annotations:
            return
        marked = []
        for item in self._store.all(STORAGE_CLASSES):
            metadata = item.obj["metadata"]
            if any(metadata.get("annotations", {}).get(key) == "true" for key in _DEFAULT_CLASS):
                marked.append((metadata.get("creationTimestamp", ""), item.name))
        if marked:
            newest = max(marked)[0]
            chosen = min(name for time, name in marked if time == newest)
            claim["spec"]["storageClassName"] = chosen

    def _admit_device_claim(self, claim: Obj, old: Obj | None) -> None:
        if old is None:
            check_admin_access(self._store, RESOURCE_CLAIMS, claim, claim["spec"])

    def _admit_claim_template(self, template: Obj, old: Obj | None) -> None:
        if old is None:
            check_admin_access(
                self._store, RESOURCE_CLAIM_TEMPLATES, template, template["spec"]["spec"]
            )

    def _forget_namespaces(self, _event: WatchEvent) -> None:
        self._terminating = None

    def _forget_classes(self, _event: WatchEvent) -> None:
        self._classes = None


def check_namespace_delete(name: str) -> None:
    """Reject to delete a namespace that every cluster has.

    Raises:
        StatusError: it is one of them.
    """
    if name in _UNDELETABLE:
        raise forbidden(NAMESPACES, name, "this namespace may not be deleted")


def _terminating(resource: Resource, name: str, namespace: str) -> StatusError:
    error = forbidden(
        resource,
        name,
        f"unable to create new content in namespace {namespace} because it is being terminated",
    )
    error.status["details"]["causes"] = [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    return error


def _tolerate_for_a_while(spec: Obj) -> None:
    """A pod stays on a node that fails for five minutes, unless it says otherwise."""
    # parity v1.36.4: plugin/pkg/admission/defaulttolerationseconds/admission.go
    not_ready = unreachable = False
    tolerations = spec.get("tolerations")
    if tolerations is None:
        tolerations = spec["tolerations"] = []
    for one in tolerations:
        if one.get("effect") in (None, "NoExecute"):
            key = one.get("key")
            not_ready = not_ready or key is None or key == _NOT_READY
            unreachable = unreachable or key is None or key == _UNREACHABLE
    for key, known in ((_NOT_READY, not_ready), (_UNREACHABLE, unreachable)):
        if not known:
            tolerations.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _TOLERATED_SECONDS,
                }
            )
