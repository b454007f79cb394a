"""Examples on the embedded cluster: manual placement as people write it, and mooring's own files.

The first are from a tutorial on scheduling (source document 004): a pod with a node's name in it,
and a Binding made by hand. A kubelet is there, so that pods run once they are bound.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from mooring.testing.real_kubernetes import Binaries, node
from tests.e2e.full_embedded_control_plane import FullEmbeddedControlPlane
from tests.e2e.kubectl_scripts import Kubectl

pytestmark = pytest.mark.kube

EXAMPLES = Path(__file__).parents[2] / "examples"
DEPLOYED = sorted(EXAMPLES.glob("*/deploy.yaml"))

ASSIGNED = """\
apiVersion: v1
kind: Pod
metadata:
  name: assigned-pod
spec:
  nodeName: worker-node2 #statically assigned node
  containers:
  - name: nginx
    image: nginx
"""
UNASSIGNED = """\
apiVersion: v1
kind: Pod
metadata:
  name: unassigned-pod
spec:
  schedulerName: do-it-manually # therefore, it will be ignored by the default scheduler
  containers:
  - name: nginx
    image: nginx
"""
BINDING = """\
apiVersion: v1
kind: Binding
metadata:
  name: unassigned-pod
  namespace: default
target:
  apiVersion: v1
  kind: Node
  name: worker-node2
"""


@pytest.fixture(scope="module")
def plane(binaries: Binaries) -> Iterator[FullEmbeddedControlPlane]:
    with FullEmbeddedControlPlane([node(f"worker-node{i}") for i in (1, 2, 3)]) as running:
        yield running


@pytest.fixture
def kubectl(
    plane: FullEmbeddedControlPlane, binaries: Binaries, tmp_path: Path
) -> Iterator[Kubectl]:
    yield Kubectl(binaries, plane.kubeconfig, tmp_path)
    plane.delete_all("Pod", "default")


def rows(table: str) -> list[list[str]]:
    """The cells of a table without its header."""
    return [line.split() for line in table.splitlines()[1:]]


def test_a_pod_with_a_node_name_runs_there_without_any_scheduler(kubectl: Kubectl) -> None:
    assert kubectl("create", "-f-", stdin=ASSIGNED) == "pod/assigned-pod created\n"
    kubectl("wait", "pod/assigned-pod", "--for=condition=Ready", "--timeout=20s")
    [row] = rows(kubectl("get", "pods", "-o", "wide"))
    assert row[:4] == ["assigned-pod", "1/1", "Running", "0"]
    assert row[6] == "worker-node2"


def test_a_pod_waits_for_a_binding_made_by_hand_and_then_runs(kubectl: Kubectl) -> None:
    # The order is important: there must be a pod.
    assert kubectl.fails("create", "-f-", stdin=BINDING) == (
        'Error from server (NotFound): error when creating "STDIN": pods "unassigned-pod" not found'
    )
    assert kubectl("create", "-f-", stdin=UNASSIGNED) == "pod/unassigned-pod created\n"
    pending = kubectl("get", "pods", "--field-selector", "spec.nodeName=")
    assert pending.splitlines()[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    [row] = rows(pending)
    assert row[:4] == ["unassigned-pod", "0/1", "Pending", "0"]
    [row] = rows(kubectl("get", "pods", "-o", "wide"))
    assert row[6] == "<none>"

    # The answer is no object, on a real cluster too.
    assert kubectl("create", "-f-", stdin=BINDING) == "status/<unknown> created\n"
    kubectl("wait", "pod/unassigned-pod", "--for=condition=Ready", "--timeout=20s")
    [row] = rows(kubectl("get", "pods", "-o", "wide"))
    assert row[:4] == ["unassigned-pod", "1/1", "Running", "0"]
    assert row[6] == "worker-node2"
    assert kubectl("get", "pods", "--field-selector", "spec.nodeName=") == ""
    scheduled = '{.status.conditions[?(@.type=="PodScheduled")].status}'
    assert kubectl("get", "pod", "unassigned-pod", "-o", f"jsonpath={scheduled}") == "True"

    # It is used up: neither a second one nor any other way to see it.
    assert kubectl.fails("create", "-f-", stdin=BINDING.replace("node2", "node3")) == (
        'Error from server (Conflict): error when creating "STDIN": Operation cannot be fulfilled '
        'on pods/binding "unassigned-pod": pod unassigned-pod is already assigned to node '
        '"worker-node2"'
    )
    assert kubectl.fails("get", "bindings") == (
        "Error from server (MethodNotAllowed): the server does not allow this method on the "
        "requested resource"
    )


def test_bindings_can_only_be_created(kubectl: Kubectl) -> None:
    listed = {row[0]: row for row in rows(kubectl("api-resources", "-owide", "--api-group="))}
    assert listed["bindings"] == ["bindings", "v1", "true", "Binding", "create"]
    assert listed["pods"] == [
        "pods", "po", "v1", "true", "Pod",
        "create,delete,deletecollection,get,list,patch,update,watch", "all",
    ]  # fmt: skip


def test_a_pod_that_is_being_deleted_cannot_be_bound(kubectl: Kubectl) -> None:
    manifest = UNASSIGNED.replace("spec:", "  finalizers: [example.com/keep]\nspec:")
    kubectl("create", "-f-", stdin=manifest)
    kubectl("delete", "pod", "unassigned-pod", "--wait=false")
    assert "pod unassigned-pod is being deleted, cannot be assigned to a host" in kubectl.fails(
        "create", "-f-", stdin=BINDING
    )
    kubectl("patch", "pod", "unassigned-pod", "-p", '{"metadata":{"finalizers":null}}')
    assert kubectl("get", "pods") == ""


@pytest.mark.parametrize("file", DEPLOYED, ids=lambda file: file.parent.name)
def test_an_example_is_applied_and_removed_as_a_whole(file: Path, kubectl: Kubectl) -> None:
    objects = [one for one in yaml.safe_load_all(file.read_text()) if one]
    said = kubectl("apply", "-f", str(file)).splitlines()
    assert len(said) == len(objects)
    assert all(line.endswith(" created") for line in said), said
    again = kubectl("apply", "-f", str(file)).splitlines()
    # kubectl takes a limit that became a request too for a change; a real cluster says the same.
    assert {line.split()[-1] for line in again} <= {"unchanged", "configured"}, again
    for one in objects:
        if one["kind"] == "Deployment":
            metadata = one["metadata"]
            # Its pods are made; no scheduler is here to place them.
            kubectl(
                "wait", f"deployment/{metadata['name']}", f"--namespace={metadata['namespace']}",
                f"--for=jsonpath={{.status.replicas}}={one['spec']['replicas']}", "--timeout=20s",
            )  # fmt: skip
    kubectl("delete", "-f", str(file), "--ignore-not-found", "--timeout=30s")
    assert kubectl.fails("get", "-f", str(file)).count("NotFound") >= 1
