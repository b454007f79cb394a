"""Words that tell nothing about a cluster: Kubernetes' own, and names that everybody uses.

`aliases` and `redaction` leave them as they are. Whole words and names only: what merely looks like
one of Kubernetes' own names may be somebody's product.
"""

import re
from collections.abc import Mapping
from typing import Final

from mooring.model import storage
from mooring.model.csi_migration import IN_TREE_PLUGINS
from mooring.model.devices.resource_claim import EXTENDED_RESOURCE_CLAIM
from mooring.model.node_features import KNOWN_FEATURES

#: Values of fields that have a few possible ones.
WORDS: Final = frozenset(
    (
        "",
        # taints, selectors
        "NoSchedule", "PreferNoSchedule", "NoExecute", "In", "NotIn", "Exists", "DoesNotExist",
        "Gt", "Lt", "Equal",
        # pods
        "TCP", "UDP", "SCTP", "Always", "OnFailure", "Never", "Restart", "RestartAllContainers",
        "DoNotSchedule", "ScheduleAnyway", "Honor", "Ignore", "PreemptLowerPriority", "Pending",
        "Running", "Succeeded", "Failed", "Unknown", "True", "False",
        # volumes
        "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod", "Filesystem", "Block",
        "Immediate", "WaitForFirstConsumer", "Bound", "Available", "Released", "Lost", "Shared",
        "Dedicated", "Managed",
        # claims to devices
        "ExactCount", "All", "FromClass", "FromClaim", "pods",
        *KNOWN_FEATURES,
    )
)  # fmt: skip
#: Conditions and their reasons that Kubernetes itself sets.
CONDITIONS: Final = frozenset(
    (
        "Ready", "Initialized", "ContainersReady", "PodScheduled", "PodReadyToStartContainers",
        "DisruptionTarget", "PodResizePending", "PodResizeInProgress", "MemoryPressure",
        "DiskPressure", "PIDPressure", "NetworkUnavailable", "Infeasible", "Deferred",
        "PreemptionByScheduler", "Unschedulable", "SchedulingGated", "KubeletReady",
        "KubeletNotReady", "NodeStatusUnknown",
    )
)  # fmt: skip
#: Kinds of owners with the versions they have.
OWNERS: Final[Mapping[str, str]] = {
    "Pod": "v1",
    "Node": "v1",
    "ReplicationController": "v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}
#: Addresses that mean every interface or none in particular.
ADDRESSES: Final = frozenset(("", "0.0.0.0", "::", "127.0.0.1", "::1"))  # noqa: S104
DEFAULT_SCHEDULER: Final = "default-scheduler"
#: Storage drivers that the volume plugins know by name.
DRIVERS: Final = frozenset(
    (
        "",
        storage.NO_PROVISIONER,
        *IN_TREE_PLUGINS,
        *(plugin.driver for plugin in IN_TREE_PLUGINS.values()),
    )
)

_RESOURCES: Final = re.compile(
    r"cpu|memory|pods|storage|ephemeral-storage|hugepages-[0-9]+[KMGT]i"
    r"|attachable-volumes-(aws-ebs|gce-pd|azure-disk|cinder)"
    r"|nvidia\.com/(gpu|gpu\.shared|mig-[0-9]g\.[0-9]{1,3}gb)|amd\.com/gpu"
    r"|gpu\.intel\.com/(i915|xe)|habana\.ai/gaudi|google\.com/tpu"
    r"|aws\.amazon\.com/neuron(core|device)?"
)
_NODE: Final = (
    "unschedulable", "not-ready", "unreachable", "memory-pressure", "disk-pressure", "pid-pressure",
    "network-unavailable", "out-of-service", "instance-type", "windows-build",
    "exclude-from-external-load-balancers", "exclude-disruption",
)  # fmt: skip
_APP: Final = ("name", "instance", "version", "component", "part-of", "managed-by", "created-by")
_KEYS: Final = frozenset(
    (
        "pod-template-hash", "controller-revision-hash", "pod-template-generation",
        "controller-uid", "job-name", "k8s-app",
        "kubernetes.io/arch", "kubernetes.io/os", "kubernetes.io/hostname",
        "kubernetes.io/metadata.name", "beta.kubernetes.io/arch", "beta.kubernetes.io/os",
        "beta.kubernetes.io/instance-type", "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region", "node-role.kubernetes.io/control-plane",
        "node-role.kubernetes.io/master", "node-role.kubernetes.io/worker",
        "node.cloudprovider.kubernetes.io/uninitialized", "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-name",
        "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-completion-index",
        "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by",
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
        "volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner",
        "volume.beta.kubernetes.io/storage-class", "pv.kubernetes.io/provisioned-by",
        "pv.kubernetes.io/migrated-to", "kubectl.kubernetes.io/last-applied-configuration",
        "kubectl.kubernetes.io/restartedAt", "deployment.kubernetes.io/revision",
        "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas",
        storage.SELECTED_NODE, storage.BIND_COMPLETED, storage.BOUND_BY_CONTROLLER,
        storage.MIGRATED_PLUGINS, EXTENDED_RESOURCE_CLAIM,
        *(f"node.kubernetes.io/{name}" for name in _NODE),
        *(f"app.kubernetes.io/{name}" for name in _APP),
        *(plugin.topology for plugin in IN_TREE_PLUGINS.values() if plugin.topology),
    )
)  # fmt: skip


def is_well_known(key: str) -> bool:
    """Whether a label's or an annotation's key is one that clusters of all kinds have."""
    return key in _KEYS


def is_well_known_resource(name: str) -> bool:
    """Whether a resource is one of Kubernetes' own, or a device that many clusters have."""
    return _RESOURCES.fullmatch(name) is not None
