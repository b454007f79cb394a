"""Tables, selectors and forms of events: the same as the real API server's, object by object."""

import http.client
import ssl
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from mooring.embedded.event_conversion import to_core_v1, to_events_v1
from mooring.embedded.resources import (
    BINDINGS,
    BY_KIND,
    CONFIG_MAPS,
    CORE_EVENTS,
    DAEMON_SETS,
    EVENTS,
    JOBS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUMES,
    PODS,
    REPLICATION_CONTROLLERS,
    RESOURCE_SLICES,
    RESOURCES,
    SECRETS,
    SERVICES,
    Obj,
    Resource,
)
from mooring.embedded.selectors import parse_fields, parse_labels, selectable_fields
from mooring.embedded.status_errors import StatusError
from mooring.embedded.tables.tables import Include, accepts_table, metadata_only, table
from mooring.testing.real_kubernetes import ControlPlane

pytestmark = pytest.mark.kube

AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
LISTED = [one for one in RESOURCES if one != BINDINGS]


class Server:
    """Requests to the real API server, with a header that `ControlPlane` does not send."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self._context = ssl.create_default_context(cafile=str(plane.ca_file))
        self._context.load_cert_chain(plane._admin.certificate, plane._admin.key)

    def get(self, path: str, accept: str = "application/json") -> tuple[int, Any]:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.plane.port, timeout=30, context=self._context
        )
        try:
            connection.request("GET", path, headers={"Accept": accept})
            response = connection.getresponse()
            return response.status, msgspec.json.decode(response.read())
        finally:
            connection.close()

    def make(self, obj: Obj) -> None:
        """Create an object, with its status."""
        created = self.plane.create(obj)
        if "status" in obj:
            path = object_path(created)
            created["status"] = obj["status"]
            self.plane.request("PUT", f"{path}/status", created)


def list_path(resource: Resource) -> str:
    return f"/{'apis' if resource.group else 'api'}/{resource.api_version}/{resource.plural}"


def object_path(obj: Obj) -> str:
    resource, meta = BY_KIND[obj["apiVersion"], obj["kind"]], obj["metadata"]
    root = f"/{'apis' if resource.group else 'api'}/{resource.api_version}"
    space = f"/namespaces/{meta['namespace']}" if resource.namespaced else ""
    return f"{root}{space}/{resource.plural}/{meta['name']}"


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
    obj("Lease", "lease", "coordination.k8s.io/v1",
        spec={"holderIdentity": "me", "leaseDurationSeconds": 15}),
    obj("Lease", "free", "coordination.k8s.io/v1"),
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


@pytest.fixture(scope="module")
def server(control_plane: ControlPlane) -> Iterator[Server]:
    """A server that has all of the objects."""
    server = Server(control_plane)
    server.make(obj("Namespace", SPACE))
    server.make(obj("ServiceAccount", "default"))
    for one in OBJECTS:
        server.make(one)
    for one in OBJECTS:
        if one["metadata"].get("finalizers"):
            control_plane.request("DELETE", object_path(one))
    yield server
    for one in OBJECTS:
        if one["metadata"].get("finalizers"):
            patch = {"metadata": {"finalizers": None}}
            kind = "application/merge-patch+json"
            control_plane.request("PATCH", object_path(one), patch, content_type=kind)
        if "namespace" not in one["metadata"]:
            control_plane.delete(
                one["kind"], one["metadata"]["name"], api_version=one["apiVersion"]
            )
    control_plane.delete_namespace(SPACE)


def without_descriptions(columns: list[Obj]) -> list[Obj]:
    return [{**one, "description": ""} for one in columns]


def both(server: Server, resource: Resource, include: Include) -> tuple[Obj, Obj, Obj]:
    """The real table, and ours just before and just after it."""
    path = list_path(resource)
    objs = server.get(path)[1]
    for one in objs["items"]:
        one |= {"apiVersion": resource.api_version, "kind": resource.kind}
        if resource == DAEMON_SETS:  # written into whole daemon sets, and not into their metadata
            assert list(one["metadata"].pop("annotations")) == [
                "deprecated.daemonset.template.generation"
            ]
    before = time.time()
    real: Obj = server.get(f"{path}?includeObject={include}", AS_TABLE)[1]
    version = real["metadata"]["resourceVersion"]
    first, last = (
        table(resource, objs["items"], now, include, version) for now in (before, time.time())
    )
    return real, first, last


@pytest.mark.parametrize("resource", LISTED, ids=lambda one: one.full_name)
def test_a_table_is_the_real_one(server: Server, resource: Resource) -> None:
    real, first, last = both(server, resource, "Metadata")
    assert without_descriptions(real["columnDefinitions"]) == first["columnDefinitions"]
    assert {**real, "rows": [], "columnDefinitions": []} == {
        **first, "rows": [], "columnDefinitions": [],
    }  # fmt: skip
    assert len(real["rows"]) == len(first["rows"]) > 0
    for row, ours, later in zip(real["rows"], first["rows"], last["rows"], strict=True):
        assert row["cells"] in (ours["cells"], later["cells"])
        assert {**row, "cells": []} == {**ours, "cells": []}


@pytest.mark.parametrize("include", ["None", "Metadata", "Object"])
def test_a_row_has_as_much_of_the_object_as_is_asked_for(server: Server, include: Include) -> None:
    real, first, _ = both(server, SECRETS, include)
    assert [one["object"] for one in real["rows"]] == [one["object"] for one in first["rows"]]


def test_the_table_of_one_object_has_its_version(server: Server) -> None:
    path = object_path(obj("Pod", "done"))
    found = server.get(path)[1]
    now = time.time()
    real = server.get(path, AS_TABLE)[1]
    version = found["metadata"]["resourceVersion"]
    ours = table(PODS, [found], now, "Metadata", version, headers=False)
    assert real["metadata"] == ours["metadata"]
    assert real["rows"][0]["conditions"] == ours["rows"][0]["conditions"]


@pytest.mark.parametrize(
    "accept",
    [
        AS_TABLE,
        "application/json",
        "*/*",
        "application/json;as=Table;g=meta.k8s.io;v=v1",
        "application/json; as=Table; v=v1; g=meta.k8s.io",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json",
        "application/json, application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
        "text/html, application/json;as=Table;v=v1;g=meta.k8s.io",
    ],
)
def test_a_table_is_sent_to_those_who_ask_for_it(server: Server, accept: str) -> None:
    status, answer = server.get(object_path(obj("Secret", "s1")), accept)
    assert status == 200
    assert accepts_table(accept) is (answer["kind"] == "Table")


def test_metadata_alone_is_the_real_one(server: Server) -> None:
    path = object_path(obj("Pod", "ready"))
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert metadata_only(server.get(path)[1]) == server.get(path, accept)[1]


@pytest.mark.parametrize("name", [one["metadata"]["name"] for one in EVENT_OBJECTS])
def test_both_forms_of_an_event_are_the_real_ones(server: Server, name: str) -> None:
    core = server.get(object_path(obj("Event", name)))[1]
    new = server.get(object_path(obj("Event", name, NEW_EVENTS)))[1]
    assert to_events_v1(core) == new
    assert to_core_v1(new) == core


# --- selectors ----------------------------------------------------------------------------------


class StoredObject(msgspec.Struct):
    namespace: str
    name: str
    fields: tuple[str, ...]
    labels: dict[str, str]


def items(server: Server, resource: Resource) -> list[StoredObject]:
    stored = CORE_EVENTS if resource == EVENTS else resource
    return [
        StoredObject(
            one["metadata"].get("namespace", ""),
            one["metadata"]["name"],
            selectable_fields(stored, one),
            one["metadata"].get("labels", {}),
        )
        for one in server.get(list_path(stored))[1]["items"]
    ]


def real_answer(server: Server, resource: Resource, parameter: str, selector: str) -> object:
    query = urllib.parse.urlencode({parameter: selector})
    status, answer = server.get(f"{list_path(resource)}?{query}")
    if status != 200:
        return status, answer["reason"], answer["message"]
    names = [(one["metadata"].get("namespace", ""), one["metadata"]["name"])
             for one in answer["items"]]  # fmt: skip
    return sorted(names)


def our_answer(server: Server, resource: Resource, parameter: str, selector: str) -> object:
    every = items(server, resource)
    try:
        if parameter == "labelSelector":
            labels = parse_labels(selector)
            found = [one for one in every if labels.matches(one.labels)]
        else:
            fields = parse_fields(selector, resource)
            found = [one for one in every if fields.matches(one)]
    except StatusError as rejected:
        return rejected.code, rejected.status["reason"], str(rejected)
    return sorted((one.namespace, one.name) for one in found)


@pytest.mark.parametrize(
    "selector",
    [
        "app=web", "app==web,tier", "app!=web", "app in (web,db)", "app notin (web)", "!app",
        "size>6", "size<7", "app=", "app in ()", "app in (,web)", "tier notin (,)", " app = web ",
        "app=web,", ",app", "app,,tier", "app web", "app=web tier", "!", "!!app", "app!", "app in",
        "app in (", "app in (web", "app in (web tier)", "app in (web,!)", "app in web", "app=(",
        "app===web", "=", "in", "in in (in)", "notin=in", "!app in (web)", "-a", "a/b/c", "/a",
        "a/", "A.B/c", "a=-b", "a in (-b,ok,_c)", "size>x", "size>-x-", "size>99999999999999999999",
        "a" * 64, f"{'a' * 254}/b", f"a={'b' * 64}", 'a="b"', "ä=b", "a=\u00e4\t",
    ],
)  # fmt: skip
def test_a_label_selector_means_the_same(server: Server, selector: str) -> None:
    ours = our_answer(server, PODS, "labelSelector", selector)
    assert ours == real_answer(server, PODS, "labelSelector", selector)


@pytest.mark.parametrize(
    ("resource", "selector"),
    [
        (PODS, "spec.nodeName=n1"), (PODS, "spec.nodeName="), (PODS, "spec.nodeName!=n1"),
        (PODS, "spec.host=n1"), (PODS, "spec.hostNetwork=true"), (PODS, "spec.hostNetwork=false"),
        (PODS, "status.phase=Running,spec.nodeName!="), (PODS, "status.phase==Pending"),
        (PODS, "status.phase!=Succeeded,status.phase!=Failed"), (PODS, "status.podIP=10.1.2.3"),
        (PODS, "status.podIPs=10.1.2.3"), (PODS, "status.podIPs="),
        (PODS, "status.nominatedNodeName=n9"), (PODS, "spec.restartPolicy=Always"),
        (PODS, "spec.schedulerName=default-scheduler"), (PODS, "spec.serviceAccountName=default"),
        (PODS, "metadata.name=done"), (PODS, "metadata.name=done,status.phase=Failed"),
        (PODS, f"metadata.namespace={SPACE}"), (PODS, "metadata.namespace!=default"),
        (PODS, "metadata.name!=done"), (PODS, ","), (PODS, "spec.foo=x"), (PODS, "=x"),
        (PODS, "status.phase"), (PODS, "b,a"), (PODS, "status.phase=a=b"),
        (PODS, r"status.phase=\,\=\\"), (PODS, r"status.phase=\a"), (PODS, "status.phase=a\\"),
        (PODS, r"status.phase!=a\,b"), (PODS, "metadata.labels=x"),
        (NODES, "spec.unschedulable=true"), (NODES, "spec.unschedulable=false"),
        (NODES, "spec.unschedulable!=true"), (NODES, "metadata.name=n1"),
        (NODES, "metadata.namespace=x"), (NAMESPACES, "status.phase=Active"),
        (NAMESPACES, "metadata.namespace="), (SECRETS, "type=Opaque"), (SECRETS, "data=x"),
        (SERVICES, "spec.type=LoadBalancer"), (SERVICES, "spec.clusterIP=None"),
        (SERVICES, "spec.ports=1"), (REPLICATION_CONTROLLERS, "status.replicas=2"),
        (REPLICATION_CONTROLLERS, "status.replicas=0"), (JOBS, "status.successful=0"),
        (JOBS, "status.successful=1"), (JOBS, "status.succeeded=1"),
        (RESOURCE_SLICES, "spec.driver=example.com"), (RESOURCE_SLICES, "spec.nodeName=n1"),
        (RESOURCE_SLICES, "spec.pool=x"), (RESOURCE_SLICES, "metadata.namespace="),
        (CONFIG_MAPS, "metadata.name=cm"), (CONFIG_MAPS, "data=x"),
        (PERSISTENT_VOLUMES, "metadata.namespace=x"), (PERSISTENT_VOLUMES, "metadata.namespace="),
        (CORE_EVENTS, "involvedObject.kind=Pod"), (CORE_EVENTS, "involvedObject.uid=u,type=Normal"),
        (CORE_EVENTS, "source=kubelet"), (CORE_EVENTS, "source=example.com/c"),
        (CORE_EVENTS, "reportingComponent=example.com/c"), (CORE_EVENTS, "reason=Pulled"),
        (CORE_EVENTS, "involvedObject.fieldPath=spec.containers{a}"),
        (CORE_EVENTS, "regarding.kind=Pod"), (EVENTS, "regarding.kind=Pod,type=Warning"),
        (EVENTS, "reportingController=example.com/c"), (EVENTS, "reportingComponent=x"),
        (EVENTS, "involvedObject.kind=Pod"), (EVENTS, "regarding.name!=new"),
    ],
)  # fmt: skip
def test_a_field_selector_means_the_same(server: Server, resource: Resource, selector: str) -> None:
    ours = our_answer(server, resource, "fieldSelector", selector)
    assert ours == real_answer(server, resource, "fieldSelector", selector)
