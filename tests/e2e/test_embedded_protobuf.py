"""Objects in protobuf, as the real kube-apiserver writes them, read as it reads them itself."""

import subprocess
from collections.abc import Iterator
from http.client import HTTPSConnection
from typing import Any

import msgspec
import pytest

from mooring.embedded.http.reviews import REVIEWS
from mooring.embedded.resources import BY_KIND, Obj
from mooring.embedded.schema.protobuf import PROTOBUF, read_protobuf
from mooring.testing.real_kubernetes import ControlPlane
from tools import wire

pytestmark = pytest.mark.kube

POD: Obj = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "a", "labels": {"app": "x", "empty": ""}, "annotations": {"a/b": "ä\n"},
        "finalizers": ["a.b/c"],
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "controller": False}
        ],
    },
    "spec": {
        "containers": [
            {
                "name": "a",
                "image": "b",
                "command": ["x", ""],
                "env": [
                    {"name": "A", "value": "1"},
                    {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                    {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                ],
                "envFrom": [{"configMapRef": {"name": "c", "optional": False}}],
                "ports": [{"containerPort": 80, "protocol": "UDP"}],
                "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "2"}},
                "livenessProbe": {"httpGet": {"port": "http", "path": "/"}, "periodSeconds": 3},
                "readinessProbe": {"tcpSocket": {"port": 80}},
                "securityContext": {"runAsUser": 0, "privileged": False},
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
            }
        ],
        "volumes": [
            {"name": "v", "emptyDir": {}},
            {"name": "w", "emptyDir": {"medium": "Memory", "sizeLimit": "5Mi"}},
            {"name": "x", "hostPath": {"path": "/", "type": ""}},
        ],
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "priority": 0,
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 0,
                         "effect": "NoExecute"}],
        "securityContext": {"supplementalGroups": [1, 2**31 - 1], "sysctls": []},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {},
            }
        ],
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 5,
                        "podAffinityTerm": {
                            "topologyKey": "zone", "namespaceSelector": {},
                            "labelSelector": {
                                "matchExpressions": [
                                    {"key": "a", "operator": "In", "values": ["b"]}
                                ]
                            },
                        },
                    }
                ]
            }
        },
        "schedulingGates": [{"name": "a.b/c"}],
    },
}  # fmt: skip
TEMPLATE: Obj = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "a", "image": "b"}]},
}
OBJECTS: list[Obj] = [
    POD,
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "protobuf"}},
    {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
        "data": {"a": "AAEC/w==", "b": ""}, "immutable": False, "type": "a.b/c",
    },
    {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
        "binaryData": {"a": "/w=="}, "data": {"b": ""},
    },
    {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE,
            "strategy": {"rollingUpdate": {"maxSurge": "10%", "maxUnavailable": 0}},
        },
    },
    {
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "a"},
        "data": {"spec": {"x": [1, {"y": None}]}}, "revision": 0,
    },
    {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "a"},
        "value": -5, "globalDefault": False,
    },
    {
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"},
        "spec": {
            "holderIdentity": "me", "leaseDurationSeconds": 15,
            "renewTime": "2026-01-31T12:00:00.000000Z",
            "acquireTime": "2026-01-31T12:00:00.500000Z",
        },
    },
    {
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "a"},
        "spec": {
            "podSelector": {}, "policyTypes": ["Ingress"],
            "ingress": [{}, {"ports": [{"port": "web"}, {"port": 1, "endPort": 2}]}],
            "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]}],
        },
    },
    {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"},
        "spec": {"minAvailable": 0, "selector": {}},
    },
    {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "protobuf"},
        "spec": {"taints": [{"key": "a", "effect": "NoSchedule",
                             "timeAdded": "2026-01-31T12:00:00Z"}]},
        "status": {"capacity": {"cpu": "4", "a.b/c": "0"},
                   "images": [{"names": ["a"], "sizeBytes": 2**40}]},
    },
    {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "protobuf"},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/x"}, "claimRef": {"namespace": "a", "name": "b"},
        },
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "a"},
        "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
    },
    {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": "u", "extra": {"a": ["b", "c"]},
            "resourceAttributes": {"verb": "get", "resource": "pods"},
        },
    },
]  # fmt: skip
#: What differs between two requests.
MOMENT = ("uid", "creationTimestamp", "lastTransitionTime", "time", "resourceVersion")
#: Parts that JSON has even if they say nothing.
PLAIN = ("metadata", "resources", "spec", "status", "strategy")


@pytest.fixture(scope="module")
def connection(control_plane: ControlPlane) -> Iterator[HTTPSConnection]:
    context = control_plane.https(control_plane.port)._context
    connection = HTTPSConnection("127.0.0.1", control_plane.port, context=context, timeout=30)
    yield connection
    connection.close()


def created(connection: HTTPSConnection, path: str, obj: Obj, accepted: str) -> bytes:
    """What an object would become, in the form that is accepted."""
    body = msgspec.json.encode(obj)
    headers = {"Accept": accepted, "Content-Type": "application/json"}
    connection.request("POST", f"{path}?dryRun=All", body, headers)
    response = connection.getresponse()
    content = response.read()
    assert response.status == 201, content
    return content


@pytest.mark.parametrize("obj", OBJECTS, ids=lambda one: str(one["kind"]))
def test_both_forms_say_the_same(connection: HTTPSConnection, obj: Obj) -> None:
    resource = BY_KIND.get((obj["apiVersion"], obj["kind"])) or REVIEWS[-1]
    space = "/namespaces/default" if resource.namespaced else ""
    path = f"/{'apis' if resource.group else 'api'}/{resource.api_version}{space}/{resource.plural}"
    ours = read_protobuf(created(connection, path, obj, PROTOBUF))
    real = msgspec.json.decode(created(connection, path, obj, "application/json"))
    assert without_moment(ours) == without_moment(real)


def without_moment(value: Any) -> Any:
    """Without what differs between two requests, and without parts that say nothing."""
    if isinstance(value, list):
        return [without_moment(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {key: without_moment(one) for key, one in value.items() if key not in MOMENT}
    return {
        key: one for key, one in kept.items() if one is not None and (one != {} or key not in PLAIN)
    }


def test_the_file_is_what_the_tool_writes() -> None:
    try:
        text = wire.compose()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"the Go sources are not there: {error}")
    assert wire.FILE.read_text() == text
