"""The resources the embedded API server has: their names, paths, subresources and field selectors.

Owns the table; discovery, routing, the store and the tables read it. A resource that is not here
does not exist, and the answer is 404.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

#: A Kubernetes object as parsed JSON.
Obj = dict[str, Any]

ALL_VERBS: Final = (
    "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
)  # fmt: skip


class Resource(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One resource.

    Attributes:
        group: the API group; empty for the core group.
        version: such as ``v1``.
        kind: such as ``Pod``.
        plural: the name in paths, such as ``pods``.
        singular: such as ``pod``.
        namespaced: whether its objects are in namespaces.
        short_names: such as ``po``.
        categories: such as ``all``, for ``kubectl get all``.
        subresources: such as ``status`` and ``binding``.
        selectable: fields beside metadata.name and metadata.namespace that a field selector may
            name.
        verbs: what can be done with it.
    """

    group: str
    version: str = "v1"
    kind: str
    plural: str
    singular: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    selectable: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS

    @property
    def api_version(self) -> str:
        """Group and version, such as ``v1`` or ``apps/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def full_name(self) -> str:
        """The name as error messages have it: ``pods``, ``deployments.apps``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def __hash__(self) -> int:
        return hash((self.group, self.version, self.plural))


def _core(kind: str, plural: str, *short_names: str, **more: Any) -> Resource:
    return _in("", kind, plural, *short_names, **more)


def _in(group: str, kind: str, plural: str, *short_names: str, **more: Any) -> Resource:
    return Resource(
        group=group, kind=kind, plural=plural, singular=kind.lower(), short_names=short_names,
        **more,
    )  # fmt: skip


_STATUS: Final = ("status",)
_SCALED: Final = ("scale", "status")
_ALL: Final = ("all",)

PODS: Final = _core(
    "Pod", "pods", "po", categories=_ALL,
    subresources=("binding", "eviction", "status"),
    selectable=(
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName",
    ),
)  # fmt: skip
NODES: Final = _core(
    "Node", "nodes", "no", namespaced=False, subresources=_STATUS,
    selectable=("spec.unschedulable",),
)  # fmt: skip
NAMESPACES: Final = _core(
    "Namespace", "namespaces", "ns", namespaced=False, subresources=("finalize", "status"),
    selectable=("status.phase",), verbs=tuple(v for v in ALL_VERBS if v != "deletecollection"),
)  # fmt: skip
BINDINGS: Final = _core("Binding", "bindings", verbs=("create",))
#: Both kinds of events are one resource in the store, so their fields stand in the same order.
CORE_EVENTS: Final = _core(
    "Event", "events", "ev",
    selectable=(
        "involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
        "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
        "involvedObject.fieldPath", "reason", "reportingComponent", "type", "source",
    ),
)  # fmt: skip
EVENTS: Final = _in(
    "events.k8s.io", "Event", "events", "ev",
    selectable=(
        "regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid",
        "regarding.apiVersion", "regarding.resourceVersion", "regarding.fieldPath", "reason",
        "reportingController", "type",
    ),
)  # fmt: skip
CONFIG_MAPS: Final = _core("ConfigMap", "configmaps", "cm")
SECRETS: Final = _core("Secret", "secrets", selectable=("type",))
SERVICES: Final = _core(
    "Service", "services", "svc", categories=_ALL, subresources=_STATUS,
    selectable=("spec.clusterIP", "spec.type"),
)  # fmt: skip
SERVICE_ACCOUNTS: Final = _core("ServiceAccount", "serviceaccounts", "sa", subresources=("token",))
ENDPOINTS: Final = _core("Endpoints", "endpoints", "ep")
LIMIT_RANGES: Final = _core("LimitRange", "limitranges", "limits")
RESOURCE_QUOTAS: Final = _core("ResourceQuota", "resourcequotas", "quota", subresources=_STATUS)
POD_TEMPLATES: Final = _core("PodTemplate", "podtemplates")
REPLICATION_CONTROLLERS: Final = _core(
    "ReplicationController", "replicationcontrollers", "rc", categories=_ALL, subresources=_SCALED,
    selectable=("status.replicas",),
)  # fmt: skip
PERSISTENT_VOLUMES: Final = _core(
    "PersistentVolume", "persistentvolumes", "pv", namespaced=False, subresources=_STATUS
)
PERSISTENT_VOLUME_CLAIMS: Final = _core(
    "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", subresources=_STATUS
)
DEPLOYMENTS: Final = _in(
    "apps", "Deployment", "deployments", "deploy", categories=_ALL, subresources=_SCALED
)
REPLICA_SETS: Final = _in(
    "apps", "ReplicaSet", "replicasets", "rs", categories=_ALL, subresources=_SCALED
)
STATEFUL_SETS: Final = _in(
    "apps", "StatefulSet", "statefulsets", "sts", categories=_ALL, subresources=_SCALED
)
DAEMON_SETS: Final = _in(
    "apps", "DaemonSet", "daemonsets", "ds", categories=_ALL, subresources=_STATUS
)
CONTROLLER_REVISIONS: Final = _in("apps", "ControllerRevision", "controllerrevisions")
JOBS: Final = _in(
    "batch", "Job", "jobs", categories=_ALL, subresources=_STATUS, selectable=("status.successful",)
)
CRON_JOBS: Final = _in("batch", "CronJob", "cronjobs", "cj", categories=_ALL, subresources=_STATUS)
LEASES: Final = _in("coordination.k8s.io", "Lease", "leases")
POD_DISRUPTION_BUDGETS: Final = _in(
    "policy", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", subresources=_STATUS
)
NETWORK_POLICIES: Final = _in("networking.k8s.io", "NetworkPolicy", "networkpolicies", "netpol")
PRIORITY_CLASSES: Final = _in(
    "scheduling.k8s.io", "PriorityClass", "priorityclasses", "pc", namespaced=False
)
RUNTIME_CLASSES: Final = _in("node.k8s.io", "RuntimeClass", "runtimeclasses", namespaced=False)
STORAGE_CLASSES: Final = _in(
    "storage.k8s.io", "StorageClass", "storageclasses", "sc", namespaced=False
)
CSI_NODES: Final = _in("storage.k8s.io", "CSINode", "csinodes", namespaced=False)
CSI_DRIVERS: Final = _in("storage.k8s.io", "CSIDriver", "csidrivers", namespaced=False)
CSI_STORAGE_CAPACITIES: Final = _in("storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities")
VOLUME_ATTACHMENTS: Final = _in(
    "storage.k8s.io", "VolumeAttachment", "volumeattachments", namespaced=False,
    subresources=_STATUS,
)  # fmt: skip
RESOURCE_CLAIMS: Final = _in(
    "resource.k8s.io", "ResourceClaim", "resourceclaims", subresources=_STATUS
)
RESOURCE_CLAIM_TEMPLATES: Final = _in(
    "resource.k8s.io", "ResourceClaimTemplate", "resourceclaimtemplates"
)
RESOURCE_SLICES: Final = _in(
    "resource.k8s.io", "ResourceSlice", "resourceslices", namespaced=False,
    selectable=("spec.driver", "spec.nodeName"),
)  # fmt: skip
DEVICE_CLASSES: Final = _in("resource.k8s.io", "DeviceClass", "deviceclasses", namespaced=False)
ROLES: Final = _in("rbac.authorization.k8s.io", "Role", "roles")
ROLE_BINDINGS: Final = _in("rbac.authorization.k8s.io", "RoleBinding", "rolebindings")
CLUSTER_ROLES: Final = _in(
    "rbac.authorization.k8s.io", "ClusterRole", "clusterroles", namespaced=False
)
CLUSTER_ROLE_BINDINGS: Final = _in(
    "rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)

#: What the subresource ``scale`` shows of a workload; there are none by themselves.
SCALES: Final = _in("autoscaling", "Scale", "scales", verbs=())

#: All of them. Objects others refer to come before those that refer to them.
RESOURCES: Final = (
    NAMESPACES, NODES, PRIORITY_CLASSES, RUNTIME_CLASSES, SERVICE_ACCOUNTS, CONFIG_MAPS, SECRETS,
    LIMIT_RANGES, RESOURCE_QUOTAS, STORAGE_CLASSES, CSI_NODES, CSI_DRIVERS, CSI_STORAGE_CAPACITIES,
    PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS, VOLUME_ATTACHMENTS, DEVICE_CLASSES,
    RESOURCE_SLICES, RESOURCE_CLAIMS, RESOURCE_CLAIM_TEMPLATES, SERVICES, ENDPOINTS,
    POD_TEMPLATES, CONTROLLER_REVISIONS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS,
    REPLICATION_CONTROLLERS, CRON_JOBS, JOBS, POD_DISRUPTION_BUDGETS, NETWORK_POLICIES, PODS,
    BINDINGS, CORE_EVENTS, EVENTS, LEASES, ROLES, ROLE_BINDINGS, CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
)  # fmt: skip
#: By group, version and plural, as they are in a path.
BY_PATH: Final[Mapping[tuple[str, str, str], Resource]] = {
    (one.group, one.version, one.plural): one for one in RESOURCES
}
#: By apiVersion and kind, as they are in an object.
BY_KIND: Final[Mapping[tuple[str, str], Resource]] = {
    (one.api_version, one.kind): one for one in RESOURCES
}
