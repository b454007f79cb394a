"""Installations of `moor manifests` on a real API server that writes down who does what.

There is no kubelet: whoever uses this starts the containers' commands with the arguments and files
that are in the manifests, as the service account and nobody else.
"""

import http.client
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

from mooring.deploy.manifests.installation import (
    Installation,
)
from mooring.testing.real_kubernetes import ControlPlane
from tests.e2e.device_case import device, device_class, request, slice_of
from tests.e2e.device_objects import API as DEVICES_V1
from tests.e2e.manifests.generated_manifests import NAME, objects, stream
from tests.e2e.provisioner import local_volume

ACCOUNT: Final = f"system:serviceaccount:{NAME}:{NAME}"
AUDIT: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "userGroups": [f"system:serviceaccounts:{NAME}"]},
        {"level": "None"},
    ],
}
#: What devices provide.
RESOURCE: Final = "example.com/gpu"
#: Objects of the installation itself; of all others, whatever users make has to be allowed.
OWN: Final = frozenset({"leases"})
#: The first one rejects pods with the label picky, and does not bind the contested one before it
#: may.
POLICIES: Final = {
    "every hook": """
import asyncio
from pathlib import Path

import mooring as mr

GO = Path(__file__).with_name("go")
policy = mr.Policy("permitted")


@policy.filter
def not_picky(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    return mr.accept_if("picky" not in pod.labels, "too picky", unresolvable=True)


@policy.score
def any_node(pod: mr.Pod, node: mr.Node) -> float:
    return 50


@policy.preempt
def any_victim(pod: mr.Pod, node: mr.Node, victims: list[mr.Pod]) -> None:
    return None


@policy.bind
async def in_time(binding: mr.Binding) -> None:
    if binding.name == "contested":
        GO.with_name("reached").touch()
        while not GO.exists():
            await asyncio.sleep(0.02)
""",
    "score alone": """
import mooring as mr

policy = mr.Policy("permitted")


@policy.score
def any_node(pod: mr.Pod, node: mr.Node) -> float:
    return 50
""",
    "filter alone, without usage": """
import mooring as mr

policy = mr.Policy("permitted", usage=False)


@policy.filter
def not_picky(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    return mr.accept_if("picky" not in pod.labels, "too picky", unresolvable=True)
""",
}


class Grant(NamedTuple):
    """A permission.

    Attributes:
        namespace: where; empty for everywhere.
        name: of the one object; empty for all.
    """

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""


def crd(group: str, kind: str, plural: str) -> dict[str, Any]:
    """A minimal definition of somebody else's kind."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = "v1"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


class Installed:
    """An installation whose objects are on the control plane.

    Args:
        plane: the API server.
        one: what is deployed.
    """

    def __init__(self, plane: ControlPlane, one: Installation) -> None:
        self.plane = plane
        self.objects = objects(one)
        self._before = plane.audit_file.stat().st_size
        apart = {"Deployment", "Pod", "Namespace"}
        applied = [each for each in self.objects if each["kind"] not in apart]
        plane.kubectl("apply", "--filename=-", stdin=stream(applied))
        # The containers could come before the API server knows the new roles.
        plane.wait_for(lambda: self._may("list", "nodes"), "the account's permissions")

    def remove(self) -> None:
        apart = {"Deployment", "Pod", "Namespace"}
        removed = [each for each in self.objects if each["kind"] not in apart]
        self.plane.kubectl(
            "delete", "--ignore-not-found", "--wait=false", "--filename=-", stdin=stream(removed)
        )
        self.plane.kubectl("delete", "lease", NAME, "--ignore-not-found", f"--namespace={NAME}")

    def kubeconfig(self) -> Path:
        return self.plane.kubeconfig_with_token(NAME, NAME)

    def container(self, name: str) -> dict[str, Any]:
        (deployment,) = (each for each in self.objects if each["kind"] == "Deployment")
        spec = deployment["spec"]["template"]["spec"]
        (found,) = (
            each
            for each in [*spec.get("initContainers", []), *spec["containers"]]
            if each["name"] == name
        )
        container: dict[str, Any] = found
        return container

    def file(self, kind: str, name: str, key: str) -> str:
        """The text of a ConfigMap's or Secret's file."""
        field = "data" if kind == "ConfigMap" else "stringData"
        for each in self.objects:
            if (each["kind"], each["metadata"]["name"]) == (kind, name):
                text: str = each[field][key]
                return text
        raise AssertionError(f"there is no {kind} {name}")

    def allowed(self) -> set[Grant]:
        """What the roles allow."""
        return {
            Grant(verb, group, resource, each["metadata"].get("namespace", ""), name)
            for each in self.objects
            if each["kind"] in ("ClusterRole", "Role")
            for rule in each["rules"]
            for verb in rule["verbs"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for name in rule.get("resourceNames", [""])
        }

    def used(self) -> set[Grant]:
        """What the account did since the objects are there, as the least that allows it."""
        with self.plane.audit_file.open() as file:
            file.seek(self._before)
            events = [json.loads(line) for line in file]
        found = set()
        for event in events:
            if event["user"]["username"] == ACCOUNT and "objectRef" in event:
                what = event["objectRef"]
                resource = what["resource"]
                if what.get("subresource"):
                    resource += f"/{what['subresource']}"
                grant = Grant(event["verb"], what.get("apiGroup", ""), resource)
                if resource in OWN:
                    # Nobody can be allowed to create one object alone.
                    name = what.get("name", "") if grant.verb != "create" else ""
                    grant = grant._replace(namespace=what["namespace"], name=name)
                found.add(grant)
        return found

    def _may(self, verb: str, resource: str) -> bool:
        said = self.plane.kubectl("auth", "can-i", verb, resource, f"--as={ACCOUNT}", check=False)
        return said.strip() == "yes"


def node_of(plane: ControlPlane, pod: str) -> str:
    def bound() -> str | None:
        where: str | None = plane.get("Pod", pod, NAME)["spec"].get("nodeName")
        return where

    return plane.wait_for(bound, f"pod {pod} to be bound")


def pod(name: str, scheduler: str, *, labels: Any = None, **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": spec.pop("cpu", "0")}, "limits": spec.pop("limits", {})}
    container = {"name": "main", "image": "pause", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAME, "labels": labels or {}},
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
    }


def remove_pods(plane: ControlPlane) -> None:
    plane.kubectl("delete", "pods", "--all", "--force", "--grace-period=0", f"--namespace={NAME}")


def wait_used(installed: Installed, *wanted: Grant) -> None:
    """Wait until the account has done all this."""
    installed.plane.wait_for(lambda: set(wanted) <= installed.used(), f"{wanted} to be done")


def bind_elsewhere(plane: ControlPlane, name: str, node: str) -> None:
    """Bind a pod as an administrator."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"kind": "Node", "name": node},
    }
    plane.request("POST", f"/api/v1/namespaces/{NAME}/pods/{name}/binding", binding)


def answers(port: int, path: str) -> bool:
    """Whether a probe succeeds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def make_volumes(plane: ControlPlane) -> None:
    """A claim for a volume that is there, and one for a volume that has to be made."""
    for claim, provisioner in (("there", "kubernetes.io/no-provisioner"), ("made", "example.com")):
        storage = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": claim},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer",
        }
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": claim,
        }
        metadata = {"name": claim, "namespace": NAME}
        claimed = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
        plane.create(storage)
        plane.create({**claimed, "spec": spec})
    plane.create(local_volume("disk", "north", "there", "1Gi"))
    available = {"status": {"phase": "Available"}}
    plane.kubectl("patch", "pv", "disk", "--subresource=status", f"--patch={json.dumps(available)}")


def make_devices(plane: ControlPlane) -> None:
    """Devices on a node, a claim for one, and a resource that they provide."""
    plane.create(device_class(resource=RESOURCE))
    plane.create(slice_of("north", *(device(f"gpu-{number}") for number in range(4))))
    plane.create(
        {
            "apiVersion": DEVICES_V1,
            "kind": "ResourceClaim",
            "metadata": {"name": "mine", "namespace": NAME},
            "spec": {"devices": {"requests": [request()]}},
        }
    )


def leave_special_claim(plane: ControlPlane, name: str) -> None:
    """A pod, and a claim for its extended resource that an earlier attempt left."""
    gates = [{"name": "example.com/later"}]
    made = plane.create(pod(name, NAME, limits={RESOURCE: "1"}, schedulingGates=gates))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "controller": True}
    plane.create(
        {
            "apiVersion": DEVICES_V1,
            "kind": "ResourceClaim",
            "metadata": {
                "name": f"{name}-extended-resources",
                "namespace": NAME,
                "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
                "ownerReferences": [{**owner, "uid": made["metadata"]["uid"]}],
            },
            "spec": {"devices": {"requests": [request()]}},
        }
    )
    ungated = json.dumps({"spec": {"schedulingGates": None}})
    plane.kubectl("patch", "pod", name, f"--namespace={NAME}", "--type=merge", f"--patch={ungated}")
