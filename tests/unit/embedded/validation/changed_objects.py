"""Changes of objects that are not allowed, and some that are."""

from tests.unit.embedded.validation.builders import (
    FULL_EVENT,
    NEW_EVENTS,
    RBAC,
    TIME,
    Change,
    Obj,
    budget,
    claim,
    container,
    event,
    expression,
    job,
    node,
    node_affinity,
    obj,
    pod,
    put,
    pv,
    service,
    storage_class,
    workload,
)

GATED = pod(
    nodeSelector={"a": "b"}, schedulingGates=[{"name": "g"}],
    affinity=node_affinity(expression("a", "In", "b"))["spec"]["affinity"],
)  # fmt: skip
_TERMS = (
    "spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"
)
_TOLERATION = {"key": "a", "operator": "Exists"}
_INFORMED = obj("v1", "ConfigMap", data={"a": "b"}, immutable=True)
_CSI_NODE = obj("storage.k8s.io/v1", "CSINode", spec={"drivers": [{"name": "a.b", "nodeID": "n"}]})
_CSI_DRIVER = obj("storage.k8s.io/v1", "CSIDriver", spec={"attachRequired": True})
_BINDING = obj(
    RBAC, "RoleBinding",
    roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
)  # fmt: skip
_CAPACITY = obj(
    "storage.k8s.io/v1", "CSIStorageCapacity", storageClassName="a",
    nodeTopology={"matchLabels": {"a": "b"}},
)  # fmt: skip
_LIST = {"status": "True", "type": "a b"}

#: Changes of objects, by what is wrong: the object, what changes, and the subresource.
CHANGED_KINDS: dict[str, tuple[Obj, Change, str]] = {
    "label of a pod": (pod(), put("metadata/labels", {"a": "b c"}), ""),
    "finalizer of a pod": (pod(), put("metadata/finalizers", ["mine"]), ""),
    "uid": (obj("v1", "Secret"), put("metadata/labels", {"a": "-"}), ""),
    "node name of a pod": (pod(), put("spec/nodeName", "n"), ""),
    "command of a pod": (pod(), put("spec/containers/0/command", ["a"]), ""),
    "resources of a pod": (
        pod(), put("spec/containers/0/resources", {"requests": {"cpu": "1"}}), "",
    ),
    "one container more": (pod(), put("spec/containers/1", container(name="d")), ""),
    "image gone": (pod(), put("spec/containers/0/image", ""), ""),
    "image with a space": (pod(), put("spec/containers/0/image", "a "), ""),
    "image changed": (pod(), put("spec/containers/0/image", "other"), ""),
    "toleration added": (pod(), put("spec/tolerations/0", _TOLERATION), ""),
    "toleration changed": (
        pod(tolerations=[_TOLERATION]), put("spec/tolerations/0/key", "b"), "",
    ),
    "deadline set": (pod(), put("spec/activeDeadlineSeconds", 5), ""),
    "deadline longer": (
        pod(activeDeadlineSeconds=5), put("spec/activeDeadlineSeconds", 6), "",
    ),
    "deadline gone": (
        pod(activeDeadlineSeconds=5), put("spec/activeDeadlineSeconds", None), "",
    ),
    "deadline negative": (pod(), put("spec/activeDeadlineSeconds", -1), ""),
    "gate added": (pod(), put("spec/schedulingGates", [{"name": "g"}]), ""),
    "gate removed": (GATED, put("spec/schedulingGates", []), ""),
    "selector added": (pod(), put("spec/nodeSelector", {"c": "d"}), ""),
    "selector of a gated pod added": (GATED, put("spec/nodeSelector/c", "d"), ""),
    "selector of a gated pod changed": (GATED, put("spec/nodeSelector/a", "d"), ""),
    "affinity of a gated pod tightened": (
        GATED,
        put(f"{_TERMS}/0/matchExpressions/1", {"key": "c", "operator": "Exists"}),
        "",
    ),
    "affinity of a gated pod changed": (
        GATED, put(f"{_TERMS}/0/matchExpressions/0/values", ["c"]), "",
    ),
    "affinity of a gated pod widened": (
        GATED, put(f"{_TERMS}/1", expression("c", "In", "d")), "",
    ),
    "affinity of a gated pod gone": (GATED, put("spec/affinity", None), ""),
    "affinity of a pod": (pod(), put("spec/affinity", GATED["spec"]["affinity"]), ""),
    "priority of a pod": (pod(), put("spec/priority", 5), ""),
    "scheduler of a pod": (pod(), put("spec/schedulerName", "other"), ""),
    "host network of a pod": (pod(), put("spec/hostNetwork", True), ""),
    "no host network of a pod": (pod(), put("spec/hostNetwork", False), ""),
    "condition of a pod": (pod(), put("status/conditions", [_LIST]), "status"),
    "nominated node": (pod(), put("status/nominatedNodeName", "N_1"), "status"),
    "nominated node of a bound pod": (
        pod(nodeName="n"), put("status/nominatedNodeName", "m"), "status",
    ),
    "quality of a pod": (pod(), put("status/qosClass", "Guaranteed"), "status"),
    "address of a pod": (pod(), put("status/podIPs", [{"ip": "a"}]), "status"),
    "addresses of a pod": (
        pod(), put("status/podIPs", [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]), "status",
    ),
    "provider of a node": (
        node({"providerID": "a"}), put("spec/providerID", "b"), "",
    ),
    "network of a node": (
        node({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}),
        put("spec", {"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.1.0/24"]}), "",
    ),
    "taint of a node": (node(), put("spec/taints", [{"key": "a"}]), ""),
    "capacity of a node": (node(), put("status/capacity", {"pods": "1500m"}), "status"),
    "addresses of a node": (
        node(), put("status/addresses", [{"type": "Hostname", "address": "a"}] * 2), "status",
    ),
    "phase of a namespace": (
        obj("v1", "Namespace", "phase"), put("status/phase", "Terminating"), "status",
    ),
    "selector of a deployment": (
        workload("Deployment"),
        lambda one: (put("spec/selector/matchLabels", {"app": "b"})(one),
                     put("spec/template/metadata/labels", {"app": "b"})(one)), "",
    ),
    "selector of a replica set": (
        workload("ReplicaSet"), put("spec/selector/matchLabels", {"app": "b"}), "",
    ),
    "selector of a daemon set": (
        workload("DaemonSet"), put("spec/selector/matchLabels", {"app": "b"}), "",
    ),
    "replicas of a deployment": (workload("Deployment"), put("spec/replicas", -1), ""),
    "status of a deployment": (
        workload("Deployment"), put("status", {"replicas": -1, "readyReplicas": 1}), "status",
    ),
    "status of a replica set": (
        workload("ReplicaSet"), put("status", {"replicas": 1, "availableReplicas": 2}), "status",
    ),
    "status of a stateful set": (
        workload("StatefulSet"), put("status", {"replicas": 1, "currentReplicas": 2}), "status",
    ),
    "status of a daemon set": (
        workload("DaemonSet"),
        put("status", {"currentNumberScheduled": -1, "numberMisscheduled": 0,
                       "desiredNumberScheduled": 0, "numberReady": 0}), "status",
    ),
    "service of a stateful set": (
        workload("StatefulSet"), put("spec/serviceName", "other"), "",
    ),
    "replicas of a stateful set": (workload("StatefulSet"), put("spec/replicas", 5), ""),
    "completions of a job": (job(completions=2), put("spec/completions", 3), ""),
    "mode of a job": (job(completions=2), put("spec/completionMode", "Indexed"), ""),
    "completions of an indexed job": (
        job(completions=2, completionMode="Indexed"), put("spec/completions", 3), "",
    ),
    "suspended job": (
        job(suspend=True), put("spec/template/spec/nodeSelector", {"a": "b"}), "",
    ),
    "status of a job": (job(), put("status", {"active": -1, "ready": 2}), "status"),
    "size of a claim": (claim(), put("spec/resources/requests/storage", "2Gi"), ""),
    "mode of a claim": (claim(), put("spec/accessModes", ["ReadOnlyMany"]), ""),
    "volume of a claim": (claim(), put("spec/volumeName", "v"), ""),
    "volume mode of a claim": (claim(), put("spec/volumeMode", "Block"), ""),
    "status of a claim": (claim(), put("status/capacity", {"storage": "-1"}), "status"),
    "path of a volume": (pv(), put("spec/hostPath/path", "/other"), ""),
    "size of a volume": (pv(), put("spec/capacity/storage", "2Gi"), ""),
    "volume mode of a volume": (pv(), put("spec/volumeMode", "Block"), ""),
    "affinity of a volume": (
        pv(nodeAffinity={"required": {"nodeSelectorTerms": [expression("a", "In", "b")]}}),
        put("spec/nodeAffinity/required/nodeSelectorTerms", [expression("a", "In", "c")]), "",
    ),
    "affinity of a volume with a new label": (
        pv(nodeAffinity={"required": {"nodeSelectorTerms": [
            expression("failure-domain.beta.kubernetes.io/zone", "In", "b")]}}),
        put("spec/nodeAffinity/required/nodeSelectorTerms", [
            expression("topology.kubernetes.io/zone", "In", "b")]), "",
    ),
    "provisioner of a class": (storage_class(), put("provisioner", "other"), ""),
    "parameters of a class": (storage_class(), put("parameters", {"b": "1", "a": "2"}), ""),
    "policies of a class": (
        storage_class(),
        lambda one: one.update(reclaimPolicy="Retain", volumeBindingMode="WaitForFirstConsumer"),
        "",
    ),
    "id of a csi node": (_CSI_NODE, put("spec/drivers/0/nodeID", "m"), ""),
    "attaching of a csi driver": (_CSI_DRIVER, put("spec/attachRequired", False), ""),
    "class of a capacity": (_CAPACITY, put("storageClassName", "b"), ""),
    "topology of a capacity": (_CAPACITY, put("nodeTopology/matchLabels/a", "c"), ""),
    "source of an attachment": (
        obj("storage.k8s.io/v1", "VolumeAttachment",
            spec={"attacher": "a", "source": {"persistentVolumeName": "p"}, "nodeName": "n"}),
        put("spec/source/persistentVolumeName", "q"), "",
    ),
    "address of a service": (
        service({"port": 1}, clusterIP="None", selector={"a": "b"}),
        lambda one: (put("spec/clusterIP", "10.0.0.9")(one),
                     put("spec/clusterIPs", ["10.0.0.9"])(one)), "",
    ),
    "value of a priority": (
        obj("scheduling.k8s.io/v1", "PriorityClass", value=1), put("value", 2), "",
    ),
    "policy of a priority": (
        obj("scheduling.k8s.io/v1", "PriorityClass", value=1),
        put("preemptionPolicy", "Never"), "",
    ),
    "budget changed": (budget(minAvailable=1), put("spec/minAvailable", "x"), ""),
    "status of a budget": (
        budget(minAvailable=1),
        put("status", {"disruptionsAllowed": -1, "currentHealthy": 0, "desiredHealthy": 0,
                       "expectedPods": 0, "conditions": [_LIST]}), "status",
    ),
    "role of a binding": (_BINDING, put("roleRef/name", "b"), ""),
    "data of a fixed map": (_INFORMED, put("data/a", "c"), ""),
    "fixed map": (_INFORMED, put("immutable", False), ""),
    "type of a secret": (obj("v1", "Secret"), put("type", "other"), ""),
    "duration of a lease": (
        obj("coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "a"}),
        put("spec/leaseDurationSeconds", -1), "",
    ),
    "reason of a new event": (event(NEW_EVENTS, **FULL_EVENT), put("reason", "Other"), ""),
    "series of a new event": (
        event(NEW_EVENTS, **FULL_EVENT),
        put("series", {"count": 1, "lastObservedTime": TIME}), "",
    ),
    "reason of an event": (event(), put("reason", "Other"), ""),
}  # fmt: skip
