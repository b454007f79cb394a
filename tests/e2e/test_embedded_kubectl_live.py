"""kubectl on a living embedded cluster: with fake nodes, kubelets, controllers and a scheduler."""

import queue
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.testing import TestCluster, cluster
from mooring.testing.real_kubernetes import Binaries
from tests.e2e.kubectl_scripts import Kubectl

pytestmark = pytest.mark.kube

SECONDS = 120.0


@pytest.fixture(scope="module")
def running(binaries: Binaries) -> Iterator[TestCluster]:
    with cluster(3, job_seconds=0.0) as made:
        yield made


@pytest.fixture
def kubectl(
    running: TestCluster, binaries: Binaries, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Kubectl]:
    """kubectl in a namespace of the test's own."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))[:50].strip("-")
    running.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield Kubectl(binaries, running.kubeconfig, tmp_path, name)
    running.delete("Namespace", name)


def cells(table: str) -> list[list[str]]:
    """The cells of a table, which are two spaces apart at least."""
    return [re.split(r"\s{2,}", line.strip()) for line in table.splitlines() if line.strip()]


def start_web(kubectl: Kubectl, replicas: int = 3) -> None:
    kubectl("create", "deployment", "web", "--image=nginx:1", f"--replicas={replicas}")
    said = kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    assert said.endswith('deployment "web" successfully rolled out\n')


def images(kubectl: Kubectl) -> list[str]:
    return kubectl(
        "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.containers[0].image}"
    ).split()


def test_nodes_and_pods_are_shown_with_all_columns(kubectl: Kubectl) -> None:
    kubectl("run", "web", "--image=nginx")
    kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=30s")
    nodes, pods = kubectl("get", "nodes,pods", "-o", "wide").split("\n\n")
    header, *rows = cells(nodes)
    assert header == [
        "NAME", "STATUS", "ROLES", "AGE", "VERSION", "INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE",
        "KERNEL-VERSION", "CONTAINER-RUNTIME",
    ]  # fmt: skip
    assert [row[:3] for row in rows] == [[f"node/node-{i}", "Ready", "<none>"] for i in (1, 2, 3)]
    header, row = cells(pods)
    assert header == [
        "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "NOMINATED NODE",
        "READINESS GATES",
    ]  # fmt: skip
    assert row[:4] == ["pod/web", "1/1", "Running", "0"]
    assert row[5].startswith("10.")
    assert row[6] in {"node-1", "node-2", "node-3"}
    assert row[7:] == ["<none>", "<none>"]


class Watched:
    """A kubectl that goes on, and the lines it printed so far."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def until(self, *words: str) -> list[str]:
        """The cells of the first line that has all these words; pytest fails without one."""
        while True:
            row = re.split(r"\s{2,}", self._lines.get(timeout=SECONDS).strip())
            if set(words) <= set(row):
                return row

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(SECONDS)
        self._reader.join(SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)


@pytest.fixture
def watched(kubectl: Kubectl) -> Iterator[Watched]:
    kubectl("run", "first", "--image=nginx")
    found = Watched(kubectl.start("get", "pods", "--watch", "--output-watch-events"))
    try:
        assert found.until("ADDED")[1] == "first"  # from now on it sees everything
        yield found
    finally:
        found.end()


def test_a_watch_shows_how_a_pod_comes_runs_and_goes(kubectl: Kubectl, watched: Watched) -> None:
    kubectl("run", "web", "--image=nginx")
    assert watched.until("ADDED", "web")[2:5] == ["0/1", "Pending", "0"]
    assert watched.until("MODIFIED", "web", "Running")[2] == "1/1"
    kubectl("delete", "pod", "web")
    watched.until("MODIFIED", "web", "Terminating")
    watched.until("DELETED", "web")


def test_a_pod_is_described_with_the_event_that_it_was_scheduled(
    kubectl: Kubectl, running: TestCluster
) -> None:
    kubectl("run", "web", "--image=nginx", "--labels=app=web")
    node = running.wait_scheduled("web", namespace=kubectl.namespace)
    running.wait_event("web", "Scheduled", namespace=kubectl.namespace)
    kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=30s")
    text = kubectl("describe", "pod", "web")
    assert re.search(rf"^Node: +{node}", text, re.MULTILINE)
    assert re.search(r"^Status: +Running$", text, re.MULTILINE)
    assert re.search(r"^  PodScheduled +True", text, re.MULTILINE)
    assert re.search(
        r"^  Normal +Scheduled +\S+ +default-scheduler +"
        rf"Successfully assigned {kubectl.namespace}/web to {node}$",
        text,
        re.MULTILINE,
    )
    [_, row] = cells(kubectl("get", "events", "--field-selector", "reason=Scheduled"))
    assert row[1:4] == ["Normal", "Scheduled", "pod/web"]
    assert "Successfully assigned" in kubectl("events", "--for=pod/web")


def test_a_pod_that_fits_nowhere_is_described_with_the_reason(
    kubectl: Kubectl, running: TestCluster
) -> None:
    manifest = """
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "large"}, "spec": {"containers":
        [{"name": "main", "image": "app", "resources": {"requests": {"cpu": "99"}}}]}}"""
    kubectl("create", "-f", "-", stdin=manifest)
    running.wait_event("large", "FailedScheduling", namespace=kubectl.namespace)
    text = kubectl("describe", "pod", "large")
    assert re.search(r"^Status: +Pending$", text, re.MULTILINE)
    assert "Warning  FailedScheduling" in text
    assert "0/3 nodes are available: 3 Insufficient cpu." in text


def test_a_node_is_described_with_its_pods(kubectl: Kubectl, running: TestCluster) -> None:
    kubectl("run", "web", "--image=nginx", "--overrides", '{"spec":{"nodeName":"node-2"}}')
    text = kubectl("describe", "node", "node-2")
    assert re.search(r"^  cpu: +8$", text, re.MULTILINE)
    assert re.search(rf"^  {kubectl.namespace} +web +0 \(0%\)", text, re.MULTILINE)
    assert "Unschedulable:      false" in text


def test_a_deployment_is_rolled_out_changed_and_rolled_back(kubectl: Kubectl) -> None:
    start_web(kubectl)
    [_, row] = cells(kubectl("get", "deployment", "web"))
    assert row[:4] == ["web", "3/3", "3", "3"]
    assert images(kubectl) == ["nginx:1"] * 3
    kubectl("set", "image", "deployment/web", "nginx=nginx:2")
    kubectl("annotate", "deployment/web", "kubernetes.io/change-cause=second")
    kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    history = kubectl("rollout", "history", "deployment/web")
    assert cells(history)[1:] == [["REVISION", "CHANGE-CAUSE"], ["1", "<none>"], ["2", "second"]]
    assert "Image:\tnginx:1" in kubectl("rollout", "history", "deployment/web", "--revision=1")
    assert kubectl("rollout", "undo", "deployment/web") == "deployment.apps/web rolled back\n"
    kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    assert kubectl("get", "deployment", "web", "-o", "jsonpath={..image}") == "nginx:1"
    assert cells(kubectl("rollout", "history", "deployment/web"))[2:] == [
        ["2", "second"], ["3", "<none>"],
    ]  # fmt: skip
    kubectl("rollout", "restart", "deployment/web")
    kubectl("rollout", "status", "deployment/web", "--timeout=30s")
    text = kubectl("describe", "deployment", "web")
    assert "3 desired | 3 updated | 3 total | 3 available | 0 unavailable" in text
    assert re.search(r"^  Progressing +True +NewReplicaSetAvailable$", text, re.MULTILINE)
    assert "ScalingReplicaSet" in text


def test_a_deployment_is_scaled(kubectl: Kubectl) -> None:
    start_web(kubectl, 1)
    assert kubectl("scale", "deployment/web", "--replicas=5") == "deployment.apps/web scaled\n"
    kubectl("wait", "deployment/web", "--for=jsonpath={.status.readyReplicas}=5", "--timeout=30s")
    kubectl("scale", "deployment/web", "--replicas=0")
    kubectl("wait", "pods", "-l", "app=web", "--for=delete", "--timeout=30s")
    assert kubectl("get", "pods") == ""


@pytest.mark.parametrize("cascade", ["background", "foreground"])
def test_a_deployment_takes_its_pods_along(kubectl: Kubectl, cascade: str) -> None:
    start_web(kubectl, 2)
    kubectl("delete", "deployment", "web", f"--cascade={cascade}", "--timeout=30s")
    kubectl("wait", "pods", "-l", "app=web", "--for=delete", "--timeout=30s")
    kubectl("wait", "rs", "-l", "app=web", "--for=delete", "--timeout=30s")
    assert kubectl("get", "all") == ""


def test_a_deployment_leaves_its_pods_if_told_to(kubectl: Kubectl) -> None:
    start_web(kubectl, 2)
    kubectl("delete", "deployment", "web", "--cascade=orphan", "--timeout=30s")
    [_, row] = cells(kubectl("get", "rs"))
    assert row[1:4] == ["2", "2", "2"]
    assert kubectl("get", "rs", "-o", "jsonpath={.items[0].metadata.ownerReferences}") == ""
    assert len(images(kubectl)) == 2


def test_pods_are_deleted_with_grace_at_once_and_by_label(kubectl: Kubectl) -> None:
    for name, label in (("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"), ("e", "y")):
        kubectl("run", name, "--image=busybox", f"--labels=app={label}")
    kubectl("wait", "pods", "--all", "--for=condition=Ready", "--timeout=30s")
    where = f"from {kubectl.namespace} namespace"
    assert kubectl("delete", "pod", "a") == f'pod "a" deleted {where}\n'
    assert kubectl("delete", "pod", "b", "--now") == f'pod "b" deleted {where}\n'
    assert kubectl("delete", "pod", "c", "--grace-period=0", "--force") == (
        f'pod "c" force deleted {where}\n'
    )
    assert len(kubectl("delete", "pods", "-l", "app=y").splitlines()) == 2
    assert kubectl("get", "pods", "-o", "name") == ""


def test_a_namespace_goes_with_everything_in_it(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "doomed")
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2", "-n", "doomed")
    kubectl("create", "configmap", "settings", "-n", "doomed")
    assert kubectl("delete", "namespace", "doomed", "--timeout=30s") == (
        'namespace "doomed" deleted\n'
    )
    assert kubectl("get", "all,configmaps", "-n", "doomed") == ""
    assert kubectl.fails("get", "namespace", "doomed") == (
        'Error from server (NotFound): namespaces "doomed" not found'
    )


def test_a_job_completes(kubectl: Kubectl) -> None:
    kubectl("create", "job", "once", "--image=busybox", "--", "true")
    kubectl("wait", "job/once", "--for=condition=Complete", "--timeout=30s")
    [_, row] = cells(kubectl("get", "job", "once"))
    assert row[:3] == ["once", "Complete", "1/1"]
    [_, row] = cells(kubectl("get", "pods", "-l", "job-name=once"))
    assert row[1:3] == ["0/1", "Completed"]
    kubectl("delete", "job", "once", "--timeout=30s")
    kubectl("wait", "pods", "-l", "job-name=once", "--for=delete", "--timeout=30s")


def test_a_cordoned_node_gets_no_pods_and_a_taint_keeps_them_away(
    kubectl: Kubectl, running: TestCluster
) -> None:
    try:
        assert kubectl("cordon", "node-1") == "node/node-1 cordoned\n"
        [_, row] = cells(kubectl("get", "node", "node-1"))
        assert row[1] == "Ready,SchedulingDisabled"
        kubectl("taint", "node", "node-2", "team=blue:NoSchedule")
        start_web(kubectl, 4)
        assert set(running.placements(kubectl.namespace).values()) == {"node-3"}
    finally:
        kubectl("uncordon", "node-1")
        kubectl("taint", "node", "node-2", "team:NoSchedule-")


def test_a_label_makes_room_for_a_pod(kubectl: Kubectl, running: TestCluster) -> None:
    overrides = '{"spec":{"nodeSelector":{"disk":"ssd"}}}'
    kubectl("run", "web", "--image=nginx", "--overrides", overrides)
    running.wait_unschedulable("web", namespace=kubectl.namespace)
    try:
        kubectl("label", "node", "node-3", "disk=ssd")
        kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=30s")
    finally:
        kubectl("label", "node", "node-3", "disk-")
    assert running.placements(kubectl.namespace) == {"web": "node-3"}


def test_a_node_is_drained_as_fast_as_a_budget_allows(
    kubectl: Kubectl, running: TestCluster
) -> None:
    start_web(kubectl, 4)
    kubectl("create", "pdb", "calm", "--selector=app=web", "--min-available=3")
    kubectl("wait", "pdb/calm", "--for=jsonpath={.status.disruptionsAllowed}=1", "--timeout=30s")
    [_, row] = cells(kubectl("get", "pdb", "calm"))
    assert row[:4] == ["calm", "3", "N/A", "1"]
    [node, *_] = running.placements(kubectl.namespace).values()
    try:
        said = kubectl("drain", node, "--ignore-daemonsets", "--force", "--timeout=60s")
        assert said.endswith(f"node/{node} drained\n")
        kubectl("rollout", "status", "deployment/web", "--timeout=30s")
        assert node not in running.placements(kubectl.namespace).values()
    finally:
        kubectl("uncordon", node)


def test_a_budget_that_allows_nothing_stops_a_drain(kubectl: Kubectl, running: TestCluster) -> None:
    start_web(kubectl, 2)
    kubectl("create", "pdb", "stubborn", "--selector=app=web", "--max-unavailable=0")
    kubectl("wait", "pdb/stubborn", "--for=jsonpath={.status.expectedPods}=2", "--timeout=30s")
    [node, *_] = running.placements(kubectl.namespace).values()
    try:
        said = kubectl.fails("drain", node, "--force", "--timeout=8s")
        assert "Cannot evict pod as it would violate the pod's disruption budget." in said
    finally:
        kubectl("uncordon", node)


def test_what_needs_containers_fails_politely(kubectl: Kubectl) -> None:
    kubectl("run", "web", "--image=nginx")
    kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=30s")
    assert kubectl.fails("logs", "web").startswith("Error from server")
    assert "error: unable to upgrade connection" in kubectl.fails("exec", "web", "--", "ls")
    assert kubectl.fails("top", "nodes") == "error: Metrics API not available"


def test_nobody_has_to_log_in(kubectl: Kubectl) -> None:
    assert re.search(r"^Username +system:admin$", kubectl("auth", "whoami"), re.MULTILINE)
    assert kubectl("auth", "can-i", "delete", "nodes") == "yes\n"
    assert "is running at" in kubectl("cluster-info")


def test_all_is_shown_for_all_namespaces(kubectl: Kubectl) -> None:
    start_web(kubectl, 1)
    kubectl("expose", "deployment", "web", "--port=80")
    kinds = {line.partition("/")[0] for line in kubectl("get", "all", "-A", "-o", "name").split()}
    assert {"pod", "service", "deployment.apps", "replicaset.apps"} <= kinds
