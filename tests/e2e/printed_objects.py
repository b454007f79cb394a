"""Objects with everything that a column of a table may show."""

from typing import Any

from mooring.embedded.resources import (
    BY_KIND,
    Obj,
)

SPACE = "embedded-tables"


def obj(kind: str, name: str, version: str = "v1", meta: Obj | None = None, **rest: Any) -> Obj:
    resource = BY_KIND[version, kind]
    space = {"namespace": SPACE} if resource.namespaced else {}
    metadata = {"name": name, **space, **(meta or {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


# --- pods ---------------------------------------------------------------------------------------

OLD, RECENT = "2020-02-29T12:00:00Z", "2024-05-06T07:08:09Z"
RUNNING: Obj = {"running": {"startedAt": OLD}}


def ended(code: int, reason: str = "", **more: Any) -> Obj:
    return {"terminated": {"exitCode": code, "reason": reason, "finishedAt": OLD, **more}}


def waiting(reason: str) -> Obj:
    return {"waiting": {"reason": reason}}


def state(name: str, now: Obj, restarts: int = 0, ready: bool = False, **more: Any) -> Obj:
    told = {"name": name, "image": "i", "imageID": "", "ready": ready, "restartCount": restarts}
    return {**told, "state": now, **more}


def condition(kind: str, status: str = "True", **more: Any) -> Obj:
    return {"type": kind, "status": status, **more}


def pod(name: str, phase: str = "", meta: Obj | None = None, **parts: Any) -> Obj:
    """A pod; parts are of its status, but for `init`, `names` and `spec`."""
    init = [{"image": "i", **one} for one in parts.pop("init", ())]
    spec = {
        "containers": [{"name": one, "image": "i"} for one in parts.pop("names", ("a",))],
        **({"initContainers": init} if init else {}),
        **parts.pop("spec", {}),
    }
    made = obj("Pod", name, meta=meta, spec=spec)
    return {**made, "status": {"phase": phase, **parts}} if phase or parts else made


TWO: Any = ({"name": "x"}, {"name": "y"})
SIDE: Any = ({"name": "s", "restartPolicy": "Always"}, {"name": "x"})
KEPT: Obj = {"finalizers": ["example.com/kept"]}
DONE, BEFORE = ended(0, "Completed"), ended(1)

POD_OBJECTS = [
    pod("new", meta={"labels": {"app": "web", "size": "7"}}),
    pod("gated", spec={"schedulingGates": [{"name": "example.com/g"}]}),
    pod("ready", "Running", {"labels": {"app": "web", "tier": "front"}},
        spec={"nodeName": "n1"}, podIP="10.1.2.3", podIPs=[{"ip": "10.1.2.3"}, {"ip": "fd00::1"}],
        conditions=[condition("Ready")], containerStatuses=[state("a", RUNNING, ready=True)]),
    pod("restarted", "Running", {"labels": {"app": "db"}}, names=("a", "b"),
        spec={"nodeName": "n2", "hostNetwork": True}, containerStatuses=[
            state("a", RUNNING, 3, True, lastState=ended(1, "Error", finishedAt=RECENT)),
            state("b", RUNNING, 2, True, lastState=ended(1, "Error"))]),
    pod("restarts-undated", "Running", containerStatuses=[state("a", RUNNING, 4, True)]),
    pod("crashing", "Running", containerStatuses=[state("a", waiting("CrashLoopBackOff"), 7)]),
    pod("creating", "Pending", containerStatuses=[state("a", waiting("ContainerCreating"))]),
    pod("done", "Succeeded", containerStatuses=[state("a", DONE)]),
    pod("evicted", "Failed", reason="Evicted"),
    pod("exit-code", "Failed", containerStatuses=[state("a", ended(3))]),
    pod("signal", "Failed", containerStatuses=[state("a", ended(137, signal=9))]),
    pod("partly-done", "Running", names=("a", "b"),
        containerStatuses=[state("a", DONE), state("b", RUNNING, ready=True)]),
    pod("mostly-done", "Running", names=("a", "b"), conditions=[condition("Ready")],
        containerStatuses=[state("a", DONE), state("b", RUNNING, ready=True)]),
    pod("one-failed", "Running", names=("a", "b"),
        containerStatuses=[state("a", DONE), state("b", ended(1, "Error"))]),
    pod("gates", "Running", conditions=[condition("x/a"), condition("x/b", "False")],
        spec={"readinessGates": [{"conditionType": "x/a"}, {"conditionType": "x/b"}]}),
    pod("nominated", "Pending", nominatedNodeName="n9"),
    pod("unscheduled", "Pending", conditions=[
        condition("PodScheduled", "False", reason="Unschedulable")]),
    pod("init-first", "Pending", init=TWO,
        initContainerStatuses=[state("x", RUNNING), state("y", waiting("PodInitializing"))]),
    pod("init-second", "Pending", init=TWO, initContainerStatuses=[
        state("x", DONE, 2, lastState=BEFORE), state("y", waiting("PodInitializing"))]),
    pod("init-crashing", "Pending", init=TWO,
        initContainerStatuses=[state("x", waiting("CrashLoopBackOff"), 5)]),
    pod("init-error", "Pending", init=TWO, initContainerStatuses=[state("x", ended(1, "Error"))]),
    pod("init-code", "Pending", init=TWO, initContainerStatuses=[state("x", ended(4))]),
    pod("init-signal", "Pending", init=TWO, initContainerStatuses=[state("x", ended(1, signal=6))]),
    pod("init-through", "Running", init=TWO, containerStatuses=[state("a", RUNNING, 1, True)],
        initContainerStatuses=[state("x", ended(0), 2, lastState=BEFORE), state("y", ended(0))]),
    pod("init-but-initialized", "Running", init=TWO, conditions=[condition("Initialized")],
        initContainerStatuses=[state("x", RUNNING, 9)],
        containerStatuses=[state("a", RUNNING, 1, True)]),
    pod("sidecar", "Running", init=SIDE, containerStatuses=[state("a", RUNNING, 1, True)],
        initContainerStatuses=[
            state("s", RUNNING, 2, True, started=True, lastState=ended(1, finishedAt=RECENT)),
            state("x", ended(0), 3, lastState=BEFORE)]),
    pod("sidecar-starting", "Pending", init=SIDE,
        initContainerStatuses=[state("s", RUNNING, started=False)]),
    pod("sidecar-unready", "Pending", init=SIDE, initContainerStatuses=[
        state("s", RUNNING, 1, started=True), state("x", waiting("PodInitializing"))]),
    pod("terminating", "Running", KEPT, containerStatuses=[state("a", RUNNING, ready=True)]),
    pod("lost", "Running", KEPT, reason="NodeLost"),
    pod("ended-and-deleted", "Failed", KEPT, containerStatuses=[state("a", ended(1, "Error"))]),
]  # fmt: skip

# --- other kinds --------------------------------------------------------------------------------

TEMPLATE: Obj = {
    "metadata": {"labels": {"app": "t", "b": "c"}},
    "spec": {
        "containers": [{"name": "a", "image": "i1"}, {"name": "b", "image": "i2"}],
        "nodeSelector": {"z": "1", "disk": "ssd"},
    },
}
JOB_TEMPLATE: Obj = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
CRON: Obj = {"jobTemplate": {"spec": {"template": JOB_TEMPLATE}}}
APP: Obj = {"matchLabels": {"app": "t"}}
SELECTOR: Obj = {**APP, "matchExpressions": [
    {"key": "b", "operator": "In", "values": ["d", "c"]}, {"key": "a", "operator": "DoesNotExist"},
    {"key": "app", "operator": "Exists"}, {"key": "x", "operator": "NotIn", "values": ["q"]},
]}  # fmt: skip
STORAGE, DEVICES, RBAC = "storage.k8s.io/v1", "resource.k8s.io/v1", "rbac.authorization.k8s.io/v1"
PORTS = [{"name": "a", "port": 80}, {"name": "b", "port": 443, "protocol": "UDP"}]


def job(name: str, status: Obj | None = None, **spec: Any) -> Obj:
    made = obj("Job", name, "batch/v1", spec={"template": JOB_TEMPLATE, **spec})
    return {**made, "status": status} if status else made


def node(name: str, labels: Obj, spec: Obj, **status: Any) -> Obj:
    return obj("Node", name, meta={"labels": labels}, spec=spec, status=status)


OTHER_OBJECTS = [
    node("n1", {"node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "b"}, {},
         conditions=[condition("MemoryPressure", "False"), condition("Ready")],
         addresses=[{"type": "Hostname", "address": "h"},
                    {"type": "InternalIP", "address": "1.2.3.4"},
                    {"type": "ExternalIP", "address": "5.6.7.8"}],
         nodeInfo={"kubeletVersion": "v1.36.4", "osImage": "Linux", "kernelVersion": "6.1",
                   "containerRuntimeVersion": "containerd://2", "architecture": "arm64",
                   "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": "",
                   "operatingSystem": "linux"}),
    node("n2", {"app": "web"}, {"unschedulable": True}, conditions=[condition("Ready", "Unknown")]),
    node("n3", {}, {}),
    obj("ConfigMap", "cm", data={"a": "b", "c": "d"}, binaryData={"e": "Zg=="}),
    obj("Secret", "s1", stringData={"a": "b"}),
    obj("Secret", "s2", type="example.com/kind", data={}),
    obj("ServiceAccount", "builder"),
    obj("Service", "plain", spec={"ports": PORTS, "selector": {"b": "1", "a": "2"}}),
    obj("Service", "headless", spec={"clusterIP": "None", "externalIPs": ["9.9.9.9"]}),
    obj("Service", "outside", spec={"type": "ExternalName", "externalName": "example.com"}),
    obj("Service", "node-port", spec={"type": "NodePort", "ports": PORTS}),
    obj("Service", "balancer", spec={"type": "LoadBalancer", "ports": PORTS[:1]}),
    obj("Service", "balanced", status={"loadBalancer": {"ingress": [
            {"hostname": "a.very.long.name.example.com"}, {"ip": "8.8.8.8"}]}},
        spec={"type": "LoadBalancer", "ports": PORTS[:1], "externalIPs": ["9.9.9.9"]}),
    obj("Endpoints", "none"),
    obj("Endpoints", "some", subsets=[
        {"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::2"}], "ports": PORTS}]),
    obj("Endpoints", "portless", subsets=[{"addresses": [{"ip": "10.0.0.1"}]}]),
    obj("LimitRange", "limits", spec={"limits": [
        {"type": "PersistentVolumeClaim", "min": {"storage": "1"}}]}),
    obj("ResourceQuota", "quota", spec={"hard": {"services": "2"}}, status={
        "hard": {"services": "20", "limits.cpu": "2000m", "requests.memory": "2048Mi"},
        "used": {"services": "1", "limits.cpu": "1500m"}}),
    obj("PodTemplate", "template", template=TEMPLATE),
    obj("ReplicationController", "rc", spec={"replicas": 2, "template": TEMPLATE},
        status={"replicas": 2, "readyReplicas": 1}),
    obj("Deployment", "deploy", "apps/v1",
        spec={"replicas": 5, "selector": SELECTOR, "template": TEMPLATE},
        status={"replicas": 5, "updatedReplicas": 4, "readyReplicas": 3, "availableReplicas": 2,
                "unavailableReplicas": 3}),
    obj("Deployment", "deploy-new", "apps/v1", spec={"selector": APP, "template": TEMPLATE}),
    obj("ReplicaSet", "rs", "apps/v1", spec={"selector": SELECTOR, "template": TEMPLATE},
        status={"replicas": 3, "readyReplicas": 2}),
    obj("StatefulSet", "sts", "apps/v1", status={"replicas": 1, "readyReplicas": 1},
        spec={"selector": APP, "serviceName": "s", "template": TEMPLATE}),
    obj("DaemonSet", "ds", "apps/v1", spec={"selector": APP, "template": TEMPLATE}, status={
        "desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3,
        "updatedNumberScheduled": 2, "numberAvailable": 1, "numberMisscheduled": 0}),
    obj("ControllerRevision", "revision", "apps/v1", {"ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "ds", "uid": "1",
         "controller": True}]}, revision=4, data={}),
    obj("ControllerRevision", "orphan", "apps/v1", revision=1, data={}),
    job("job-new"),
    job("job-many", {"startTime": OLD, "succeeded": 2, "active": 1}, parallelism=3),
    job("job-suspended", {"conditions": [condition("Suspended")]}, completions=4, suspend=True),
    job("job-done", {
        "startTime": OLD, "completionTime": "2020-02-29T12:09:10Z", "succeeded": 1,
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")]}),
    obj("CronJob", "cron", "batch/v1", spec={"schedule": "*/5 * * * *", **CRON}),
    obj("CronJob", "cron-zone", "batch/v1",
        spec={"schedule": "@daily", "timeZone": "Etc/UTC", "suspend": True, **CRON},
        status={"lastScheduleTime": RECENT, "active": [{"kind": "Job", "name": "x"}]}),
    obj("PodDisruptionBudget", "least", "policy/v1", spec={"minAvailable": "50%", "selector": APP},
        status={"disruptionsAllowed": 3, "currentHealthy": 5, "desiredHealthy": 2,
                "expectedPods": 5}),
    obj("PodDisruptionBudget", "most", "policy/v1", spec={"maxUnavailable": 1, "selector": APP}),
    obj("NetworkPolicy", "all", "networking.k8s.io/v1", spec={"podSelector": {}}),
    obj("NetworkPolicy", "some", "networking.k8s.io/v1", spec={"podSelector": APP}),
    obj("Lease", "lease", "coordination.k8s.io/v1",
        spec={"holderIdentity": "me", "leaseDurationSeconds": 15}),
    obj("Lease", "free", "coordination.k8s.io/v1"),
    obj("RuntimeClass", "sandboxed", "node.k8s.io/v1", handler="runsc"),
    obj("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000, preemptionPolicy="Never"),
    obj("StorageClass", "fast", STORAGE, {"annotations": {
        "storageclass.kubernetes.io/is-default-class": "true"}}, provisioner="example.com/p",
        allowVolumeExpansion=True, reclaimPolicy="Retain",
        volumeBindingMode="WaitForFirstConsumer"),
    obj("StorageClass", "slow", STORAGE, provisioner="example.com/q"),
    obj("CSINode", "n1", STORAGE, spec={"drivers": [
        {"name": "example.com", "nodeID": "n", "topologyKeys": []}]}),
    obj("CSIDriver", "plain.example.com", STORAGE, spec={}),
    obj("CSIDriver", "full.example.com", STORAGE, spec={
        "attachRequired": False, "podInfoOnMount": True, "storageCapacity": True,
        "requiresRepublish": True, "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
        "volumeLifecycleModes": ["Persistent", "Ephemeral"]}),
    obj("CSIStorageCapacity", "capacity", STORAGE, storageClassName="fast", capacity="1Gi"),
    obj("PersistentVolume", "pv", status={"phase": "Failed", "reason": "Broken"}, spec={
        "capacity": {"storage": "1024Mi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
        "hostPath": {"path": "/x"}, "storageClassName": "fast",
        "claimRef": {"namespace": SPACE, "name": "claim"}}),
    obj("PersistentVolume", "pv-odd", spec={
        "capacity": {"storage": "1500Mi"}, "accessModes": ["ReadOnlyMany"], "volumeMode": "Block",
        "hostPath": {"path": "/x"}, "persistentVolumeReclaimPolicy": "Delete"}),
    obj("PersistentVolumeClaim", "claim", status={"phase": "Bound", "capacity": {
        "storage": "0.5Gi"}, "accessModes": ["ReadWriteOncePod"]}, spec={
        "accessModes": ["ReadWriteOncePod"], "resources": {"requests": {"storage": "0.5Gi"}},
        "volumeName": "pv", "storageClassName": "fast"}),
    obj("PersistentVolumeClaim", "claim-new", meta={"annotations": {
        "volume.beta.kubernetes.io/storage-class": "old"}}, spec={
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}),
    obj("VolumeAttachment", "attachment", STORAGE, status={"attached": True}, spec={
        "attacher": "example.com", "nodeName": "n1", "source": {"persistentVolumeName": "pv"}}),
    obj("DeviceClass", "gpu", DEVICES, spec={}),
    obj("ResourceClaim", "devices", DEVICES, spec={"devices": {"requests": [
        {"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}),
    obj("ResourceClaim", "devices-deleted", DEVICES, KEPT, spec={"devices": {}}),
    obj("ResourceClaimTemplate", "devices", DEVICES, spec={"spec": {"devices": {}}}),
    obj("ResourceSlice", "slice", DEVICES, spec={
        "driver": "example.com", "nodeName": "n1",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}),
    obj("Role", "role", RBAC, rules=[]),
    obj("RoleBinding", "binding", RBAC,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "role"},
        subjects=[{"kind": "User", "name": "ann"}, {"kind": "User", "name": "bob"},
                  {"kind": "Group", "name": "all"},
                  {"kind": "ServiceAccount", "name": "x", "namespace": SPACE}]),
]  # fmt: skip

ABOUT: Obj = {"kind": "Pod", "namespace": SPACE, "name": "new", "uid": "u", "apiVersion": "v1"}
NEW_EVENTS = "events.k8s.io/v1"
MICRO = "2024-01-02T03:04:05.678901Z"
NEW: Obj = {
    "eventTime": MICRO, "reportingController": "example.com/c", "reportingInstance": "i",
    "action": "Bind", "regarding": ABOUT, "note": "n",
}  # fmt: skip
EVENT_OBJECTS = [
    obj("Event", "old", involvedObject=ABOUT | {"fieldPath": "spec.containers{a}"}, count=3,
        reason="Pulled", message=" pulled\n", type="Normal", firstTimestamp=OLD,
        lastTimestamp=RECENT, source={"component": "kubelet", "host": "n1"}),
    obj("Event", "bare", involvedObject={"namespace": SPACE}),
    obj("Event", "reported", involvedObject=ABOUT, reportingComponent="example.com/c",
        reportingInstance="i", type="Warning", reason="Odd", action="Look", message="m",
        eventTime=MICRO),
    obj("Event", "new-single", NEW_EVENTS, reason="Scheduled", type="Normal", **NEW),
    obj("Event", "new-series", NEW_EVENTS, reason="Failed", type="Warning", **NEW,
        related={"kind": "Node", "name": "n1"}, series={"count": 6, "lastObservedTime": MICRO}),
]  # fmt: skip
#: In an order in which they can be created: the quota comes after what it would reject.
OBJECTS = [*POD_OBJECTS, *EVENT_OBJECTS, *OTHER_OBJECTS]
